"""Replays recorded DRAM command traces and compares command by command.

A case is NAME.npz (requests, commands: int [n, 7]) with NAME.json (case, optionally timing, organization and
stats), as docs/dram.md describes them.
"""

from __future__ import annotations

import json
import zipfile
import zlib
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


def case_names(folder: Path) -> list[str]:
    """Names of the cases of a folder in order; RecnmpError if it is none or has none."""
    if folder.is_file():
        raise RecnmpError(f"{folder}: a file, not a folder of cases")
    if not folder.is_dir():
        raise RecnmpError(f"{folder}: no such folder")
    names = sorted({path.stem for path in folder.iterdir() if path.suffix in (".npz", ".json")})
    if not names:
        raise RecnmpError(f"{folder}: no case, that is a pair NAME.npz and NAME.json")
    return names


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
    arrays = _arrays(array_path)
    requests, commands = arrays["requests"], arrays["commands"]
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


def _arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Requests and commands as they are in the file."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = set(archive.namelist())
        for name in ("requests", "commands"):
            if f"{name}.npy" not in members:
                raise RecnmpError(f"{path}: no array `{name}`")
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in ("requests", "commands")}
    except (ValueError, OSError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error) as error:
        raise RecnmpError(f"{path}: no .npz file of arrays: {error}") from None


def _config(spec: Any) -> ChannelConfig:
    case = spec.get("case") if isinstance(spec, dict) else None
    if not isinstance(case, dict):
        raise RecnmpError("no object `case`")
    for key in ("org", "timing", "ranks", "queue", "refresh"):
        if key not in case:
            raise RecnmpError(f"case.{key} is missing")
    organisation = organisation_preset(str(case["org"]))
    timing = timing_preset(str(case["timing"]), organisation)
    # what was in force when it was recorded says more than the preset's name
    in_force = _object(spec, "timing")
    unknown = set(in_force) - set(Timing.model_fields)
    if unknown:
        raise RecnmpError(f"timing.{min(unknown)}: no such timing")
    timing = Timing(**{**timing.model_dump(), **in_force})
    config = ChannelConfig(
        timing=timing,
        organisation=organisation,
        ranks=case["ranks"],
        read_queue=case["queue"],
        write_queue=case["queue"],
        refresh=case["refresh"],
    )
    _check_organization(_object(spec, "organization"), config, str(case["org"]))
    return config


def _object(spec: dict[str, Any], name: str) -> dict[str, Any]:
    """An optional object of the case's JSON."""
    value = spec.get(name, {})
    if not isinstance(value, dict):
        raise RecnmpError(f"{name} = {value!r}: no object")
    return value


def _check_organization(recorded: dict[str, Any], config: ChannelConfig, preset: str) -> None:
    """What the recorder says of the organisation is what the preset's name means."""
    organisation = config.organisation
    known = {
        "density": organisation.density_mb,
        "dq": organisation.dq,
        "channel_width": organisation.channel_width,
        "rank": config.ranks,
        "bankgroup": organisation.bankgroups,
        "bank": organisation.banks,
        "row": organisation.rows,
        "column": organisation.columns,
    }
    for name, value in recorded.items():
        if name not in known:
            raise RecnmpError(f"organization.{name}: no such part, known are {', '.join(known)}")
        if type(value) is not int or value != known[name]:
            place = "case.ranks" if name == "rank" else preset
            raise RecnmpError(f"organization.{name} = {value!r}: {place} says {known[name]}")


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
    for i in range(max(at - _CONTEXT, 0), min(at + _CONTEXT + 1, max(len(left), len(right)))):
        mark = ">" if i == at else " "
        lines.append(f"{mark} {_say(left, i):<50} {_say(right, i)}")
    return tuple(lines)


def _say(commands: Integers, at: int) -> str:
    if at >= len(commands):
        return "-"
    clk, code, *place = commands[at].tolist()
    parts = [f"{name} {value}" for name, value in zip(COMMAND_COLUMNS[2:], place, strict=True) if value >= 0]
    return f"{clk} {COMMANDS[code]} {' '.join(parts)}"
