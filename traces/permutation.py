"""A random permutation of 0..n-1 that needs no memory: any of its values can be asked for alone."""

from __future__ import annotations

from math import isqrt

import numpy as np

from .words import Int64, mixed, source

ROUNDS = 6
_BLOCK = 1 << 14  # values worked on at once, to stay in the processor's cache


class Permutation:
    """A keyed permutation of 0..n-1, n up to 2^62: a Feistel network over a rectangle of at least n cells.

    Values that leave 0..n-1 are sent round again (cycle walking); the rectangle has hardly more than n cells.
    """

    def __init__(self, n: int, seed: int, *path: int) -> None:
        self.n = n
        self.width = isqrt(max(n - 1, 0)) + 1
        self.height = -(-max(n, 1) // self.width)
        self.keys = source(seed, *path).random_raw(ROUNDS)

    def __call__(self, values: Int64) -> Int64:
        """Images of an int64 array of values in 0..n-1."""
        images = np.empty_like(values)
        for start in range(0, len(values), _BLOCK):
            block = self._once(values[start : start + _BLOCK])
            outside = np.flatnonzero(block >= self.n)
            while len(outside):
                block[outside] = self._once(block[outside])
                outside = outside[block[outside] >= self.n]
            images[start : start + _BLOCK] = block
        return images

    def _once(self, values: Int64) -> Int64:
        words = values.astype(np.uint64)
        height = np.uint64(self.height)
        left = words // height
        right = words - left * height
        sides = np.uint64(self.width), height
        for number, key in enumerate(self.keys):
            side = sides[number & 1]
            # a number below `side`, from the other half
            step = ((mixed(right + key) >> np.uint64(32)) * side) >> np.uint64(32)
            moved = left + step
            moved -= np.where(moved >= side, side, np.uint64(0))
            left, right = right, moved
        # an even number of rounds: the halves are back in their places
        return (left * height + right).astype(np.int64)
