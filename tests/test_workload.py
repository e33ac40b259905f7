"""The trace in memory and in its two containers."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_cases import Case, build, cases

from recnmp.errors import RecnmpError
from recnmp.workload import Batch, Piece, Table, Workload, pieces_of
from recnmp.workload import parquet as parquet_container
from recnmp.workload.batch import join

TABLES = [Table("a", 10, 16), Table("b", 5, 16)]


def lists_of(workload: Workload) -> list[list[list[list[int]]]]:
    result = []
    for batch in workload.batches():
        bags = [
            batch.indices[low:high].tolist()
            for low, high in zip(batch.offsets, batch.offsets[1:], strict=False)
        ]
        size = batch.batch_size
        result.append([bags[t * size : (t + 1) * size] for t in range(len(workload.tables))])
    return result


def same(one: Workload, other: Workload) -> bool:
    pairs = zip(one.batches(), other.batches(), strict=True)
    return one.header == other.header and all(
        a.index == b.index
        and a.batch_size == b.batch_size
        and np.array_equal(a.indices, b.indices)
        and np.array_equal(a.offsets, b.offsets)
        and (a.weights is None) == (b.weights is None)
        and (a.weights is None or b.weights is None or np.array_equal(a.weights, b.weights, equal_nan=True))
        for a, b in pairs
    )


@given(cases())
def test_a_workload_holds_what_was_put_in(case: Case) -> None:
    assert lists_of(case.workload) == [[list(map(list, table)) for table in batch] for batch in case.lists]
    assert case.workload.lookups == sum(len(bag) for batch in case.lists for table in batch for bag in table)
    assert case.workload.n_batches == len(case.lists)


@pytest.mark.parametrize("ending", ["parquet", "npz"])
@given(case=cases())
def test_saved_and_loaded_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, ending: str, case: Case
) -> None:
    path = tmp_path_factory.mktemp("w") / f"trace.{ending}"
    case.workload.save(path)
    loaded = Workload.load(path)
    assert same(loaded, case.workload)
    assert same(loaded, case.workload), "a second pass gives the same"
    assert loaded.content_hash() == case.workload.content_hash()
    assert [p.name for p in path.parent.iterdir()] == [path.name], "nothing else is left in the folder"


@given(case=cases(), lookups=st.integers(1, 9), bags=st.integers(1, 5))
def test_hash_and_batches_do_not_depend_on_chunks(case: Case, lookups: int, bags: int) -> None:
    def finely() -> list[Piece]:
        return [piece for batch in case.workload.batches() for piece in pieces_of(batch, lookups, bags)]

    for piece in finely():
        assert len(piece.lengths) <= bags
        assert len(piece.indices) <= lookups or len(piece.lengths) == 1
    cut = Workload(case.workload.header, lambda: iter(finely()))
    assert cut.content_hash() == case.workload.content_hash()
    assert same(cut, case.workload)


@given(case=cases(), lookups=st.integers(1, 9))
def test_row_groups_of_any_size_read_the_same(
    tmp_path_factory: pytest.TempPathFactory, case: Case, lookups: int
) -> None:
    path = tmp_path_factory.mktemp("w") / "trace.parquet"
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(parquet_container, "PIECE_LOOKUPS", lookups)
        pieces = (p for batch in case.workload.batches() for p in pieces_of(batch, lookups))
        parquet_container.write(path, case.workload.header, pieces)
    for group in range(pq.ParquetFile(path).num_row_groups):
        table = pq.ParquetFile(path).read_row_group(group, columns=["indices"])
        assert len(table) == 1 or sum(map(len, table["indices"].to_pylist())) <= lookups
    assert same(Workload.load(path), case.workload)


@pytest.mark.parametrize("kind", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">i4", ">i8", ">u2"])
def test_integers_of_any_kind_are_widened(kind: str) -> None:
    ids, offsets = [1, 9, 4, 0], [0, 2, 2, 3, 4]
    native = Workload.from_arrays(ids, offsets, tables=TABLES)
    other = Workload.from_arrays(np.array(ids, dtype=kind), np.array(offsets, dtype=kind), tables=TABLES)
    assert same(native, other)
    assert other.content_hash() == native.content_hash()
    batch = next(other.batches())
    assert batch.indices.dtype == np.dtype(np.int64)
    assert batch.indices.dtype.isnative


def test_read_only_strided_and_swapped_arrays_work() -> None:
    ids = np.array([1, 0, 9, 0, 4, 0, 0, 0])[::2]
    offsets = np.array([0, 2, 2, 3, 4])[::-1][::-1]
    weights = np.array([1, 0, 2, 0, 3, 0, 4, 0], dtype=">f4")[::2]
    for array in (ids, offsets, weights):
        array.flags.writeable = False
    found = Workload.from_arrays(ids, offsets, weights=weights, tables=TABLES)
    batch = next(found.batches())
    assert batch.indices.tolist() == [1, 9, 4, 0]
    assert batch.weights is not None
    assert batch.weights.tolist() == [1, 2, 3, 4]
    assert batch.indices.flags.c_contiguous
    assert batch.weights.dtype.isnative


def test_native_arrays_are_not_copied_and_keep_their_flags() -> None:
    ids, weights = np.array([1, 9, 4, 0]), np.ones(4, dtype=np.float32)
    batch = next(Workload.from_arrays(ids, [0, 2, 2, 3, 4], weights=weights, tables=TABLES).batches())
    assert np.shares_memory(batch.indices, ids)
    assert batch.weights is not None
    assert np.shares_memory(batch.weights, weights)
    assert ids.flags.writeable, "the caller's array is left as it was"
    assert not batch.indices.flags.writeable


def test_bags_in_both_orders() -> None:
    batch = Batch(0, 2, np.array([1, 9, 4, 0]), np.array([0, 2, 2, 3, 4]))
    by_table, by_sample = batch.bags("table"), batch.bags("sample")
    assert list(zip(*map(np.ndarray.tolist, by_table), strict=True)) == [
        (0, 0, 0, 2), (0, 1, 2, 2), (1, 0, 2, 3), (1, 1, 3, 4),
    ]  # fmt: skip
    assert list(zip(*map(np.ndarray.tolist, by_sample), strict=True)) == [
        (0, 0, 0, 2), (1, 0, 2, 3), (0, 1, 2, 2), (1, 1, 3, 4),
    ]  # fmt: skip


def test_empty_bags_batches_and_traces_are_legal(tmp_path: Path) -> None:
    for lists in ([], [[[], []]], [[[[]], [[]]]], [[[], []], [[[1]], [[]]], [[], []]]):
        case = build(lists, [3, 3])
        for name in ("t.parquet", "t.npz"):
            case.workload.save(tmp_path / name)
            assert lists_of(Workload.load(tmp_path / name)) == lists


def test_content_hash_tells_every_part_of_the_content() -> None:
    def hashed(ids: list[int], offsets: list[int], **more: object) -> str:
        given = {"tables": TABLES} | more
        return Workload.from_arrays(ids, offsets, **given).content_hash()  # type: ignore[arg-type]

    base = hashed([1, 2, 3], [0, 1, 2, 2, 3])
    others = [
        hashed([1, 2, 4], [0, 1, 2, 2, 3]),
        hashed([1, 2, 3], [0, 1, 2, 3, 3]),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], order="sample"),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], mode="mean"),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], weights=[1, 1, 1]),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], weights=[1, 1, 2]),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], tables=[Table("a", 10, 16), Table("b", 6, 16)]),
        hashed([1, 2, 3], [0, 1, 2, 2, 3], batch_size=1),
    ]
    assert len({base, *others}) == len(others) + 1
    assert hashed([1, 2, 3], [0, 1, 2, 2, 3], origin={"made": "otherwise"}) == base


def test_content_hash_is_as_documented() -> None:
    workload = Workload.from_arrays([1, 2, 3], [0, 1, 2, 2, 3], tables=TABLES, weights=[0.5, 1, 2])
    said = (
        '{"batch_sizes": [2], "lookups": 3, "mode": "sum", "order": "table", "origin": {}, "tables": '
        '[{"dim": 16, "dtype": "fp32", "name": "a", "rows": 10}, {"dim": 16, "dtype": "fp32", "name": "b", '
        '"rows": 5}], "version": 1, "weighted": true}'
    )
    parts = [struct.pack("<4q", 1, 1, 0, 1), struct.pack("<3q", 1, 2, 3), struct.pack("<3f", 0.5, 1, 2)]
    digest = hashlib.sha256(said.encode() + b"".join(hashlib.sha256(part).digest() for part in parts))
    assert workload.content_hash() == digest.hexdigest()


def test_parquet_is_one_row_a_bag(tmp_path: Path) -> None:
    build([[[[1, 2], []], [[0], [2, 2]]]], [3, 3], weights=True).workload.save(tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    assert table.schema.names == ["batch", "table", "sample", "indices", "weights"]
    assert table.schema.types == [
        *[pa.int32()] * 3,
        pa.large_list(pa.int64()),
        pa.large_list(pa.float32()),
    ]
    assert table.drop(["weights"]).to_pylist() == [
        {"batch": 0, "table": 0, "sample": 0, "indices": [1, 2]},
        {"batch": 0, "table": 0, "sample": 1, "indices": []},
        {"batch": 0, "table": 1, "sample": 0, "indices": [0]},
        {"batch": 0, "table": 1, "sample": 1, "indices": [2, 2]},
    ]
    said = json.loads(pq.ParquetFile(tmp_path / "t.parquet").metadata.metadata[b"recnmp"])
    assert said["version"] == 1
    assert said["tables"][1] == {"name": "t1", "rows": 3, "dim": 16, "dtype": "fp32"}


def test_offsets_beyond_32_bits() -> None:
    # bags of 3e9 lookups cannot be held here, but their offsets and ids can be reckoned with
    bags = Batch(0, 2, np.zeros(0, np.int64), np.array([0, 3_000_000_000, 6_000_000_000])).bags("table")
    assert bags.end.tolist() == [3_000_000_000, 6_000_000_000]
    wide = Workload.from_arrays([2**40 - 1], [0, 1], tables=[Table("wide", 2**40, 16)])
    assert next(wide.batches()).indices.tolist() == [2**40 - 1]


def test_row_bytes_of_every_type() -> None:
    assert [Table("t", 1, 32, kind).row_bytes for kind in ("fp32", "fp16", "int8", "int4")] == [
        128,
        64,
        40,
        20,
    ]


def test_joining_copies_nothing_when_a_batch_is_one_piece() -> None:
    ids = np.arange(4)
    piece = Piece(0, 2, 0, np.array([2, 2]), ids)
    assert next(join([piece])).indices is ids


def test_saving_reports_progress_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    case = build([[[[1]], [[2, 2]]], [[[1]], [[0]]]], [3, 3])
    heard: list[int] = []
    case.workload.save(tmp_path / "t.parquet", heard.append)
    assert sum(heard) == 5

    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    before = (tmp_path / "t.parquet").read_bytes()
    for name in ("t.parquet", "new.npz"):
        with pytest.raises(KeyboardInterrupt):
            case.workload.save(tmp_path / name, interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]
    assert (tmp_path / "t.parquet").read_bytes() == before


def test_other_endings_and_places_are_refused(tmp_path: Path) -> None:
    case = build([], [3])
    for name, word in (("t.csv", "ends in .parquet or .npz"), ("none/t.npz", "cannot be written")):
        with pytest.raises(RecnmpError, match=word):
            case.workload.save(tmp_path / name)
