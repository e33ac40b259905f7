"""The exact host channel: `replay_dram` for one stream of requests, `HostChannel` for batch after batch.

Requests are an integer array [n, 7] with the columns of docs/dram.md: offered_clk, is_write, rank,
bankgroup, bank, row, column (device columns). An address is all five of rank to column: a read is forwarded
from, and a write merged into, a waiting write of exactly the same address.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .config.dram import ChannelConfig, channel_preset
from .errors import RecnmpError
from .kernels.dram import Device, TimingTable
from .kernels.host_controller import HostController
from .kernels.request_queues import first_out_of_range
from .timing import rules

REQUEST_COLUMNS = ("offered_clk", "is_write", "rank", "bankgroup", "bank", "row", "column")
COMMAND_COLUMNS = ("clk", "command", "rank", "bankgroup", "bank", "row", "column")

# an open-page controller issues no RDA and WRA: rows about these cannot bind
ISSUED = ("ACT", "PRE", "PREA", "RD", "WR", "REF")
# far enough from the end of int64 for every sum of clocks
LAST_CLOCK = 1 << 60

Integers = npt.NDArray[np.int64]


class HasChannel(Protocol):
    """Any system that can say what one of its channels is."""

    def channel_config(self) -> ChannelConfig:
        """The configuration of one host channel."""
        ...


@dataclass(frozen=True)
class Replay:
    """What became of a stream of requests.

    `completion` int64 [n]: clock of the last datum (read: RD + CL + BL; write: WR + CWL + BL; forwarded read:
    acceptance + 1; merged write: that of the write it was merged with). `statistics`: counts by the names of
    the recorded cases' JSON, then commands by name. `commands` int64 [m, 7] in issue order, columns as
    COMMAND_COLUMNS, -1 where the command uses no such part; None unless asked for.
    """

    completion: Integers
    statistics: dict[str, int]
    commands: Integers | None


def checked_requests(requests: npt.ArrayLike, config: ChannelConfig) -> Integers:
    """`requests` as C-contiguous int64 [n, 7]; RecnmpError naming the first value that is out of range.

    Any integer type, byte order and layout is taken. Requests are offered in their order: one whose
    `offered_clk` is below that of the request before it simply follows that one.
    """
    try:
        given = np.asarray(requests)
    except (TypeError, ValueError) as error:
        raise RecnmpError(f"requests: no array: {' '.join(str(error).split())}") from None
    if given.shape == (0,):  # an empty list has neither columns nor a type
        given = np.zeros((0, len(REQUEST_COLUMNS)), np.int64)
    if given.ndim != 2 or given.shape[1] != len(REQUEST_COLUMNS):
        raise RecnmpError(f"requests: shape {given.shape} is not [n, 7] ({', '.join(REQUEST_COLUMNS)})")
    if given.dtype.kind not in "iu":
        raise RecnmpError(f"requests: type {given.dtype} is no integer type")
    organisation = config.organisation
    highest = (
        LAST_CLOCK,
        1,
        config.ranks - 1,
        organisation.bankgroups - 1,
        organisation.banks - 1,
        organisation.rows - 1,
        organisation.columns - 1,
    )
    # a conversion can only wrap a value that is out of range anyway, and then to a negative one
    exact = np.ascontiguousarray(given, dtype=np.int64)
    row, column = first_out_of_range(exact, np.array(highest, np.int64))
    if row >= 0:
        place = f"requests[{row}].{REQUEST_COLUMNS[column]}"
        raise RecnmpError(f"{place} = {given[row, column]}: outside 0 to {highest[column]}")
    return exact


class HostChannel:
    """One host channel that lives through batches: banks, queues' order and refresh schedule persist.

    A batch is offered from its start clock on, at most one request a clock, in order, as room allows; the
    next one starts when it has ended (closed mode, D14). `clk` is the clock reached so far.
    """

    def __init__(self, config: ChannelConfig, log: bool = False) -> None:
        timing, organisation = config.timing, config.organisation
        table = TimingTable(rules(timing, config.rule_set, "host"), ISSUED)
        self.config = config
        self._whole = True
        self._kernel = HostController(
            Device(table, config.ranks, organisation.bankgroups, organisation.banks),
            config.read_queue,
            config.write_queue,
            config.outstanding or 0,
            timing.nREFI if config.refresh else 0,
            timing.nCL + timing.nBL,
            timing.nCWL + timing.nBL,
            log,
        )

    @property
    def _controller(self) -> HostController:
        if not self._whole:
            raise RuntimeError(
                "this HostChannel is in the middle of a batch that was interrupted: make another"
            )
        return self._kernel

    @property
    def clk(self) -> int:
        """The clock reached: that of the last datum of the last batch, or what `idle` was asked for."""
        return int(self._controller.clk)

    def run(
        self,
        requests: npt.ArrayLike,
        start_clock: int | None = None,
        progress: Callable[[int], None] | None = None,
        skipping: bool = True,
    ) -> Integers:
        """Completion clocks int64 [n] of a batch; `clk` is then the clock of its last datum.

        `offered_clk` counts from `start_clock` (default: now; RecnmpError if earlier than now).
        `progress(requests accepted)` is called now and then, outside the clock loop. `skipping=False` ticks
        every clock, with the same outcome. After an interrupt in the middle of a batch, or an exception of
        `progress`, the channel is good for nothing: any use of it raises RuntimeError.
        """
        start = self.clk if start_clock is None else start_clock
        if not self.clk <= start <= LAST_CLOCK:
            raise RecnmpError(f"start_clock = {start}: outside {self.clk} (now) to {LAST_CLOCK}")
        exact = checked_requests(requests, self.config)
        controller = self._controller
        self._whole = False
        controller.begin(exact, start)
        completion = controller.run(skipping, progress)
        self._whole = True
        return completion

    def idle(self, until: int) -> None:
        """Let clocks pass without requests: only refresh happens. Nothing if `until` is past."""
        self._controller.idle(min(until, LAST_CLOCK))

    def counts(self) -> dict[str, int]:
        """Counters by name since the last reset (`recnmp.kernels.host_controller.COUNTERS`)."""
        return self._controller.counts()

    def reset_counts(self) -> None:
        """All counters to zero; the channel itself goes on."""
        self._controller.reset_counts()

    def take_log(self) -> Integers:
        """Commands int64 [m, 7] since the last call, if made with `log`; columns as COMMAND_COLUMNS."""
        return self._controller.take_log()


def statistics(counts: dict[str, int], cycles: int) -> dict[str, int]:
    """Counters of a replay under the names of the recorded cases' JSON, then the commands by name."""
    return {
        "cycles": cycles,
        "num_read_reqs": counts["read_requests"],
        "num_write_reqs": counts["write_requests"],
        "num_read_reqs_served": counts["reads"],
        "num_read_reqs_forwarded": counts["reads_forwarded"],
        "num_write_reqs_coalesced": counts["writes_merged"],
        "row_hits": counts["row_hits"],
        "row_misses": counts["row_misses"],
        "row_conflicts": counts["row_conflicts"],
        "read_latency": counts["read_latency"],
        "activates": counts["activates"],
        "precharges": counts["precharges"],
        "precharges_all": counts["precharges_all"],
        "reads": counts["reads"],
        "writes": counts["writes"],
        "refreshes": counts["refreshes"],
    }


def replay_dram(requests: npt.ArrayLike, system: str | HasChannel | Any, log: bool = False) -> Replay:
    """Replay requests [n, 7] on the exact host channel of `system`, from clock 0.

    `system` is a channel preset's name ("ddr4-2400-2rank"), a ChannelConfig, or anything with a
    `channel_config()` method. The commands logged end with the clock at which the last read's data ended or
    the last WR was issued (`cycles`), as the recorded cases do. Raises RecnmpError for bad requests or names.
    """
    if isinstance(system, str):
        config = channel_preset(system)
    elif hasattr(system, "channel_config"):
        config = system.channel_config()
    else:
        raise RecnmpError(f"system = {system!r}: no preset's name, and has no channel_config()")
    exact = checked_requests(requests, config)
    channel = HostChannel(config, log)
    completion = channel.run(exact)
    counts = channel.counts()
    cycles = _last_clock(exact, completion, config)
    commands = None
    if log:
        commands = channel.take_log()
        commands = commands[commands[:, 0] <= cycles]
    return Replay(completion, statistics(counts, cycles), commands)


def _last_clock(requests: Integers, completion: Integers, config: ChannelConfig) -> int:
    """When the last read's data have ended and the last WR is issued."""
    writes = requests[:, 1] == 1
    issued = completion - np.where(writes, config.timing.nCWL + config.timing.nBL, 0)
    return int(issued.max(initial=0))
