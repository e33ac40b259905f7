"""Wires made from the bit layouts of `recnmp.isa`: no width is written twice."""

from __future__ import annotations

from collections.abc import Mapping

import pyrtl

from ..isa import Layout


def split(layout: Layout, word: pyrtl.WireVector) -> dict[str, pyrtl.WireVector]:
    """Fields of a word of exactly `layout.width` bits, by name. Raises ValueError on another width."""
    if len(word) != layout.width:
        raise ValueError(f"{layout.name} has {layout.width} bits, the word {word.name} has {len(word)}")
    return {name: word[low:high] for name, (low, high) in layout.spans().items()}


def join(layout: Layout, fields: Mapping[str, pyrtl.WireVector]) -> pyrtl.WireVector:
    """The word of a field each, which must be as wide as its field. Raises ValueError if one is not."""
    for field in layout.fields:
        if len(fields[field.name]) != field.bits:
            raise ValueError(f"{field.name} has {field.bits} bits, not {len(fields[field.name])}")
    return pyrtl.concat_list([fields[field.name] for field in layout.fields])
