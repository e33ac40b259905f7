"""What is measured of the host's reads beside the near-memory work (D17, docs/measures.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_PERCENTS = (50, 95, 99)


@dataclass(frozen=True)
class TrafficMeasures:
    """Host reads whose lines crossed in the counted clocks, over all channels.

    Attributes:
        reads: how many.
        mean: latency in clocks, from arrival to the clock at which the line has crossed.
        p50, p95, p99: nearest rank; from 16384 clocks on rounded down to 14 leading bits.
        max: the longest, exact.
        longest_queue: the most reads of a channel that had arrived and were not sent.
    """

    reads: int
    mean: float | None
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None
    longest_queue: int


def measure(
    counts: Sequence[Mapping[str, int]], latencies: Sequence[npt.NDArray[np.int64]]
) -> TrafficMeasures:
    """The measures of some channels.

    counts: of each channel, by the names of kernels.host_traffic.TRAFFIC_COUNTERS. latencies: int64 [k, 2] of each:
    a latency and how many reads had it.
    """
    reads = sum(each["lines_crossed"] for each in counts)
    queue = max((each["longest_queue"] for each in counts), default=0)
    if not reads:
        return TrafficMeasures(0, None, None, None, None, None, queue)
    together = np.concatenate(latencies)
    together = together[np.argsort(together[:, 0], kind="stable")]
    upto = np.cumsum(together[:, 1])
    p50, p95, p99 = (
        int(together[np.searchsorted(upto, -(-percent * reads // 100)), 0]) for percent in _PERCENTS
    )
    mean = sum(each["latency_clocks"] for each in counts) / reads
    return TrafficMeasures(reads, mean, p50, p95, p99, max(each["longest_latency"] for each in counts), queue)
