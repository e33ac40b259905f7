"""Random words that are the same on every machine: raw PCG64 words and integer arithmetic.

NumPy keeps raw words and SeedSequence stable for ever; its other draws it does not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# imported here and not by name below: NumPy loads it late, and a Ctrl-C while its C modules load is lost in them
from numpy.random import PCG64, SeedSequence

Uint64s = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]

_32 = np.uint64(32)


class Words:
    """The stream of random words that belongs to a seed and a path of small numbers."""

    def __init__(self, seed: int, *path: int) -> None:
        self._source = PCG64(SeedSequence((seed, *path)))

    def bits(self, count: int, width: int = 64) -> Uint64s:
        """uint64 [count], each of so many random bits."""
        return self._source.random_raw(count) >> np.uint64(64 - width)

    def below(self, count: int, bound: int) -> Uint64s:
        """uint64 [count] in 0 .. bound-1, bound at most 2^32."""
        return self.bits(count, 32) * np.uint64(bound) >> _32

    def between(self, count: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """int64 [count] in low .. high, both included."""
        return self.below(count, high - low + 1).astype(np.int64) + low

    def pick(self, count: int, options: Sequence[int] | Uint64s) -> Uint64s:
        """uint64 [count], each one of the options."""
        return np.asarray(options, np.uint64)[self.below(count, len(options))]

    def once_in(self, count: int, times: int) -> Bools:
        """bool [count], each true with probability 1 / times."""
        hits: Bools = self.below(count, times) == 0
        return hits
