"""`recnmp validate dram`: exact, different, and bad folders."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recnmp.cli import main

KEPT = Path(__file__).parent / "data" / "dram"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one good case."""
    for suffix in (".npz", ".json"):
        shutil.copy(KEPT / f"stream-2rank{suffix}", tmp_path)
    return tmp_path


def change(folder: Path, **arrays: Any) -> None:
    path = folder / "stream-2rank.npz"
    with np.load(path) as old:
        np.savez_compressed(path, **({name: old[name] for name in old} | arrays))


def commands(folder: Path) -> Any:
    with np.load(folder / "stream-2rank.npz") as arrays:
        return arrays["commands"]


def spec(folder: Path, change: Any) -> None:
    path = folder / "stream-2rank.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_exact_cases_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "dram", str(KEPT)]) == 0
    out = capsys.readouterr().out
    assert out.count("exact\n") == 3 + 1
    assert "3 of 3 cases exact" in out


@pytest.mark.parametrize(
    ("column", "name"), [(0, "clk"), (1, "command"), (2, "rank"), (3, "bankgroup"), (4, "bank")]
)
def test_first_difference_is_shown(
    folder: Path, column: int, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log = commands(folder)
    log[777, column] ^= 1
    change(folder, commands=log)
    assert main(["validate", "dram", str(folder)]) == 1, name
    out = capsys.readouterr().out
    assert "DIFFERS" in out
    assert f"first difference at command 777 of {len(log)} recorded, {len(log)} replayed" in out
    assert out.count("\n> ") == 1
    assert "0 of 1 cases exact" in out


@pytest.mark.parametrize("at", [-1, 0])
def test_lines_of_a_difference_end_with_the_logs(
    folder: Path, at: int, capsys: pytest.CaptureFixture[str]
) -> None:
    log = commands(folder)
    log[at, 0] += 1
    change(folder, commands=log)
    assert main(["validate", "dram", str(folder)]) == 1
    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    # headings, the marked line and three on the side that has some: no line without a command
    assert [words for words in shown if words[-2:] == ["-", "-"]] == []
    assert len(shown) == 1 + 2 + 4 + 1


def test_an_unreadable_case_does_not_hide_the_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every case is told of; unreadable ones outrank differences in the exit code."""
    for name in ("onebank", "mixed-write-hot"):
        for suffix in (".npz", ".json"):
            shutil.copy(KEPT / f"{name}{suffix}", folder)
    log = commands(folder)
    log[7, 0] += 1
    change(folder, commands=log)
    (folder / "onebank.json").write_text("{")
    assert main(["validate", "dram", str(folder)]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith(f"recnmp: error: {folder / 'onebank.json'}: no JSON")
    assert "mixed-write-hot" in captured.out
    assert "DIFFERS" in captured.out
    assert captured.out.endswith("1 of 3 cases exact, 1 cannot be read\n")


def test_parts_that_a_command_does_not_use_are_not_compared(folder: Path) -> None:
    log = commands(folder)
    log[np.isin(log[:, 1], [2, 7]), 3:] = 99
    log[log[:, 1] == 0, 6] = 99
    change(folder, commands=log)
    assert main(["validate", "dram", str(folder)]) == 0


@pytest.mark.parametrize("cut", [slice(None, -1), slice(1, None)])
def test_missing_commands_are_a_difference(folder: Path, cut: slice) -> None:
    change(folder, commands=commands(folder)[cut])
    assert main(["validate", "dram", str(folder)]) == 1


def test_counts_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec(folder, lambda content: content["stats"].update(row_hits=5949))
    assert main(["validate", "dram", str(folder)]) == 1
    assert "row_hits: recorded 5949, replayed 5950" in capsys.readouterr().out


def test_recorded_timing_is_in_force(folder: Path) -> None:
    spec(folder, lambda content: content["timing"].update(nRCD=17))
    assert main(["validate", "dram", str(folder)]) == 1


def wrong_spec(change: Any) -> Any:
    return lambda folder: spec(folder, change)


BAD = {
    "no such folder": lambda folder: shutil.rmtree(folder),
    "no case, that is a pair": lambda folder: [path.unlink() for path in folder.iterdir()],
    "stream-2rank.npz: missing": lambda folder: (folder / "stream-2rank.npz").unlink(),
    "stream-2rank.json: missing": lambda folder: (folder / "stream-2rank.json").unlink(),
    "stream-2rank.json: no JSON": lambda folder: (folder / "stream-2rank.json").write_text("{"),
    "no .npz file": lambda folder: (folder / "stream-2rank.npz").write_bytes(b"PK\x03\x04 cut"),
    "stream-2rank.npz: no array `commands`": lambda folder: np.savez(
        folder / "stream-2rank.npz", requests=np.zeros((1, 7), int)
    ),
    "stream-2rank.npz: no array `requests`": lambda folder: np.savez(folder / "stream-2rank.npz", some=[1]),
    "a file, not a folder of cases": lambda folder: (shutil.rmtree(folder), folder.write_text("x")),
    "no object `case`": wrong_spec(lambda content: content.pop("case")),
    "case.queue is missing": wrong_spec(lambda content: content["case"].pop("queue")),
    "nearest is DDR4_2400R": wrong_spec(lambda content: content["case"].update(timing="DDR4_2400RR")),
    "nearest is DDR4_8Gb_x8": wrong_spec(lambda content: content["case"].update(org="DDR4_8GB_x8")),
    "ChannelConfig.ranks = 0": wrong_spec(lambda content: content["case"].update(ranks=0)),
    "ChannelConfig.read_queue = '32'": wrong_spec(lambda content: content["case"].update(queue="32")),
    "timing.tRCD: no such timing": wrong_spec(lambda content: content["timing"].update(tRCD=16)),
    "timing = [16]: no object": wrong_spec(lambda content: content.update(timing=[16])),
    "organization = None: no object": wrong_spec(lambda content: content.update(organization=None)),
    "organization.ranks: no such part": wrong_spec(lambda content: content["organization"].update(ranks=2)),
    **{
        f"organization.{name} = {wrong!r}: {place} says {right}": wrong_spec(
            lambda content, name=name, wrong=wrong: content["organization"].update({name: wrong})
        )
        for name, wrong, place, right in [
            ("density", 4096, "DDR4_8Gb_x8", 8192),
            ("dq", 4, "DDR4_8Gb_x8", 8),
            ("channel_width", 72, "DDR4_8Gb_x8", 64),
            ("bankgroup", 2, "DDR4_8Gb_x8", 4),
            ("bank", "4", "DDR4_8Gb_x8", 4),
            ("row", 32768, "DDR4_8Gb_x8", 65536),
            ("column", True, "DDR4_8Gb_x8", 1024),
            ("rank", 1, "case.ranks", 2),
        ]
    },
    "command codes are 0 to 7": lambda folder: change(folder, commands=np.full((2, 7), 8)),
    "no integer array": lambda folder: change(folder, commands=np.zeros((2, 6))),
    r"requests[0].rank = 2: outside 0 to 1": lambda folder: change(
        folder, requests=np.full((2, 7), 2)[:, :] * [0, 0, 1, 1, 1, 1, 1]
    ),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_folders_end_with_code_2_and_one_line(
    message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    BAD[message](folder)
    assert main(["validate", "dram", str(folder)]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert str(folder) in captured.err
