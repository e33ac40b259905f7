"""Inputs that provoke a lane: few partial sums at a time, bursts and gaps, offers while it is not ready.

Each stretch of 64 clocks has its own habits: how often an operand is offered, how many partial sums are in use and
how they lie to each other (same tag, same group, neither), how often one begins, how often one is read, and what the
numbers are. Most are near one, so that sums keep their meaning; now and then, and in a few stretches always, they
are any bit pattern, with infinities and NaNs, which a `first` clears away again.

Every fourth stretch is aimed: an operand each clock and no hazard, and each partial sum is read 16 clocks after its
operand, before anything covers it. There each of the lane's units meets the operands that provoke it alone, and
elements of fp16 are its special ones.
"""

from __future__ import annotations

import numpy as np

from .fp_stimulus import SPECIAL_HALVES, SPECIALS, operand_pairs
from .words import Bools, Uint64s, Words

_STRETCH = 64
_SEEN_AFTER = 16  # clocks from an offer that is taken at once to a read that sees its sum
_ROUND = 8  # clocks of an aimed round: four operands, then four others that may add to their sums
_MULTIPLY, _ADD, _BIAS, _HALVES = range(4)  # what a pair of operands is aimed at


def _near_one(words: Words, count: int, exponent_low: int, exponent_high: int) -> Uint64s:
    """FP32 patterns of either sign with such exponents."""
    exponent = words.between(count, exponent_low, exponent_high).astype(np.uint64)
    return words.bits(count, 1) << np.uint64(31) | exponent << np.uint64(23) | words.bits(count, 23)


def _tag_and_group(place: Uint64s) -> tuple[Uint64s, Uint64s]:
    return place >> np.uint64(3), place & np.uint64(7)


def lane_inputs(words: Words, first: int, clocks: int) -> Uint64s:
    """Columns of the lane's inputs, in the page's order."""
    stretches = -(-clocks // _STRETCH)

    def habit(*options: int) -> Uint64s:
        """One of the options for each stretch, told for each clock."""
        return np.repeat(words.pick(stretches, options), _STRETCH)[:clocks]

    def often(sixteenths: Uint64s) -> Bools:
        return words.below(clocks, 16) < sixteenths

    valid = often(habit(0, 2, 8, 15, 16, 16))
    begins = often(habit(1, 2, 4, 16))
    reads = often(habit(0, 8, 16, 16))
    odd = often(habit(0, 0, 0, 0, 0, 1, 1, 16))
    # partial sums in use: a first one, so many more, so far from each other (8 is a tag, 1 a group)
    sums, apart = habit(1, 2, 2, 3, 4, 8, 128), habit(1, 8, 9, 64)
    base = np.repeat(words.below(stretches, 128), _STRETCH)[:clocks]

    def place() -> Uint64s:
        number = words.bits(clocks, 32) * sums >> np.uint64(32)
        return (base + number * apart) % np.uint64(128)

    put = place()
    asked = np.where(words.once_in(clocks, 8), words.below(clocks, 128), place())

    dtype = habit(0, 1, 2, 3, 4, 4)
    dtype = np.where(dtype == 4, words.below(clocks, 4), dtype)
    rest = words.bits(clocks, 32)  # also what lies above a narrow element
    half = words.bits(clocks, 1) << np.uint64(15) | words.below(clocks, 20) << np.uint64(10)
    half |= rest >> np.uint64(22)
    element = np.where(dtype == 0, _near_one(words, clocks, 120, 134), rest)
    element = np.where(dtype == 1, (rest << np.uint64(16) & np.uint64(0xFFFF0000)) | half, element)

    def number(exponent_low: int, exponent_high: int) -> Uint64s:
        any_bits = np.where(words.once_in(clocks, 4), words.pick(clocks, SPECIALS), words.bits(clocks, 32))
        return np.where(odd, any_bits, _near_one(words, clocks, exponent_low, exponent_high))

    scale, bias, weight = number(114, 126), number(120, 130), number(120, 130)
    element = np.where(odd, words.bits(clocks, 32), element)
    weighted = often(habit(0, 8, 16))
    usual = [valid, element, dtype, scale, bias, weighted, weight, begins, put, reads, asked]
    aimed = np.repeat(words.once_in(stretches, 4), _STRETCH)[:clocks]
    valid, element, dtype, scale, bias, weighted, weight, begins, put, reads, asked = (
        np.where(aimed, column, other) for column, other in zip(_aimed(words, clocks), usual, strict=True)
    )
    operand = [valid, element, dtype, scale, bias, weighted, weight, begins, *_tag_and_group(put)]
    columns = [*operand, reads, *_tag_and_group(asked)]
    return np.column_stack([column.astype(np.uint64) for column in columns])


def _aimed(words: Words, clocks: int) -> list[Uint64s]:
    """Columns up to `first`, then the place of the operand, whether one is read, and its place."""
    rounds = -(-clocks // _ROUND)
    half = _ROUND // 2

    def both_halves(numbers: Uint64s) -> Uint64s:
        """Of four numbers a round, eight: the four, and the four again."""
        return np.tile(numbers.reshape(rounds, 1, half), (1, 2, 1)).reshape(-1)[:clocks]

    number = np.arange(rounds * half, dtype=np.uint64) % np.uint64(128)
    put = both_halves(number)
    aim = both_halves(words.below(rounds * half, 4))
    second = np.arange(clocks) % _ROUND >= half
    # of a sum, both halves hold the two operands of one pair; else each operand has a pair of its own
    a, b = operand_pairs(words, clocks)
    augend, addend = map(both_halves, operand_pairs(words, rounds * half))
    element = np.where(aim == _ADD, np.where(second, addend, augend), a)
    code = words.below(clocks, 256)
    code = np.where(words.once_in(clocks, 2), np.uint64(1), code)  # 1: scale and bias meet as they are
    above = words.bits(clocks, 16) << np.uint64(16)
    halves = np.where(words.once_in(clocks, 4), words.bits(clocks, 16), words.pick(clocks, SPECIAL_HALVES))
    element = np.where(aim == _BIAS, code, np.where(aim == _HALVES, above | halves, element))
    dtype = np.where(aim == _BIAS, np.uint64(2) + words.bits(clocks, 1), np.where(aim == _HALVES, 1, 0))
    weighted = (aim == _MULTIPLY) | (aim == _HALVES) & words.once_in(clocks, 4)
    first = ~(second & (aim == _ADD))
    always = np.ones(clocks, np.uint64)
    before = (put - np.uint64(_SEEN_AFTER // 2)) % np.uint64(128)
    return [always, element, dtype, a, b, weighted, b, first, put, always, before]
