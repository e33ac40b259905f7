"""What is said of a run's packets: their latency, how even ranks are, and hit rates by table (docs/measures.md).

Per packet only its latency is kept, 8 bytes; all else is added up as packets end.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .kernels.packet_log import PACKET_COLUMNS

Int64s = npt.NDArray[np.int64]

# what a line may have met, in the order of their columns
MET = ("hits", "secondary_hits", "misses", "bypasses")
PERCENTS = (50, 95, 99)

_COLUMN = {name: at for at, name in enumerate(PACKET_COLUMNS)}
_MET = slice(_COLUMN[MET[0]], _COLUMN[MET[-1]] + 1)


@dataclass(frozen=True)
class TableLines:
    """Lines of the lookups of one table, by what they met in the RankCaches."""

    table: str
    hits: int
    secondary_hits: int
    misses: int
    bypasses: int

    @property
    def hit_rate(self) -> float | None:
        """Share of hits, secondary ones included; None without lines."""
        hits = self.hits + self.secondary_hits
        lines = hits + self.misses + self.bypasses
        return hits / lines if lines else None


@dataclass(frozen=True)
class PacketStats:
    """Of the counted packets.

    Attributes:
        mean, p50, p95, p99, max: clocks from a packet's CONFIG on the bus to its last result across the channel;
            percentiles by nearest rank; all None when there is no packet.
        imbalance: mean over packets of the lines of the rank that has most over the mean lines of a rank of the
            packet's channel; None when there is no packet.
        tables: by table, in the order of the trace.
    """

    mean: float | None
    p50: int | None
    p95: int | None
    p99: int | None
    max: int | None
    imbalance: float | None
    tables: tuple[TableLines, ...]


class PacketTally:
    """Counts packets as they end.

    tables: their names. ranks: of a channel.
    """

    def __init__(self, tables: Sequence[str], ranks: int) -> None:
        self._tables = tuple(tables)
        self._ranks = ranks
        self.reset()

    def reset(self) -> None:
        """Forget all packets."""
        self._met = np.zeros((len(self._tables), len(MET)), np.int64)
        self._latencies: list[Int64s] = []
        self._imbalance = 0.0

    def add(self, ended: Int64s, table: Int64s) -> None:
        """Count packets: int64 [n, len(PACKET_COLUMNS)] as the kernel tells of them, and the table of each."""
        met = ended[:, _MET]
        np.add.at(self._met, table, met)
        self._latencies.append(ended[:, _COLUMN["crossed_clk"]] - ended[:, _COLUMN["config_clk"]])
        uneven = ended[:, _COLUMN["most_lines"]] * self._ranks / met.sum(axis=1)
        # correctly rounded, so that the order in which packets ended does not show
        self._imbalance = math.fsum([self._imbalance, *uneven.tolist()])

    def stats(self) -> PacketStats:
        """Of all packets that were counted."""
        tables = tuple(
            TableLines(name, *map(int, met)) for name, met in zip(self._tables, self._met, strict=True)
        )
        clocks = np.sort(np.concatenate([np.zeros(0, np.int64), *self._latencies]))
        count = len(clocks)
        if not count:
            return PacketStats(None, None, None, None, None, None, tables)
        p50, p95, p99 = (int(clocks[-(-percent * count // 100) - 1]) for percent in PERCENTS)
        mean = int(clocks.sum()) / count
        return PacketStats(mean, p50, p95, p99, int(clocks[-1]), self._imbalance / count, tables)


def rank_imbalance(lines: Iterable[int]) -> float | None:
    """Lines of the rank that has most over the mean of all ranks; None without lines."""
    by_rank = list(lines)
    return max(by_rank) * len(by_rank) / sum(by_rank) if sum(by_rank) else None
