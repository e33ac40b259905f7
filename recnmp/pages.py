"""A pseudo-random permutation of page numbers that needs no table of pages.

A Feistel network permutes the numbers of k bits, whatever its round function is; numbers beyond the last
page are walked on until they fall inside (cycle walking), so that any number of pages is permuted. All
arithmetic is on 64-bit integers: the same seed gives the same pages on every machine.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_ROUNDS = 4
_MASK = (1 << 64) - 1
# Odd multipliers of the splitmix64 finaliser (Steele, Lea, Flood 2014; recalled).
_GOLDEN, _MIX_1, _MIX_2 = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def splitmix(state: int) -> int:
    """One 64-bit word of splitmix64 for a 64-bit state."""
    word = (state + _GOLDEN) & _MASK
    word = ((word ^ (word >> 30)) * _MIX_1) & _MASK
    word = ((word ^ (word >> 27)) * _MIX_2) & _MASK
    return word ^ (word >> 31)


class PagePermutation:
    """A bijection of 0..pages-1 chosen by a seed.

    Args:
        pages: number of pages, at least 1.
        seed: chooses the permutation.
        stream: chooses among independent permutations of the same seed (a rank, for page colouring).
    """

    def __init__(self, pages: int, seed: int, stream: int = 0) -> None:
        self.pages = pages
        bits = max(2, (pages - 1).bit_length())
        self._low_bits = bits // 2
        self._high_bits = bits - self._low_bits
        state = splitmix(splitmix(seed & _MASK) ^ stream)
        keys = []
        for _ in range(_ROUNDS):
            state = splitmix(state)
            keys.append(np.uint64(state))
        self._keys = keys

    @property
    def network(self) -> tuple[int, int, int, list[int]]:
        """Pages, bits of the low and of the high half, and the keys of the rounds: as kernels want them."""
        return self.pages, self._low_bits, self._high_bits, [int(key) for key in self._keys]

    def __call__(self, logical: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Physical page int64 [n] of each logical page int64 [n] in 0..pages-1."""
        physical = self._permute(logical.astype(np.uint64))
        outside = np.flatnonzero(physical >= np.uint64(self.pages))
        while outside.size:
            walked = self._permute(physical[outside])
            physical[outside] = walked
            outside = outside[walked >= np.uint64(self.pages)]
        return physical.view(np.int64)

    def _permute(self, number: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        low_bits, high_bits = np.uint64(self._low_bits), np.uint64(self._high_bits)
        low = number & np.uint64((1 << self._low_bits) - 1)
        high = number >> low_bits
        for even, odd in zip(self._keys[::2], self._keys[1::2], strict=True):
            high ^= _scramble(low, even) >> (np.uint64(64) - high_bits)
            low ^= _scramble(high, odd) >> (np.uint64(64) - low_bits)
        high <<= low_bits
        high |= low
        return high


def _scramble(half: npt.NDArray[np.uint64], key: np.uint64) -> npt.NDArray[np.uint64]:
    word = half + key
    word *= np.uint64(_MIX_1)
    word ^= word >> np.uint64(32)
    word *= np.uint64(_MIX_2)
    return word
