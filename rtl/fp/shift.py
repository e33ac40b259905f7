"""Shifts over a number of places that is itself a wire, one power of two a level, on whole words."""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl


def shift_left(word: pyrtl.WireVector, places: pyrtl.WireVector) -> pyrtl.WireVector:
    """`word` shifted left by less than its width, as wide as before; what leaves at the top is lost."""
    for level in reversed(range(len(places))):
        by = 1 << level
        word = pyrtl.select(places[level], pyrtl.concat(word[:-by], pyrtl.Const(0, by)), word)
    return word


def shift_right_sticky(
    word: pyrtl.WireVector, places: pyrtl.WireVector, levels: Sequence[int]
) -> pyrtl.WireVector:
    """`word` shifted right, as wide as before: each bit that is lost is ORed into the lowest, the sticky bit.

    `levels` are the bits of `places` that count, in the order in which the word passes their levels.
    """
    for level in levels:
        by = 1 << level
        sticky = word[: by + 1] != 0
        moved = pyrtl.concat(pyrtl.Const(0, by), word[by + 1 :], sticky)
        word = pyrtl.select(places[level], moved, word)
    return word


def leading_zeros(word: pyrtl.WireVector) -> pyrtl.WireVector:
    """How many zeros stand above the highest 1 of `word`, whose width is a power of two; of 0, width - 1."""
    counted = []
    while len(word) > 1:
        half = len(word) // 2
        empty = word[half:] == 0
        counted.append(empty)
        word = pyrtl.select(empty, word[:half], word[half:])
    return pyrtl.concat_list(counted[::-1])


def normalise(
    word: pyrtl.WireVector, levels: Sequence[int] | None = None
) -> tuple[pyrtl.WireVector, list[pyrtl.WireVector]]:
    """`word` shifted left until its highest bit is 1, and by how many places: their bits, highest first.

    The places have as many bits as width - 1 needs. Of the word 0 they mean nothing, and it stays 0. `levels` are
    the bits to do, from the highest down, where the work is divided.
    """
    empties = []
    for level in levels if levels is not None else reversed(range((len(word) - 1).bit_length())):
        by = 1 << level
        empty = word[-by:] == 0
        word = pyrtl.select(empty, pyrtl.concat(word[:-by], pyrtl.Const(0, by)), word)
        empties.append(empty)
    return word, empties
