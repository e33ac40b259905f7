"""Speed of the near-memory path: the kernel alone, and a batch from indices to end clock."""

from __future__ import annotations

import numpy as np
from stopwatch import quickest

from recnmp.config.system import SystemConfig
from recnmp.host import PacketBuilder
from recnmp.near_memory import make_channel
from recnmp.placement import Placement
from recnmp.workload import Batch, Table, Workload

TABLES, SAMPLES, POOLING, ROWS = 8, 256, 80, 1_000_000


def batch_of(dim: int) -> tuple[Batch, list[Table]]:
    """One batch of uniform lookups: 8 tables x 1 M rows, 256 samples, pooling 80."""
    tables = [Table(f"t{i}", ROWS, dim) for i in range(TABLES)]
    rng = np.random.default_rng(1)
    indices = rng.integers(0, ROWS, TABLES * SAMPLES * POOLING)
    workload = Workload.from_arrays(
        indices, lengths=[POOLING] * (TABLES * SAMPLES), tables=tables, batch_size=SAMPLES
    )
    return next(iter(workload.batches())), tables


def rows() -> list[dict[str, object]]:
    """Rows of `make bench`."""
    out: list[dict[str, object]] = []
    for dim in (16, 64):
        batch, tables = batch_of(dim)
        config = SystemConfig()
        placement = Placement(config, tables)
        builder = PacketBuilder(tables, placement, 8)
        building = quickest(lambda builder=builder, batch=batch: builder.build(batch, "table"))
        stream = PacketBuilder(tables, placement, 8).build(batch, "table").stream
        running = quickest(lambda stream=stream, config=config: make_channel(config).run(stream.copy(), 0))
        name = f"near memory, {4 * dim}-byte rows, 8 ranks, uniform"
        out.append(
            {
                "name": name + ": kernel",
                "value": batch.lookups / running / 1e6,
                "unit": "M lookups/s",
                "note": "one thread, values off",
            }
        )
        out.append(
            {
                "name": name + ": packets",
                "value": batch.lookups / building / 1e6,
                "unit": "M lookups/s",
                "note": "indices to instruction stream",
            }
        )
    return out
