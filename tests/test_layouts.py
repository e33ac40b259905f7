"""Where a row's elements, scale and bias lie, and how trace files say it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from recnmp import RecnmpError
from recnmp.cli import main
from recnmp.workload import Table, Workload

EXCERPT = Path(__file__).parent / "data" / "openbandit-excerpt.csv"

# dtype, layout, dim -> row bytes, element 0, scale, bytes of scale: counted by hand from design/workloads.md
BYTES = [
    ("fp32", "plain", 3, 12, 0, 0, 0),
    ("fp16", "plain", 3, 6, 0, 0, 0),
    ("int8", "tail", 64, 72, 0, 64, 4),
    ("int8", "head", 64, 68, 4, 0, 2),
    ("int8", "head16", 64, 80, 4, 0, 2),
    ("int8", "head16", 12, 16, 4, 0, 2),
    ("int4", "tail", 64, 36, 0, 32, 2),
    ("int4", "head", 64, 36, 4, 0, 2),
    ("int4", "head16", 64, 48, 4, 0, 2),
    ("int4", "tail", 5, 7, 0, 3, 2),
    ("int4", "head", 5, 7, 4, 0, 2),
]


@pytest.mark.parametrize(("dtype", "layout", "dim", "row", "elements", "scale", "each"), BYTES)
def test_bytes_of_layouts(
    dtype: str, layout: str, dim: int, row: int, elements: int, scale: int, each: int
) -> None:
    table = Table("t", 9, dim, dtype, layout)
    assert (table.row_bytes, table.elements_at, table.parameters_at) == (row, elements, scale)
    assert (table.parameter_bytes, table.quantised) == (each, dtype.startswith("int"))


def test_default_layouts() -> None:
    """What was stored before there were layouts is what they are."""
    names = [Table("t", 9, 8, dtype).layout for dtype in ("fp32", "fp16", "int8", "int4")]
    assert names == ["plain", "plain", "tail", "tail"]


@pytest.mark.parametrize(
    ("dtype", "layout", "words"),
    [
        ("fp32", "tail", "table 't': layout of fp32 rows 'tail' is unknown.*; known: plain$"),
        ("int8", "haed", r"'haed' is unknown \(did you mean head\?\); known: tail, head, head16$"),
        ("int4", 3, "layout of int4 rows 3 is unknown; known: tail, head, head16"),
    ],
)
def test_unknown_layouts_are_refused(dtype: str, layout: str, words: str) -> None:
    with pytest.raises(RecnmpError, match=words):
        Table("t", 9, 8, dtype, layout)


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_layouts_are_kept_in_files(ending: str, tmp_path: Path) -> None:
    """A default layout is not said: format 1, and the hash it always had."""
    tables = [Table("a", 9, 8, "int8"), Table("b", 9, 8, "int4", "head16")]
    mixed = Workload.from_arrays([1, 2], lengths=[1, 1], tables=tables)
    plain = Workload.from_arrays([1, 2], lengths=[1, 1], tables=[tables[0], Table("b", 9, 8, "int4")])
    said = Workload.from_arrays([1, 2], lengths=[1, 1], tables=[tables[0], Table("b", 9, 8, "int4", "tail")])
    mixed.save(tmp_path / f"t.{ending}")
    again = Workload.load(tmp_path / f"t.{ending}")
    assert again.tables == tuple(tables)
    assert again.content_hash() == mixed.content_hash() != plain.content_hash() == said.content_hash()
    assert json.loads(mixed.header.to_json())["version"] == 2
    one = json.loads(said.header.to_json())
    assert one["version"] == 1
    assert set(one["tables"][1]) == {"name", "rows", "dim", "dtype"}


def test_a_hash_of_before_there_were_layouts() -> None:
    """Recorded with the version of the program that knew no layouts."""
    trace = Workload.from_arrays(
        [1, 2, 8], lengths=[2, 1], tables=[Table("a", 9, 8), Table("b", 9, 8, "int8")]
    )
    assert trace.content_hash() == "b17df8ca22ea56c0c40bdba6f85c34f60062ae2f836c583d4f41769ecc1a2cb5"


def test_layout_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "made.npz"
    sizes = ["--tables", "2", "--rows", "50", "--batch-size", "2", "--batches", "1", "--pooling", "3"]
    words = ["trace", "generate", "uniform", "-o", str(out), *sizes, "--dtype", "int4", "--layout", "head16"]
    assert main(words) == 0
    assert [table.row_bytes for table in Workload.load(out).tables] == [16, 16]
    assert main(["trace", "info", str(out)]) == 0
    assert "int4 head16" in capsys.readouterr().out
    assert main([*words[:-1], "plain"]) == 2
    assert "layout of int4 rows 'plain' is unknown" in capsys.readouterr().err
    log = ["import", str(EXCERPT), "--user", "user_feature_0", "--item", "item_id"]
    assert main(["trace", *log, "-o", str(out), "--dim", "9", "--dtype", "int8", "--layout", "head"]) == 0
    assert [table.row_bytes for table in Workload.load(out).tables] == [13, 13]
    np.savez(tmp_path / "arrays.npz", indices=[0, 1], offsets=[0, 2])
    arrays = ["trace", "import", str(tmp_path / "arrays.npz"), "-o", str(out), "--tables", "1"]
    assert main([*arrays, "--dtype", "int8", "--layout", "head16"]) == 0
    assert [table.row_bytes for table in Workload.load(out).tables] == [48]
    assert main([*arrays, "--layout", "tail"]) == 2
    assert "layout of fp32 rows 'tail' is unknown" in capsys.readouterr().err
