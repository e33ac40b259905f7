"""Operands that provoke an FP32 unit: where it aligns, cancels, rounds, overflows, and what is special to it.

A stimulus is a function of random words, the number of its first clock and a number of clocks. It gives the inputs
of these clocks, uint64 [clocks, columns], columns in the order of the block's ports.
"""

from __future__ import annotations

import numpy as np

from .words import Uint64s, Words

_SIGN = np.uint64(1 << 31)
_FRACTION = np.uint64(0x7FFFFF)
_23 = np.uint64(23)
_BITS32 = np.uint64(0xFFFFFFFF)

# Magnitudes: zero, subnormals and their borders, half an ulp of one and its neighbours, one and its neighbours, the
# largest, infinity, and NaNs of all kinds.
_MAGNITUDES = (
    *(0x00000000, 0x00000001, 0x00000003, 0x00400000, 0x007FFFFE, 0x007FFFFF, 0x00800000, 0x00800001),
    *(0x01000000, 0x32800000, 0x33000000, 0x337FFFFF, 0x33800000, 0x33800001, 0x34000000, 0x3EFFFFFF),
    *(0x3F000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3FC00000, 0x4B7FFFFF, 0x4B800000, 0x7E800000),
    *(0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FBFFFFF, 0x7FC00000, 0x7FFFFFFF),
)
_PLAIN = (0x00000000, 0x80000000, 0x80000000, 0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000)
SPECIALS = np.array([sign | bits for sign in (0, 1 << 31) for bits in _MAGNITUDES], np.uint64)

# FP16: signed zeros, subnormals and their borders, one, the greatest exponents, infinity, NaNs of all kinds.
_HALF_MAGNITUDES = (
    *(0x0000, 0x0001, 0x0200, 0x03FF, 0x0400, 0x3BFF, 0x3C00, 0x5400, 0x5BFF, 0x7800),
    *(0x7BFF, 0x7C00, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7FFF),
)
SPECIAL_HALVES = np.array([sign | bits for sign in (0, 1 << 15) for bits in _HALF_MAGNITUDES], np.uint64)

_UNIFORM, _NEAR, _CANCEL, _SPECIAL, _ONE_SPECIAL, _SMALL, _TIES, _RANGE, _HUGE, _CARRIES, _INVERSE = range(11)
_LOW_BITS, _LONE_BIT = 11, 12
_PROFILES = 13


def _with_exponent(bits: Uint64s, exponent: np.ndarray) -> Uint64s:
    """The same sign and fraction; exponents outside 0 .. 255 are taken to the nearer end."""
    field = np.clip(exponent, 0, 255).astype(np.uint64)
    made: Uint64s = bits & (_SIGN | _FRACTION) | field << _23
    return made


def _exponent(bits: Uint64s) -> np.ndarray:
    return (bits >> _23 & np.uint64(255)).astype(np.int64)


def operand_pairs(words: Words, count: int) -> tuple[Uint64s, Uint64s]:
    """Two operands for each of `count` clocks, uint64 [count] each, every clock of a profile of its own."""
    a, b = words.bits(count, 32), words.bits(count, 32)
    profile = words.below(count, _PROFILES)

    def rows(number: int) -> np.ndarray:
        return np.flatnonzero(profile == number)

    at = rows(_NEAR)  # the shorter operand is shifted by 0 to 27 places
    b[at] = _with_exponent(b[at], _exponent(a[at]) + words.between(len(at), -27, 27))
    at = rows(_CANCEL)  # leading bits cancel
    b[at] = ((a[at] ^ _SIGN) + words.below(len(at), 9) - np.uint64(4)) & _BITS32
    at = rows(_SPECIAL)
    plain = words.once_in(len(at), 2)  # so that infinities and zeros meet often
    for operand in (a, b):
        operand[at] = np.where(plain, words.pick(len(at), _PLAIN), words.pick(len(at), SPECIALS))
    at = rows(_ONE_SPECIAL)
    some = words.once_in(len(at), 2)
    special = words.pick(len(at), SPECIALS)
    a[at], b[at] = np.where(some, special, a[at]), np.where(some, b[at], special)
    at = rows(_SMALL)  # subnormals with each other and with anything
    a[at] = _with_exponent(a[at], words.between(len(at), 0, 3) % 3)
    small = _with_exponent(b[at], words.between(len(at), 0, 25))
    b[at] = np.where(words.once_in(len(at), 2), small, b[at])
    at = rows(_TIES)  # few significant bits: results that end just at half a unit, or a bit beside it
    short = _FRACTION << words.below(len(at), 23) & _FRACTION
    b[at] = _with_exponent(b[at], _exponent(a[at]) - words.between(len(at), -1, 26))
    a[at] &= ~_FRACTION | short | words.once_in(len(at), 8)
    b[at] &= ~_FRACTION | _FRACTION << words.below(len(at), 24) & _FRACTION
    b[at] |= words.once_in(len(at), 4)
    # for products, 12 and 13 bits make 25
    near_one = _with_exponent(b[at], words.between(len(at), 120, 134))
    b[at] = np.where(words.once_in(len(at), 2), near_one, b[at])
    at = rows(_RANGE)  # products at the ends of the range
    low, high = words.between(len(at), -26, 3), words.between(len(at), 252, 257)
    end = np.where(words.once_in(len(at), 4), high, low)
    b[at] = _with_exponent(b[at], end - _exponent(a[at]) + 127)
    at = rows(_HUGE)  # sums too
    for operand in (a, b):
        operand[at] = _with_exponent(operand[at], words.between(len(at), 251, 254))
    at = rows(_CARRIES)  # runs of ones, which a rounding carries through
    ones = _FRACTION >> words.below(len(at), 24) ^ words.pick(len(at), (0, 1, 2, 0x400000))
    a[at] = a[at] & ~_FRACTION | ones
    b[at] = _with_exponent(b[at], _exponent(a[at]) - words.between(len(at), 0, 26))
    at = rows(_INVERSE)  # a product just below a power of two
    inverse = np.uint64(1 << 47) // (a[at] & _FRACTION | np.uint64(1 << 23))
    b[at] = b[at] & ~_FRACTION | inverse & _FRACTION
    at = rows(
        _LOW_BITS
    )  # products whose lowest 23 or 24 bits are given: half a unit, and one bit or none below it
    a[at] |= np.uint64(1)
    b[at] = _with_low_bits(words, a[at], b[at])
    at = rows(_LONE_BIT)  # sums: half a unit of the greater operand, and one bit or none below it
    distance = words.between(len(at), 0, 27)
    half = np.clip(distance - words.between(len(at), 0, 2), 0, 24).astype(np.uint64)
    lone = np.uint64(1) << words.below(len(at), 24)
    lone = np.where(words.once_in(len(at), 4), np.uint64(0), lone & ((np.uint64(1) << half) - np.uint64(1)))
    a[at] |= np.where(words.once_in(len(at), 4), _FRACTION, np.uint64(0))
    b[at] = _with_exponent(b[at], _exponent(a[at]) - distance)
    b[at] = b[at] & ~_FRACTION | (np.uint64(1) << half | lone) & _FRACTION
    return a, b


def _with_low_bits(words: Words, a: Uint64s, b: Uint64s) -> Uint64s:
    """b with such a fraction that the significands' product ends in half a unit and at most one bit below it."""
    guard = np.uint64(22) + words.bits(len(a), 1)
    below = np.uint64(1) << words.below(len(a), 23)
    below = np.where(words.once_in(len(a), 8), np.uint64(0), below & ((np.uint64(1) << guard) - np.uint64(1)))
    significand: Uint64s = a & _FRACTION | np.uint64(1 << 23)
    inverse: Uint64s = significand.copy()  # modulo 8; each step doubles its bits
    for _ in range(4):
        inverse = inverse * (np.uint64(2) - significand * inverse)
    # the hidden bit of b adds 2^23, since a is odd: the parity of the last place, which the sticky bit meets both ways
    fraction = (np.uint64(1) << guard | below) * inverse & _FRACTION
    near_one = _with_exponent(b, words.between(len(a), 120, 134))
    made: Uint64s = np.where(words.once_in(len(a), 2), near_one, b) & ~_FRACTION | fraction
    return made


def two_operands(words: Words, first: int, clocks: int) -> Uint64s:
    """Columns a, b."""
    return np.column_stack(operand_pairs(words, clocks))


def halves(words: Words, first: int, clocks: int) -> Uint64s:
    """Column half: in the first 65,536 clocks every one of them, in order; then random."""
    counted = np.arange(first, first + clocks, dtype=np.uint64)
    random = words.bits(clocks, 16)
    return np.where(counted < 1 << 16, counted, random)[:, None]


def quantised(words: Words, first: int, clocks: int) -> Uint64s:
    """Columns element, dtype, scale, bias; every second bias nearly cancels what an integer element is scaled to."""
    element, _ = operand_pairs(words, clocks)
    scale, bias = operand_pairs(words, clocks)
    dtype = words.below(clocks, 4)
    levels = np.where(dtype == 2, 255, 15).astype(np.uint64)
    with np.errstate(all="ignore"):
        scaled = scale.astype(np.uint32).view(np.float32) * (element & levels).astype(np.float32)
    beside = words.below(clocks, 5) - np.uint64(2)
    cancelling = ((scaled.view(np.uint32).astype(np.uint64) ^ _SIGN) + beside) & _BITS32
    bias = np.where(words.once_in(clocks, 2), cancelling, bias)
    return np.column_stack([element, dtype, scale, bias])
