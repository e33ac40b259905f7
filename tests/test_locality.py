"""Reuse, hot rows and the exact LRU hit curve against their plain twins."""

from collections import Counter

import naive_locality as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from workload_cases import Case, build, cases

from recnmp.kernels.locality import LruStack, shuffle
from recnmp.locality import count_rows, describe, duplicates, hit_curve, hot_share, reuse, reuse_histogram
from recnmp.workload import Batch, Table, Workload, pieces_of


def lines_of(workload: Workload) -> list[int]:
    return [-(-table.row_bytes // 64) for table in workload.tables]


@given(cases(), st.sets(st.integers(1, 40), min_size=1, max_size=6))
def test_hit_curve_equals_a_dictionary_cache(case: Case, capacities: set[int]) -> None:
    workload = case.workload
    curve = hit_curve(workload, count_rows(workload), [64 * lines for lines in capacities])
    accesses = naive.accesses(case.lists, workload.order)
    expected = [naive.lru_hits(accesses, lines_of(workload), lines) for lines in sorted(capacities)]
    assert list(curve.hits) == expected
    assert curve.shuffled is not None
    assert all(a <= b for a, b in zip(curve.shuffled, curve.shuffled[1:], strict=False))
    if curve.cache_bytes[-1] >= 64 * 40:
        touched = len(set(accesses))
        assert touched * max(lines_of(workload)) > 40 or curve.hits[-1] == len(accesses) - touched


@given(st.integers(1, 30), st.integers(0, 2**32), st.integers(1, 900))
def test_a_long_run_over_few_rows_renumbers_rightly(rows: int, seed: int, count: int) -> None:
    random = np.random.default_rng(seed)
    lines = random.integers(1, 4, rows).astype(np.int64)
    ids = random.integers(0, rows, count)
    capacities = np.arange(1, 100, 7)
    hits = np.zeros(len(capacities), dtype=np.int64)
    stack = LruStack(lines)
    for part in np.array_split(ids, 3):
        stack.access(part, capacities, hits)
    pairs = [(int(row), 0) for row in ids]
    expected = [naive.lru_hits(pairs, lines.tolist(), int(capacity)) for capacity in capacities]
    assert np.cumsum(hits).tolist() == expected


def test_rows_without_an_array_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = [Table("wide", 2**40, 16), Table("slim", 9, 16)]
    workload = Workload.from_arrays([2**39, 5, 2**39, 5, 5, 3], [0, 3, 6], tables=wide)
    curve = hit_curve(workload, count_rows(workload), [64, 128, 256])
    pairs = [(0, 2**39), (0, 5), (0, 2**39), (1, 5), (1, 5), (1, 3)]
    assert list(curve.hits) == [naive.lru_hits(pairs, [1, 1], lines) for lines in (1, 2, 4)]


def test_the_kernel_refuses_rows_it_does_not_have() -> None:
    hits = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="row 2 at position 1"):
        LruStack(np.ones(2, np.int64)).access(np.array([0, 2]), np.array([1]), hits)
    with pytest.raises(ValueError, match="differ in length"):
        LruStack(np.ones(2, np.int64)).access(np.array([0]), np.array([1, 2]), hits)


@given(st.integers(0, 50), st.integers(1, 9))
def test_shuffle_keeps_every_item_and_does_not_depend_on_stretches(count: int, stretch: int) -> None:
    words = np.random.PCG64(5).random_raw(max(count, 1))[:count]
    once, apart = np.arange(count), np.arange(count)
    shuffle(once, words, 0)
    for done in range(0, count, stretch):
        shuffle(apart, words[done : done + stretch], done)
    assert once.tolist() == apart.tolist()
    expected = list(range(count))
    for place in range(count):
        other = place + (int(words[place]) * (count - place) >> 64)
        expected[place], expected[other] = expected[other], expected[place]
    assert once.tolist() == expected


def test_shuffling_tells_order_from_popularity() -> None:
    # each row four times in a row: a cache of one line hits 3 of 4, shuffled next to never
    ids = np.repeat(np.arange(500), 4)
    workload = Workload.from_arrays(ids, [0, len(ids)], tables=[Table("t", 500, 16)])
    curve = hit_curve(workload, count_rows(workload), [64])
    assert curve.hits == (1500,)
    assert curve.shuffled is not None
    assert curve.shuffled[0] < 40


@given(case=cases(), merge_at=st.integers(1, 8), lookups=st.integers(1, 5))
def test_counts_and_histogram(case: Case, merge_at: int, lookups: int) -> None:
    accesses = naive.accesses(case.lists, "table")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reuse, "_MERGE_AT", merge_at)
        pieces = [piece for batch in case.workload.batches() for piece in pieces_of(batch, lookups)]
        counts = count_rows(Workload(case.workload.header, lambda: iter(pieces)))
    found = {
        (table, int(row)): int(count)
        for table, (ids, own) in enumerate(zip(counts.ids, counts.counts, strict=True))
        for row, count in zip(ids, own, strict=True)
    }
    assert found == Counter(accesses)
    rows, row_lookups = reuse_histogram(counts)
    assert (rows.tolist(), row_lookups.tolist()) == naive.histogram(accesses)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 32768, 32769])
def test_bins_hold_their_upper_edge(count: int) -> None:
    workload = Workload.from_arrays(np.zeros(count, int), [0, count], tables=[Table("t", 1, 16)])
    rows, lookups = reuse_histogram(count_rows(workload))
    assert (rows.tolist(), lookups.tolist()) == naive.histogram([(0, 0)] * count)


@given(cases())
def test_description_counts(case: Case) -> None:
    info = describe(case.workload, [64])
    bags = [bag for batch in case.lists for table in batch for bag in table]
    assert info["lookups"] == sum(map(len, bags))
    assert info["pooling"]["poolings"] == len(bags)
    assert info["pooling"]["empty"] == bags.count([])
    assert info["duplicates_in_bag"]["lookups"] == sum(len(bag) - len(set(bag)) for bag in bags)
    assert info["rows_touched"] == len(set(naive.accesses(case.lists, "table")))
    if bags:
        lengths = [len(bag) for bag in bags]
        assert info["pooling"]["mean"] == pytest.approx(np.mean(lengths))
        assert info["pooling"]["standard_deviation"] == pytest.approx(np.std(lengths), abs=1e-9)
        assert (info["pooling"]["min"], info["pooling"]["max"]) == (min(lengths), max(lengths))


def test_duplicates_of_very_wide_ids() -> None:
    batch = Batch(0, 2, np.array([2**62, 5, 2**62, 5, 2**62]), np.array([0, 3, 5]))
    assert [duplicates(piece) for piece in pieces_of(batch)] == [1]


def test_averages_of_nothing_are_none() -> None:
    info = describe(build([[[[], []]]], [3]).workload)
    assert info["pooling"]["mean"] == 0
    assert info["duplicates_in_bag"]["share"] is None
    assert [hot["lookups"] for hot in info["hot_share"]] == [None] * 3
    assert {entry["hit_share"] for entry in info["hit_curve"]} == {None}
    assert {entry["lookups_share"] for entry in info["reuse_histogram"]} == {None}
    nothing = describe(build([], [3]).workload)
    assert nothing["pooling"]["mean"] is None
    assert nothing["pooling"]["standard_deviation"] is None
    assert nothing["pooling"]["min"] is None


def test_hot_rows() -> None:
    workload = Workload.from_arrays([0] * 90 + list(range(1, 11)), [0, 100], tables=[Table("t", 11, 16)])
    counts = count_rows(workload)
    assert hot_share(counts, 0.1) == 0.9
    assert hot_share(counts, 1.0) == 1.0


def test_weights_that_are_not_finite_are_counted() -> None:
    tables = [Table("t", 3, 16)]
    workload = Workload.from_arrays([0, 1, 2], [0, 3], tables=tables, weights=[np.nan, np.inf, 1])
    assert describe(workload)["non_finite_weights"] == 2
    assert describe(Workload.from_arrays([0], [0, 1], tables=tables))["non_finite_weights"] is None
