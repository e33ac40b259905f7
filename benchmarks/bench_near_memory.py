"""Speed of the near-memory path: the kernel alone, and a batch from indices to end clock."""

from __future__ import annotations

import numpy as np
from recnmp.traces.generate import Recipe, generate
from stopwatch import quickest

from recnmp.channels import make_channel
from recnmp.config.load import load_system
from recnmp.config.system import SystemConfig
from recnmp.host import PacketBuilder
from recnmp.kernels.window_entries import RANK_COUNTERS
from recnmp.placement import Placement
from recnmp.stats import hit_rate, per_rank
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


def cached_row() -> dict[str, object]:
    """The kernel with RankCaches of 128 KiB, on the third batch of a production-like trace; two batches warm them."""
    config = load_system("recnmp-cache")
    workload = generate(Recipe("2021-x16", batches=3, dim=16, batch_size=SAMPLES))
    builder = PacketBuilder(workload.tables, Placement(config, workload.tables), config.units, locality=True)
    batches = list(workload.batches())
    streams = [builder.build(batch, "table")[0].stream for batch in batches]
    took = []
    for _ in range(3):
        channel = make_channel(config, by_line=True)
        end = 0
        for stream in streams[:-1]:
            end = channel.run(stream.copy(), end)
        channel.reset_counts()
        took.append(quickest(lambda c=channel, end=end: c.run(streams[-1].copy(), end), 1))  # type: ignore[misc]
    by_rank = channel.ranks.window.entries.counts()
    counted = {}
    for name in RANK_COUNTERS:
        counted |= per_rank(name, by_rank[:, RANK_COUNTERS.index(name)])
    return {
        "name": "near memory, 64-byte rows, 8 ranks, 2021-x16, RankCache: kernel",
        "value": batches[-1].lookups / min(took) / 1e6,
        "unit": "M lookups/s",
        "note": f"one thread, values off; 128 KiB a rank, {100 * (hit_rate(counted) or 0):.0f} % hits",
    }


def rows() -> list[dict[str, object]]:
    """Rows of `make bench`."""
    out: list[dict[str, object]] = []
    for dim in (16, 64):
        batch, tables = batch_of(dim)
        config = SystemConfig()
        placement = Placement(config, tables)
        builder = PacketBuilder(tables, placement, config.units)
        building = quickest(lambda builder=builder, batch=batch: builder.build(batch, "table"))
        stream = PacketBuilder(tables, placement, config.units).build(batch, "table")[0].stream
        running = quickest(
            lambda stream=stream, config=config: make_channel(config, by_line=True).run(stream.copy(), 0)
        )
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
    return [*out, cached_row()]
