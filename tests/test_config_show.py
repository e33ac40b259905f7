"""`recnmp config`: every number with unit, meaning, and a source that a reader of the repository can follow."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from small_trace import system

from recnmp.cli import main
from recnmp.cli.config import SOURCES_NOTE, resolved_numbers
from recnmp.config.load import SECTIONS, load_system, preset_names

ROOT = Path(__file__).resolve().parent.parent


def check_source(source: str) -> None:
    """Whatever a source cites is in the repository, or said in the note below the numbers."""
    for page in re.findall(r"docs/\w+\.md", source + SOURCES_NOTE):
        assert (ROOT / page).is_file(), source
    decisions = (ROOT / "docs/decisions.md").read_text()
    deviations = (ROOT / "docs/deviations.md").read_text()
    for number in re.findall(r"\bD\d+\b", source):
        assert f"| {number} |" in decisions, source
    for number in re.findall(r"\bD-\d+\b", source):
        assert f"| {number} |" in deviations, source
    for mark in re.findall(r"\[([^]]+)\]", source):
        assert set(mark.split("/")) <= {"P", "R"}, source
    assert not re.search(r"\.\./|golden|shared", source), source


def test_every_number_has_unit_source_and_meaning() -> None:
    for number in resolved_numbers(load_system("recnmp-base")):
        assert number.unit, number.key
        assert number.source, number.key
        check_source(number.source)
        assert number.meaning, number.key


def test_show_prints_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--memory", "1x2", "--set", "dram.overrides.nFAW=30"]) == 0
    out = capsys.readouterr().out
    for section, model in SECTIONS.items():
        for key in model.model_fields:
            assert f"{section}.{key} " in out
    assert "timing.nFAW" in out
    assert "override of the user" in out
    assert "D-2" in out
    assert main(["config", "show", "--system", "host", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    numbers = {row["key"]: row["value"] for row in document["numbers"]}
    assert numbers["derived.memory_bytes"] == 64 << 30
    assert not any(key.startswith("nmp.") for key in numbers)


def test_show_prints_a_system_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show", "--set", "nmp.fifo=7", "--toml"]) == 0
    file = tmp_path / "mine.toml"
    file.write_text(capsys.readouterr().out)
    assert load_system(str(file)).units.fifo == 7


@pytest.mark.parametrize(
    "words",
    [
        ["config", "show", "--system", "recnmp"],
        ["config", "show", "--set", "nmp.windo=4"],
        ["config", "show", "--system", "host", "--set", "nmp.window=4"],
        ["config", "show", "--config", "/does/not/exist.toml"],
    ],
)
def test_bad_input_is_one_line_and_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1


def test_list_names_the_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == preset_names()


def test_whatever_show_prints_can_be_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "show"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    for key, value in ((row[0], row[1]) for row in rows if row and row[0].split(".")[0] in SECTIONS):
        assert system(f"{key}={value}", name="recnmp-base") == load_system("recnmp-base"), key
