"""A small trace and the systems that tests run it on."""

from __future__ import annotations

from typing import Any

import numpy as np

from recnmp.config.load import load_system, parse_setting
from recnmp.config.system import SystemConfig
from recnmp.workload import Table, Workload


def trace(batches: int = 3, dim: int = 16, order: str = "table", seed: int = 5, **given: Any) -> Workload:
    """Two tables, 8 samples a batch, poolings of 0 to 12 lookups."""
    rng = np.random.Generator(np.random.PCG64(seed))
    tables = [Table("a", 5000, dim), Table("b", 777, dim)]
    lengths = rng.integers(0, 13, 2 * 8 * batches)
    indices = rng.integers(0, 777, lengths.sum())
    return Workload.from_arrays(indices, lengths=lengths, tables=tables, batch_size=8, order=order, **given)


def system(*words: str, name: str = "host") -> SystemConfig:
    return load_system(name, (), [parse_setting(word, ["host", "recnmp-base"]) for word in words])
