"""Lookups in memory: a batch, and the pieces in which traces larger than memory pass by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Float32 = npt.NDArray[np.float32]

# A piece (and a row group of a file) holds at most this many lookups, unless a single bag has more ...
PIECE_LOOKUPS = 2_000_000
# ... and this many bags, so that a trace of empty bags streams too.
PIECE_BAGS = 2_000_000


class Bags(NamedTuple):
    """Poolings in the order in which they are executed; four int64 arrays of one length."""

    table: Int64
    sample: Int64
    start: Int64
    end: Int64


@dataclass(frozen=True, eq=False)
class Batch:
    """One batch in table-major form.

    index: its number, from 0. batch_size: samples B. indices: int64 [N]. offsets: int64 [T*B+1], from 0 to N.
    weights: float32 [N], or None. Bag (t, b) is indices[offsets[t*B+b] : offsets[t*B+b+1]].
    The arrays may be read-only.
    """

    index: int
    batch_size: int
    indices: Int64
    offsets: Int64
    weights: Float32 | None = None

    @property
    def n_tables(self) -> int:
        """Tables T; 0 for a batch of no samples, whose offsets do not tell."""
        return (len(self.offsets) - 1) // self.batch_size if self.batch_size else 0

    @property
    def lookups(self) -> int:
        """Lookups N."""
        return len(self.indices)

    def bags(self, order: str) -> Bags:
        """All T*B poolings, empty ones included, in execution order.

        order: "table" (all samples of table 0, then table 1, ...) or "sample" (all tables of sample 0, ...).
        """
        count = len(self.offsets) - 1
        bag = np.arange(count, dtype=np.int64)
        if order == "sample" and count:
            bag = np.ascontiguousarray(bag.reshape(self.n_tables, self.batch_size).T).reshape(-1)
        elif order not in ("table", "sample"):
            raise ValueError(f'order is "table" or "sample", not {order!r}')
        table, sample = np.divmod(bag, max(self.batch_size, 1))
        return Bags(table, sample, self.offsets[bag], self.offsets[bag + 1])


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive bags of one batch, numbered t*B+b.

    batch, batch_size: of the batch they belong to. first_bag: number of the first. lengths: int64 [bags].
    indices: int64 [sum(lengths)]. weights: float32, same length, or None.
    A batch of no samples is one piece of no bags.
    """

    batch: int
    batch_size: int
    first_bag: int
    lengths: Int64
    indices: Int64
    weights: Float32 | None = None


def pieces_of(batch: Batch, lookups: int = PIECE_LOOKUPS, bags: int = PIECE_BAGS) -> Iterator[Piece]:
    """Cut a batch into pieces of at most so many lookups and bags (a longer bag is a piece of its own)."""
    count = len(batch.offsets) - 1
    first = 0
    while first < count or first == 0:
        reach = int(np.searchsorted(batch.offsets, batch.offsets[first] + lookups, side="right")) - 1
        last = max(min(reach, first + bags, count), min(first + 1, count))
        low, high = int(batch.offsets[first]), int(batch.offsets[last])
        weights = None if batch.weights is None else batch.weights[low:high]
        lengths = np.diff(batch.offsets[first : last + 1])
        yield Piece(batch.index, batch.batch_size, first, lengths, batch.indices[low:high], weights)
        if last == count:
            return
        first = last


def join(pieces: Iterable[Piece]) -> Iterator[Batch]:
    """Batches from pieces in stored order; nothing is copied where a batch is one piece."""
    waiting: list[Piece] = []
    for piece in pieces:
        if waiting and piece.batch != waiting[0].batch:
            yield _joined(waiting)
            waiting = []
        waiting.append(piece)
    if waiting:
        yield _joined(waiting)


def _joined(pieces: list[Piece]) -> Batch:
    first = pieces[0]
    lengths, indices, weights = first.lengths, first.indices, first.weights
    if len(pieces) > 1:
        lengths = np.concatenate([piece.lengths for piece in pieces])
        indices = np.concatenate([piece.indices for piece in pieces])
        if weights is not None:
            weights = np.concatenate([piece.weights for piece in pieces if piece.weights is not None])
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return Batch(first.batch, first.batch_size, indices, offsets, weights)
