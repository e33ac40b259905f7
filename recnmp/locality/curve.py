"""How often a cache of any size would hit: the exact LRU hit curve, real against shuffled.

Sizes are in bytes of 64-byte lines: a row fills ceil(row bytes / 64) of them, and a lookup hits if all of its
row's lines do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from ..kernels.locality import LruStack, shuffle
from ..workload import Piece, Workload
from .reuse import Int64, Progress, RowCounts, by_table

LINE_BYTES = 64
CACHE_SIZES = tuple(2**k for k in range(13, 27))  # 8 KiB .. 64 MiB
_DIRECT_ROWS = 1 << 27  # rows of all tables up to which row numbers are mapped by an array
_STRETCH = 1 << 20
_SHUFFLE_SEED = 1


@dataclass(frozen=True, eq=False)
class HitCurve:
    """Lookups that hit in one fully associative LRU cache, cold at first, at each size.

    cache_bytes: rising. hits: of the trace as executed; shuffled: of the same lookups in random order, or
    None.
    """

    cache_bytes: tuple[int, ...]
    hits: tuple[int, ...]
    shuffled: tuple[int, ...] | None


def hit_curve(
    workload: Workload,
    counts: RowCounts,
    cache_bytes: Sequence[int] = CACHE_SIZES,
    shuffled: bool = True,
    progress: Progress = None,
) -> HitCurve:
    """The exact LRU hit curve at any sizes, from one pass (Mattson); a second one for the shuffled trace.

    counts: of this workload. The shuffle is the same on every machine; it holds 8 bytes a lookup in memory.
    """
    sizes = tuple(sorted(set(cache_bytes)))
    capacities = np.array(sizes, dtype=np.int64) // LINE_BYTES
    lines = _lines(workload, counts, capacities)
    hits = np.zeros(len(sizes), dtype=np.int64)
    stack = LruStack(lines)
    kept = np.empty(workload.lookups if shuffled else 0, dtype=np.int64)
    done = 0
    for rows in _numbered(workload, counts):
        stack.access(rows, capacities, hits)
        if shuffled:
            kept[done : done + len(rows)] = rows
        done += len(rows)
        if progress is not None:
            progress(len(rows))
    real = tuple(int(n) for n in np.cumsum(hits))
    if not shuffled:
        return HitCurve(sizes, real, None)
    del stack  # as large as the next one
    words = np.random.PCG64(_SHUFFLE_SEED)
    for done in range(0, len(kept), _STRETCH):
        shuffle(kept, words.random_raw(min(_STRETCH, len(kept) - done)), done)
    hits[:] = 0
    stack = LruStack(lines)
    for done in range(0, len(kept), _STRETCH):
        stack.access(kept[done : done + _STRETCH], capacities, hits)
        if progress is not None:
            progress(min(_STRETCH, len(kept) - done))
    return HitCurve(sizes, real, tuple(int(n) for n in np.cumsum(hits)))


def _lines(workload: Workload, counts: RowCounts, capacities: Int64) -> Int64:
    """Lines that each row touched fills. A row larger than every cache never hits: one line more will do."""
    most = int(capacities.max(initial=0)) + 1
    sizes = [min(-(-table.row_bytes // LINE_BYTES), most) for table in workload.tables]
    rows = [len(ids) for ids in counts.ids]
    if sum(size * count for size, count in zip(sizes, rows, strict=True)) >= 2**63:
        raise RecnmpError(
            f"{counts.touched} rows of up to {max(sizes) * LINE_BYTES} bytes and caches of up to "
            f"{(most - 1) * LINE_BYTES} bytes: allowed is below 2^69 bytes of rows together: smaller caches"
        )
    return np.repeat(np.array(sizes, dtype=np.int64), rows)


def _numbered(workload: Workload, counts: RowCounts) -> Iterator[Int64]:
    """Lookups in execution order, as numbers 0..touched-1 of the rows of all tables."""
    first = np.cumsum([0, *map(len, counts.ids)])
    numbers: list[npt.NDArray[np.int32]] | None = None
    if sum(table.rows for table in workload.tables) <= _DIRECT_ROWS:
        # 32 bits hold them, and half the memory is much here
        numbers = [np.zeros(table.rows, dtype=np.int32) for table in workload.tables]
        for number, ids, base in zip(numbers, counts.ids, first, strict=False):
            number[ids] = np.arange(base, base + len(ids))
    for piece in workload.pieces() if workload.order == "table" else _by_sample(workload):
        rows = np.empty(len(piece.indices), dtype=np.int64)
        done = 0
        for table, ids in by_table(piece):
            found = numbers[table][ids] if numbers else first[table] + np.searchsorted(counts.ids[table], ids)
            rows[done : done + len(ids)] = found
            done += len(ids)
        yield rows if workload.order == "table" else rows[_sample_order(piece)]


def _by_sample(workload: Workload) -> Iterator[Piece]:
    """Whole batches: all tables of a sample are needed at once."""
    for batch in workload.batches():
        lengths = np.diff(batch.offsets)
        yield Piece(batch.index, batch.batch_size, 0, lengths, batch.indices)


def _sample_order(piece: Piece) -> Int64:
    """Positions of a whole batch's lookups, sample by sample."""
    if not len(piece.indices):
        return np.zeros(0, dtype=np.int64)
    starts = (np.cumsum(piece.lengths) - piece.lengths).reshape(-1, piece.batch_size).T.reshape(-1)
    lengths = piece.lengths.reshape(-1, piece.batch_size).T.reshape(-1)
    gone = np.cumsum(lengths) - lengths
    places: Int64 = np.arange(len(piece.indices)) + np.repeat(starts - gone, lengths)
    return places
