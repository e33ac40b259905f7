"""Means: what the host does with the sums that come back (D10)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .rows import Float32s, one_nan
from .workload import Batch


def divide(sums: Sequence[Float32s], batches: Iterable[Batch]) -> list[Float32s]:
    """Sums float32 [batch_size, dim], table by table and batch by batch -> means: fl(sum / fl(lookups)).

    The mean of an empty pooling is its sum, +0.0. One division each, in FP32; a NaN is 0x7FC00000.
    """
    counts = []
    for batch in batches:
        lengths = np.diff(batch.offsets).reshape(-1, max(batch.batch_size, 1))
        counts += [np.maximum(of_table, 1).astype(np.float32) for of_table in lengths]
    with np.errstate(all="ignore"):
        return [one_nan(total / count[: len(total), None]) for total, count in zip(sums, counts, strict=True)]
