"""Replays recorded DRAM command traces and compares command by command.

A case is NAME.npz (requests, commands: int [n, 7]) with NAME.json (case, optionally timing, organization and
stats), as docs/dram.md describes them.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .config.dram import ChannelConfig, Timing, organisation_preset, timing_preset
from .errors import RecnmpError
from .replay import COMMAND_COLUMNS, HostChannel, checked_requests, statistics
from .timing import COMMANDS

# how many of the leading columns of COMMAND_COLUMNS a command uses; some use the last one too
_USED = {"ACT": 6, "PRE": 5, "PREA": 3, "RD": 5, "WR": 5, "RDA": 5, "WRA": 5, "REF": 3}
_WITH_COLUMN = ("RD", "WR", "RDA", "WRA")
_COMPARED_STATS = (
    "row_hits",
    "row_misses",
    "row_conflicts",
    "num_read_reqs_forwarded",
    "num_write_reqs_coalesced",
    "read_latency",
)
_CONTEXT = 3

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Case:
    """A recorded run: its channel, requests [n, 7], commands [m, 7] and the recorder's counts."""

    name: str
    config: ChannelConfig
    requests: Integers
    commands: Integers
    stats: dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a replay compared: `difference` is empty if it is exact, else lines that show the first one."""

    name: str
    commands: int
    difference: tuple[str, ...]


def load_cases(folder: Path) -> list[Case]:
    """All cases of a folder by name; RecnmpError if it has none or holds one that cannot be read."""
    if not folder.is_dir():
        raise RecnmpError(f"{folder}: no such folder")
    names = sorted({path.stem for path in folder.iterdir() if path.suffix in (".npz", ".json")})
    if not names:
        raise RecnmpError(f"{folder}: no case, that is a pair NAME.npz and NAME.json")
    return [load_case(folder, name) for name in names]


def load_case(folder: Path, name: str) -> Case:
    """The case `name` of a folder; RecnmpError naming file and place if it cannot be read."""
    spec_path, array_path = folder / f"{name}.json", folder / f"{name}.npz"
    for path in (spec_path, array_path):
        if not path.is_file():
            raise RecnmpError(f"{path}: missing, a case is a pair NAME.npz and NAME.json")
    try:
        spec = json.loads(spec_path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecnmpError(f"{spec_path}: no JSON: {error}") from None
    try:
        config = _config(spec)
    except RecnmpError as error:
        raise RecnmpError(f"{spec_path}: {error}") from None
    try:
        with np.load(array_path, allow_pickle=False) as arrays:
            requests, commands = arrays["requests"], arrays["commands"]
    except KeyError as error:
        raise RecnmpError(f"{array_path}: {str(error).strip(chr(34))}") from None
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise RecnmpError(f"{array_path}: no .npz file of arrays: {error}") from None
    if commands.ndim != 2 or commands.shape[1] != 7 or commands.dtype.kind not in "iu":
        raise RecnmpError(
            f"{array_path}: commands: {commands.dtype} {commands.shape} is no integer array [m, 7]"
        )
    if len(commands) and not 0 <= commands[:, 1].min() <= commands[:, 1].max() < len(COMMANDS):
        raise RecnmpError(f"{array_path}: commands: command codes are 0 to {len(COMMANDS) - 1}")
    try:
        exact = checked_requests(requests, config)
    except RecnmpError as error:
        raise RecnmpError(f"{array_path}: {error}") from None
    stats = spec.get("stats", {})
    return Case(name, config, exact, commands.astype(np.int64), stats if isinstance(stats, dict) else {})


def _config(spec: Any) -> ChannelConfig:
    case = spec.get("case") if isinstance(spec, dict) else None
    if not isinstance(case, dict):
        raise RecnmpError("no object `case`")
    for key in ("org", "timing", "ranks", "queue", "refresh"):
        if key not in case:
            raise RecnmpError(f"case.{key} is missing")
    organisation = organisation_preset(str(case["org"]))
    timing = timing_preset(str(case["timing"]), organisation)
    if isinstance(spec.get("timing"), dict):
        # what was in force when it was recorded says more than the preset's name
        unknown = set(spec["timing"]) - set(Timing.model_fields)
        if unknown:
            raise RecnmpError(f"timing.{min(unknown)}: no such timing")
        timing = Timing(**{**timing.model_dump(), **spec["timing"]})
    return ChannelConfig(
        timing=timing,
        organisation=organisation,
        ranks=case["ranks"],
        read_queue=case["queue"],
        write_queue=case["queue"],
        refresh=case["refresh"],
    )


def validate_case(case: Case) -> Outcome:
    """Replay a case on the exact host channel and find the first difference in commands, then in counts."""
    channel = HostChannel(case.config, log=True)
    channel.run(case.requests)
    counts = statistics(channel.counts(), channel.clk)
    # a recording may end later (idle clocks with refreshes), or before the data of a last write have ended
    recorded_end = int(case.commands[-1, 0]) if len(case.commands) else 0
    channel.idle(recorded_end)
    ours = channel.take_log()
    served = np.isin(ours[:, 1], [COMMANDS.index("RD"), COMMANDS.index("WR")])
    end = max(recorded_end, int(ours[served, 0].max(initial=0)))
    ours = ours[ours[:, 0] <= end]
    difference = _first_difference(case.commands, ours)
    if not difference:
        difference = tuple(
            f"  {name}: recorded {case.stats[name]}, replayed {counts[name]}"
            for name in _COMPARED_STATS
            if name in case.stats and case.stats[name] != counts[name]
        )
    return Outcome(case.name, len(case.commands), difference)


def _comparable(commands: Integers) -> Integers:
    """A copy in which what a command does not use is -1."""
    used = np.array([_USED[name] for name in COMMANDS])[commands[:, 1]]
    keep = np.arange(7) < used[:, None]
    keep[:, 6] = np.isin(commands[:, 1], [COMMANDS.index(name) for name in _WITH_COLUMN])
    return np.where(keep, commands, -1)


def _first_difference(recorded: Integers, replayed: Integers) -> tuple[str, ...]:
    left, right = _comparable(recorded), _comparable(replayed)
    common = min(len(left), len(right))
    unequal = np.flatnonzero((left[:common] != right[:common]).any(axis=1))
    if not len(unequal) and len(left) == len(right):
        return ()
    at = int(unequal[0]) if len(unequal) else common
    lines = [f"  first difference at command {at} of {len(left)} recorded, {len(right)} replayed"]
    lines += [f"  {'recorded':<50} replayed"]
    for i in range(max(at - _CONTEXT, 0), at + _CONTEXT + 1):
        mark = ">" if i == at else " "
        lines.append(f"{mark} {_say(left, i):<50} {_say(right, i)}")
    return tuple(lines)


def _say(commands: Integers, at: int) -> str:
    if at >= len(commands):
        return "-"
    clk, code, *place = commands[at].tolist()
    parts = [f"{name} {value}" for name, value in zip(COMMAND_COLUMNS[2:], place, strict=True) if value >= 0]
    return f"{clk} {COMMANDS[code]} {' '.join(parts)}"
