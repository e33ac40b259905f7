"""`trace info`: a trace described in numbers, ready for JSON, a table or a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..workload import Workload
from .curve import CACHE_SIZES, LINE_BYTES, HitCurve, hit_curve
from .reuse import BIN_EDGES, Progress, RowCounts, duplicates, hot_share, reuse_histogram

HOT_FRACTIONS = (0.001, 0.01, 0.1)


@dataclass
class _Bags:
    """Running sums over bags; lengths in lookups."""

    number: int = 0
    empty: int = 0
    total: int = 0
    squares: int = 0
    shortest: int | None = None
    longest: int | None = None

    def add(self, lengths: npt.NDArray[np.int64]) -> None:
        if not len(lengths):
            return
        self.number += len(lengths)
        self.empty += int(np.count_nonzero(lengths == 0))
        self.total += int(lengths.sum())
        self.squares += int((lengths * lengths).sum()) if lengths.max() < 2**31 else _exact_squares(lengths)
        low, high = int(lengths.min()), int(lengths.max())
        self.shortest = low if self.shortest is None else min(low, self.shortest)
        self.longest = high if self.longest is None else max(high, self.longest)

    def to_dict(self) -> dict[str, Any]:
        mean = self.total / self.number if self.number else None
        spread = None
        if self.number:
            # from whole numbers, so that equal lengths give exactly 0
            spread = ((self.squares * self.number - self.total**2) ** 0.5) / self.number
        return {
            "poolings": self.number,
            "empty": self.empty,
            "mean": mean,
            "standard_deviation": spread,
            "min": self.shortest,
            "max": self.longest,
        }


def _exact_squares(lengths: npt.NDArray[np.int64]) -> int:
    return sum(int(length) ** 2 for length in lengths)


def describe(
    workload: Workload,
    cache_bytes: Sequence[int] = CACHE_SIZES,
    shuffled: bool = True,
    progress: Progress = None,
) -> dict[str, Any]:
    """All that `trace info` tells, as plain numbers, texts, lists and None (the average of nothing).

    Shares are fractions of 1. progress hears 2 passes over the lookups, 3 with the shuffled curve.
    """
    counts = RowCounts(len(workload.tables))
    bags = _Bags()
    repeated = non_finite = 0
    for piece in workload.pieces():
        counts.add(piece)
        bags.add(piece.lengths)
        repeated += duplicates(piece)
        if piece.weights is not None:
            non_finite += int(np.count_nonzero(~np.isfinite(piece.weights)))
        if progress is not None:
            progress(len(piece.indices))
    counts.merge()
    lookups = bags.total
    rows, row_lookups = reuse_histogram(counts)
    curve = hit_curve(workload, counts, cache_bytes, shuffled, progress)
    return {
        "schema": "recnmp.trace-info/1",
        "content_hash": workload.content_hash(),
        "origin": dict(workload.origin),
        "order": workload.order,
        "mode": workload.mode,
        "weighted": workload.weighted,
        "batches": workload.n_batches,
        "samples": sum(workload.header.batch_sizes),
        "lookups": lookups,
        "tables": _tables(workload, counts),
        "rows_touched": counts.touched,
        "rows_touched_bytes": sum(
            len(ids) * -(-table.row_bytes // LINE_BYTES) * LINE_BYTES
            for table, ids in zip(workload.tables, counts.ids, strict=True)
        ),
        "pooling": bags.to_dict(),
        "duplicates_in_bag": {"lookups": repeated, "share": _share(repeated, lookups)},
        "hot_share": [{"rows": part, "lookups": hot_share(counts, part)} for part in HOT_FRACTIONS],
        "non_finite_weights": non_finite if workload.weighted else None,
        "reuse_histogram": [
            {
                "above": low,
                "up_to": BIN_EDGES[k + 1] if k + 1 < len(BIN_EDGES) else None,
                "rows": int(rows[k]),
                "lookups": int(row_lookups[k]),
                "rows_share": _share(int(rows[k]), counts.touched),
                "lookups_share": _share(int(row_lookups[k]), lookups),
            }
            for k, low in enumerate(BIN_EDGES)
        ],
        "hit_curve": _curve(curve, lookups),
    }


def _tables(workload: Workload, counts: RowCounts) -> list[dict[str, Any]]:
    return [
        {
            "name": table.name,
            "rows": table.rows,
            "dim": table.dim,
            "dtype": table.dtype,
            "layout": table.layout,
            "row_bytes": table.row_bytes,
            "lookups": int(own.sum()),
            "rows_touched": len(own),
        }
        for table, own in zip(workload.tables, counts.counts, strict=True)
    ]


def _curve(curve: HitCurve, lookups: int) -> list[dict[str, Any]]:
    shuffled = curve.shuffled or (None,) * len(curve.hits)
    return [
        {
            "cache_bytes": size,
            "hits": hits,
            "hit_share": _share(hits, lookups),
            "shuffled_hits": mixed,
            "shuffled_hit_share": None if mixed is None else _share(mixed, lookups),
        }
        for size, hits, mixed in zip(curve.cache_bytes, curve.hits, shuffled, strict=True)
    ]


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
