"""A window of clocks as a timeline: trace-event JSON, which ui.perfetto.dev and chrome://tracing open.

One clock is one microsecond of the viewer: it keeps whole nanoseconds, in which a clock of 833 ps is none. `X` events
are slices, `b` and `e` the ends of a packet, `M` names (docs/observers.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MARK = '{"otherData": {"schema": "recnmp.timeline/1"'
Event = dict[str, Any]
_OPCODES = {1: "CONFIG", 2: "END"}

# threads of a rank after its banks
_DATA, _DATAPATH, _REFRESH = 1001, 1002, 1003
# threads of a channel
_INSTRUCTIONS, _RESULTS = 1, 2


@dataclass(frozen=True)
class _Slice:
    """From clock `start` for `clocks` on a thread of a process."""

    pid: int
    tid: int
    start: float
    clocks: float
    name: str
    args: Mapping[str, Any]


def write(path: Path, systems: Sequence[Mapping[str, Any]], said: Mapping[str, Any]) -> None:
    """Write one file for the windows of all systems (`TimelineWindow.data`); `said`: of the run, as metadata."""
    head = MARK + "".join(f", {json.dumps(key)}: {_text(value)}" for key, value in sorted(said.items()))
    with path.open("w", encoding="utf-8") as file:
        file.write(head + '}, "displayTimeUnit": "ns", "traceEvents": [')
        mark = "\n"
        for event in events(systems):
            file.write(mark + _text(event))
            mark = ",\n"
        file.write("\n]}\n")


def events(systems: Sequence[Mapping[str, Any]]) -> Iterator[Event]:
    """All events: names first, then slices of each track in order of time, then packets."""
    pid = 1
    for system in systems:
        pids = {channel: pid + channel * (system["ranks"] + 1) for channel in range(system["channels"])}
        pid += system["channels"] * (system["ranks"] + 1)
        yield from _names(system, pids)
        slices = [piece for made in _slices(system, pids) if (piece := _clipped(made, system)) is not None]
        slices.sort(key=lambda piece: (piece.pid, piece.tid, piece.start, -piece.clocks))
        for piece in slices:
            yield {
                "ph": "X",
                "pid": piece.pid,
                "tid": piece.tid,
                "ts": piece.start,
                "dur": piece.clocks,
                "name": piece.name,
                "args": dict(piece.args),
            }
        yield from _packets(system, pids)


def is_timeline(path: Path) -> bool:
    """Is the file one that `write` wrote?"""
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK.encode()
    except OSError:
        return False


def _names(system: Mapping[str, Any], pids: Mapping[int, int]) -> Iterator[Event]:
    """Processes are a channel and its ranks, in this order; threads are the tracks of each."""
    near = system["kind"] == "nmp"
    for channel, pid in pids.items():
        where = f"{system['system']} channel {channel}" if len(pids) > 1 else system["system"]
        bus = {_INSTRUCTIONS: "instructions", _RESULTS: "results"} if near else {_DATA: "data"}
        yield from _process(pid, f"{where} bus", bus)
        for rank in range(system["ranks"]):
            dimm = rank // system["ranks_per_dimm"]
            threads = {
                1 + group * system["banks"] + bank: f"bank {group}.{bank}"
                for group in range(system["bankgroups"])
                for bank in range(system["banks"])
            }
            threads |= {_DATA: "data", _DATAPATH: "datapath"} if near else {}
            yield from _process(
                pid + 1 + rank, f"{where} rank {rank} (DIMM {dimm})", threads | {_REFRESH: "refresh"}
            )


def _process(pid: int, name: str, threads: Mapping[int, str]) -> Iterator[Event]:
    yield _meta(pid, 0, "process_name", {"name": name})
    yield _meta(pid, 0, "process_sort_index", {"sort_index": pid})
    for tid, thread in threads.items():
        yield _meta(pid, tid, "thread_name", {"name": thread})
        yield _meta(pid, tid, "thread_sort_index", {"sort_index": tid})


def _meta(pid: int, tid: int, name: str, args: Mapping[str, Any]) -> Event:
    return {"ph": "M", "pid": pid, "tid": tid, "name": name, "args": dict(args)}


def _slices(system: Mapping[str, Any], pids: Mapping[int, int]) -> Iterator[_Slice]:
    yield from _of_commands(system, pids)
    yield from _of_instructions(system, pids)
    for channel, clk, packet, dimm, tag, group in _rows(system["results"]):
        args = {"packet": packet, "tag": tag, "element_group": group}
        yield _Slice(pids[channel], _RESULTS, clk, system["nBL"], f"DIMM {dimm}", args)
    for channel, clk, rank, packet, lookup, tag, group in _rows(system["operands"]):
        args = {"packet": packet, "lookup": lookup, "element_group": group}
        yield _Slice(pids[channel] + 1 + rank, _DATAPATH, clk, 1, f"tag {tag}", args)


def _of_commands(system: Mapping[str, Any], pids: Mapping[int, int]) -> Iterator[_Slice]:
    """Open rows with the RDs in them, bursts of data, refreshes."""
    names, near = system["command_names"], system["kind"] == "nmp"
    open_rows: dict[tuple[int, int], tuple[int, int]] = {}  # process, bank -> clock of ACT, row

    def closed(place: tuple[int, int], clk: int) -> Iterator[_Slice]:
        if place in open_rows:
            start, row = open_rows.pop(place)
            yield _Slice(place[0], place[1], start, clk - start, f"row {row}", {"row": row})

    for channel, clk, code, rank, group, bank, row, column in _rows(system["commands"]):
        command, pid, tid = names[code], pids[channel] + 1 + rank, 1 + group * system["banks"] + bank
        place = (pid, tid)
        if command == "ACT":
            open_rows[place] = clk, row
        elif command == "PRE":
            yield from closed(place, clk)
        elif command == "PREA":
            for other in sorted(key for key in open_rows if key[0] == pid):
                yield from closed(other, clk)
        elif command == "REF":
            yield _Slice(pid, _REFRESH, clk, system["nRFC"], "refresh", {})
        else:
            args = {"rank": rank, "bankgroup": group, "bank": bank, "row": row, "column": column}
            yield _Slice(pid, tid, clk, 1, command, args)
            data = clk + system["nCL"]
            yield _Slice(pid if near else pids[channel], _DATA, data, system["nBL"], f"rank {rank}", args)
    for place in sorted(open_rows):
        yield from closed(place, system["last"])


def _of_instructions(system: Mapping[str, Any], pids: Mapping[int, int]) -> Iterator[_Slice]:
    """Those of one clock one after another, each as long as its share of it."""
    share, before, nth = 1 / (system["instructions_per_clock"] or 1), (-1, -1), 0
    for channel, clk, opcode, packet, rank, lookup in _rows(system["sends"]):
        nth = nth + 1 if before == (channel, clk) else 0
        before = channel, clk
        args = (
            {"packet": packet} if opcode in _OPCODES else {"packet": packet, "rank": rank, "lookup": lookup}
        )
        yield _Slice(
            pids[channel], _INSTRUCTIONS, clk + nth * share, share, _OPCODES.get(opcode, "LOOKUP"), args
        )


def _packets(system: Mapping[str, Any], pids: Mapping[int, int]) -> Iterator[Event]:
    """From CONFIG to the last result; a packet that goes over the window's edge ends there."""
    first, last, pieces = system["first"], system["last"], []
    for channel, packet, batch, table, config, crossed, lookups in _rows(system["packets"]):
        common = {"cat": "packet", "id": f"{pids[channel]}.{packet}", "pid": pids[channel], "tid": 0}
        common["name"] = "packet"
        args = {
            "packet": packet,
            "batch": batch,
            "table": system["tables"][table],
            "lookups": lookups,
            "clocks": crossed - config,
        }
        pieces.append({**common, "ph": "b", "ts": max(first, config), "args": args})
        pieces.append({**common, "ph": "e", "ts": min(last, crossed)})
    yield from sorted(pieces, key=lambda piece: (piece["ts"], piece["ph"] == "b"))


def _clipped(piece: _Slice, system: Mapping[str, Any]) -> _Slice | None:
    """The part of a slice in the window; None if there is none."""
    start = max(piece.start, system["first"])
    clocks = min(piece.start + piece.clocks, system["last"]) - start
    return _Slice(piece.pid, piece.tid, start, clocks, piece.name, piece.args) if clocks > 0 else None


def _rows(columns: Mapping[str, Any]) -> Iterable[tuple[int, ...]]:
    """Rows of columns in order of clock within their channel, as plain integers."""
    arrays = list(columns.values())
    if "clk" in columns:
        order = np.lexsort((columns["clk"], columns["channel"]))
        arrays = [column[order] for column in arrays]
    return zip(*(column.tolist() for column in arrays), strict=True)


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, separators=(",", ":"))
