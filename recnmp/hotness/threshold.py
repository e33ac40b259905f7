"""How many accesses make an entry hot: each threshold is tried on each table alone (design D16)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ..config.system import BURST_BYTES, SystemConfig
from ..kernels.cache_sets import CacheSets
from ..kernels.hot_trial import assume, trial_hits
from ..placement import Lines, Placement
from ..progress import Progress
from ..workload import Workload
from .counting import counting, rows_of

Int64s = npt.NDArray[np.int64]

THRESHOLDS = (1, 2, 3, 4, 6, 8, 12, 16)  # 1 means all
MOST_BYTES = 256 << 20  # of all caches that are tried in one pass through the trace
_LINE_BYTES = 9  # of a line in a cache that is tried: its number and its age
_PIECE = 1 << 17  # lookups that are placed at a time


def choose_thresholds(
    config: SystemConfig, placement: Placement, workload: Workload, progress: Progress | None = None
) -> Int64s:
    """The threshold of each table, int64 [1, tables], or with hot_scope "batch" of each batch, [batches, tables].

    A table is tried alone, cold, through the RankCaches of its ranks, without time: most hits win, a tie takes the
    smaller. Per batch, each batch starts with the caches as the threshold before has left them. Tables are tried in
    groups whose caches stay below MOST_BYTES, each in a pass of its own through the trace.

    progress: told of as many lookups as the trace has, over all passes.
    """
    units = config.units
    tried = [t for t in THRESHOLDS if units.hot_entries != "sketch" or t <= units.most_counted]
    by_batch = units.hot_scope == "batch"
    # what has no lookups has nothing to choose: a tie, which the smallest wins
    chosen = np.full((workload.n_batches if by_batch else 1, len(workload.tables)), tried[0], np.int64)
    for group in groups(config, len(workload.tables), len(tried)):
        counts_of = counting(units)
        trials = {table: Trial(config, tried) for table in group}
        for batch in workload.batches():
            for table in group if batch.n_tables else ():
                rows, counts, trial = rows_of(batch, table), counts_of.of(batch, table), trials[table]
                trial.start_batch()
                for first in range(0, len(rows), _PIECE):
                    piece = slice(first, first + _PIECE)
                    trial.access(placement.locate(table, rows[piece]), counts[piece])
                    if progress is not None:
                        progress(len(rows[piece]))
                if by_batch:
                    chosen[batch.index, table] = trial.settle()
        if not by_batch:
            chosen[0, group.start : group.stop] = [trial.best() for trial in trials.values()]
    return chosen


def groups(config: SystemConfig, tables: int, tried: int) -> Iterator[range]:
    """Numbers of tables that are tried together: as many as memory allows, at least one."""
    ranks = config.memory.channels * config.memory.ranks
    each = tried * ranks * config.units.rank_cache_bytes // BURST_BYTES * _LINE_BYTES
    together = max(1, MOST_BYTES // each)
    for first in range(0, tables, together):
        yield range(first, min(first + together, tables))


class Trial:
    """One table, all thresholds: for each the caches of all ranks of all channels, and their `hits`."""

    def __init__(self, config: SystemConfig, tried: Sequence[int]) -> None:
        units, devices = config.units, config.dram.devices()
        sets = units.rank_cache_bytes // (BURST_BYTES * units.rank_cache_ways)
        self._ranks = config.memory.ranks
        self._caches = [
            [
                CacheSets(sets, units.rank_cache_ways, units.rank_cache_policy)
                for _ in range(config.memory.channels * self._ranks)
            ]
            for _ in tried
        ]
        self._tried = tried
        self.hits = [0] * len(tried)
        self._flushed = units.rank_cache_flush == "batch"
        self._shape = devices.banks, devices.rows, devices.bursts_per_row

    def start_batch(self) -> None:
        """Empty the caches, if RankCaches are emptied before each batch."""
        if self._flushed:
            for caches in self._caches:
                for cache in caches:
                    cache.empty()

    def access(self, lines: Lines, counts: Int64s) -> None:
        """Some lookups: their lines in order, and the accesses to the entry of each lookup."""
        banks, rows, columns = self._shape
        place = ((lines.bankgroup * banks + lines.bank) * rows + lines.row) * columns + lines.column
        rank = (lines.channel * self._ranks + lines.rank).astype(np.uint16)
        # ranks know nothing of each other: the lines of each at a time, in order
        order = np.argsort(rank, kind="stable")
        first = np.searchsorted(rank[order], np.arange(len(self._caches[0]) + 1))
        place, count = place[order], counts[lines.vector][order]
        for number, (threshold, caches) in enumerate(zip(self._tried, self._caches, strict=True)):
            for at, cache in enumerate(caches):
                self.hits[number] += trial_hits(cache, place, count, threshold, first[at], first[at + 1])

    def best(self) -> int:
        """The threshold with most hits, the smallest of several."""
        return self._tried[self.hits.index(max(self.hits))]

    def settle(self) -> int:
        """The best threshold; from now on all go on from its caches, and count hits anew."""
        best = self.hits.index(max(self.hits))
        for caches in self._caches:
            for cache, kept in zip(caches, self._caches[best], strict=True):
                assume(cache, kept)
        self.hits = [0] * len(self._tried)
        return self._tried[best]
