"""The near-memory engine: a batch into packets, through the channel kernel, and the sums that come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .config.system import BURST_BYTES, SystemConfig
from .host import PacketBuilder, Packets
from .kernels.channel import CHANNEL_COUNTERS, Channel
from .kernels.dimm_nmp import DIMM_COUNTERS, DimmNmp
from .kernels.dram import Device, TimingTable
from .kernels.operand_path import OperandPath
from .kernels.rank_cache import RankCache
from .kernels.rank_nmp import RankNmp
from .kernels.rank_window import RankWindow
from .kernels.sums import accumulate
from .kernels.window_entries import RANK_COUNTERS, WindowEntries
from .packet_stats import PacketStats, PacketTally
from .placement import Placement
from .progress import Meter, Progress
from .stats import per_rank
from .timing import rules
from .values import Float32s, Values
from .workload import Batch, Table

# all that a rank-NMP issues: rules between other commands need not be kept
_COMMANDS = ("ACT", "PRE", "PREA", "RD", "REF")

_CANONICAL_NAN = np.uint32(0x7FC00000).view(np.float32)

# counters of stats.py that ranks keep, and their names in the kernel
_PER_RANK = {
    "act": "activates",
    "pre": "precharges",
    "prea": "precharges_all",
    "rd": "reads",
    "ref": "refreshes",
    "row_hits": "row_hits",
    "row_misses": "row_misses",
    "row_conflicts": "row_conflicts",
    "mispredictions": "wrong_predictions",
    "hazard_clocks": "hazard_clocks",
}
_PER_RANK_CACHE = {
    "cache_hits": "cache_hits",
    "cache_secondary_hits": "cache_secondary_hits",
    "cache_misses": "cache_misses",
    "cache_bypasses": "cache_bypasses",
    "cache_fills": "cache_fills",
}


@dataclass(frozen=True)
class Logs:
    """What happened while one batch was sent (the last one: until all was over), in order of clock.

    Structured arrays with the dtypes of kernels/vocabulary.

    commands: DDR commands of all ranks. operands: bursts as they enter the datapaths. results: bursts on the
    channel. sends: instructions on the channel. packets: int64 [n, 3] packet, clock of CONFIG, clock at which its
    last result had crossed. stream: the batch's instructions, with the tag groups that they were sent with.
    """

    commands: npt.NDArray[np.void]
    operands: npt.NDArray[np.void]
    results: npt.NDArray[np.void]
    sends: npt.NDArray[np.void]
    packets: npt.NDArray[np.int64]
    stream: npt.NDArray[np.void]


def make_channel(config: SystemConfig) -> Channel:
    """The channel kernel of a near-memory system."""
    timing, devices, units, memory = config.dram.timings(), config.dram.devices(), config.units, config.memory
    shared = units.local_bus == "per_dimm"
    table = TimingTable(rules(timing, config.dram.rule_set, "host" if shared else "rank"), _COMMANDS)
    per_bus = memory.ranks_per_dimm if shared else 1
    device = Device(table, memory.ranks, devices.bankgroups, devices.banks, per_bus)
    pipeline = units.dequantise_multiply + units.dequantise_add + units.multiply + units.accumulate
    operands = OperandPath(
        WindowEntries(memory.ranks, units.window),
        timing.nCL + timing.nBL,
        units.accumulate,
        units.poolings_per_packet,
        foreseen=not units.rank_cache_bytes and units.accumulate <= timing.nCCDS,
    )
    window = RankWindow(
        device,
        memory.ranks_per_dimm,
        operands,
        timing.nREFI if config.refresh.enabled else 0,
        config.refresh.stagger,
        shared,
    )
    cache = None
    if units.rank_cache_bytes:
        cache = RankCache(
            window,
            units.rank_cache_bytes // (BURST_BYTES * units.rank_cache_ways),
            units.rank_cache_ways,
            units.rank_cache_policy,
            devices.rows,
            devices.bursts_per_row,
            units.rank_cache_flush == "batch",
        )
    ranks = RankNmp(window, units.fifo, units.poolings_per_packet, pipeline, cache)
    dimms = DimmNmp(ranks, units.tag_groups, units.accumulate)
    return Channel(
        ranks, dimms, units.instructions_per_clock, units.bus_turnaround, timing.nBL, units.skip_full_rank
    )


class NmpEngine:
    """Runs batches near memory (the Engine of recnmp.simulate).

    config: of kind nmp. tables, placement: what is looked up and where it lies. values: what the tables hold;
    None: timing only. skip: leave out clocks on which nothing can happen (the result is the same). logging: keep
    `logs` of the batches that ran last (`packets` are always kept).
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
    ) -> None:
        self.channel = make_channel(config)
        self.packets: list[Packets] = []
        self.logs: list[Logs] = []
        self._config = config
        self._tables = tables
        units = config.units
        self._builder = PacketBuilder(
            tables, placement, units.poolings_per_packet, locality=units.rank_cache_bytes > 0
        )
        self._values = values
        self._skip = skip
        self._logging = logging
        self._sums: list[Float32s] = []
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
        """
        # placed, put into packets, sent, and with values added up
        meter = Meter(3 if self._values is None else 4, progress)
        keep = self._logging or self._values is not None
        built: list[Packets] = []
        logs: list[Logs] = []
        ends = np.full(len(batches), start_clock, np.int64)
        clock = start_clock
        for number, batch in enumerate(batches):
            packets = self._builder.build(batch, order, meter.step)
            built.append(packets)
            drain = number == len(batches) - 1
            sent = meter.following(batch.lookups, len(packets.stream))
            clock = self.channel.run(packets.stream, clock, self._skip, keep, drain, sent)
            crossed = self.channel.take_packets()
            batch_of = np.searchsorted([p.first_packet for p in built], crossed[:, 0], side="right") - 1
            np.maximum.at(ends, batch_of, crossed[:, 2])
            self._tally.add(crossed, _tables_of(crossed[:, 0], built[int(batch_of.min(initial=number)) :]))
            if keep:
                logs.append(Logs(*self.channel.take_logs(), packets=crossed, stream=packets.stream))
            self._count(batch, packets)
        self.packets, self.logs = built, logs
        if self._values is not None:
            self._sums = []
            operands = np.concatenate([log.operands for log in logs])
            for batch, packets in zip(batches, built, strict=True):
                first = packets.first_packet
                mine = (operands["packet"] >= first) & (operands["packet"] < first + len(packets.table))
                self._sums += self._pool(batch, packets, operands[mine], self._values, meter)
        return [int(end) for end in np.maximum.accumulate(ends)]

    def _count(self, batch: Batch, packets: Packets) -> None:
        self._poolings += batch.batch_size * batch.n_tables
        self._lookups += batch.lookups
        self._lines += packets.lines
        self._offset_lookups += packets.offset_lookups
        self._adds += self._elements(batch)
        self._muls += self._elements(batch) if batch.weights is not None else 0

    def results(self) -> list[Float32s]:
        """Sums of the batches that ran last, float32 [batch_size, dim], table by table; empty without values."""
        return self._sums

    def reset_counters(self) -> None:
        """Set all counters to 0; the machine's state stays."""
        self.channel.reset_counts()
        self._tally.reset()
        self._poolings = self._lookups = self._lines = self._offset_lookups = self._muls = self._adds = 0

    def counters(self) -> dict[str, int]:
        """What was counted since the last reset, by the names of recnmp.stats.COUNTERS."""
        channel = dict(zip(CHANNEL_COUNTERS, map(int, self.channel.counts()), strict=True))
        dimms = dict(zip(DIMM_COUNTERS, map(int, self.channel.dimms.counts()), strict=True))
        by_rank = self.channel.ranks.window.entries.counts()
        counted = {
            "lookups": self._lookups,
            "poolings": self._poolings,
            "lines": self._lines,
            "packets": channel["packets"],
            "instructions": channel["instructions"] - 2 * channel["packets"],
            "offset_instructions": self._offset_lookups,
            "packet_instructions": 2 * channel["packets"],
            "instruction_clocks": channel["instruction_clocks"],
            "result_bursts": channel["result_bursts"],
            "turnarounds": channel["turnarounds"],
            "fp_adds": self._adds + dimms["tree_adds"],
            "fp_muls": self._muls,
        }
        cached = _PER_RANK_CACHE if self.channel.ranks.cache is not None else {}
        for name, kernel_name in (_PER_RANK | cached).items():
            counted |= per_rank(name, by_rank[:, RANK_COUNTERS.index(kernel_name)])
        return counted

    def packet_stats(self) -> PacketStats:
        """Of all packets since the last reset."""
        return self._tally.stats()

    def _elements(self, batch: Batch) -> int:
        """Elements of all lookups: as many additions into partial sums, the first ones to +0.0 included."""
        per_table = np.diff(batch.offsets[:: batch.batch_size]) if batch.n_tables else np.zeros(0, np.int64)
        return sum(int(n) * table.dim for n, table in zip(per_table, self._tables, strict=False))

    def _pool(
        self, batch: Batch, packets: Packets, operands: npt.NDArray[np.void], values: Values, meter: Meter
    ) -> list[Float32s]:
        """The sums of a batch, added as the hardware adds them (D10)."""
        memory, size = self._config.memory, batch.batch_size
        table_of = packets.table[operands["packet"] - packets.first_packet]
        sums = []
        for table in range(batch.n_tables):
            first, last = batch.offsets[[table * size, (table + 1) * size]]
            vectors = np.ascontiguousarray(values.vectors(table, batch.indices[first:last]))
            partial = np.zeros((memory.ranks, size, self._tables[table].dim), np.float32)
            weights = None if batch.weights is None else batch.weights[first:last]
            accumulate(
                operands[table_of == table],
                packets.first_sample,
                packets.first_packet,
                int(first),
                vectors,
                weights,
                partial,
            )
            sums.append(add_up(partial, memory.ranks_per_dimm))
            meter.step(int(last - first))
        return sums


def _tables_of(numbers: npt.NDArray[np.int64], built: Sequence[Packets]) -> npt.NDArray[np.int64]:
    """The table of each packet, by its number; `built` are consecutive batches that hold them all."""
    return np.concatenate([packets.table for packets in built])[numbers - built[0].first_packet]


def add_up(partial: Float32s, ranks_per_dimm: int) -> Float32s:
    """Partial sums float32 [ranks, samples, dim] -> [samples, dim].

    A balanced tree over the ranks of a DIMM, absent ones +0.0; then the DIMMs in order (D10). One canonical NaN.
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
    return np.where(np.isnan(total), _CANONICAL_NAN, total)
