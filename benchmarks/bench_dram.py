"""Speed of the exact host channel: requests a second of `replay_dram`, one channel, one thread, no log.

`python benchmarks/run.py dram` prints the table.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from stopwatch import quickest

from recnmp import replay_dram
from recnmp.config.dram import ChannelConfig, channel_preset

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from slow_twin import SlowChannel

REQUESTS = 500_000
TWIN_REQUESTS = 1500
REPEATS = 5


def reads(config: ChannelConfig, n: int, kind: str) -> npt.NDArray[np.int64]:
    """`n` requests offered at once: `random` places, a sequential `stream`, or `mixed` with 30 % writes."""
    random = np.random.default_rng(1)
    o = config.organisation
    requests = np.zeros((n, 7), np.int64)
    if kind == "stream":
        # bursts of a row, then bank groups, banks, ranks, rows
        at = np.arange(n)
        for column, limit in (
            (6, o.bursts_per_row),
            (3, o.bankgroups),
            (4, o.banks),
            (2, config.ranks),
            (5, o.rows),
        ):
            requests[:, column] = at % limit
            at = at // limit
    else:
        limits = (config.ranks, o.bankgroups, o.banks, o.rows, o.bursts_per_row)
        for column, limit in zip(range(2, 7), limits, strict=True):
            requests[:, column] = random.integers(0, limit, n)
        if kind == "mixed":
            requests[:, 1] = random.random(n) < 0.3
    requests[:, 6] *= 8
    return requests


def rows() -> list[dict[str, Any]]:
    """Measured figures: name, value, unit, note."""
    out: list[dict[str, Any]] = []
    for kind, ranks in (("random", 2), ("random", 1), ("random", 8), ("stream", 2), ("mixed", 2)):
        config = channel_preset(f"ddr4-2400-{ranks}rank")
        requests = reads(config, REQUESTS, kind)
        rate = REQUESTS / quickest(
            lambda requests=requests, config=config: replay_dram(requests, config), REPEATS
        )
        what = "reads" if kind != "mixed" else "reads and 30 % writes"
        note = f"{REQUESTS} {kind} 64-byte {what}, queue 32, whole call with checks"
        out.append(
            {"name": f"host channel, {kind}, {ranks} rank", "value": rate / 1e6, "unit": "M/s", "note": note}
        )
        if (kind, ranks) == ("random", 2):
            few = requests[:TWIN_REQUESTS].tolist()
            slow = TWIN_REQUESTS / quickest(lambda few=few, config=config: SlowChannel(config).run(few), 2)
            note = f"{TWIN_REQUESTS} of the same requests, plain interpreter of the rules, for tests only"
            out.append(
                {"name": "slow twin, random, 2 rank", "value": slow / 1e6, "unit": "M/s", "note": note}
            )
            out.append({"name": "host channel / slow twin", "value": rate / slow, "unit": "x", "note": ""})
    return out
