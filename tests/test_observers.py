"""Logs and timelines: they agree with the counters, the referee and each other, and change no result."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from referee import check
from small_trace import system, trace

from recnmp import isa
from recnmp.cli import main
from recnmp.timeline_window import TimelineWindow
from recnmp.timing import COMMANDS, rules

REFRESHED = ["--set", "dram.overrides.nREFI=1500"]
CACHED = ["--set", "recnmp-base.nmp.rank_cache_bytes=4096"]
TWO_CHANNELS = ["--set", "memory.channels=2", "--set", "placement.mapping=RoBaRaCoCh"]
EVERY = "commands,packets,instructions"


def run(folder: Path, *words: str, batches: int = 3, dim: int = 32) -> dict[str, Any]:
    """Simulate into folder/out; the runs of result.json by name."""
    path = folder / "small.npz"
    trace(batches=batches, dim=dim).save(path)
    assert main(["simulate", str(path), "--out", str(folder / "out"), *words]) == 0
    document = json.loads((folder / "out" / "result.json").read_text())
    return {each["system"]: each for each in document["runs"]}


def columns(folder: Path, name: str) -> dict[str, npt.NDArray[Any]]:
    table = pq.read_table(folder / "out" / f"{name}.parquet")
    return {field: table.column(field).to_numpy() for field in table.column_names}


@pytest.mark.parametrize("mode", ["closed", "stream"])
@pytest.mark.parametrize("channels", [1, 2])
def test_logs_count_what_the_counters_count(mode: str, channels: int, tmp_path: Path) -> None:
    words = ["--mode", mode, *REFRESHED, *CACHED, *(TWO_CHANNELS if channels == 2 else [])]
    runs = run(tmp_path, "--log", EVERY, *words, batches=16, dim=16)
    counters = runs["recnmp-base"]["counters"]
    log = columns(tmp_path, "recnmp-base.commands")
    refreshes = np.count_nonzero(log["command"] == "REF")
    assert refreshes == counters["ref"] > 0
    for command, name in (("ACT", "act"), ("PRE", "pre"), ("PREA", "prea"), ("RD", "rd")):
        assert np.count_nonzero(log["command"] == command) == counters[name]
    memory = runs["recnmp-base"]["config"]["memory"]
    ranks = log["channel"] * memory["dimms"] * memory["ranks_per_dimm"] + log["rank"]
    reads = np.bincount(ranks[log["command"] == "RD"], minlength=1)
    assert reads.tolist() == [counters[f"rd[{rank}]"] for rank in range(len(reads))]
    packets = columns(tmp_path, "recnmp-base.packets")
    assert len(packets["packet"]) == counters["packets"]
    assert packets["instructions"].sum() == counters["instructions"]
    for kind in ("hits", "secondary_hits", "misses", "bypasses"):
        assert packets[kind].sum() == counters[f"cache_{kind}"]
    by_table = runs["recnmp-base"]["hit_rate_by_table"]
    for number, table in enumerate(by_table):
        assert packets["misses"][packets["table"] == number].sum() == table["misses"]
    latency = packets["crossed_clk"] - packets["config_clk"]
    assert runs["recnmp-base"]["packet_latency_clocks"]["mean"] == pytest.approx(latency.mean(), rel=1e-12)
    sent = columns(tmp_path, "recnmp-base.instructions")
    assert np.count_nonzero(sent["opcode"] == "LOOKUP") == counters["instructions"]
    assert np.count_nonzero(sent["opcode"] != "LOOKUP") == counters["packet_instructions"]
    assert (
        len({(c, clk) for c, clk in zip(sent["channel"], sent["clk"], strict=True)})
        == (counters["instruction_clocks"])
    )
    for channel in set(sent["channel"]):
        assert (np.diff(sent["clk"][sent["channel"] == channel]) >= 0).all()
    reads = columns(tmp_path, "host.commands")
    assert np.count_nonzero(reads["command"] == "RD") == runs["host"]["counters"]["rd"]


def test_packets_hold_the_whole_trace(tmp_path: Path) -> None:
    """Batch, table, samples and lookups of each packet, by the trace alone (one channel: no pooling is split)."""
    run(tmp_path, "--log", "packets")
    packets = columns(tmp_path, "recnmp-base.packets")
    for number, batch in enumerate(trace(batches=3, dim=32).batches()):
        lengths = np.diff(batch.offsets).reshape(2, 8)
        for table in range(2):
            (mine,) = np.flatnonzero((packets["batch"] == number) & (packets["table"] == table))
            assert packets["lookups"][mine] == lengths[table].sum()
            assert packets["poolings"][mine] == np.count_nonzero(lengths[table])
            assert packets["first_sample"][mine] == 0


def test_words_decode_to_the_columns(tmp_path: Path) -> None:
    run(tmp_path, "--log", "instructions", *CACHED)
    sent = columns(tmp_path, "recnmp-base.instructions")
    fields = isa.INSTRUCTION.unpack(np.stack([sent["word_low"], sent["word_high"]], axis=1))
    lookup, config = sent["opcode"] == "LOOKUP", sent["opcode"] == "CONFIG"
    address = isa.ADDRESS.unpack(fields["address"].reshape(-1, 1))
    for name in ("rank", "bankgroup", "bank", "row", "column"):
        assert (address[name][lookup] == sent[name][lookup]).all()
        assert (sent[name][~lookup] == -1).all()
    assert (fields["psum_tag"][lookup] == sent["tag"][lookup]).all()
    assert (fields["vsize"][lookup] + 1 == sent["bursts"][lookup]).all()
    assert (fields["opcode"][lookup] == isa.lookup_opcode(sent["first_line"][lookup].astype(np.int64))).all()
    for name in ("ddr_cmd", "locality", "byte_offset"):
        assert (fields[name][lookup] == sent[name][lookup]).all()
    assert (fields["weight"][config] == sent["dim"][config]).all()
    group = isa.CONFIG_ADDRESS.unpack(fields["address"][config].reshape(-1, 1))["tag_group"]
    assert (group == sent["tag_group"][config]).all()


@pytest.mark.parametrize("name", ["recnmp-base", "host"])
def test_the_referee_accepts_the_command_log(name: str, tmp_path: Path) -> None:
    run(tmp_path, "--log", "commands", "--memory", "1x2", *REFRESHED, batches=2)
    log = columns(tmp_path, f"{name}.commands")
    config = system("memory.dimms=1", "dram.overrides.nREFI=1500", name=name)
    codes = np.array([COMMANDS.index(command) for command in log["command"]])
    column = np.where(log["column"] > 0, log["column"] * 8, log["column"])
    rows = np.stack(
        [log["clk"], codes, log["rank"], log["bankgroup"], log["bank"], log["row"], column], axis=1
    )
    timing = config.dram.timings()
    near = name != "host"
    check(
        rows.astype(np.int64),
        rules(timing, "jedec", "rank" if near else "host"),
        config.dram.devices(),
        timing.nREFI,
        timing,
        2,
        shared_bus=not near,
    )


def test_observers_change_no_result_and_write_the_same_bytes(tmp_path: Path) -> None:
    documents, files = [], []
    for at, words in enumerate(([], *[["--log", EVERY, "--timeline", str(tmp_path / "t.json")]] * 2)):
        folder = tmp_path / str(at)
        folder.mkdir()
        run(folder, *words, *CACHED, "--warmup", "1")
        document = json.loads((folder / "out" / "result.json").read_text())
        del document["provenance"]
        documents.append(json.dumps(document))
        if words:
            logs = sorted((folder / "out").glob("*.parquet"))
            assert [path.name for path in logs] == [
                "host.commands.parquet",
                "recnmp-base.commands.parquet",
                "recnmp-base.instructions.parquet",
                "recnmp-base.packets.parquet",
            ]
            files.append([path.read_bytes() for path in (*logs, tmp_path / "t.json")])
    assert documents[0] == documents[1] == documents[2]
    assert files[0] == files[1]


def test_metadata_says_what_was_run(tmp_path: Path) -> None:
    run(tmp_path, "--log", "packets", "--warmup", "1", "--set", "nmp.window=5")
    said = json.loads(pq.read_schema(tmp_path / "out" / "recnmp-base.packets.parquet").metadata[b"recnmp"])
    assert (said["schema"], said["log"], said["system"]) == ("recnmp.log/1", "packets", "recnmp-base")
    assert said["config"]["nmp"]["window"] == 5
    assert said["trace"]["sha256"] == trace(batches=3, dim=32).content_hash()
    assert said["warmup"] == 1
    assert {"recnmp", "timing"} < set(said)


def test_row_groups_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recnmp.logs_parquet.GROUP_ROWS", 50)
    runs = run(tmp_path, "--log", "commands")
    file = pq.ParquetFile(tmp_path / "out" / "recnmp-base.commands.parquet").metadata
    sizes = [file.row_group(at).num_rows for at in range(file.num_row_groups)]
    assert (
        max(sizes)
        <= 50
        < sum(sizes)
        == sum(runs["recnmp-base"]["counters"][name] for name in ("act", "pre", "prea", "rd", "ref"))
    )


# -- the timeline


def slices_of(path: Path) -> tuple[dict[str, Any], dict[tuple[str, str], list[dict[str, Any]]], list[Any]]:
    """(metadata, slices by names of process and thread, ends of packets), by the format's own words."""
    document = json.loads(path.read_text())
    processes, threads = {}, {}
    tracks: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    ends = []
    for event in document["traceEvents"]:
        key = event["pid"], event["tid"]
        if event["ph"] == "M":
            if event["name"] == "process_name":
                processes[event["pid"]] = event["args"]["name"]
            elif event["name"] == "thread_name":
                threads[key] = event["args"]["name"]
        elif event["ph"] == "X":
            tracks[processes[event["pid"]], threads[key]].append(event)
        else:
            assert event["ph"] in "be"
            assert {"cat", "id", "name", "pid", "ts"} <= set(event)
            ends.append(event)
    assert len(set(processes.values())) == len(processes)
    return document["otherData"], tracks, ends


def check_window(tracks: dict[Any, list[dict[str, Any]]], ends: list[Any], first: int, last: int) -> None:
    """All inside; in order; on a track slices nest or are apart; each packet begins and ends once."""
    for slices in tracks.values():
        enclosing: list[float] = []
        before = -1.0
        for piece in slices:
            start, end = piece["ts"], piece["ts"] + piece["dur"]
            assert first <= start < end <= last
            assert start >= before
            before = start
            while enclosing and enclosing[-1] <= start:
                enclosing.pop()
            assert not enclosing or end <= enclosing[-1]
            enclosing.append(end)
            assert not piece["name"].startswith("row") or len(enclosing) == 1
    begun = {event["id"]: event["ts"] for event in ends if event["ph"] == "b"}
    over = {event["id"]: event["ts"] for event in ends if event["ph"] == "e"}
    assert begun.keys() == over.keys()
    assert len(ends) == 2 * len(begun)
    assert all(first <= begun[packet] < over[packet] <= last for packet in begun)


@pytest.mark.parametrize("words", [[], CACHED, TWO_CHANNELS, ["--mode", "stream"]])
def test_a_timeline_of_all_holds_every_event(words: list[str], tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    runs = run(
        tmp_path, "--timeline", str(path), *words, *REFRESHED, "--window", "0..1000000", batches=8, dim=16
    )
    said, tracks, ends = slices_of(path)
    assert (said["schema"], said["window"]) == ("recnmp.timeline/1", [0, 1_000_000])
    check_window(tracks, ends, 0, 1_000_000)
    for name, counters in ((name, each["counters"]) for name, each in runs.items()):
        mine = {key: slices for key, slices in tracks.items() if key[0].startswith(name)}
        counts = defaultdict(int)
        for (_, thread), slices in mine.items():
            for piece in slices:
                counts[thread.split()[0], piece["name"].split()[0]] += 1
        assert counts["bank", "row"] == counters["act"]
        assert counts["bank", "RD"] == counts["data", "rank"] == counters["rd"]
        assert counts["refresh", "refresh"] == counters["ref"]
        if name != "host":
            assert counts["instructions", "LOOKUP"] == counters["instructions"]
            assert counts["instructions", "CONFIG"] == counts["instructions", "END"] == counters["packets"]
            assert counts["results", "DIMM"] == counters["result_bursts"]
            taken = sum(count for (thread, _), count in counts.items() if thread == "datapath")
            assert taken == sum(each for key, each in counts.items() if key[0] == "datapath")
            hits = sum(counters.get(f"cache_{kind}", 0) for kind in ("hits", "secondary_hits"))
            assert taken == counters["rd"] + hits
            assert len(ends) == 2 * counters["packets"]


@pytest.mark.parametrize("mode", ["closed", "stream"])
def test_nothing_is_drawn_after_the_end_of_the_run(mode: str, tmp_path: Path) -> None:
    """Rows that are open at the end are drawn up to it, and a window beyond it is empty."""
    path = tmp_path / "t.json"
    words = ["--timeline", str(path), "--memory", "1x2", "--mode", mode, "--window"]
    runs = run(tmp_path, *words, "0..100000", batches=2)
    _, tracks, ends = slices_of(path)
    check_window(tracks, ends, 0, 100_000)
    for name, each in runs.items():
        mine = [piece for key, slices in tracks.items() if key[0].startswith(name) for piece in slices]
        assert max(piece["ts"] + piece["dur"] for piece in mine) == each["clocks"]
        rows = [piece for piece in mine if piece["name"].startswith("row")]
        assert max(piece["ts"] + piece["dur"] for piece in rows) == each["clocks"]
    beyond = max(each["clocks"] for each in runs.values())
    for window in (f"{beyond}..{beyond + 1}", f"{beyond + 1000}..{beyond + 1010}"):
        run(tmp_path, *words, window, batches=2)
        _, tracks, ends = slices_of(path)
        assert not tracks
        assert not ends


def test_a_window_is_a_piece_of_the_whole(tmp_path: Path) -> None:
    """What a window shows is what the whole shows there, rows that were opened before it included."""
    first, last = 1700, 2300
    whole, piece = tmp_path / "whole.json", tmp_path / "piece.json"
    run(tmp_path, "--timeline", str(whole), *REFRESHED, "--window", "0..1000000", batches=12)
    run(tmp_path, "--timeline", str(piece), *REFRESHED, "--window", f"{first}..{last}", batches=12)
    _, all_tracks, all_ends = slices_of(whole)
    _, tracks, ends = slices_of(piece)
    check_window(tracks, ends, first, last)
    expected = {}
    for key, slices in all_tracks.items():
        cut = [
            (max(each["ts"], first), min(each["ts"] + each["dur"], last), each["name"], each["args"])
            for each in slices
            if each["ts"] < last and each["ts"] + each["dur"] > first
        ]
        if cut:
            expected[key] = cut
    assert any(key[1] == "refresh" for key in expected)
    got = {
        key: [(each["ts"], each["ts"] + each["dur"], each["name"], each["args"]) for each in slices]
        for key, slices in tracks.items()
    }
    assert got == expected
    inside = {event["id"] for event in all_ends if event["ph"] == "b" and event["ts"] < last}
    inside &= {event["id"] for event in all_ends if event["ph"] == "e" and event["ts"] > first}
    assert {event["id"] for event in ends} == inside != set()


def test_rows_opened_long_before_the_window_are_open_in_it() -> None:
    """Of five ACTs two are followed by a PRE or a PREA of their rank, and one by a later ACT of the same bank."""
    act, pre, prea = (COMMANDS.index(name) for name in ("ACT", "PRE", "PREA"))
    window = TimelineWindow(system(), ["a"], 10_000, 10_100)
    first = [(3, act, 0, 0, 0, 7, -1), (10, act, 0, 0, 1, 8, -1), (12, act, 1, 0, 0, 9, -1)]
    second = [(50, pre, 0, 0, 1, -1, -1), (60, prea, 1, -1, -1, -1, -1), (80, act, 1, 0, 2, 5, -1)]
    for part in (first, second, [(90, pre, 1, 0, 2, -1, -1), (120, act, 1, 0, 2, 6, -1)]):
        window.host(0, np.array(part, np.int64))
    commands = window.data()["commands"]
    assert sorted(
        zip(*(commands[name].tolist() for name in ("rank", "bank", "row", "clk")), strict=True)
    ) == [
        (0, 0, 7, 3),
        (1, 2, 6, 120),
    ]
