"""`recnmp simulate` with hot-entry profiling: rows of the table, the document, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from small_trace import trace

from recnmp.cli import main


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    path = tmp_path / "small.npz"
    trace().save(path)
    return path


def runs(stored: Path, out: Path, *words: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    assert main(["simulate", str(stored), "--out", str(out), *words]) == 0
    loaded = json.loads((out / "result.json").read_text())
    return loaded["runs"], loaded["provenance"]


def test_what_counting_took_is_shown(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a column of its own; a run that counts nothing has no figures."""
    (_, plain, profiled), provenance = runs(
        stored, tmp_path / "out", "--system", "recnmp-cache", "recnmp-opt"
    )
    table = capsys.readouterr().out
    lines = [line for line in table.splitlines() if line.startswith(("hot ", "indices read", "counting str"))]
    assert [line.split()[-2] for line in lines] == ["-"] * 4
    assert "sketch at work" not in table
    assert "for hot entries (counted exactly, threshold: best of each table)" in table
    assert plain["profile"] is None
    profile = profiled["profile"]
    assert (profile["method"], profile["lookups"]) == ("exact", trace().lookups)
    assert list(profile["thresholds"]) == ["a", "b"]
    times = provenance["profiling_s_of_runs"]
    assert times[:2] == [None, None]
    assert set(times[2]) == {"choosing", "counting"}


def test_a_sketch_shows_its_clocks_and_repeats(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--system", "recnmp-opt", "--set", "nmp.hot_entries=sketch", "--set", "nmp.sketch_counters=128")
    (first, _), (second, _) = (runs(stored, tmp_path / name, *words) for name in ("one", "two"))
    assert first == second
    clocks = first[1]["profile"]["sketch_clocks"]
    # two tables in each of three batches, each cleared for; two passes
    assert clocks == 6 * (1 + 128) + 2 * trace().lookups
    assert f"{clocks:,}".replace(",", " ") in capsys.readouterr().out
    assert first[1]["profile"]["counting_bytes"] == 4 * 128


def test_without_profiling_nothing_is_shown(
    stored: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs(stored, tmp_path / "out", "--system", "recnmp-cache")
    assert "hot" not in capsys.readouterr().out.replace("host", "")


def test_profiling_without_a_cache_is_refused(stored: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(stored), "--set", "nmp.hot_entries=exact"]) == 2
    assert "nmp.hot_entries = 'exact': only with a RankCache" in capsys.readouterr().err
