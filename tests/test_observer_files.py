"""Files of observers: refused before the run, whole or not there after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_trace import trace

from recnmp.baseline import HostEngine
from recnmp.cli import main
from recnmp.logs_parquet import ParquetLog


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "small.parquet"
    trace().save(path)
    return path


def entries(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--log", "command"], "--log command: unknown, choose from commands, packets, instructions"),
        (["--log", ""], "--log : unknown"),
        (["--log", "packets", "--system", "host"], "no system of this run has near-memory units"),
        (["--window", "0..9"], "there is no --timeline"),
        (["--timeline", "t.json", "--window", "9..9"], "--window 9..9: not A..B"),
        (["--timeline", "t.json", "--window", "9"], "not A..B"),
        (["--timeline", "t.json", "--window=-1..9"], "not A..B"),
        (["--timeline", "t.json", "--window", f"0..{1 << 61}"], "not A..B"),
        (["--timeline", "out/result.json"], "another file of this run"),
        (["--timeline", "nowhere/t.json"], "cannot be written"),
        (["--timeline", "small.parquet"], "exists and is not from recnmp"),
        (["--timeline", "."], "is not from recnmp"),
    ],
)
def test_bad_words_are_one_line_and_leave_nothing(
    words: list[str],
    said: str,
    stored: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(HostEngine, "run_batch", lambda *_: pytest.fail("it ran"))
    assert main(["simulate", str(stored), "--out", "out", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert said in captured.err
    assert entries(tmp_path) == {"small.parquet"}


@pytest.mark.parametrize("name", ["recnmp-base.packets.parquet", "host.commands.parquet"])
def test_foreign_logs_are_not_replaced_and_own_ones_are(
    name: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["simulate", str(stored), "--out", str(out), "--log", "commands", "--log", "packets,commands"]
    words += ["--timeline", str(out / "t.json")]
    assert main(words) == 0
    said = capsys.readouterr().out
    logs = {"host.commands.parquet", "recnmp-base.commands.parquet", "recnmp-base.packets.parquet"}
    assert entries(out) == {"result.json", "summary.png", "t.json"} | logs
    assert all(str(out / each) in said for each in (*logs, "t.json"))
    assert main(words) == 0
    # a trace is Parquet from recnmp as well, and no log
    (out / name).write_bytes(stored.read_bytes())
    before = (out / "result.json").read_bytes()
    assert main(words) == 2
    assert f"{name}: exists and is not from recnmp" in capsys.readouterr().err
    assert (out / name).read_bytes() == stored.read_bytes()
    assert (out / "result.json").read_bytes() == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError(28, "No space left on device")])
@pytest.mark.parametrize("where", ["add", "finish"])
def test_what_breaks_off_leaves_nothing(
    error: Any, where: str, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr(ParquetLog, where, broken)
    words = ["--log", "commands,instructions", "--timeline", str(tmp_path / "t.json")]
    code = main(["simulate", str(stored), "--out", str(tmp_path / "out"), *words])
    assert code == (130 if error is KeyboardInterrupt else 2)
    captured = capsys.readouterr()
    assert captured.out == ""
    if code == 2:
        assert "No space left" in captured.err
        assert captured.err.count("\n") == 1
    assert entries(tmp_path) == {"small.parquet"}


def test_an_empty_trace_has_logs_of_nothing(tmp_path: Path) -> None:
    path = tmp_path / "none.npz"
    trace(batches=0).save(path)
    words = ["--log", "commands,packets,instructions", "--timeline", str(tmp_path / "t.json")]
    assert main(["simulate", str(path), "--out", str(tmp_path / "out"), *words]) == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {event["ph"] for event in events} == {"M"}
