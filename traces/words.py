"""Randomness that is the same on every machine, in any chunking: raw PCG64 words and integer arithmetic.

NumPy keeps raw words and SeedSequence stable for ever; its floating-point draws it does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]

_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)


def source(seed: int, *path: int) -> np.random.PCG64:
    """The stream of raw words that belongs to a seed and a path of small numbers (purpose, table)."""
    return np.random.PCG64(np.random.SeedSequence((seed, *path)))


def scaled(words: Words, bound: int | Int64) -> Int64:
    """floor(word * bound / 2^64): whole numbers 0..bound-1, bound (one, or one a word) up to 2^63; exact."""
    high, low = words >> _32, words & _LOW
    limit = np.asarray(bound, dtype=np.uint64)
    limit_high, limit_low = limit >> _32, limit & _LOW
    first = high * limit_low + (low * limit_low >> _32)
    second = low * limit_high + (first & _LOW)
    product: Words = high * limit_high + (first >> _32) + (second >> _32)
    return product.astype(np.int64)


def mixed(words: Words) -> Words:
    """A bijection of 64-bit words; every input bit moves every output bit (SplitMix64's finaliser)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
