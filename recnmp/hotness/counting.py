"""Counting the accesses to each entry of a batch: by the host, or by the sketch beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ..config.units import Nmp
from ..errors import RecnmpError
from ..kernels.exact_counts import ExactCounts
from ..kernels.hot_profiler import HotProfiler
from ..workload import Batch, Table

Int64s = npt.NDArray[np.int64]

ROW_BITS, TABLE_BITS = 44, 20  # of the sketch's key
PASSES = 2  # through the indices: count, then look up
_ENTRY_BYTES = 16  # a row and its count, where counts are exact


class Counting(Protocol):
    """Counts the accesses to each entry in a batch; tables of a batch are asked for in order, each once."""

    clocks: int
    """Clocks of hardware; 0 where the host counts."""
    most_bytes: int
    """The counting structure, at its largest."""

    def of(self, batch: Batch, table: int) -> Int64s:
        """int64 [lookups of the table]: what is taken for the accesses to the entry of each."""


def counting(units: Nmp) -> Counting:
    """What counts in a system whose hot_entries are not "all"."""
    return Sketch(units) if units.hot_entries == "sketch" else Exact()


class Exact:
    """Counts without error, a table of a batch at a time."""

    def __init__(self) -> None:
        self._counts = ExactCounts()
        self.clocks = self.most_bytes = 0

    def of(self, batch: Batch, table: int) -> Int64s:
        """Of `Counting`."""
        counts = self._counts.of(rows_of(batch, table))
        self.most_bytes = max(self.most_bytes, _ENTRY_BYTES * self._counts.distinct)
        return counts


class Sketch:
    """The sketch of docs/microarchitecture.md, section 8."""

    def __init__(self, units: Nmp) -> None:
        self._sketch = HotProfiler(units.sketch_rows, units.sketch_counters, units.sketch_counter_bits)
        self._whole = units.sketch_clear == "batch"
        self._counted: Batch | None = None  # what the sketch holds, where it counts whole batches
        self._counters = units.sketch_counters
        self.most_bytes = units.sketch_rows * units.sketch_counters * units.sketch_counter_bits // 8
        self.clocks = 0

    def of(self, batch: Batch, table: int) -> Int64s:
        """Of `Counting`."""
        keys = keys_of(batch, table)
        if not self._whole:
            self._clear(len(keys))
            self._sketch.count(keys)
        elif self._counted is not batch:
            self._counted = batch
            self._clear(batch.lookups)
            for other in range(batch.n_tables):
                self._sketch.count(keys_of(batch, other))
        return self._sketch.ask(keys)

    def _clear(self, lookups: int) -> None:
        """Clear for so many lookups, if any, and note the clocks until the last of them is asked for."""
        if lookups:
            self._sketch.clear()
            self.clocks += 1 + self._counters + PASSES * lookups


def rows_of(batch: Batch, table: int) -> Int64s:
    """The rows that a batch looks up in a table, in stored order."""
    size = batch.batch_size
    first, last = batch.offsets[[table * size, (table + 1) * size]]
    return batch.indices[first:last]


def keys_of(batch: Batch, table: int) -> npt.NDArray[np.uint64]:
    """The sketch's keys of a table's lookups, uint64."""
    return rows_of(batch, table).astype(np.uint64) | np.uint64(table << ROW_BITS)


def check_keys(tables: Sequence[Table]) -> None:
    """Raise RecnmpError if entries of the tables have no key of the sketch."""
    if len(tables) > 1 << TABLE_BITS:
        raise RecnmpError(
            f"nmp.hot_entries = 'sketch': {len(tables)} tables, a key tells at most {1 << TABLE_BITS} apart"
        )
    for table in tables:
        if table.rows > 1 << ROW_BITS:
            raise RecnmpError(
                f"nmp.hot_entries = 'sketch': table '{table.name}' has {table.rows} rows, a key tells at most "
                f"{1 << ROW_BITS} apart"
            )
