"""Speed of the tag store, and of the host with a last-level cache: lines a second, one thread.

`python benchmarks/run.py cache` prints the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from stopwatch import quickest

from recnmp.baseline import HostEngine
from recnmp.config.load import load_system, parse_setting
from recnmp.kernels.cache_sets import POLICIES, CacheSets
from recnmp.placement import Placement
from recnmp.workload import Table, Workload

LINES = 2_000_000
LOOKUPS = 400_000
ROWS = 1_000_000
REPEATS = 3


def skewed(count: int) -> np.ndarray:
    """Row numbers of which few are asked for often: Zipf, spread over the table."""
    return np.random.default_rng(1).zipf(1.1, count) % ROWS * 7919 % ROWS


def rows() -> list[dict[str, Any]]:
    """Measured figures: name, value, unit, note."""
    out: list[dict[str, Any]] = []
    lines = skewed(LINES)
    for policy in POLICIES:
        seconds = quickest(lambda policy=policy: CacheSets(16384, 16, policy).access(lines), REPEATS)
        share = CacheSets(16384, 16, policy).access(lines).mean()
        note = f"16 MiB, 16 ways, skewed lines of 64 MB, {100 * share:.0f} % hits"
        out.append(
            {"name": f"cache, {policy}", "value": LINES / seconds / 1e6, "unit": "M lines/s", "note": note}
        )
    workload = Workload.from_arrays(
        skewed(LOOKUPS),
        lengths=np.full(LOOKUPS // 80, 80),
        tables=[Table("t", ROWS, 16)],
        batch_size=LOOKUPS // 80,
    )
    (batch,) = workload.batches()
    for name, size in (("no cache", "0"), ("last-level cache", "16M")):
        config = load_system("host", (), [parse_setting(f"host.llc_bytes={size}", [])])
        placement = Placement(config, workload.tables)

        def run(config: Any = config, placement: Placement = placement) -> None:
            HostEngine(config, workload.tables, placement).run_batch(batch, "table", 0)

        rate = LOOKUPS / quickest(run, REPEATS) / 1e6
        note = f"{LOOKUPS} skewed 64-byte rows, 8 ranks, indices to last datum"
        out.append({"name": f"host engine, {name}", "value": rate, "unit": "M lookups/s", "note": note})
    return out
