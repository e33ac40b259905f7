"""The locality bits of a run whose RankCaches are for hot entries, and what they cost."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..config.system import SystemConfig
from ..placement import Placement
from ..progress import Progress
from ..workload import Batch, Table, Workload
from .counting import PASSES, Int64s, check_keys, counting
from .threshold import choose_thresholds

Bools = npt.NDArray[np.bool_]

_INDEX_BYTES = 8


class HotEntries:
    """The Locality (recnmp.host) of a near-memory system whose hot_entries are not "all".

    config: the system. tables, placement: what is looked up, and where it lies.
    Raises RecnmpError for tables whose entries have no key of the sketch.
    """

    def __init__(self, config: SystemConfig, tables: Sequence[Table], placement: Placement) -> None:
        units = config.units
        if units.hot_entries == "sketch":
            check_keys(tables)
        self._config, self._tables, self._placement = config, tables, placement
        self._by_batch = units.hot_scope == "batch"
        self._thresholds: Int64s | None = None  # [1 or batches, tables]
        if units.hot_threshold != "auto":
            self._thresholds = np.full((1, len(tables)), units.hot_threshold, np.int64)
        self._choosing_s = 0.0
        self.reset()

    @property
    def looks_ahead(self) -> bool:
        """Must `choose` go through the trace before the first batch?"""
        return self._config.units.hot_threshold == "auto"

    def choose(self, workload: Workload, progress: Progress | None = None) -> None:
        """Choose the thresholds over a trace (D16). progress: told of as many lookups as it has."""
        began = time.perf_counter()
        self._thresholds = choose_thresholds(self._config, self._placement, workload, progress)
        self._choosing_s += time.perf_counter() - began

    def bits(self, batch: Batch, table: int) -> Bools:
        """The locality bits of a table's lookups, bool [lookups]; tables of a batch in order, each once.

        Raises RuntimeError if thresholds are to be chosen and are not.
        """
        if self._thresholds is None:
            raise RuntimeError(
                "nmp.hot_threshold = 'auto': thresholds are chosen over a trace, before it runs"
            )
        began = time.perf_counter()
        threshold = self._thresholds[batch.index if self._by_batch else 0, table]
        bits: Bools = self._counting.of(batch, table) >= threshold
        self._counting_s += time.perf_counter() - began
        self._lookups += len(bits)
        self._hot += int(np.count_nonzero(bits))
        return bits

    def reset(self) -> None:
        """Forget what was counted; thresholds stay."""
        self._counting = counting(self._config.units)
        self._lookups = self._hot = 0
        self._counting_s = 0.0

    def report(self) -> dict[str, Any]:
        """What was profiled since the last reset, and with which thresholds: docs/measures.md says each."""
        sketched = self._config.units.hot_entries == "sketch"
        return {
            "method": self._config.units.hot_entries,
            "thresholds": self._thresholds_by_table(),
            "lookups": self._lookups,
            "hot_lookups": self._hot,
            "hot_share": self._hot / self._lookups if self._lookups else None,
            "index_bytes": PASSES * _INDEX_BYTES * self._lookups,
            "counting_bytes": self._counting.most_bytes,
            "sketch_clocks": self._counting.clocks if sketched else None,
        }

    def seconds(self) -> dict[str, float]:
        """Seconds of this machine: counting since the last reset, and choosing thresholds."""
        return {"counting": self._counting_s, "choosing": self._choosing_s}

    def _thresholds_by_table(self) -> dict[str, int | list[int]]:
        """A table's name -> its threshold, or with hot_scope "batch" those of all batches."""
        if self._thresholds is None:
            return {}
        columns = [column.tolist() for column in self._thresholds.T]
        return {
            table.name: column if self._by_batch else column[0]
            for table, column in zip(self._tables, columns, strict=True)
        }
