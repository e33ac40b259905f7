"""The runner of the benchmarks: finds them, aligns figures, and changes only its part of the page."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROWS = "def rows():\n    return [dict(name='reads', value=4_000_000.0, unit='requests/s', note='a | b')]\n"


@pytest.fixture(scope="module")
def run(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_runner", root / "benchmarks" / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_measures_every_bench_file_and_refuses_unknown_names(run: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "bench_a.py").write_text(ROWS)
    (tmp_path / "bench_b.py").write_text("def rows():\n    return [dict(name='x', value=1)]\n")
    (tmp_path / "other.py").write_text("raise AssertionError")
    assert [path.stem for path in run.find(tmp_path)] == ["bench_a", "bench_b"]
    assert [path.stem for path in run.find(tmp_path, ["b"])] == ["bench_b"]
    assert run.measure(tmp_path / "bench_a.py")[0]["value"] == 4e6
    with pytest.raises(SystemExit, match=r"bench_b.py: a row has the keys"):
        run.measure(tmp_path / "bench_b.py")
    with pytest.raises(SystemExit, match="no benchmark 'c'; there are: a, b"):
        run.find(tmp_path, ["c"])


def test_the_table_is_aligned(run: ModuleType) -> None:
    rows = [
        {"name": "reads", "value": 4_123_456.7, "unit": "requests/s", "note": "one thread"},
        {"name": "ratio to the slow twin", "value": 210.345, "unit": "x", "note": ""},
    ]
    assert list(run.aligned(rows)) == [
        "name                        value  unit        note",
        "reads                   4,123,457  requests/s  one thread",
        "ratio to the slow twin        210  x",
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.01234, "0.0123"),
        (999.9, "1,000"),
        (12.345, "12.3"),
        ("-", "-"),
        (1.6e6, "1,600,000"),
    ],
)
def test_figures(run: ModuleType, value: object, text: str) -> None:
    assert run.written(value) == text


def test_a_bar_in_a_note_does_not_split_the_cell(run: ModuleType) -> None:
    row = {"name": "n", "value": 1, "unit": "u", "note": "a | b"}
    assert list(run.markdown([row]))[-1] == "| n | 1 | u | a \\| b |"


def test_only_the_marked_part_of_the_page_changes(run: ModuleType, root: Path) -> None:
    page = f"before\n{run.BEGIN}\nold\nfigures\n{run.END}\nafter\n"
    once = run.rewrite(page, ["new"])
    assert once == f"before\n{run.BEGIN}\nnew\n{run.END}\nafter\n"
    assert run.rewrite(once, ["new"]) == once
    with pytest.raises(SystemExit, match="no marks"):
        run.rewrite("a page without", ["new"])
    text = run.PAGE.read_text()
    assert text.count(run.BEGIN) == text.count(run.END) == 1
