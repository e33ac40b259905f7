"""Synthetic traces: the same everywhere and in any chunks, and as popular as the law says."""

from decimal import Decimal
from typing import Any

import naive_generator as naive
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from recnmp.traces import clustering
from recnmp.traces import generate as module
from recnmp.traces.fit import Fit, fit, fit_table
from recnmp.traces.generate import LAWS, Recipe, generate, plan
from recnmp.traces.histograms import NAMES, published
from recnmp.traces.permutation import Permutation
from recnmp.traces.popularity import Groups, thinned, zipf
from recnmp.traces.urn import fill_urns
from recnmp.traces.words import scaled, source

from recnmp.errors import RecnmpError
from recnmp.locality import count_rows, hit_curve, reuse_histogram
from recnmp.workload import Workload

SMALL: dict[str, Any] = {"tables": 3, "rows": 500, "pooling": (5, 5), "batch_size": 4, "batches": 3}


def streams(workload: Workload) -> list[list[int]]:
    """Each table's lookups in order of time."""
    found: list[list[int]] = [[] for _ in workload.tables]
    for batch in workload.batches():
        for table, _, low, high in zip(*batch.bags("table"), strict=True):
            found[table] += batch.indices[low:high].tolist()
    return found


@given(st.lists(st.integers(0, 2**64 - 1), max_size=9), st.integers(0, 2**63))
def test_scaling_is_exact(words: list[int], bound: int) -> None:
    given_words = np.array(words, dtype=np.uint64)
    expected = [word * bound >> 64 for word in words]
    assert scaled(given_words, bound).tolist() == expected
    assert (
        scaled(given_words, np.full(len(words), bound, dtype=np.uint64).view(np.int64)).tolist() == expected
    )


@given(st.integers(0, 2**32), st.integers(0, 5))
def test_raw_words_are_pcg64(seed: int, purpose: int) -> None:
    assert source(seed, purpose).random_raw(5).tolist() == naive.take(naive.Pcg64(seed, purpose), 5)


@given(st.integers(1, 3000), st.integers(0, 99))
def test_a_permutation_takes_each_value_once(n: int, seed: int) -> None:
    images = Permutation(n, seed, 4)(np.arange(n))
    assert sorted(images.tolist()) == list(range(n))
    some = [0, n - 1, n // 2]
    assert Permutation(n, seed, 4)(np.array(some)).tolist() == [naive.permuted(v, n, seed, 4) for v in some]


def test_a_permutation_of_very_many_values() -> None:
    n = 2**61 + 12345
    values = np.array([0, 1, 2**40, n - 1])
    images = Permutation(n, 3, 4)(values)
    assert images.tolist() == [naive.permuted(int(v), n, 3, 4) for v in values]
    assert images.min() >= 0
    assert images.max() < n


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=6))
def test_groups_give_each_row_its_share(groups: list[tuple[int, int]]) -> None:
    law = Groups(groups)
    shares = [share for rows, share in groups if share for _ in range(rows)]
    expected = [row for row, share in enumerate(shares) for _ in range(share)]
    assert law.total == len(expected)
    assert law.locate(np.arange(law.total)).tolist() == expected


@given(
    st.lists(st.tuples(st.integers(1, 1000), st.integers(1, 50)), min_size=1, max_size=6), st.integers(1, 200)
)
def test_thinning_keeps_the_shape(law: list[tuple[int, int]], active: int) -> None:
    law.sort(reverse=True)
    groups = thinned(law, active)
    assert groups.rows.sum() == active
    # row j's share is the mean rate of its slice of the law, times a constant
    rates = np.repeat([rate for rate, _ in law], [rows * active for _, rows in law])
    expected = rates.reshape(active, -1).sum(axis=1)
    assert np.repeat(groups.share, groups.rows).tolist() == expected.tolist()


@pytest.mark.parametrize("exponent", ["0", "0.5", "1", "1.2", "2"])
def test_zipf_shares(exponent: str) -> None:
    active = 20_000
    law = zipf(active, Decimal(exponent))
    assert law.rows.sum() == active
    exact = np.arange(1, active + 1.0) ** -float(exponent)
    found = np.repeat(law.share, law.rows) / law.total
    assert np.abs(found - exact / exact.sum()).sum() / 2 < 1e-3
    assert np.allclose(found[:1024], (exact / exact.sum())[:1024], rtol=1e-6)


@pytest.mark.parametrize("law", ["uniform", "zipf", "2021-x16"])
def test_lookups_equal_those_of_the_plain_twin(law: str) -> None:
    recipe = Recipe(law, seed=7, active_rows=300, **SMALL)
    groups = plan(recipe).groups[0]
    pairs = list(zip(groups.rows.tolist(), groups.share.tolist(), strict=True))
    for table, found in enumerate(streams(generate(recipe))):
        assert found == naive.drawn(pairs, recipe.rows, 7, table, 4 * 3 * 5)


@pytest.mark.parametrize("law", LAWS)
def test_chunks_and_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch, law: str) -> None:
    recipe = Recipe(law, seed=3, cluster="0.5", weighted=True, **SMALL | {"pooling": (0, 9), "batch_size": 6})
    whole = generate(recipe)
    assert whole.content_hash() == whole.content_hash(), "drawn anew, the same"
    other_batches = Recipe(law, seed=3, cluster="0.5", weighted=True,
                           **SMALL | {"pooling": (0, 9), "batch_size": 2, "batches": 9})  # fmt: skip
    assert streams(generate(other_batches)) == streams(whole)
    monkeypatch.setattr(module, "PIECE_LOOKUPS", 11)
    cut = generate(recipe)
    assert max(len(piece.indices) for piece in cut.pieces()) <= 11
    assert cut.content_hash() == whole.content_hash()
    assert (
        generate(Recipe(law, seed=4, **SMALL)).content_hash()
        != generate(Recipe(law, seed=3, **SMALL)).content_hash()
    )


def test_windows_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = streams(generate(Recipe("zipf", **SMALL)))
    monkeypatch.setattr(module, "WINDOW", 7)
    assert streams(generate(Recipe("zipf", **SMALL))) == whole


def test_pooling_lengths_spread_evenly() -> None:
    workload = generate(Recipe("uniform", tables=2, rows=10, pooling=(2, 5), batch_size=500, batches=4))
    lengths = np.concatenate([np.diff(batch.offsets) for batch in workload.batches()])
    assert lengths.sum() == workload.lookups
    counts = np.bincount(lengths, minlength=6)
    assert counts[:2].tolist() == [0, 0]
    assert np.abs(counts[2:] / len(lengths) - 0.25).max() < 0.04


def test_only_active_rows_are_looked_up() -> None:
    workload = generate(
        Recipe("uniform", tables=2, rows=1000, active_rows=17, pooling=(40, 40), batch_size=50)
    )
    counts = count_rows(workload)
    assert [len(ids) for ids in counts.ids] == [17, 17]
    assert counts.ids[0].tolist() != counts.ids[1].tolist(), "scattered anew in each table"
    assert workload.origin["active_rows"] == [17, 17]


@given(
    st.lists(st.integers(0, 6), max_size=60),
    st.sampled_from([0, 2**30, 2**31, 3 * 2**30, 2**32]),
    st.integers(1, 20),
)
@example([0, 0, 1, 1, 2, 2, 0, 1, 2, 3], 2**32, 3)
def test_clustering_equals_the_plain_twin(ids: list[int], threshold: int, gap: int) -> None:
    words = source(1).random_raw(max(len(ids), 1))[: len(ids)]
    found = clustering.clustered(np.array(ids, dtype=np.int64), words, threshold, gap).tolist()
    quantiles = clustering._quantiles().tolist()
    assert found == naive.clustered(ids, words.tolist(), threshold, gap, quantiles)
    assert sorted(found) == sorted(ids)


def test_gaps_are_exponential() -> None:
    gaps = np.sort(clustering._quantiles() / 2**16)
    assert abs(gaps.mean() - 1) < 1e-3
    for share in (0.1, 0.5, 0.9):
        assert abs(gaps[int(share * len(gaps))] + np.log(1 - share)) < 1e-2


def test_clustered_repeats_stand_at_the_stated_distance() -> None:
    words = source(5)
    ids = scaled(words.random_raw(65_536), 20_000)
    found = clustering.clustered(ids, words.random_raw(len(ids)), 2**32, 16)
    order = np.argsort(found, kind="stable")
    gaps = np.diff(order)[np.diff(found[order]) == 0]
    # the exponential law of mean 16, but for a chain that goes on at the start of the window
    for distance in (4, 16, 48):
        assert abs((gaps <= distance).mean() - (1 - np.exp(-distance / 16))) < 0.03


def test_clustering_crowds_no_part_of_the_window() -> None:
    law = plan(Recipe("2021-x16", rows=1_000_000, tables=1, pooling=(80, 80), batch_size=820)).groups[0]
    for threshold in (2**32, int(0.6 * 2**32)):
        words = source(7)
        ids = law.locate(scaled(words.random_raw(65_536), law.total))
        found = clustering.clustered(ids, words.random_raw(len(ids)), threshold, 16)
        order = np.argsort(found, kind="stable")
        near = np.zeros(len(ids), dtype=np.bool_)
        near[order[1:]] = (np.diff(found[order]) == 0) & (np.diff(order) <= 64)
        shares = near.reshape(8, -1).mean(axis=1)
        assert shares.max() - shares.min() < 0.15, shares


def test_clustering_changes_order_not_counts() -> None:
    given_recipe = {"tables": 2, "rows": 20_000, "pooling": (40, 40), "batch_size": 256, "batches": 2}
    plain, close = (generate(Recipe("2021-x16", cluster=p, **given_recipe)) for p in ("0", "0.9"))  # type: ignore[arg-type]
    one, other = count_rows(plain), count_rows(close)
    for table in range(2):
        assert np.array_equal(one.ids[table], other.ids[table])
        assert np.array_equal(one.counts[table], other.counts[table])
    hits = [hit_curve(w, count_rows(w), [8192], shuffled=False).hits[0] for w in (plain, close)]
    assert hits[1] > 1.5 * hits[0]


@given(st.sampled_from(NAMES), st.lists(st.integers(0, 40_000), min_size=1, max_size=5))
def test_urns_hold_each_tables_lookups_exactly(name: str, lookups: list[int]) -> None:
    urns = fill_urns(published(name).direct, lookups)
    assert [urn.total for urn in urns] == lookups


def test_direct_drawing_gives_exactly_the_planned_counts() -> None:
    recipe = Recipe("2021-x16", method="direct", tables=3, rows=50_000, pooling=(20, 20), batch_size=200)
    planned = plan(recipe)
    counts = count_rows(generate(recipe))
    for groups, found in zip(planned.groups, counts.counts, strict=True):
        assert sorted(found.tolist()) == sorted(np.repeat(groups.share, groups.rows).tolist())


@pytest.mark.parametrize("name", NAMES)
def test_direct_drawing_meets_the_published_histogram(name: str) -> None:
    """workloads: fits to 0.001 at 10 M lookups; the plan says exactly what will be drawn."""
    groups = fill_urns(published(name).direct, [1_250_000] * 8)
    counts = np.concatenate([np.repeat(group.share, group.rows) for group in groups])
    bins = np.ceil(np.log2(counts)).astype(int).clip(0, 16)
    found = (np.bincount(bins, minlength=17), np.bincount(bins, counts, minlength=17))
    targets = (np.array(published(name).rows_per_bin), np.array(published(name).lookups_per_bin))
    for one, target in zip(found, targets, strict=True):
        assert np.abs(one / one.sum() - target / target.sum()).sum() / 2 < 0.001


@pytest.mark.parametrize("name", NAMES)
def test_the_committed_mixture_fits(name: str) -> None:
    """workloads: a mixed-Poisson law of 70 log-spaced rates fits to 0.012."""
    recipe = Recipe(name, tables=1, rows=10)
    variation = Fit.variation(*(lambda f: (f.law, f.published))(fit(recipe, np.ones(17), np.ones(17))))
    assert variation is not None
    assert max(variation) < 0.012


def test_a_thinned_trace_meets_its_expectation() -> None:
    recipe = Recipe("2021-x16", batches=2)
    rows, lookups = reuse_histogram(count_rows(generate(recipe)))
    result = fit(recipe, rows, lookups)
    variation = Fit.variation(result.expected, result.drawn)
    assert variation is not None
    assert max(variation) < 0.01
    text = fit_table(result)
    assert "drawn against published" in text
    assert len(text.splitlines()) == 2 + 17 + 3


@pytest.mark.parametrize("order", ["table", "sample"])
def test_reference_points(order: str) -> None:
    """8 tables x 1 M rows all active, pooling 80, batch 256, 64-byte rows: figures of the design."""
    expected = {"table": (0.27, 0.46, 0.52), "sample": (0.13, None, None)}[order]
    workload = generate(Recipe("2021-x16", batches=6, order=order))
    curve = hit_curve(workload, count_rows(workload), [128 << 10, 8 << 20, 64 << 20], shuffled=False)
    for hits, share in zip(curve.hits, expected, strict=True):
        assert share is None or abs(hits / workload.lookups - share) <= 0.02


@pytest.mark.parametrize(("order", "share"), [("table", 0.43), ("sample", 0.25)])
def test_reference_points_with_the_published_active_rows(order: str, share: float) -> None:
    workload = generate(Recipe("2021-x16", batches=6, order=order, active_rows=154_000))
    curve = hit_curve(workload, count_rows(workload), [128 << 10], shuffled=False)
    assert abs(curve.hits[0] / workload.lookups - share) <= 0.02


def test_reference_points_of_uniform_traces() -> None:
    workload = generate(Recipe("uniform", batches=6))
    curve = hit_curve(workload, count_rows(workload), [8 << 20, 64 << 20], shuffled=False)
    assert [round(hits / workload.lookups, 2) for hits in curve.hits] == [0.01, 0.06]


def test_auto_is_direct_from_two_million_lookups() -> None:
    below = {"tables": 1, "rows": 10**6, "pooling": (100, 100), "batch_size": 19_999}
    assert plan(Recipe("2022", **below)).method == "mixture"  # type: ignore[arg-type]
    assert plan(Recipe("2022", **below | {"batch_size": 20_000})).method == "direct"  # type: ignore[arg-type]
    stated = Recipe("2022", **below | {"batch_size": 20_000, "active_rows": 1000})  # type: ignore[arg-type]
    assert plan(stated).method == "mixture"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"law": "2023"}, "law is '2023', allowed: uniform"),
        ({"law": "2022", "method": "exact"}, "method is 'exact'"),
        ({"method": "direct"}, "published histograms"),
        ({"seed": -1}, "seed is -1"),
        ({"tables": 0}, "tables is 0"),
        ({"active_rows": 1001, "rows": 1000}, "1..1000"),
        ({"pooling": (5, 4)}, "LOW:HIGH"),
        ({"cluster": "1.5"}, "cluster is 1.5, allowed is 0..1"),
        ({"cluster": "often"}, "decimal number"),
        ({"exponent": "nan"}, "decimal number"),
        ({"law": "2022", "method": "direct", "active_rows": 5}, "decided by the histogram"),
        ({"law": "2022", "method": "direct", "rows": 100}, "needs"),
        ({"dtype": "fp8"}, "dtype 'fp8'"),
        ({"order": "row"}, "order is 'row'"),
    ],
)
def test_recipes_out_of_range(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        generate(Recipe(**({"law": "uniform"} | fields)))
    assert words in str(caught.value)


def test_an_empty_trace() -> None:
    for fields in ({"batches": 0}, {"pooling": (0, 0)}):
        recipe = Recipe("2021-x16", **SMALL | fields)
        workload = generate(recipe)
        assert workload.lookups == 0
        rows, lookups = reuse_histogram(count_rows(workload))
        assert "-" in fit_table(fit(recipe, rows, lookups))
