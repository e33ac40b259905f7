"""FP32 words that have gone wrong in other units, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

QUIET_NAN = np.uint32(0x7FC00000)
Words = np.ndarray

POSITIVE = [
    0x00000000,  # zero, and subnormals
    0x00000001,
    0x00000002,
    0x00000003,
    0x00001000,
    0x00200000,
    0x003FFFFF,
    0x00400000,
    0x00400001,
    0x00555555,
    0x007FFFFE,
    0x007FFFFF,
    0x00800000,  # the least normal numbers
    0x00800001,
    0x00FFFFFF,
    0x01000000,
    0x0C000000,  # 2^-103: products with it meet the least exponent
    0x1F800000,  # 2^-64
    0x20000000,
    0x32FFFFFF,  # near 2^-25, 2^-24, 2^-23: halves and wholes of the last place of 1
    0x33000000,
    0x33000001,
    0x337FFFFF,
    0x33800000,
    0x33800001,
    0x33FFFFFF,
    0x34000000,
    0x34000001,
    0x34800000,
    0x3F000000,  # near 1
    0x3F7FFFFF,
    0x3F800000,
    0x3F800001,
    0x3F800002,
    0x3FC00000,
    0x3FFFFFFF,
    0x40000000,
    0x40490FDB,
    0x4B000000,  # near 2^23, 2^24, 2^25
    0x4B000001,
    0x4B7FFFFF,
    0x4B800000,
    0x4B800001,
    0x4C000000,
    0x5F800000,
    0x72000000,
    0x73000000,  # halves of the last place of the greatest numbers
    0x737FFFFF,
    0x7E7FFFFF,
    0x7EFFFFFF,
    0x7F000000,
    0x7F7FFFFE,
    0x7F7FFFFF,
    0x7F800000,  # infinity, and NaNs: signalling, quiet, with payload
    0x7F800001,
    0x7FA00000,
    0x7FBFFFFF,
    0x7FC00000,
    0x7FC12345,
    0x7FFFFFFF,
]
SPECIAL = np.array(POSITIVE + [word | 1 << 31 for word in POSITIVE], np.uint32)


def applied(operation: Callable[..., np.ndarray], *words: Words) -> Words:
    """NumPy's float32 result as words, any NaN as the canonical one."""
    with np.errstate(all="ignore"):
        made = operation(*(np.ascontiguousarray(word, np.uint32).view(np.float32) for word in words))
    return np.where(np.isnan(made), QUIET_NAN, made.view(np.uint32))


def pairs(words: Words) -> tuple[Words, Words]:
    """Every word with every word."""
    a, b = np.meshgrid(words, words)
    return a.ravel(), b.ravel()


def packed(sign: np.ndarray, exponent: np.ndarray, fraction: np.ndarray) -> Words:
    word = (
        np.asarray(sign, np.int64) << 31
        | np.asarray(exponent, np.int64) << 23
        | np.asarray(fraction, np.int64)
    )
    return word.astype(np.uint32)


def difference(got: Words, wanted: Words, *operands: Words) -> str | None:
    """The first mismatch, in words."""
    wrong = np.flatnonzero(got != wanted)
    if not len(wrong):
        return None
    here = wrong[0]
    shown = ", ".join(f"{int(operand[here]):08x}" for operand in operands)
    return f"{shown}: {int(got[here]):08x}, not {int(wanted[here]):08x} ({len(wrong)} of {len(got)} wrong)"
