"""What Python callers hand over: NumPy's numbers work, everything else odd is one line, never a traceback."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recnmp.errors import RecnmpError
from recnmp.workload import Batch, Repair, Table, Workload

TABLES = [Table("a", 10, 16), Table("b", 5, 16)]
IDS, OFFSETS = [1, 9, 4, 0], [0, 2, 2, 3, 4]


def refused(*words: str, **given: Any) -> None:
    arguments: dict[str, Any] = {"indices": IDS, "tables": TABLES, "name": "mine"} | given
    if "lengths" not in arguments:
        arguments.setdefault("offsets", OFFSETS)
    with pytest.raises(RecnmpError) as caught:
        Workload.from_arrays(arguments.pop("indices"), arguments.pop("offsets", None), **arguments)
    text = str(caught.value)
    assert "\n" not in text
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    "size", [1, np.int64(1), np.uint8(1), np.array(1), [1, 1], (np.int32(1), 1), np.array([1, 1])]
)
def test_batch_sizes_of_every_kind(size: Any) -> None:
    found = Workload.from_arrays(IDS, OFFSETS, tables=TABLES, batch_size=size)
    assert found.header.batch_sizes == (1, 1)
    assert all(type(size) is int for size in found.header.batch_sizes)


@pytest.mark.parametrize(
    "size",
    [2.0, np.float64(2), "2", True, 0, -1, 2**31, [10**5000], [3, -1], [2.0], [True], [[1]], np.ones((1, 1)),
     np.array(2.0), {2: 1}, [2**31], object],
)  # fmt: skip
def test_batch_sizes_that_are_none(size: Any) -> None:
    refused("mine", "batch size is", "allowed are whole numbers", "2^31-1", batch_size=size)


def test_the_batch_of_a_bad_size_is_named() -> None:
    refused("batch 1: batch size is -1", batch_size=[3, -1])


@pytest.mark.parametrize(
    ("batch_size", "allowed"), [(2, "T*B = 2*2"), (None, "T = 2"), ([2], "T*B+1 = 5"), (np.int64(2), "T*B = 2*2")]
)  # fmt: skip
def test_what_offsets_look_like_is_said_however_the_batch_size_is_given(
    batch_size: Any, allowed: str
) -> None:
    refused("the last one, N, was left out", allowed, offsets=[0, 2, 2, 3], batch_size=batch_size)
    refused("look like lengths", offsets=[2, 0, 1, 1], batch_size=batch_size)
    refused("look like lengths", offsets=[0, 2, 1, 1], batch_size=batch_size)


def test_lengths_that_look_like_offsets() -> None:
    for size in (None, 2, [2]):
        refused("look like offsets: pass offsets=", lengths=OFFSETS, batch_size=size)


@pytest.mark.parametrize(
    ("batch_size", "place"),
    [
        (None, "table 1 ('b'), batch 0, bag of sample 0"),
        (1, "table 0 ('a'), batch 1, bag of sample 0"),
        ([0, 1, 1], "table 0 ('a'), batch 2, bag of sample 0"),
    ],
)
def test_offsets_and_lengths_name_table_batch_and_bag(batch_size: Any, place: str) -> None:
    refused(f"fall at position 3: 1 after 2, allowed is 2..4, the end of {place}",
            offsets=[0, 2, 2, 1, 4], batch_size=batch_size)  # fmt: skip
    refused(f"position 3 is 5, allowed is up to N = 4, the end of {place}",
            offsets=[0, 2, 2, 5, 4], batch_size=batch_size)  # fmt: skip
    refused(
        f"position 2 is -1, allowed is 0 and up, of {place}", lengths=[2, 2, -1, 1], batch_size=batch_size
    )
    refused(
        f"position 2 is 9, allowed is up to N = 4, of {place}", lengths=[2, 0, 9, 1], batch_size=batch_size
    )


def test_the_batch_of_a_batch_is_named() -> None:
    good = Batch(0, 1, np.array([1]), np.array([0, 1, 1]))
    bad = Batch(1, 1, np.array([1]), np.array([0, 2, 1]))
    with pytest.raises(RecnmpError, match=r"mine: batch 1: .*table 0 \('a'\), bag of sample 0"):
        Workload.from_batches(TABLES, [good, bad], name="mine")
    with pytest.raises(RecnmpError, match=r"batch 1: batch size is 1\.0"):
        Workload.from_batches(TABLES, [good, Batch(1, 1.0, good.indices, good.offsets)])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1, 2**63], ["position 1 is 9223372036854775808", "up to 2^63-1"]),
        ([-1, 2**63], ["position 1 is 9223372036854775808", "up to 2^63-1"]),
        ([1, 2**64], ["position 1 is 18446744073709551616", "up to 2^63-1"]),
        ([1, -(2**64)], ["position 1 is -18446744073709551616", "from -2^63"]),
        ([1, 10**5000], ["position 1 is a number of 16610 bits", "up to 2^63-1"]),
        (np.array([1, 2**63], np.uint64), ["position 1 is 9223372036854775808", "up to 2^63-1"]),
        (np.array([1, 2**64], object), ["position 1 is 18446744073709551616", "up to 2^63-1"]),
        (np.array([1, None], object), ["position 1 is None"]),
        ([1, None], ["position 1 is None"]),
        ([1.0, 2.5], ["float64"]),
        ([[1, 2], [3]], ["no array of one dimension"]),
        ([[1, 2], 3], ["no array of one dimension"]),
        (np.ma.array([1, 2], mask=[False, True]), ["position 1 is masked"]),
        (np.ma.array([1, 2], mask=True), ["position 0 is masked"]),
        (7, ["shape ()"]),
    ],
)
def test_odd_ids(ids: Any, words: list[str]) -> None:
    refused("mine: indices", *words, indices=ids)
    refused("mine: offsets", *words, offsets=ids)
    refused("mine: lengths", *words, lengths=ids)


def test_masked_arrays_without_a_mask_work() -> None:
    ids, weights = np.ma.array(IDS), np.ma.array([1.0, 2, 3, 4], mask=False)
    found = next(Workload.from_arrays(ids, OFFSETS, tables=TABLES, weights=weights).batches())
    assert found.indices.tolist() == IDS
    assert type(found.indices) is np.ndarray


def test_odd_weights() -> None:
    refused("weights: position 2 is masked", weights=np.ma.array([1.0, 2, 3, 4], mask=[0, 0, 1, 0]))
    refused("weights are no array", weights=[[1.0], [2.0, 3.0], 1.0, 1.0])
    refused("type object", weights=[1.0, None, 1.0, 1.0])


@pytest.mark.parametrize("repair", ["clamp", True, ("clamp",), Repair])
def test_repairs_that_are_none(repair: Any) -> None:
    refused("repair is", "Repair('clamp')", repair=repair)
    with pytest.raises(RecnmpError, match="repair is"):
        Workload.from_batches(TABLES, [], repair=repair)
    with pytest.raises(RecnmpError, match="pruned is 'yes'"):
        Repair(pruned="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("tables", [None, 3, TABLES[0], [3], [("a", 10, 16)], "ab"])
def test_tables_that_are_none(tables: Any) -> None:
    refused("allowed is a", "Table", tables=tables)


def test_other_words_of_the_wrong_type() -> None:
    refused("order is", order=["table"])
    refused("mode is", mode=None)
    refused("origin is 'me', allowed is a mapping", origin="me")
    refused("origin['a'][1] is <object", "what JSON can hold", origin={"a": [1, object()]})
    refused("origin['a']: key 3, allowed are texts", origin={"a": {3: 4}})
    with pytest.raises(RecnmpError, match="dtype"):
        Table("t", 4, 16, ["fp32"])  # type: ignore[arg-type]


def test_an_origin_with_numpy_in_it_is_kept(tmp_path: Path) -> None:
    origin = {"x": np.int64(3), "y": [np.float32(0.5), (1, 2)], "z": np.arange(3), "t": np.True_, "n": None}
    given = Workload.from_arrays(IDS, OFFSETS, tables=TABLES, origin=origin)
    plain = {"x": 3, "y": [0.5, [1, 2]], "z": [0, 1, 2], "t": True, "n": None}
    for name in ("t.npz", "t.parquet"):
        given.save(tmp_path / name)
        assert Workload.load(tmp_path / name).origin == plain


@pytest.mark.parametrize("field", ["tables", "batch_sizes", "lookups", "order", "mode", "weighted", "origin"])
@pytest.mark.parametrize("value", [None, 5, -1, 1.5, "x", [], [1.5], ["x"], [{}], {}, {"a": 1}, True])
def test_a_header_of_other_types_never_ends_in_a_traceback(tmp_path: Path, field: str, value: Any) -> None:
    given = Workload.from_arrays(IDS, OFFSETS, tables=TABLES)
    said = json.loads(given.header.to_json())
    good = {"origin": [{}, {"a": 1}]}.get(field, [])
    path = tmp_path / "t.npz"
    np.savez(path, header=np.array(json.dumps(said | {field: value})), indices=IDS, offsets=OFFSETS)
    if value in good:
        assert Workload.load(path).lookups == 4
        return
    with pytest.raises(RecnmpError, match=r"t\.npz"):
        Workload.load(path)
