"""The host baseline: every lookup is read over the channel, 64 bytes a read, in trace order (design D14)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from .config.system import SystemConfig
from .placement import Lines, Placement
from .workload import Batch, Table

Int64s = npt.NDArray[np.int64]
_DEVICE_COLUMNS = 8  # device columns of a burst
_PLACE = ("channel", "rank", "bankgroup", "bank", "row", "column")


def line_reads(batch: Batch, order: str, placement: Placement) -> dict[str, Int64s]:
    """All 64-byte reads of a batch in execution order.

    Args:
        batch: the lookups.
        order: "table" or "sample", see `Batch.bags`.
        placement: where the tables are.

    Returns:
        channel, rank, bankgroup, bank, row, column (in bursts) -> int64 [lines].
    """
    size = batch.batch_size
    lines: list[Lines] = []
    for table in range(batch.n_tables):
        first, last = batch.offsets[table * size], batch.offsets[(table + 1) * size]
        lines.append(placement.locate(table, batch.indices[first:last]))
    places = {
        name: np.concatenate([getattr(part, name) for part in lines] or [np.zeros(0, np.int64)])
        for name in _PLACE
    }
    if order == "table" or not lines:
        return places
    counts = np.concatenate([np.bincount(part.vector, minlength=part.byte_offset.size) for part in lines])
    bags = batch.bags(order)
    lookups = _ranges(bags.start, bags.end - bags.start)
    first_line = np.cumsum(counts) - counts
    moved = _ranges(first_line[lookups], counts[lookups])
    return {name: column[moved] for name, column in places.items()}


def _ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """The numbers starts[0], starts[0]+1, ... (lengths[0] of them), then those of starts[1], ..."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
