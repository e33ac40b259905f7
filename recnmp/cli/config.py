"""`recnmp config`: what a system is made of, number by number, with units and sources."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from pydantic import BaseModel

from ..config.load import SECTIONS, load_system, preset_names, to_toml
from ..config.system import SystemConfig
from .system_arguments import add_system_arguments, chosen_systems

HELP = "Show every resolved number of a system, with unit and source, or list the systems there are."
REFRESH_NOTE = (
    "D-2: JEDEC's tRFC of 8 Gb devices is 350 ns and its REFI a maximum; the reference (Ramulator 2.1) "
    "has 360 ns and rounds both up to clocks. The presets keep the reference's nRFC and nREFI."
)


class Number(NamedTuple):
    """One resolved number: its key, value, unit, what it means, and where it comes from."""

    key: str
    value: Any
    unit: str
    meaning: str
    source: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the sub-verbs show and list."""
    verbs = parser.add_subparsers(dest="action", required=True, metavar="{show,list}")
    show = verbs.add_parser("show", help="print every resolved number of a system")
    show.add_argument("--system", default="recnmp-base", metavar="NAME", help="preset or .toml file")
    add_system_arguments(show)
    form = show.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON instead of a table")
    form.add_argument("--toml", action="store_true", help="print a file that --system reads back")
    show.set_defaults(run=run_show)
    listing = verbs.add_parser("list", help="names of the systems that come with recnmp")
    listing.set_defaults(run=run_list)


def run(args: argparse.Namespace) -> int:
    """Dispatched to a sub-verb by argparse; never called without one."""
    return int(args.run(args))


def run_list(args: argparse.Namespace) -> int:
    """Print the presets, one a line."""
    for name in preset_names():
        config = load_system(name)
        memory = f"{config.memory.dimms}x{config.memory.ranks_per_dimm}"
        print(f"{name:<14} {config.kind:<5} {memory} {config.dram.timing} {config.dram.organisation}")
    return 0


def run_show(args: argparse.Namespace) -> int:
    """Print one system."""
    systems, _ = chosen_systems(args, [args.system])
    config = systems[0]
    if args.toml:
        print(to_toml(config), end="")
        return 0
    numbers = list(resolved_numbers(config))
    if args.json:
        document = {
            "system": config.name,
            "kind": config.kind,
            "numbers": [number._asdict() for number in numbers],
            "notes": [REFRESH_NOTE],
        }
        print(json.dumps(document, indent=1, allow_nan=False))
        return 0
    print(f"system {config.name} ({config.kind})")
    widths = [max(len(_text(number[column])) for number in numbers) for column in range(3)]
    section = ""
    for number in numbers:
        if number.key.split(".")[0] != section:
            section = number.key.split(".")[0]
            print()
        key, value, unit = (f"{_text(number[column]):<{widths[column]}}" for column in range(3))
        print(f"{key}  {value}  {unit}  {number.meaning} ({number.source})")
    print(f"\n{REFRESH_NOTE}")
    return 0


def resolved_numbers(config: SystemConfig) -> Iterator[Number]:
    """Every number of a system: its sections, then what the names of DRAM presets stand for."""
    for section in SECTIONS:
        values = getattr(config, section)
        if values is not None:
            yield from _fields(section, values, {})
    overridden = dict.fromkeys(config.dram.overrides, "override of the user")
    yield from _fields("timing", config.dram.timings(), overridden)
    devices = config.dram.devices()
    yield from _fields("organisation", devices, {})
    yield Number("organisation.row_bytes", devices.row_bytes, "bytes", "a row of a rank", "derived")
    yield Number("organisation.rank_bytes", devices.rank_bytes, "bytes", "a rank", "derived")
    ranks = config.memory.channels * config.memory.ranks
    yield Number("derived.ranks", config.memory.ranks, "ranks", "ranks of a channel", "derived")
    yield Number("derived.memory_bytes", devices.rank_bytes * ranks, "bytes", "the whole memory", "derived")
    if config.nmp is not None:
        meaning = "packets that may be in flight on a channel: K"
        yield Number("derived.tag_groups", config.nmp.tag_groups, "packets", meaning, "design D6")


def _fields(section: str, values: BaseModel, sources: dict[str, str]) -> Iterator[Number]:
    for name, field in type(values).model_fields.items():
        extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
        source = sources.get(name, str(extra.get("source", "")))
        unit = str(extra.get("unit", ""))
        yield Number(f"{section}.{name}", getattr(values, name), unit, field.description or "", source)


def _text(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items()) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
