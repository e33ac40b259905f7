"""The bad-input table, part one: arrays. Errors name source, place, value and allowed range."""

import re
from typing import Any

import numpy as np
import pytest

from recnmp.errors import RecnmpError
from recnmp.workload import Batch, Repair, RepairCounts, Table, Workload

TABLES = [Table("a", 10, 16), Table("b", 5, 16)]


def refused(*words: str, **given: Any) -> None:
    arguments: dict[str, Any] = {"tables": TABLES, "name": "mine"} | given
    with pytest.raises(RecnmpError) as caught:
        Workload.from_arrays(arguments.pop("indices"), arguments.pop("offsets", None), **arguments)
    text = str(caught.value)
    assert "\n" not in text
    for word in ("mine", *words):
        assert word in text, text


GOOD = {"indices": [1, 9, 4, 0], "offsets": [0, 2, 2, 3, 4]}


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (
            [1, 10, 4, 0],
            ["table 0 ('a')", "batch 0", "sample 0", "position 1", "row 10", "0..9", "number of rows"],
        ),
        ([1, 99, 4, 0], ["table 0 ('a')", "position 1", "row 99", "0..9"]),
        ([1, 9, 4, 5], ["table 1 ('b')", "sample 1", "position 0", "row 5", "0..4"]),
        ([1, 9, -3, 0], ["table 1 ('b')", "sample 0", "position 0", "row -3", "0..4"]),
        ([-1, 9, 4, 0], ["table 0 ('a')", "row -1", "pruned"]),
    ],
)
def test_ids_out_of_range(ids: list[int], words: list[str]) -> None:
    refused(*words, indices=ids, offsets=GOOD["offsets"])


def test_the_bag_named_is_of_its_batch() -> None:
    refused(
        "batch 1",
        "sample 0",
        "position 1",
        "row 7",
        indices=[1, 1, 4, 7],
        offsets=[0, 1, 1, 2, 4],
        batch_size=1,
    )


@pytest.mark.parametrize(
    ("repair", "ids", "expected", "counts"),
    [
        (Repair("clamp"), [1, 12, -3, 5], [1, 9, 0, 4], RepairCounts(clamped=3)),
        (Repair("modulo"), [1, 12, -3, 5], [1, 2, 2, 0], RepairCounts(wrapped=3)),
        (Repair(pruned=True), [-1, 9, 4, -1], [9, 4], RepairCounts(pruned=2)),
        (Repair("clamp", pruned=True), [-1, 12, -7, -1], [9, 0], RepairCounts(clamped=2, pruned=2)),
    ],
)
def test_repairs_are_options_and_counted(
    repair: Repair, ids: list[int], expected: list[int], counts: RepairCounts
) -> None:
    given = np.array(ids)
    found = Workload.from_arrays(given, GOOD["offsets"], tables=TABLES, repair=repair, weights=[1, 2, 3, 4])
    batch = next(found.batches())
    assert batch.indices.tolist() == expected
    assert found.repairs == counts
    assert given.tolist() == ids, "the caller's array is untouched"
    assert found.lookups == len(expected)
    assert batch.weights is not None
    kept = [w for w, i in zip([1, 2, 3, 4], ids, strict=True) if not (repair.pruned and i == -1)]
    assert batch.weights.tolist() == kept
    bags = np.diff(batch.offsets).tolist()
    assert bags == ([1, 0, 1, 0] if repair.pruned else [2, 0, 1, 1])


def test_pruning_does_not_excuse_other_negatives() -> None:
    refused("row -2", indices=[-1, -2, 4, 0], offsets=GOOD["offsets"], repair=Repair(pruned=True))
    refused("mean", indices=[-1, 2, 4, 0], offsets=GOOD["offsets"], repair=Repair(pruned=True), mode="mean")


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ([0, 2, 1, 3, 4], ["position 2", "1 after 2"]),
        ([0, 2, 2, 3, 2, 4], ["position 4", "2 after 3", "allowed is 3..4"]),
        ([0, 2, 9, 3, 4], ["position 2 is 9", "up to N = 4"]),
        ([1, 2, 2, 3, 4], ["position 0 is 1", "allowed is 0"]),
        ([0, 2, 2, 3, 3], ["last one (position 4) is 3", "N = 4"]),
        ([0, 2, 2, 3, 5], ["last one (position 4) is 5", "N = 4"]),
        ([0, 2, 2, 0, 1, 2], ["position 3", "0 after 2", "one array of offsets a table"]),
        ([], ["empty"]),
        (
            [0, 2, 4],
            ["T*B = 2*2"],
        ),
        ([-1, 2, 2, 3, 4], ["position 0 is -1"]),
    ],
)
def test_offsets(offsets: list[int], words: list[str]) -> None:
    more = {"batch_size": 2} if "T*B = 2*2" in words else {}
    refused(*words, indices=GOOD["indices"], offsets=offsets, **more)


def test_offsets_of_another_length_say_what_they_look_like() -> None:
    refused("there are 4 offsets", "T*B+1 = 5", "the last one, N, was left out",
            indices=[1, 9, 4, 0], offsets=[0, 2, 2, 3], batch_size=[2])  # fmt: skip
    refused("look like lengths", "lengths=", indices=[1, 9, 4, 0], offsets=[2, 0, 1, 1], batch_size=[2])
    refused("3 bags", "multiple of T = 2", indices=[1, 9, 4, 0], offsets=[0, 2, 3, 4])


def test_equal_neighbours_are_legal() -> None:
    assert Workload.from_arrays([1], [0, 0, 0, 0, 1], tables=TABLES).lookups == 1


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ([2, -1, 2, 1], ["position 1 is -1"]),
        ([2, 0, 1, 2], ["sum is 5", "N = 4"]),
        ([2, 0, 1], ["sum is 3", "N = 4"]),
        ([2**62, 2**62, 2**62, 2**62], ["position 0", "up to N = 4"]),
    ],
)
def test_lengths(lengths: list[int], words: list[str]) -> None:
    refused(*words, indices=GOOD["indices"], lengths=lengths)


def test_either_offsets_or_lengths() -> None:
    refused("either offsets or lengths", indices=[1], offsets=[0, 1], lengths=[1])
    refused("either offsets or lengths", indices=[1])


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0], [[1.0, 2.0, 3.0, 4.0]], 1.0])
def test_weights_of_another_shape(weights: Any) -> None:
    refused("weights", "(4,)", **GOOD, weights=weights)


def test_weights_of_other_types_and_beyond_float32() -> None:
    refused("weights", "complex128", **GOOD, weights=[1j, 1, 1, 1])
    refused("weights", "position 2", "1e+39", **GOOD, weights=[1, 1, 1e39, 1])


def test_weights_with_a_mean() -> None:
    refused("mean", "weights", **GOOD, weights=[1, 1, 1, 1], mode="mean")


def test_some_batches_weighted() -> None:
    one = Batch(0, 1, np.array([1]), np.array([0, 1, 1]))
    other = Batch(1, 1, np.array([1]), np.array([0, 1, 1]), np.ones(1, dtype=np.float32))
    with pytest.raises(RecnmpError, match="some batches have weights"):
        Workload.from_batches(TABLES, [one, other])


def test_nan_and_infinite_weights_pass() -> None:
    weights = [np.nan, np.inf, -np.inf, 1]
    batch = next(Workload.from_arrays(*GOOD.values(), tables=TABLES, weights=weights).batches())
    assert np.array_equal(batch.weights, np.array(weights, dtype=np.float32), equal_nan=True)


def test_float_ids() -> None:
    refused("float64", "position 1 is nan", "missing", indices=[1.0, np.nan, 4, 0], offsets=GOOD["offsets"])
    refused("float32", "whole-number", indices=np.ones(4, np.float32), offsets=GOOD["offsets"])
    refused("float64", "offsets", indices=[1], offsets=[0.0, 1.0])


@pytest.mark.parametrize("values", [["1", "2"], [True, False], [None, 1], [1j, 2]])
def test_ids_of_other_types(values: list[Any]) -> None:
    refused("whole-number types", indices=np.array(values), offsets=[0, 2])


def test_ids_beyond_int64() -> None:
    refused("position 1 is 9223372036854775808", indices=np.array([1, 2**63], np.uint64), offsets=[0, 2])
    refused("whole-number types", indices=[1, 2**64], offsets=[0, 2])


def test_ids_are_flat() -> None:
    refused("(1, 2)", indices=[[1, 2]], offsets=[0, 2])


def test_duplicates_in_a_bag_stay() -> None:
    batch = next(Workload.from_arrays([3, 3, 3], [0, 3], tables=TABLES[:1]).batches())
    assert batch.indices.tolist() == [3, 3, 3]


def test_words_out_of_the_list() -> None:
    refused_words = {"order": "row", "mode": "max"}
    for field, word in refused_words.items():
        with pytest.raises(RecnmpError, match=f"{field} is '{word}'"):
            Workload.from_arrays([1], [0, 1], tables=TABLES[:1], **{field: word})
    with pytest.raises(RecnmpError, match="out_of_range"):
        Repair("wrap")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rows": 0}, "rows is 0"),
        ({"rows": -4}, "rows is -4"),
        ({"rows": 2.5}, "rows is 2.5"),
        ({"rows": True}, "rows is True"),
        ({"dim": 0}, "dim is 0"),
        ({"dtype": "fp23"}, "did you mean fp32"),
        ({"name": ""}, "name"),
    ],
)
def test_tables(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(RecnmpError, match=re.escape(words)):
        Table(**({"name": "t", "rows": 4, "dim": 16} | fields))


def test_two_tables_of_one_name() -> None:
    refused_text = "tables 0 and 1 have the same name 'a'"
    with pytest.raises(RecnmpError, match=refused_text):
        Workload.from_arrays([], [0], tables=[TABLES[0], TABLES[0]], batch_size=[])
