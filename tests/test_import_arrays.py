"""Arrays of others: npz in table-major or multi-hot form, Parquet with list columns."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from recnmp.traces.arrays import ArrayOptions, import_npz, import_parquet

from recnmp.errors import RecnmpError
from recnmp.workload import Repair, RepairCounts, Table, Workload

IDS, OFFSETS = [1, 2, 0, 2, 3], [0, 2, 2, 3, 5]


def npz(tmp_path: Path, options: ArrayOptions | None = None, **arrays: Any) -> Workload:
    path = tmp_path / "theirs.npz"
    np.savez(path, **arrays)
    return import_npz(path, options or ArrayOptions())


def parquet(tmp_path: Path, columns: dict[str, Any], options: ArrayOptions | None = None) -> Workload:
    path = tmp_path / "theirs.parquet"
    pq.write_table(pa.table(columns), path)
    return import_parquet(path, options or ArrayOptions())


@pytest.mark.parametrize("given", [{"offsets": OFFSETS}, {"lengths": [2, 0, 1, 2]}])
@pytest.mark.parametrize(
    "options", [ArrayOptions(tables=2), ArrayOptions(batch_size=2), ArrayOptions(rows=(3, 4))]
)
def test_table_major_arrays(tmp_path: Path, given: dict[str, Any], options: ArrayOptions) -> None:
    found = npz(tmp_path, options, indices=np.array(IDS, np.int32), weights=np.ones(5), **given)
    expected = Workload.from_arrays(
        IDS, OFFSETS, weights=np.ones(5), tables=[Table("table0", 3, 32), Table("table1", 4, 32)]
    )
    assert found.content_hash() == expected.content_hash()


def test_several_batches(tmp_path: Path) -> None:
    found = npz(tmp_path, ArrayOptions(tables=2, batch_size=1), indices=IDS, offsets=OFFSETS)
    assert [batch.indices.tolist() for batch in found.batches()] == [[1, 2], [0, 2, 3]]
    assert [table.rows for table in found.tables] == [3, 4]


def test_ours_passes_through(tmp_path: Path) -> None:
    given = Workload.from_arrays(IDS, OFFSETS, tables=[Table("a", 9, 8), Table("b", 9, 8)])
    given.save(tmp_path / "ours.npz")
    given.save(tmp_path / "ours.parquet")
    assert import_npz(tmp_path / "ours.npz", ArrayOptions()).content_hash() == given.content_hash()
    assert import_parquet(tmp_path / "ours.parquet", ArrayOptions()).content_hash() == given.content_hash()


def test_multi_hot(tmp_path: Path) -> None:
    arrays = {"0": np.array([[1, 2], [0, 0], [2, 1]], np.int32), "1": np.array([[4], [5], [6]], np.int32)}
    found = npz(tmp_path, ArrayOptions(batch_size=2), **arrays)
    assert [batch.indices.tolist() for batch in found.batches()] == [[1, 2, 0, 0, 4, 5], [2, 1, 6]]
    assert [(table.name, table.rows) for table in found.tables] == [("table0", 3), ("table1", 7)]


def test_list_columns(tmp_path: Path) -> None:
    columns = {
        "films": pa.array([[5, 1], [], [2]]),
        "name": pa.array(["x", "y", "z"]),
        "shops": pa.array([[0], [1], [1]], pa.large_list(pa.int32())),
        "town": pa.array([3, 4, 3]),
    }
    found = parquet(tmp_path, columns, ArrayOptions(batch_size=2))
    assert [table.name for table in found.tables] == ["films", "shops"]
    assert [batch.indices.tolist() for batch in found.batches()] == [[5, 1, 0, 1], [2, 1]]
    with_town = parquet(tmp_path, columns, ArrayOptions(columns=("town", "films"), rows=(10,)))
    assert [(t.name, t.rows) for t in with_town.tables] == [("town", 10), ("films", 10)]
    assert next(with_town.batches()).indices.tolist() == [3, 4, 3, 5, 1, 2]


def test_repairs(tmp_path: Path) -> None:
    options = ArrayOptions(tables=2, rows=(3,), repair=Repair("modulo", pruned=True))
    found = npz(tmp_path, options, indices=[1, -1, 0, 4, 3], offsets=OFFSETS)
    assert next(found.batches()).indices.tolist() == [1, 0, 1, 0]
    assert found.repairs == RepairCounts(wrapped=2, pruned=1)


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        ({"indices": IDS}, ArrayOptions(), "has arrays indices, allowed are"),
        ({}, ArrayOptions(), "has arrays none"),
        ({"indices": IDS, "offsets": OFFSETS, "extra": [1]}, ArrayOptions(tables=2), "unknown arrays extra"),
        ({"indices": IDS, "offsets": OFFSETS}, ArrayOptions(), "4 bags: give the number of tables"),
        ({"indices": IDS, "offsets": OFFSETS}, ArrayOptions(tables=3), "multiple of T = 3"),
        ({"indices": IDS, "offsets": OFFSETS}, ArrayOptions(tables=2, rows=(3, 3)), "row 3 is out of range"),
        ({"indices": IDS, "offsets": OFFSETS}, ArrayOptions(tables=2, rows=(3, 3, 3)), "given for 3 tables"),
        (
            {"indices": IDS, "offsets": [0, 2, 0, 1, 3]},
            ArrayOptions(tables=2),
            "one array of offsets a table",
        ),
        ({"indices": IDS, "lengths": [2, 0, -1, 4]}, ArrayOptions(tables=2), "position 2 is -1"),
        ({"indices": [1.0, np.nan], "offsets": [0, 2]}, ArrayOptions(tables=1), "position 1 is nan"),
        ({"indices": [1, -1], "offsets": [0, 2]}, ArrayOptions(tables=1), "row -1 is out of range"),
        ({"0": [[1]], "2": [[1]]}, ArrayOptions(), "array 1 is missing"),
        ({"0": [1, 2]}, ArrayOptions(), "array 0 has shape (2,)"),
        ({"0": [[1.5]]}, ArrayOptions(), "float64"),
        ({"0": [[1]], "1": [[1], [2]]}, ArrayOptions(), "different numbers of samples: [1, 2]"),
    ],
)
def test_bad_npz(tmp_path: Path, arrays: dict[str, Any], options: ArrayOptions, words: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        npz(tmp_path, options, **arrays)
    assert words in str(caught.value)
    assert "theirs.npz" in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        ({"a": [1, 2]}, ArrayOptions(), "no column holds lists"),
        ({"a": pa.array([[1], None])}, ArrayOptions(), "column 'a': row 1 is null"),
        (
            {"a": pa.array([[1], [4, None]])},
            ArrayOptions(),
            "column 'a': row 1, position 1: the id is missing",
        ),
        ({"a": pa.array([[1.5]])}, ArrayOptions(columns=("a",)), "float64"),
        ({"a": pa.array([[2**63]], pa.list_(pa.uint64()))}, ArrayOptions(), "9223372036854775808"),
        ({"a": pa.array([[1]])}, ArrayOptions(columns=("b",)), "no column 'b'"),
    ],
)
def test_bad_parquet(tmp_path: Path, columns: dict[str, Any], options: ArrayOptions, words: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        parquet(tmp_path, columns, options)
    assert words in str(caught.value)
    assert "theirs.parquet" in str(caught.value)
