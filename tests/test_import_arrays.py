"""Arrays of others: npz in table-major or multi-hot form, Parquet with list columns."""

import zipfile
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
        ({"indices": IDS, "offsets": np.array(5)}, ArrayOptions(tables=2), "offsets have shape ()"),
        ({"indices": IDS, "lengths": np.array(5)}, ArrayOptions(batch_size=2), "lengths have shape ()"),
        ({"indices": np.array(5), "lengths": [5]}, ArrayOptions(batch_size=2), "indices have shape ()"),
        ({"0": np.array(5)}, ArrayOptions(), "array 0 has shape ()"),
        ({"header": np.array(5)}, ArrayOptions(), "not a recnmp trace"),
        (
            {"indices": IDS, "offsets": OFFSETS, "lengths": [2, 1, 0, 2]},
            ArrayOptions(tables=2),
            "lengths: position 1 is 1, but the offsets say 0",
        ),
        (
            {"indices": IDS, "offsets": OFFSETS, "lengths": [2, 0, 3]},
            ArrayOptions(tables=2),
            "there are 3 lengths, but 5 offsets",
        ),
        ({"indices": [2**63 - 1], "offsets": [0, 1]}, ArrayOptions(tables=1), "rows is 9223372036854775808"),
        ({"0": [[1]]}, ArrayOptions(tables=1), "tables: no option of multi-hot"),
        ({"0": [[1]]}, ArrayOptions(columns=("a",)), "table: no option of .npz"),
        ({"0": [[1]]}, ArrayOptions(dtype="fp99"), "dtype 'fp99' is unknown"),
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
        ({"a": pa.array([[1]])}, ArrayOptions(tables=1), "tables: no option of Parquet"),
        (
            {"a": pa.array([[1]]), "b": pa.array([[1.0]])},
            ArrayOptions(),
            "column 'b' holds lists of double, allowed are lists of whole numbers; to leave it out",
        ),
        ({"a": pa.array([[1]]), "b": pa.array([["x"]])}, ArrayOptions(), "'b' holds lists of string"),
        (
            {"a": pa.array([[1]]), "b": pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2))},
            ArrayOptions(),
            "'b' holds lists of float",
        ),
        (
            {"a": pa.array([[1], [2, 2**63]], pa.list_(pa.uint64()))},
            ArrayOptions(),
            "column 'a': row 1, position 1: the id is 9223372036854775808, allowed is up to 2^63-1",
        ),
        ({"a": pa.array([[1], [None, 2]])}, ArrayOptions(), "row 1, position 0: the id is missing"),
        ({"a": pa.array([["x"]])}, ArrayOptions(columns=("a",)), "type object"),
    ],
)
def test_bad_parquet(tmp_path: Path, columns: dict[str, Any], options: ArrayOptions, words: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        parquet(tmp_path, columns, options)
    assert words in str(caught.value)
    assert "theirs.parquet" in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        ArrayOptions(tables=2),
        ArrayOptions(batch_size=2),
        ArrayOptions(tables=2, batch_size=2),
        ArrayOptions(rows=(4, 4), batch_size=1),
        ArrayOptions(tables=2, rows=(4,), batch_size=2),
    ],
)
def test_what_offsets_look_like_is_said(tmp_path: Path, options: ArrayOptions) -> None:
    for arrays, words in (
        ({"offsets": [0, 2, 2, 3]}, "the last one, N, was left out"),
        ({"offsets": [2, 0, 1, 2]}, "look like lengths"),
        ({"lengths": OFFSETS}, "look like offsets"),
    ):
        with pytest.raises(RecnmpError, match=words):
            npz(tmp_path, options, indices=IDS, **arrays)


def test_offsets_name_table_batch_and_bag(tmp_path: Path) -> None:
    with pytest.raises(RecnmpError, match=r"the end of table 1 \('table1'\), batch 0, bag of sample 0"):
        npz(tmp_path, ArrayOptions(tables=2), indices=IDS, offsets=[0, 2, 2, 1, 5])


def test_offsets_and_lengths_that_agree(tmp_path: Path) -> None:
    found = npz(tmp_path, ArrayOptions(tables=2), indices=IDS, offsets=OFFSETS, lengths=[2, 0, 1, 2])
    assert found.lookups == 5


def test_rows_tell_the_tables_of_several_batches(tmp_path: Path) -> None:
    found = npz(tmp_path, ArrayOptions(rows=(4, 4), batch_size=1), indices=IDS, offsets=OFFSETS)
    assert [batch.indices.tolist() for batch in found.batches()] == [[1, 2], [0, 2, 3]]


@pytest.mark.parametrize("name", ["ours.npz", "ours.parquet"])
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (ArrayOptions(order="table"), "order"),
        (ArrayOptions(dim=8), "dim"),
        (ArrayOptions(dtype="fp32"), "dtype"),
        (ArrayOptions(rows=(9,)), "rows"),
        (ArrayOptions(tables=2), "tables"),
        (ArrayOptions(batch_size=1), "batch-size"),
        (ArrayOptions(repair=Repair()), "out-of-range"),
        (ArrayOptions(columns=("a",)), "table"),
    ],
)
def test_our_own_traces_heed_no_option(tmp_path: Path, name: str, options: ArrayOptions, word: str) -> None:
    path = tmp_path / name
    Workload.from_arrays(IDS, OFFSETS, tables=[Table("a", 9, 8), Table("b", 9, 8)]).save(path)
    with pytest.raises(RecnmpError, match=rf"{name}: {word}.*: no option of a trace of this program"):
        (import_npz if name.endswith("npz") else import_parquet)(path, options)


@pytest.mark.parametrize("member", ["0", "header", "indices", "readme.txt"])
def test_zip_files_that_are_no_npz(tmp_path: Path, member: str) -> None:
    path = tmp_path / "theirs.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(member, b"hello")
    for read in (lambda: import_npz(path, ArrayOptions()), lambda: Workload.load(path)):
        with pytest.raises(RecnmpError, match=rf"theirs.npz: .*'{member}' is not an array"):
            read()


def test_lists_of_every_kind(tmp_path: Path) -> None:
    columns = {
        "plain": pa.array([[5, 1], [], [2]]),
        "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int16(), 2)),
        "empty": pa.array([[], [], []]),
        "large": pa.array([[7], [8], []], pa.large_list(pa.uint64())),
    }
    found = parquet(tmp_path, columns)
    assert [table.name for table in found.tables] == list(columns)
    assert next(found.batches()).indices.tolist() == [5, 1, 2, 1, 2, 3, 4, 5, 6, 7, 8]
    assert [table.rows for table in found.tables] == [6, 7, 1, 9]


@pytest.mark.parametrize("options", [{"tables": 0}, {"batch_size": -1}])
def test_sizes_out_of_range(options: dict[str, int]) -> None:
    with pytest.raises(RecnmpError, match="allowed is 1 and up"):
        ArrayOptions(**options)  # type: ignore[arg-type]
