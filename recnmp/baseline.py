"""The host baseline: every lookup is read over the channel, 64 bytes a read, in trace order (design D14)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from .address import DramAddresses
from .config.system import BURST_BYTES, Host, SystemConfig
from .kernels.cache_sets import CacheSets
from .observe import Observer
from .placement import Lines, Placement
from .progress import Meter, Progress
from .replay import HostChannel
from .stats import add_counters, per_rank
from .workload import Batch, Table

Int64s = npt.NDArray[np.int64]
_DEVICE_COLUMNS = 8  # device columns of a burst
_PLACE = ("channel", "rank", "bankgroup", "bank", "row", "column")
_PIECE = 1 << 17  # lookups that are placed between two looks at progress


def line_reads(
    batch: Batch, order: str, placement: Placement, placed: Progress | None = None
) -> dict[str, Int64s]:
    """All 64-byte reads of a batch in execution order.

    Args:
        batch: the lookups.
        order: "table" or "sample", see `Batch.bags`.
        placement: where the tables are.
        placed: told of lookups as they are placed.

    Returns:
        channel, rank, bankgroup, bank, row, column (in bursts) -> int64 [lines].
    """
    size = batch.batch_size
    lines: list[Lines] = []
    for table in range(batch.n_tables):
        first, last = batch.offsets[table * size], batch.offsets[(table + 1) * size]
        for start in range(first, last, _PIECE):
            rows = batch.indices[start : min(last, start + _PIECE)]
            lines.append(placement.locate(table, rows))
            if placed is not None:
                placed(len(rows))
    places = {
        name: np.concatenate([getattr(part, name) for part in lines] or [np.zeros(0, np.int64)])
        for name in _PLACE
    }
    if order == "table" or not lines:
        return places
    counts = np.concatenate([np.bincount(part.vector, minlength=part.byte_offset.size) for part in lines])
    bags = batch.bags(order)
    lookups = _ranges(bags.start, bags.end - bags.start)
    first_line = np.cumsum(counts) - counts
    moved = _ranges(first_line[lookups], counts[lookups])
    return {name: column[moved] for name, column in places.items()}


def _ranges(starts: Int64s, lengths: Int64s) -> Int64s:
    """The numbers starts[0], starts[0]+1, ... (lengths[0] of them), then those of starts[1], ..."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


# What the channel's controller counts -> the name under which statistics know it.
_COUNTED = {
    "activates": "act",
    "precharges": "pre",
    "precharges_all": "prea",
    "refreshes": "ref",
    "writes": "wr",
    "row_hits": "row_hits",
    "row_misses": "row_misses",
    "row_conflicts": "row_conflicts",
    "read_latency": "read_latency",
}


def last_level_cache(host: Host) -> CacheSets | None:
    """The cache of section host, cold; None if it has none."""
    if not host.llc_bytes:
        return None
    return CacheSets(host.llc_bytes // (BURST_BYTES * host.llc_ways), host.llc_ways, host.llc_policy)


class HostEngine:
    """The host's memory channels, read in trace order; they are joined where a batch ends.

    A last-level cache, where there is one, stands before all of them (docs/caches.md).

    Args:
        config: the system, of kind host.
        tables: the tables of the workload.
        placement: where they are.
        observer: is told of commands when a batch, in a stream all of them, has ended.
    """

    def __init__(
        self,
        config: SystemConfig,
        tables: Sequence[Table],
        placement: Placement,
        observer: Observer | None = None,
    ) -> None:
        self._placement = placement
        self._ranks = config.memory.ranks
        self._cache = last_level_cache(config.host)
        self._observer = observer
        logged = observer is not None and observer.wants_logs(0)
        make = partial(HostChannel, log=True) if logged else HostChannel
        self._channels = [make(config.channel_config()) for _ in range(config.memory.channels)]
        self.reset_counters()

    def reset_counters(self) -> None:
        """Set all counters to 0; banks, queues and refresh stay as they are."""
        self._lookups = self._poolings = self._lines = self._hits = 0
        self._reads = np.zeros((len(self._channels), self._ranks), np.int64)
        for channel in self._channels:
            channel.reset_counts()

    def run_batch(self, batch: Batch, order: str, start_clock: int, progress: Progress | None = None) -> int:
        """Read all lines of a batch, offered from start_clock; the clock of its last datum."""
        return self.run_stream([batch], order, start_clock, progress)[0]

    def run_stream(
        self, batches: Sequence[Batch], order: str, start_clock: int, progress: Progress | None = None
    ) -> list[int]:
        """Read batches back to back; the clock of the last datum of each.

        A batch that reads nothing ends with the one before it, the first at start_clock.
        """
        meter = Meter(2, progress)  # placed, accepted by a channel
        reads: list[dict[str, Int64s]] = []
        for batch in batches:
            self._lookups += batch.lookups
            self._poolings += len(batch.offsets) - 1
            reads.append(line_reads(batch, order, self._placement, meter.step))
            self._lines += reads[-1]["row"].size
        number = np.repeat(np.arange(len(reads)), [part["row"].size for part in reads])
        places = {
            name: np.concatenate([part[name] for part in reads] or [np.zeros(0, np.int64)]) for name in _PLACE
        }
        ends = np.full(len(reads), start_clock, np.int64)
        hits = self._through_cache(places)
        missed = number.size if hits is None else number.size - np.count_nonzero(hits)
        accepted = meter.following(sum(batch.lookups for batch in batches), int(missed))
        earlier = 0  # reads of the channels before
        for index, channel in enumerate(self._channels):
            chosen: slice | Int64s = slice(None)
            if len(self._channels) > 1:
                chosen = np.flatnonzero(places["channel"] == index)
            offered: int | Int64s = 0
            if hits is not None:
                # a clock a line of the channel, in trace order, hit or not; a hit ends with its own
                hit = hits[chosen]
                slots = np.arange(hit.size)
                np.maximum.at(ends, number[chosen][hit], start_clock + slots[hit] + 1)
                chosen, offered = np.arange(number.size)[chosen][~hit], slots[~hit]
            requests = np.zeros((places["row"][chosen].size, 7), np.int64)
            requests[:, 0] = offered
            for column, name in enumerate(("rank", "bankgroup", "bank", "row", "column"), start=2):
                requests[:, column] = places[name][chosen]
            requests[:, 6] *= _DEVICE_COLUMNS
            self._reads[index] += np.bincount(requests[:, 2], minlength=self._ranks)
            done = channel.run(requests, start_clock, partial(accepted, earlier))
            if self._observer is not None:
                self._observer.host(index, channel.take_log())
            earlier += len(requests)
            np.maximum.at(ends, number[chosen], done)
        return [int(end) for end in np.maximum.accumulate(ends)]

    def _through_cache(self, places: dict[str, Int64s]) -> npt.NDArray[np.bool_] | None:
        """Which lines hit, bool [lines], accessed in their order by physical address; None without a cache."""
        if self._cache is None:
            return None
        hits = self._cache.access(self._placement.map.number(DramAddresses(**places)))
        self._hits += int(np.count_nonzero(hits))
        return hits

    def counters(self) -> dict[str, int]:
        """What was counted since the last reset, over all channels."""
        channels = []
        for index, channel in enumerate(self._channels):
            counts = channel.counts()
            named = {name: counts[theirs] for theirs, name in _COUNTED.items()}
            channels.append(named | per_rank("rd", self._reads[index]))
        own = {"lookups": self._lookups, "poolings": self._poolings, "lines": self._lines}
        if self._cache is not None:
            own |= {"llc_hits": self._hits, "llc_misses": self._lines - self._hits}
        return own | add_counters(channels, self._ranks)
