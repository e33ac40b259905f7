"""What a timeline of a window of clocks needs, collected while a system runs; memory as large as the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import isa
from .config.system import SystemConfig
from .observe import Logs
from .observed_packets import COLUMNS, PacketBooks
from .packets import Packets
from .timing import COMMANDS

Int64s = npt.NDArray[np.int64]

_ACT, _PRE, _PREA = (COMMANDS.index(name) for name in ("ACT", "PRE", "PREA"))
_DEVICE_COLUMNS = 8  # of a burst
_COMMAND = ("channel", "clk", "command", "rank", "bankgroup", "bank", "row", "column")
_AT = {name: at for at, name in enumerate(COLUMNS)}


class TimelineWindow:
    """Observes one system in clocks first .. last - 1.

    `rows()` then gives plain arrays int64 [n, k], whose columns are named in COLUMNS_OF.
    """

    COLUMNS_OF: Mapping[str, tuple[str, ...]] = {
        "commands": _COMMAND,
        "sends": ("channel", "clk", "opcode", "packet", "rank", "lookup"),
        "results": ("channel", "clk", "packet", "dimm", "tag", "element_group"),
        "operands": ("channel", "clk", "rank", "packet", "lookup", "tag", "element_group"),
        "packets": ("channel", "packet", "batch", "table", "config_clk", "crossed_clk", "lookups"),
    }

    def __init__(self, config: SystemConfig, tables: Sequence[str], first: int, last: int) -> None:
        timing = config.dram.timings()
        self._config = config
        self._tables = list(tables)
        self._first, self._last = first, last
        # a command before the window may still show in it: its data, or a refresh
        self._data_clocks = timing.nCL + timing.nBL
        self._lead = first - max(self._data_clocks, timing.nRFC)
        self._parts: dict[str, list[Int64s]] = {name: [] for name in self.COLUMNS_OF}
        self._before: dict[int, Int64s] = {}  # by channel: the commands before that rows are open by
        self._books: dict[int, PacketBooks] = {}
        self._end = 0  # of the run, as far as it is known

    def wants_logs(self, clock: int) -> bool:
        """Nothing that is offered after the window happens in it."""
        return clock < self._last

    def near_memory(self, channel: int, packets: Packets, logs: Logs) -> None:
        """Keep what falls into the window."""
        ended = self._books.setdefault(channel, PacketBooks()).sent(packets, logs)
        config, crossed = ended[:, _AT["config_clk"]], ended[:, _AT["crossed_clk"]]
        self._end = max(self._end, int(crossed.max(initial=0)))
        names = self.COLUMNS_OF["packets"][1:]
        self._keep(
            "packets",
            channel,
            {name: ended[:, _AT[name]] for name in names},
            (config < self._last) & (crossed > self._first),
        )
        self._commands(channel, np.stack([_int64(logs.commands[name]) for name in _COMMAND[1:]], axis=1))
        sent = logs.stream[logs.sends["position"]]
        columns = {"clk": logs.sends["clk"], "opcode": np.minimum(sent["opcode"], isa.LOOKUP)}
        columns |= {name: sent[name] for name in ("packet", "rank", "lookup")}
        self._keep("sends", channel, columns, self._inside(columns["clk"], 1))
        burst = self._config.dram.timings().nBL
        self._keep("results", channel, logs.results, self._inside(logs.results["clk"], burst))
        self._keep("operands", channel, logs.operands, self._inside(logs.operands["clk"], 1))

    def host(self, channel: int, commands: Int64s) -> None:
        """Keep a host's commands; its columns become bursts."""
        bursts = commands.copy()
        bursts[:, 6] = np.where(bursts[:, 6] < 0, -1, bursts[:, 6] // _DEVICE_COLUMNS)
        self._commands(channel, bursts)

    def data(self) -> dict[str, Any]:
        """The system's shape and the rows of the window, for recnmp.analysis.timeline.

        `last`: the window's end, or the run's if it ended before: the clock after the last command, at which all
        data and results had crossed.
        """
        config = self._config
        timing, devices = config.dram.timings(), config.dram.devices()
        rows = {
            name: np.concatenate([np.zeros((0, len(columns)), np.int64), *self._parts[name]])
            for name, columns in self.COLUMNS_OF.items()
        }
        before = [
            np.concatenate([np.full((len(part), 1), channel), part], axis=1)
            for channel, part in self._before.items()
        ]
        rows["commands"] = np.concatenate([*before, rows["commands"]])
        return {
            "system": config.name,
            "kind": config.kind,
            "tables": self._tables,
            "first": self._first,
            "last": min(self._last, self._end),
            "channels": config.memory.channels,
            "ranks": config.memory.ranks,
            "ranks_per_dimm": config.memory.ranks_per_dimm,
            "bankgroups": devices.bankgroups,
            "banks": devices.banks,
            "tCK_ps": timing.tCK_ps,
            "nCL": timing.nCL,
            "nBL": timing.nBL,
            "nRFC": timing.nRFC,
            "instructions_per_clock": config.nmp.instructions_per_clock if config.nmp else 0,
            "command_names": list(COMMANDS),
            **{
                name: {column: rows[name][:, at] for at, column in enumerate(columns)}
                for name, columns in self.COLUMNS_OF.items()
            },
        }

    def _inside(self, clocks: npt.NDArray[Any], length: int) -> npt.NDArray[np.bool_]:
        return (clocks < self._last) & (clocks + length > self._first)

    def _keep(self, name: str, channel: int, columns: Any, chosen: npt.NDArray[np.bool_]) -> None:
        names = self.COLUMNS_OF[name][1:]
        kept = [_int64(columns[column][chosen]) for column in names]
        self._parts[name].append(np.stack([np.full(np.count_nonzero(chosen), channel), *kept], axis=1))

    def _commands(self, channel: int, commands: Int64s) -> None:
        """Commands [m, 7] in order of issue: of those before the window only what tells which rows are open."""
        # clocks over which a command is seen: a RD until its datum is there
        length = np.where(commands[:, 6] >= 0, self._data_clocks, 1)
        self._end = max(self._end, int((commands[:, 0] + length).max(initial=0)))
        early = commands[:, 0] < self._lead
        if early.any():
            before = np.concatenate([self._before.get(channel, commands[:0]), commands[early]])
            self._before[channel] = _opening(before)
        kept = commands[~early & (commands[:, 0] < self._last)]
        self._parts["commands"].append(np.concatenate([np.full((len(kept), 1), channel), kept], axis=1))


def _opening(commands: Int64s) -> Int64s:
    """Of commands [m, 7] in order, the last ACT of each bank that neither PRE nor PREA followed."""
    newest = commands[::-1]
    all_banks = newest[newest[:, 1] == _PREA]
    ranks, at = np.unique(all_banks[:, 2], return_index=True)
    closed = dict(zip(ranks.tolist(), all_banks[at, 0].tolist(), strict=True))
    banks = newest[(newest[:, 1] == _ACT) | (newest[:, 1] == _PRE)]
    _, at = np.unique(banks[:, 2:5], axis=0, return_index=True)
    last = banks[np.sort(at)[::-1]]
    is_open = [row[1] == _ACT and row[0] > closed.get(row[2], -1) for row in last.tolist()]
    still: Int64s = last[np.array(is_open, bool)]
    return still


def _int64(column: npt.NDArray[Any]) -> Int64s:
    return column.astype(np.int64)
