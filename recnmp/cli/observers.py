"""The observers of `recnmp simulate`: --log, --timeline, --window. They are made before the run, and change no result.

Each file is whole or not there: it is written beside its place while the systems run, and put there at the end.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import __version__
from ..baseline import HostEngine
from ..config.system import SystemConfig
from ..errors import RecnmpError
from ..logs_parquet import KINDS, ParquetLog, SystemLogs, is_log
from ..observe import Logs, Observer
from ..packets import Packets
from ..placement import Placement
from ..replacing import replacing
from ..result import describe_trace
from ..simulate import Engine
from ..timeline_window import TimelineWindow
from ..values import Values
from ..workload import Table, Workload

WINDOW = (0, 20_000)
LAST_CLOCK = 1 << 60


def add_observer_arguments(parser: argparse.ArgumentParser) -> None:
    """Add --log, --timeline and --window to the verb."""
    parser.add_argument(
        "--log",
        action="append",
        default=[],
        metavar=",".join(KINDS),
        dest="logs",
        help="write logs of each system into the folder, as SYSTEM.commands.parquet and so on; may be repeated",
    )
    parser.add_argument(
        "--timeline", type=Path, metavar="FILE.json", help="write a timeline, which ui.perfetto.dev opens"
    )
    parser.add_argument(
        "--window", metavar="A..B", help="clocks of the timeline, A to B - 1 (default: 0..20000)"
    )


def chosen_logs(words: Sequence[str]) -> list[str]:
    """The kinds of logs that --log names, each once. Raises RecnmpError for an unknown one."""
    named = [part.strip() for word in words for part in word.split(",")]
    for name in named:
        if name not in KINDS:
            raise RecnmpError(f"--log {name}: unknown, choose from {', '.join(KINDS)}")
    return [kind for kind in KINDS if kind in named]


def chosen_window(args: argparse.Namespace) -> tuple[int, int]:
    """First clock and the one after the last. Raises RecnmpError where --window says no range of clocks."""
    if args.window is None:
        return WINDOW
    if args.timeline is None:
        raise RecnmpError(f"--window {args.window}: there is no --timeline that it could be the window of")
    first, dots, last = args.window.partition("..")
    numbers = first.isascii() and first.isdigit() and last.isascii() and last.isdigit()
    if not dots or not numbers or not 0 <= int(first) < int(last) <= LAST_CLOCK:
        raise RecnmpError(
            f"--window {args.window}: not A..B with 0 <= A < B <= {LAST_CLOCK}, such as 0..20000"
        )
    return int(first), int(last)


class Several:
    """Hands everything to several observers."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers

    def wants_logs(self, clock: int) -> bool:
        """One that wants them is enough."""
        return any(observer.wants_logs(clock) for observer in self._observers)

    def near_memory(self, channel: int, packets: Packets, logs: Logs) -> None:
        """A batch was sent."""
        for observer in self._observers:
            observer.near_memory(channel, packets, logs)

    def host(self, channel: int, commands: npt.NDArray[np.int64]) -> None:
        """A host issued commands."""
        for observer in self._observers:
            observer.host(channel, commands)


class Observers:
    """All that the command line asked to watch, for the systems of one comparison.

    Inside `with`, the files are open beside their places; `finish` makes them whole, and the end of the block puts
    them there. On an exception nothing of them is left.
    """

    def __init__(
        self,
        args: argparse.Namespace,
        systems: Sequence[SystemConfig],
        workload: Workload,
        name: str,
        folder: Path,
        taken: Sequence[Path],
    ) -> None:
        self._kinds = chosen_logs(args.logs)
        self._window = chosen_window(args)
        self._timeline: Path | None = args.timeline
        self._systems = systems
        self._workload = workload
        near = [system for system in systems if system.kind == "nmp"]
        for kind in self._kinds:
            if kind != "commands" and not near:
                raise RecnmpError(f"--log {kind}: no system of this run has near-memory units")
        self._paths = {
            (system.name, kind): folder / f"{system.name}.{kind}.parquet"
            for system in systems
            for kind in self._kinds
            if kind == "commands" or system.kind == "nmp"
        }
        self._refuse(taken)
        self._said = {
            "recnmp": __version__,
            "trace": describe_trace(workload, name),
            "warmup": args.warmup,
        }
        self._logs: dict[tuple[str, str], ParquetLog] = {}
        self._windows: list[TimelineWindow] = []
        self._stack = ExitStack()
        self._timeline_file: Path | None = None

    def _refuse(self, taken: Sequence[Path]) -> None:
        """Refuse to write over what is not ours, or over another file of this run."""
        ours: dict[Path, Callable[[Path], bool]] = dict.fromkeys(self._paths.values(), is_log)
        if self._timeline is not None:
            if os.path.realpath(self._timeline) in {os.path.realpath(path) for path in (*ours, *taken)}:
                raise RecnmpError(f"--timeline {self._timeline}: another file of this run has this place")
            ours[self._timeline] = import_module("recnmp.analysis.timeline").is_timeline
        for path, is_ours in ours.items():
            if os.path.lexists(path) and not is_ours(path):
                raise RecnmpError(f"{path}: exists and is not from recnmp; name another place")

    @property
    def files(self) -> list[Path]:
        """What is written: logs in the order of systems and kinds, and the timeline."""
        return [*self._paths.values(), *([self._timeline] if self._timeline else [])]

    def __enter__(self) -> Observers:
        try:
            if self._timeline is not None:
                self._timeline_file = self._stack.enter_context(replacing(self._timeline))
            for (system, kind), path in self._paths.items():
                config = next(each for each in self._systems if each.name == system)
                temporary = self._stack.enter_context(replacing(path))
                said = {**self._said, "system": system, "config": config.model_dump()}
                said["timing"] = config.dram.timings().model_dump()
                log = ParquetLog(temporary, kind, said)
                self._logs[system, kind] = log
                self._stack.callback(log.abandon)
        except BaseException as error:
            self._stack.__exit__(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, *exception: Any) -> None:
        self._stack.__exit__(*exception)

    def make(
        self, config: SystemConfig, tables: Sequence[Table], placement: Placement, values: Values | None
    ) -> Engine:
        """The engine of a system, watched."""
        observers: list[Observer] = []
        logs = {kind: log for (system, kind), log in self._logs.items() if system == config.name}
        if logs:
            observers.append(SystemLogs(logs, config.nmp.poolings_per_packet if config.nmp else 0))
        if self._timeline is not None:
            window = TimelineWindow(config, [table.name for table in tables], *self._window)
            self._windows.append(window)
            observers.append(window)
        observer = Several(observers) if observers else None
        if config.kind == "host":
            return HostEngine(config, tables, placement, observer)
        from ..near_memory import NmpEngine

        return NmpEngine(config, tables, placement, values, observer=observer)

    def finish(self) -> None:
        """The runs are over: make the files whole. Raises RecnmpError if the disk is full."""
        try:
            for log in self._logs.values():
                log.finish()
            if self._timeline_file is not None:
                said: Mapping[str, Any] = {
                    **self._said,
                    "clocks_a_microsecond": 1,
                    "window": list(self._window),
                    "configs": {system.name: system.model_dump() for system in self._systems},
                }
                windows = [window.data() for window in self._windows]
                import_module("recnmp.analysis.timeline").write(self._timeline_file, windows, said)
        except OSError as error:
            raise RecnmpError(f"logs cannot be written: {error.strerror or error}") from error
