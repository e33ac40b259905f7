"""`recnmp simulate`: its table, files and figure, and what it leaves behind when something is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_trace import trace

from recnmp.baseline import HostEngine
from recnmp.cli import main
from recnmp.workload import Table, Workload


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "small.npz"
    trace().save(path)
    return path


def document(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return loaded


def test_the_files_say_what_the_table_says(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["simulate", str(stored), "--out", str(out), "--memory", "1x2"]) == 0
    table = capsys.readouterr().out
    loaded = document(out)
    assert loaded["schema"] == "recnmp.result/1"
    assert loaded["trace"]["sha256"] == trace().content_hash()
    assert [run["system"] for run in loaded["runs"]] == ["host", "recnmp-base"]
    for run in loaded["runs"]:
        assert run["baseline"] == "host"
        assert run["config"]["memory"]["dimms"] == 1
        assert run["energy_pj"]["total"] == pytest.approx(
            sum(v for k, v in run["energy_pj"].items() if k != "total")
        )
        assert f"{run['speedup']:.2f}" in table
        assert run["energy_counts"] in table
    assert str(out / "summary.png") in table
    assert (out / "summary.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in out.iterdir()) == ["result.json", "summary.png"]


def test_the_same_run_gives_the_same_bytes(stored: Path, tmp_path: Path) -> None:
    documents, figures = [], []
    for out in (tmp_path / "one", tmp_path / "two"):
        assert main(["simulate", str(stored), "--out", str(out)]) == 0
        loaded = document(out)
        assert loaded.pop("provenance")["recnmp"]
        documents.append(json.dumps(loaded, sort_keys=True))
        figures.append((out / "summary.png").read_bytes())
    assert documents[0] == documents[1]
    assert figures[0] == figures[1]
    # and it may be run again over its own files
    assert main(["simulate", str(stored), "--out", str(tmp_path / "one"), "--seed", "2"]) == 0
    other = document(tmp_path / "one")
    assert (other["seed"], other["runs"][0]["config"]["placement"]["seed"]) == (2, 2)
    assert other["runs"][0]["clocks"] != json.loads(documents[0])["runs"][0]["clocks"]


def test_settings_reach_the_systems_they_name(stored: Path, tmp_path: Path) -> None:
    words = ["--set", "host.host.read_queue=2", "recnmp-base.nmp.window=3", "refresh.enabled=false"]
    words = [words[0], words[1], "--set", words[2], "--set", words[3]]
    assert main(["simulate", str(stored), "--out", str(tmp_path / "o"), *words]) == 0
    host, near = document(tmp_path / "o")["runs"]
    assert (host["config"]["host"]["read_queue"], near["config"]["host"]["read_queue"]) == (2, 32)
    assert near["config"]["nmp"]["window"] == 3
    assert [run["config"]["refresh"]["enabled"] for run in (host, near)] == [False, False]


@pytest.mark.parametrize("name", ["result.json", "summary.png"])
def test_foreign_files_are_not_replaced(name: str, stored: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text('{"mine": 1}')
    assert main(["simulate", str(stored), "--system", "host", "--out", str(out)]) == 2
    assert "is not from recnmp" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == [name]
    assert (out / name).read_text() == '{"mine": 1}'


def test_ctrl_c_leaves_nothing(
    stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def interrupted(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(HostEngine, "run_batch", interrupted)
    out = tmp_path / "out"
    assert main(["simulate", str(stored), "--system", "host", "--out", str(out)]) == 130
    assert not out.exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["--system", "recnmp"],
        ["--memory", "big"],
        ["--warmup", "3"],
        ["--warmup", "-1"],
        ["--set", "nmp.windo=3"],
        ["--set", "recnmp.nmp.window=3"],
        ["--set", "placement.mapping=RoCoBaRaCh", "--set", "placement.pages=coloured"],
        ["--seed", "-1"],
        ["--values", "nothing.npy"],
        ["--config", "nothing.toml"],
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(
    words: list[str], stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["simulate", str(stored), "--out", str(out), *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("recnmp: error: ")
    assert captured.err.count("\n") == 1
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--seed", "-1"], "--seed -1: placement.seed = -1: input should be greater than or equal to 0"),
        (
            ["--mode", "stream", "--set", "nmp.rank_cache_bytes=8K", "--set", "nmp.rank_cache_flush=batch"],
            "preset recnmp-base + --mode stream + --set nmp.rank_cache_bytes=8K + ",
        ),
        (
            ["--system", "host", "--values", "hash"],
            "--values hash: no system of this run has near-memory units",
        ),
        (
            ["--system", "host", "host-llc", "--values", "no.npy"],
            "--values no.npy: no system of this run has",
        ),
    ],
)
def test_errors_name_the_option_that_was_typed(
    words: list[str], complaint: str, stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(stored), "--out", str(tmp_path / "out"), *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"recnmp: error: {complaint}")
    assert said.count("\n") == 1


def test_an_empty_trace_has_a_table_and_a_figure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "none.npz"
    Workload.from_arrays([], lengths=[], tables=[Table("a", 10, 16)]).save(path)
    assert main(["simulate", str(path), "--out", str(tmp_path / "o")]) == 0
    assert "nan" not in capsys.readouterr().out.lower()
    assert (tmp_path / "o" / "summary.png").exists()


def test_json_goes_to_the_standard_output(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(stored), "--out", str(tmp_path / "o"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == document(tmp_path / "o")
