"""Names of address mappings: a plain order of address parts, or the name of a hash.

A plain order names the parts of a physical address from the most to the least significant one, two letters
each, as Ramulator does: `RoBaRaCoCh` puts the channel in the lowest bits and the row in the highest.
"""

from __future__ import annotations

import re

from ..errors import RecnmpError
from .dram import nearest

SKYLAKE = "skylake"
PARTS = {
    "Ch": "channel",
    "Ra": "rank",
    "Bg": "bank group",
    "Ba": "bank",
    "Ro": "row",
    "Co": "column (in bursts)",
}
# Ramulator 2's own two orders, spelled with the place that it gives the bank group
# (its linear_mappers.cpp: level order below the channel, or all levels reversed).
_RAMULATOR = {
    "RoBaRaCoCh": ("Ro", "Ba", "Bg", "Ra", "Co", "Ch"),
    "ChRaBaRoCo": ("Ch", "Ra", "Bg", "Ba", "Ro", "Co"),
}


def parse_order(name: str) -> tuple[str, ...]:
    """Split the name of a plain order into its parts, most significant first, the bank group included.

    `RoBaRaCoCh` and `ChRaBaRoCo` mean what Ramulator 2 means by them. In any other order without `Bg`,
    the bank group lies directly below the bank; name `Bg` to put it anywhere else.

    Raises:
        RecnmpError: a part is unknown, missing or named twice.
    """
    if name in _RAMULATOR:
        return _RAMULATOR[name]
    if not re.fullmatch(r"([A-Z][a-z])+", name):
        raise RecnmpError(_unknown(name))
    parts = re.findall(r"[A-Z][a-z]", name)
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        raise RecnmpError(_unknown(name))
    missing = [part for part in PARTS if part not in parts and part != "Bg"]
    twice = [part for part in PARTS if parts.count(part) > 1]
    if missing:
        raise RecnmpError(f"mapping '{name}' lacks {missing[0]} ({PARTS[missing[0]]})")
    if twice:
        raise RecnmpError(f"mapping '{name}' names {twice[0]} ({PARTS[twice[0]]}) twice")
    if "Bg" not in parts:
        parts.insert(parts.index("Ba") + 1, "Bg")
    return tuple(parts)


def check_mapping(name: str) -> str:
    """Return the name if it is that of a mapping; RecnmpError otherwise."""
    if name != SKYLAKE:
        parse_order(name)
    return name


def _unknown(name: str) -> str:
    known = [SKYLAKE, *_RAMULATOR, "RoRaBaCoCh", "RoCoBaRaCh"]
    return (
        f"unknown mapping '{name}', {nearest(name, known)}; a mapping is {SKYLAKE}, or an order of "
        "Ch, Ra, Ba, Ro, Co (and Bg) from the highest to the lowest bits, such as RoBaRaCoCh"
    )
