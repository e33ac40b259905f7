"""The folder of results: tried before the run, left as it was when something is wrong."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest
from small_trace import trace

from recnmp.cli import main
from recnmp.cli import simulate as verb
from recnmp.cli.out_folder import check_folder, folder_made
from recnmp.errors import RecnmpError
from recnmp.result import describe_trace
from recnmp.workload import Table, Workload


@pytest.fixture
def stored(tmp_path: Path) -> str:
    path = tmp_path / "small.npz"
    trace(1).save(path)
    return str(path)


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def compare(*_: object, **__: object) -> None:
        raise AssertionError("ran before the folder was tried")

    monkeypatch.setattr(verb, "compare", compare)


@pytest.mark.parametrize("out", ["file", "file/below", "x" * 300, "/proc/none/out", "new/" + "y" * 300])
def test_a_folder_that_cannot_be_is_refused_before_the_run(
    out: str, stored: str, tmp_path: Path, no_run: None, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    assert main(["simulate", stored, "--out", str(tmp_path / out)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"recnmp: error: {tmp_path / out}")
    assert said.err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def touch(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(RecnmpError, match="out: files cannot be written there: Permission denied"):
        check_folder(tmp_path / "a" / "out")
    assert list(tmp_path.iterdir()) == []


def test_trying_leaves_everything_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for folder in ("there", "a/b/c", "there/d"):
        check_folder(tmp_path / folder)
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "there"]


def test_what_was_made_goes_again_but_nothing_else(tmp_path: Path) -> None:
    def interrupted() -> None:
        with folder_made(tmp_path / "a" / "b"):
            (tmp_path / "a" / "mine").write_text("kept")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "a", tmp_path / "a" / "mine"]
    with folder_made(tmp_path / "a" / "b"):
        pass
    assert (tmp_path / "a" / "b").is_dir()


def test_a_dangling_link_is_not_replaced(stored: str, tmp_path: Path, no_run: None, capsys: Any) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "result.json").symlink_to(tmp_path / "nowhere")
    assert main(["simulate", stored, "--out", str(out)]) == 2
    assert "result.json: exists and is not from recnmp" in capsys.readouterr().err
    assert (out / "result.json").is_symlink()


@pytest.mark.parametrize("text", ["[" * 100_000, "9" * 5000, '{"schema": 3}', "\x00"])
def test_foreign_files_of_any_kind_are_kept(text: str, stored: str, tmp_path: Path, no_run: None) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "result.json").write_text(text)
    assert main(["simulate", stored, "--out", str(out)]) == 2
    assert (out / "result.json").read_text() == text


def test_a_full_disk_names_the_file(
    stored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write_text = Path.write_text

    def full(path: Path, *more: Any, **options: Any) -> int:
        if "result.json" in path.name:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write_text(path, *more, **options)

    monkeypatch.setattr(Path, "write_text", full)
    assert main(["simulate", stored, "--out", str(tmp_path / "o")]) == 2
    line = f"recnmp: error: {tmp_path}/o/result.json: cannot be written: No space left on device\n"
    assert capsys.readouterr().err == line
    assert not (tmp_path / "o").exists()


def test_the_document_says_how_the_trace_was_made(tmp_path: Path) -> None:
    words = [
        "trace",
        "generate",
        "uniform",
        "--tables",
        "2",
        "--rows",
        "99",
        "--dim",
        "16",
        "--pooling",
        "3",
        "--batch-size",
        "4",
        "--batches",
        "2",
    ]
    documents = []
    for name in ("a.npz", "a.parquet"):
        assert main([*words, "--seed", "7", "-o", str(tmp_path / name)]) == 0
        assert main(["simulate", str(tmp_path / name), "--out", str(tmp_path / "o")]) == 0
        documents.append(json.loads((tmp_path / "o" / "result.json").read_text())["trace"])
    assert documents[0] == documents[1]
    assert documents[0]["origin"]["generator"]["seed"] == 7


def test_an_origin_may_hold_what_json_does_not() -> None:
    origin = {"share": float("nan"), "deep": [{"most": float("inf")}, (1.5, None)]}
    workload = Workload.from_arrays([0], lengths=[1], tables=[Table("a", 1, 16)], origin=origin)
    said = describe_trace(workload, "t")["origin"]
    assert json.loads(json.dumps(said, allow_nan=False)) == {
        "share": "nan",
        "deep": [{"most": "inf"}, [1.5, None]],
    }
