"""How often each row is looked up: counts, the published bins of reuse, hot rows, duplicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from ..workload import Piece, Workload
from ..workload.workload import watched

Int64 = npt.NDArray[np.int64]
Progress = Callable[[int], object] | None

# bins of the reuse factor (accesses a row), as Meta publishes them: (0,1], (1,2], (2,4] ... (32768,inf)
BIN_EDGES = (0, *(2**k for k in range(16)))
_MERGE_AT = 1 << 22  # lookups held before they are merged into the counts


class RowCounts:
    """How often each row was looked up: for each table `ids[t]`, rising, and `counts[t]`, both int64.

    Memory grows with the rows touched, not with the lookups counted.
    """

    def __init__(self, n_tables: int) -> None:
        nothing = np.zeros(0, dtype=np.int64)
        self.ids: list[Int64] = [nothing] * n_tables
        self.counts: list[Int64] = [nothing] * n_tables
        self._held: list[list[Int64]] = [[] for _ in range(n_tables)]
        self._size = 0

    def add(self, piece: Piece) -> None:
        """Count a piece's lookups."""
        for table, ids in by_table(piece):
            self._held[table].append(ids)
        self._size += len(piece.indices)
        if self._size >= _MERGE_AT:
            self.merge()

    def merge(self) -> None:
        """Bring `ids` and `counts` up to date."""
        for table, held in enumerate(self._held):
            if held:
                fresh, counts = np.unique(np.concatenate(held), return_counts=True)
                self._join(table, fresh, counts.astype(np.int64))
                held.clear()
        self._size = 0

    def _join(self, table: int, fresh: Int64, counts: Int64) -> None:
        if not len(self.ids[table]):
            self.ids[table], self.counts[table] = fresh, counts
            return
        ids = np.concatenate([self.ids[table], fresh])
        order = np.argsort(ids, kind="stable")
        ids = ids[order]
        starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
        self.ids[table] = ids[starts]
        self.counts[table] = np.add.reduceat(np.concatenate([self.counts[table], counts])[order], starts)

    @property
    def touched(self) -> int:
        """Rows looked up at least once, in all tables."""
        return sum(map(len, self.ids))


def by_table(piece: Piece) -> Iterator[tuple[int, Int64]]:
    """(table, its ids) of each table that a piece touches."""
    ends = np.concatenate([[0], np.cumsum(piece.lengths)])
    bag, last = piece.first_bag, piece.first_bag + len(piece.lengths)
    while bag < last:
        table = bag // piece.batch_size
        following = min((table + 1) * piece.batch_size, last)
        low, high = ends[bag - piece.first_bag], ends[following - piece.first_bag]
        if high > low:
            yield table, piece.indices[low:high]
        bag = following


def count_rows(workload: Workload, progress: Progress = None) -> RowCounts:
    """Go once through the trace and count."""
    counts = RowCounts(len(workload.tables))
    for piece in watched(workload.pieces(), progress):
        counts.add(piece)
    counts.merge()
    return counts


def reuse_histogram(counts: RowCounts) -> tuple[Int64, Int64]:
    """Rows, and their lookups, in each of the 17 bins of the reuse factor; two int64 arrays [17]."""
    rows = np.zeros(len(BIN_EDGES), dtype=np.int64)
    lookups = np.zeros(len(BIN_EDGES), dtype=np.int64)
    for own in counts.counts:
        bins = np.searchsorted(BIN_EDGES, own, side="left") - 1
        rows += np.bincount(bins, minlength=len(BIN_EDGES))
        np.add.at(lookups, bins, own)
    return rows, lookups


def hot_share(counts: RowCounts, fraction: float) -> float | None:
    """Share of all lookups that the most popular `fraction` of the rows touched get; None of nothing."""
    if not counts.touched:
        return None
    ordered = np.sort(np.concatenate(counts.counts))[::-1]
    hottest = max(round(fraction * len(ordered)), 1)
    return float(ordered[:hottest].sum() / ordered.sum())


def duplicates(piece: Piece) -> int:
    """Lookups of a piece whose row their bag had already looked up."""
    bag = np.repeat(np.arange(len(piece.lengths)), piece.lengths)
    widest = int(piece.indices.max(initial=0)) + 1
    if widest * max(len(piece.lengths), 1) < 2**63:
        keys = np.sort(bag * widest + piece.indices)
        return int(np.count_nonzero(keys[1:] == keys[:-1]))
    order = np.lexsort((piece.indices, bag))
    same = (bag[order][1:] == bag[order][:-1]) & (piece.indices[order][1:] == piece.indices[order][:-1])
    return int(np.count_nonzero(same))
