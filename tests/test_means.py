"""Means, weighted means and weights by position."""

from __future__ import annotations

import hashlib
import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_packets import config

from recnmp import RecnmpError
from recnmp.means import divide
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.simulate import simulate
from recnmp.values import HashValues
from recnmp.workload import Batch, Repair, Table, Workload

TABLES = [Table("a", 50, 16), Table("b", 50, 32)]
LENGTHS = [3, 0, 1, 2, 7, 0]  # 2 tables x 3 samples
IDS = [1, 49, 7, 3, 3, 0, *range(20, 27)]


def test_means_divide_once() -> None:
    """One fp32 division each, by hand; 0 of an empty pooling; one NaN; the sums of two batches follow each other."""
    one = Batch(0, 3, np.zeros(13, np.int64), np.cumsum([0, *LENGTHS]))
    two = Batch(1, 1, np.zeros(7, np.int64), np.array([0, 7, 7]))
    odd = np.array([0xFFC12345], np.uint32).view(np.float32)[0]
    sums = [
        np.array([[1.0, np.inf], [0.0, 0.0], [odd, 5e-45]], np.float32),
        np.array([[10.0, -3.0], [1.0, 1e38], [0.0, 0.0]], np.float32),
        np.array([[1.0]], np.float32),
        np.array([[0.0]], np.float32),
    ]
    means = divide(sums, [one, two])
    third, seventh = (struct.unpack("<f", struct.pack("<f", 1 / n))[0] for n in (3, 7))
    assert means[0].tolist()[:2] == [[third, np.inf], [0.0, 0.0]]
    assert means[0].view(np.uint32)[2].tolist() == [0x7FC00000, 4]
    assert means[1].tolist()[0] == [5.0, -1.5]
    assert means[1].tolist()[1][0] == means[2].tolist()[0][0] == seventh
    assert means[3].tolist() == [[0.0]]


@pytest.mark.parametrize("mode", ["mean", "weighted-mean"])
def test_means_take_the_time_of_sums_and_have_their_values(mode: str) -> None:
    """Clocks and counters are those of the sums; values are the sums by the number of lookups, empty poolings 0."""
    weights = np.arange(13, dtype=np.float32) / 4 if mode == "weighted-mean" else None
    makes = [
        Workload.from_arrays(IDS, lengths=LENGTHS, tables=TABLES, weights=weights, mode=m)
        for m in ("sum", mode)
    ]
    values = HashValues(TABLES, 3)
    summed, meant = (simulate(config("skylake"), trace, values=values) for trace in makes)
    assert (summed.clocks, summed.counters) == (meant.clocks, meant.counters)
    digest = hashlib.sha256()
    bounds = np.cumsum([0, *LENGTHS])
    for bag, (first, last) in enumerate(pairwise(bounds)):
        rows = values.vectors(bag // 3, np.array(IDS[first:last], np.int64)).astype(np.float64)
        # multiples of 1/64, exact
        total = (rows * (1 if weights is None else weights[first:last, None])).sum(0)
        digest.update((np.float32(total) / np.float32(max(last - first, 1))).astype("<f4").tobytes())
    assert meant.sums_sha256 == digest.hexdigest() != summed.sums_sha256


@given(st.lists(st.integers(0, 6), min_size=6, max_size=6), st.booleans())
def test_weights_by_position(lengths: list[int], per_table: bool) -> None:
    """Two batches of two samples and one, table-major: a plain loop over bags."""
    given_weights = np.arange(12, dtype=np.float32).reshape(2, 6) + 1
    given_weights = given_weights if per_table else given_weights[0]
    trace = Workload.from_arrays(
        [0] * sum(lengths),
        lengths=lengths,
        tables=TABLES,
        batch_size=[2, 1],
        positional_weights=given_weights,
    )
    table_of = [0, 0, 1, 1, 0, 1]
    expected = [
        float((given_weights[table] if per_table else given_weights)[place])
        for table, length in zip(table_of, lengths, strict=True)
        for place in range(length)
    ]
    got = [weight for batch in trace.batches() for weight in batch.weights.tolist()]
    assert got == expected
    assert trace.weighted


def test_pruned_rows_keep_the_places_of_others() -> None:
    trace = Workload.from_arrays(
        [4, -1, 5],
        lengths=[3],
        tables=TABLES[:1],
        positional_weights=[1, 2, 3],
        repair=Repair(pruned=True),
    )
    (batch,) = trace.batches()
    assert batch.weights is not None
    assert (batch.indices.tolist(), batch.weights.tolist()) == ([4, 5], [1.0, 3.0])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"weights": [1] * 13, "mode": "mean"}, "a mean takes no weights, weighted-mean does"),
        ({"mode": "weighted-mean"}, "arrays: mode weighted-mean without weights"),
        ({"mode": "average"}, "mode is 'average', allowed: sum, mean, weighted-mean"),
        ({"weights": [1] * 13, "positional_weights": [1] * 9}, "give either weights or positional weights"),
        ({"positional_weights": [1, 2]}, r"bag 0 \(table 'a'\) has 3 lookups, .* for 2$"),
        ({"positional_weights": [1, 2, 3]}, r"bag 4 \(table 'b'\) has 7 lookups, .* for 3$"),
        ({"positional_weights": [[1] * 9] * 3}, r"shape \[3, 9\], allowed is \[positions\] or \[2 tables"),
        ({"positional_weights": [[1], [1, 2]]}, "no array: lines of different lengths"),
        ({"positional_weights": ["x"] * 9}, "positional weights"),
    ],
)
def test_contradictions_are_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(RecnmpError, match=message):
        Workload.from_arrays(IDS, lengths=LENGTHS, tables=TABLES, **words)  # type: ignore[arg-type]
    with pytest.raises(RecnmpError, match="in a mean"):
        Workload.from_arrays(
            [-1],
            lengths=[1],
            tables=TABLES[:1],
            weights=[1],
            mode="weighted-mean",
            repair=Repair(pruned=True),
        )


def test_weighted_means_are_kept_in_files(tmp_path: Path) -> None:
    trace = Workload.from_arrays(IDS, lengths=LENGTHS, tables=TABLES, weights=[1] * 13, mode="weighted-mean")
    trace.save(tmp_path / "t.parquet")
    assert Workload.load(tmp_path / "t.parquet").mode == "weighted-mean"
    assert '"version": 2' in trace.header.to_json()


def test_dequantising_is_charged() -> None:
    """8 lookups of 16 elements: 8 x 16 additions more and as many multiplications for an int8 table, none for fp32."""
    engine = NmpEngine(config("skylake"), TABLES, Placement(config("skylake"), TABLES))
    batch = Batch(0, 1, np.zeros(8, np.int64), np.array([0, 8, 8]))
    assert engine._elements(batch) == (128, 0)
    engine._tables = [Table("q", 9, 16, "int8"), TABLES[1]]  # refused at the door as yet
    assert engine._elements(batch) == (128, 128)
