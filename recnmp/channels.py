"""The channel kernels of a near-memory system, run side by side: each has its own bus, ranks and packets."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np
import numpy.typing as npt

from .config.system import BURST_BYTES, SystemConfig
from .kernels.channel import Channel
from .kernels.dimm_nmp import DimmNmp
from .kernels.dram import Device, TimingTable
from .kernels.host_traffic import HostTraffic
from .kernels.operand_path import OperandPath
from .kernels.rank_cache import RankCache
from .kernels.rank_nmp import RankNmp
from .kernels.rank_window import RankWindow
from .kernels.stalls import Stalls
from .kernels.window_entries import WindowEntries
from .timing import rules

# all that a rank-NMP issues: rules between other commands need not be kept
_COMMANDS = ("ACT", "PRE", "PREA", "RD", "REF")
_LOOK_S = 0.1  # between two looks at progress and Ctrl-C while several channels run


def make_channel(
    config: SystemConfig, by_line: bool = False, number: int = 0, stalls: bool = False
) -> Channel:
    """The kernel of one channel of a near-memory system.

    by_line: in all tables each line is one operand (`host.is_by_line`), of which the kernel makes a shortcut.
    number: of the channel; each has its own host traffic. stalls: count what the clocks of ranks go to.
    """
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
        foreseen=by_line
        and not units.rank_cache_bytes
        and units.accumulate * units.nmp_clock_divider <= timing.nCCDS,
        divider=units.nmp_clock_divider,
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
    account = Stalls(window, units.nmp_clock_divider) if stalls else None
    ranks = RankNmp(window, units.fifo, units.poolings_per_packet, pipeline, cache, account)
    dimms = DimmNmp(ranks, units.tag_groups, units.accumulate)
    return Channel(
        ranks,
        dimms,
        units.instructions_per_clock,
        units.bus_turnaround,
        timing.nBL,
        units.skip_full_rank,
        units.command_mode == "ddr",
        _make_traffic(config, number),
    )


def _make_traffic(config: SystemConfig, number: int) -> HostTraffic | None:
    """The host's reads beside the near-memory work on a channel, if there are any (D17)."""
    if config.traffic is None or not config.traffic.reads_per_1000_clocks:
        return None
    devices, memory = config.dram.devices(), config.memory
    return HostTraffic(
        config.traffic.reads_per_1000_clocks,
        config.traffic.seed + number,
        memory.dimms,
        memory.ranks_per_dimm,
        devices.bankgroups,
        devices.banks,
        devices.rows,
        devices.bursts_per_row,
    )


class _StoppedError(Exception):
    """Another channel has failed, or the user has had enough."""


class Channels:
    """All channels of a system; none knows of the others, so that threads change nothing but the time it takes.

    by_line: as `make_channel` takes it. workers: threads that run them, by default one a processor.
    """

    def __init__(self, config: SystemConfig, by_line: bool = False, workers: int | None = None) -> None:
        self.kernels = [
            make_channel(config, by_line, number, config.run.stalls)
            for number in range(config.memory.channels)
        ]
        self._workers = min(len(self.kernels), workers or os.cpu_count() or 1)

    def run(
        self,
        streams: Sequence[npt.NDArray[np.void]],
        starts: Sequence[int],
        skip: bool,
        logging: bool,
        drain: bool,
        progress: Callable[..., object],
    ) -> list[int]:
        """Run a stream on each channel, as `Channel.run` does; what it returns, of each, but no clock before its start.

        progress: called in the calling thread, with the number of instructions that each channel has sent.
        """
        sent = [0] * len(self.kernels)
        stopped = threading.Event()

        def run_one(number: int) -> int:
            def reached(position: int) -> None:
                if stopped.is_set():
                    raise _StoppedError
                sent[number] = position

            kernel = self.kernels[number]
            tell = progress if len(self.kernels) == 1 else reached
            end = kernel.run(streams[number], starts[number], skip, logging, drain, tell)
            return max(starts[number], end)

        if len(self.kernels) == 1:
            return [run_one(0)]
        with ThreadPoolExecutor(self._workers, "channel") as pool:
            runs = [pool.submit(run_one, number) for number in range(len(self.kernels))]
            try:
                waiting = set(runs)
                while waiting:
                    done, waiting = wait(waiting, _LOOK_S, FIRST_EXCEPTION)
                    for run in done:
                        run.result()
                    progress(*sent)
            except BaseException:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [run.result() for run in runs]
