"""The near-memory engine: a batch into packets, through the channel kernel, and the sums that come back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .channel_counters import channel_counters, traffic_counters
from .channels import Channels
from .config.system import SystemConfig
from .errors import RecnmpError
from .host import Locality, PacketBuilder, is_by_line
from .hotness import HotEntries
from .kernels.sums import accumulate
from .observe import Logs, Observer
from .packet_stats import PacketStats, PacketTally
from .packets import Packets
from .placement import Placement
from .progress import Meter, Progress
from .rows import CANONICAL_NAN
from .stats import add_counters
from .traffic import TrafficMeasures, measure
from .values import Float32s, Values
from .workload import Batch, Table


class NmpEngine:
    """Runs batches near memory (the Engine of recnmp.simulate).

    Channels are independent; they are joined where a batch ends, in a stream at its end.

    hot_entries: what profiles batches before they run; None where nothing does.

    config: of kind nmp. tables, placement: what is looked up and where it lies. values: what the tables hold;
    None: timing only. skip: leave out clocks on which nothing can happen (the result is the same). logging: keep
    `logs` of the batches that ran last (`packets` are always kept); both are [channel][batch]. workers: threads that
    run channels, by default one a processor; their number changes no result. observer: is told of what
    batches left behind.
    Raises RecnmpError for tables that this machine cannot sum.
    """

    def __init__(
        self,
        config: SystemConfig,
        tables: Sequence[Table],
        placement: Placement,
        values: Values | None = None,
        skip: bool = True,
        logging: bool = False,
        workers: int | None = None,
        observer: Observer | None = None,
    ) -> None:
        by_line = all(is_by_line(table, placement.stride(i)) for i, table in enumerate(tables))
        self.channels = Channels(config, by_line, workers)
        self.packets: list[list[Packets]] = []
        self.logs: list[list[Logs]] = []
        self._config = config
        self._tables = tables
        units = config.units
        self.hot_entries = HotEntries(config, tables, placement) if units.hot_entries != "all" else None
        locality: bool | Locality = self.hot_entries or units.rank_cache_bytes > 0
        self._builder = PacketBuilder(tables, placement, units, locality)
        self._values = values
        self._skip = skip
        self._logging = logging
        self._observer = observer
        self._sums: list[Float32s] = []
        self._end = 0  # clock at which the last batch ended
        self._tally = PacketTally([table.name for table in tables], config.memory.ranks)
        self.reset_counters()

    def run_batch(self, batch: Batch, order: str, start_clock: int, progress: Progress | None = None) -> int:
        """Offer a batch at start_clock; the clock at which its last result has crossed (start_clock if none)."""
        return self.run_stream([batch], order, start_clock, progress)[0]

    def run_stream(
        self, batches: Sequence[Batch], order: str, start_clock: int, progress: Progress | None = None
    ) -> list[int]:
        """Send batches back to back from start_clock on; the clock at which the last result of each has crossed.

        A batch without results ends with the one before it, the first at start_clock.
        Raises ValueError for another order than "table" or "sample", or a start before the end of what ran before.
        """
        if order not in ("table", "sample"):
            raise ValueError(f'order is "table" or "sample", not {order!r}')
        if start_clock < self._end:
            raise ValueError(f"batches cannot start at {start_clock}, the last one ended at {self._end}")
        # placed, put into packets, sent, and with values added up
        meter = Meter(3 if self._values is None else 4, progress)
        keep = self._logging or self._values is not None
        kernels = self.channels.kernels
        built: list[list[Packets]] = [[] for _ in kernels]
        logs: list[list[Logs]] = [[] for _ in kernels]
        ends = np.full(len(batches), start_clock, np.int64)
        clocks = [start_clock] * len(kernels)
        for number, batch in enumerate(batches):
            packets = self._builder.build(batch, order, meter.step)
            sent = meter.following(batch.lookups, sum(len(part.stream) for part in packets))
            drain = number == len(batches) - 1
            watched = self._observer is not None and self._observer.wants_logs(min(clocks))
            clocks = self.channels.run(
                [part.stream for part in packets], clocks, self._skip, keep or watched, drain, sent
            )
            for channel, kernel in enumerate(kernels):
                its, part = built[channel], packets[channel]
                its.append(part)
                crossed = kernel.take_packets()
                batch_of = np.searchsorted([p.first_packet for p in its], crossed[:, 0], side="right") - 1
                np.maximum.at(ends, batch_of, crossed[:, 2])
                self._tally.add(crossed, _tables_of(crossed[:, 0], its[int(batch_of.min(initial=number)) :]))
                log = Logs(*kernel.take_logs(), packets=crossed, stream=part.stream)
                if keep:
                    logs[channel].append(log)
                if self._observer is not None:
                    self._observer.near_memory(channel, part, log)
            self._count(batch, packets)
        self.packets, self.logs = built, logs
        if self._values is not None:
            self._sums = []
            # a batch's operands may come while later ones are sent
            operands = [np.concatenate([log.operands for log in of_channel]) for of_channel in logs]
            for number, batch in enumerate(batches):
                self._sums += self._pool(batch, number, operands, self._values, meter)
        whole = [int(end) for end in np.maximum.accumulate(ends)]
        self._end = max([self._end, *whole])
        return whole

    def _count(self, batch: Batch, packets: Sequence[Packets]) -> None:
        self._poolings += batch.batch_size * batch.n_tables
        self._lookups += batch.lookups
        self._lines += sum(part.lines for part in packets)
        self._offset_lookups += sum(part.offset_lookups for part in packets)
        elements, quantised = self._elements(batch)
        self._adds += elements + quantised
        self._muls += quantised + (elements if batch.weights is not None else 0)

    def results(self) -> list[Float32s]:
        """Sums of the batches that ran last, float32 [batch_size, dim], table by table; empty without values."""
        return self._sums

    def reset_counters(self) -> None:
        """Set all counters to 0; the machine's state stays."""
        for kernel in self.channels.kernels:
            kernel.reset_counts()
        self._tally.reset()
        if self.hot_entries is not None:
            self.hot_entries.reset()
        self._builder.order.reset_counts()
        self._poolings = self._lookups = self._lines = self._offset_lookups = self._muls = self._adds = 0

    def counters(self) -> dict[str, int]:
        """What was counted since the last reset, by the names of recnmp.stats.COUNTERS."""
        counted = {
            "lookups": self._lookups,
            "poolings": self._poolings,
            "lines": self._lines,
            "offset_instructions": self._offset_lookups,
            "fp_muls": self._muls,
            "passed_over_max": self._builder.order.passed_over_max,
        }
        counted |= add_counters(
            (channel_counters(kernel, self._end) for kernel in self.channels.kernels),
            self._config.memory.ranks,
        )
        counted["fp_adds"] += self._adds
        return counted

    def packet_stats(self) -> PacketStats:
        """Of all packets since the last reset."""
        return self._tally.stats()

    def host_traffic(self) -> TrafficMeasures | None:
        """What the host's reads met since the last reset; None if there are none (the TrafficEngine of simulate)."""
        kernels = [kernel for kernel in self.channels.kernels if kernel.traffic is not None]
        if not kernels:
            return None
        latencies = [kernel.traffic.latencies() for kernel in kernels if kernel.traffic is not None]
        return measure(list(map(traffic_counters, kernels)), latencies)

    def _elements(self, batch: Batch) -> tuple[int, int]:
        """Elements of all lookups, and of those of quantised tables.

        Each is added to a partial sum, the first ones to +0.0; a quantised one is multiplied by its scale and
        its bias is added before.
        """
        per_table = np.diff(batch.offsets[:: batch.batch_size]) if batch.n_tables else np.zeros(0, np.int64)
        counts = [int(n) * table.dim for n, table in zip(per_table, self._tables, strict=False)]
        dequantised = sum(n for n, table in zip(counts, self._tables, strict=False) if table.quantised)
        return sum(counts), dequantised

    def _vectors(self, values: Values, table: int, rows: npt.NDArray[np.int64]) -> Float32s:
        """float32 [len(rows), dim], whatever the source of values thinks that the tables are."""
        its = self._tables[table]
        try:
            vectors = np.ascontiguousarray(values.vectors(table, rows))
        except IndexError as error:
            raise RecnmpError(
                f"values of table '{its.name}': not of its {its.rows} rows ({error})"
            ) from error
        if vectors.dtype != np.float32 or vectors.shape != (len(rows), its.dim):
            raise RecnmpError(
                f"values of table '{its.name}': {vectors.dtype} {list(vectors.shape)}, "
                f"expected float32 [{len(rows)}, {its.dim}]"
            )
        return vectors

    def _pool(
        self,
        batch: Batch,
        number: int,
        operands: Sequence[npt.NDArray[np.void]],
        values: Values,
        meter: Meter,
    ) -> list[Float32s]:
        """The sums of batch `number` of those that ran, added as the hardware adds them (D10)."""
        memory, size = self._config.memory, batch.batch_size
        mine = [
            _of_packets(*each) for each in zip(operands, (its[number] for its in self.packets), strict=True)
        ]
        sums = []
        for table in range(batch.n_tables):
            first, last = batch.offsets[[table * size, (table + 1) * size]]
            vectors = self._vectors(values, table, batch.indices[first:last])
            partial = np.zeros((len(mine), memory.ranks, size, self._tables[table].dim), np.float32)
            weights = None if batch.weights is None else batch.weights[first:last]
            for channel, (of_batch, table_of) in enumerate(mine):
                packets = self.packets[channel][number]
                accumulate(
                    of_batch[table_of == table],
                    packets.first_sample,
                    packets.first_packet,
                    int(first),
                    vectors,
                    weights,
                    partial[channel],
                )
            sums.append(add_up(partial.reshape(-1, *partial.shape[2:]), memory.ranks_per_dimm))
            meter.step(int(last - first))
        return sums


def _of_packets(
    operands: npt.NDArray[np.void], packets: Packets
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.int64]]:
    """The operands of a batch's packets on a channel, and the table that each is of."""
    number = operands["packet"] - packets.first_packet
    mine = (number >= 0) & (number < len(packets.table))
    return operands[mine], packets.table[number[mine]]


def _tables_of(numbers: npt.NDArray[np.int64], built: Sequence[Packets]) -> npt.NDArray[np.int64]:
    """The table of each packet, by its number; `built` are consecutive batches that hold them all."""
    return np.concatenate([packets.table for packets in built])[numbers - built[0].first_packet]


def add_up(partial: Float32s, ranks_per_dimm: int) -> Float32s:
    """Partial sums float32 [ranks of all channels, samples, dim] -> [samples, dim].

    A balanced tree over the ranks of a DIMM, absent ones +0.0; then the DIMMs in order of channel and DIMM (D10). One
    canonical NaN.
    """
    with np.errstate(all="ignore"):
        dimms = []
        for first in range(0, len(partial), ranks_per_dimm):
            level = list(partial[first : first + ranks_per_dimm])
            while len(level) > 1:
                if len(level) % 2:
                    level.append(np.zeros_like(level[0]))
                level = [a + b for a, b in zip(level[::2], level[1::2], strict=True)]
            dimms.append(level[0])
        total = dimms[0]
        for dimm in dimms[1:]:
            total = total + dimm
    return np.where(np.isnan(total), CANONICAL_NAN, total)
