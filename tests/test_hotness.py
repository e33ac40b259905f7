"""Hot-entry profiling of whole traces: thresholds against brute force, the locality bits that are sent, the report."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_hot import NaiveLru, NaiveSketch, best_threshold

from recnmp import isa
from recnmp.config.system import SystemConfig
from recnmp.errors import RecnmpError
from recnmp.hotness import THRESHOLDS, HotEntries, choose_thresholds, threshold
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.simulate import simulate
from recnmp.stats import total
from recnmp.workload import Batch, Table, Workload

FAR = 300


def config(channels: int = 1, **units: Any) -> SystemConfig:
    """Two ranks a channel with RankCaches of 2 sets of 2 lines, for hot entries counted exactly."""
    small = {"rank_cache_bytes": 256, "rank_cache_ways": 2, "hot_entries": "exact"}
    return SystemConfig.model_validate(
        {
            "memory": {"channels": channels, "dimms": 1, "ranks_per_dimm": 2},
            "placement": {"mapping": "RoBaRaChCo"},
            "nmp": small | units,
        }
    )


@st.composite
def traces(draw: st.DrawFn) -> Workload:
    """One to three tables of few rows, so that entries come again within poolings, batches and between them."""
    dims = draw(st.lists(st.sampled_from([4, 16, 32]), min_size=1, max_size=3))
    rows = [draw(st.integers(1, 40)) for _ in dims]
    sizes = draw(st.lists(st.integers(0, 4), max_size=4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    # far apart, so that they lie in pages of their own, in all ranks and channels
    bags = [
        (rng.zipf(1.3, draw(st.integers(0, 20))) % top * FAR).tolist()
        for size in sizes
        for top in rows
        for _ in range(size)
    ]
    tables = [Table(f"t{k}", top * FAR, dim) for k, (top, dim) in enumerate(zip(rows, dims, strict=True))]
    return Workload.from_arrays(
        np.array([row for bag in bags for row in bag], np.int64),
        lengths=np.array([len(bag) for bag in bags], np.int64),
        tables=tables,
        batch_size=sizes,
    )


def rows_by_table(batch: Batch) -> list[list[int]]:
    """The looked-up rows of each table of a batch."""
    size = batch.batch_size
    bounds = batch.offsets[:: size or 1].tolist()
    return [batch.indices[a:b].tolist() for a, b in pairwise(bounds)]


def placed(system: SystemConfig, placement: Placement, table: int, row: int) -> list[tuple[int, int]]:
    """(rank over all channels, line in the rank) of each line of a row."""
    lines, devices = placement.locate(table, np.array([row])), system.dram.devices()
    found = []
    for k in range(len(lines.vector)):
        bank = int(lines.bankgroup[k]) * devices.banks + int(lines.bank[k])
        line = (bank * devices.rows + int(lines.row[k])) * devices.bursts_per_row + int(lines.column[k])
        found.append((int(lines.channel[k]) * system.memory.ranks + int(lines.rank[k]), line))
    return found


Looked = list[
    tuple[int, list[tuple[int, int]]]
]  # lookups of a table in a batch: row, and (rank, line) of its lines


def brute_force_input(system: SystemConfig, workload: Workload) -> tuple[list[list[Looked]], int, int]:
    """[table][batch that has samples], sets and ways."""
    placement, units = Placement(system, workload.tables), system.units
    batches = [rows_by_table(batch) for batch in workload.batches() if batch.batch_size]
    looked_up = [
        [[(row, placed(system, placement, table, row)) for row in batch[table]] for batch in batches]
        for table in range(len(workload.tables))
    ]
    return looked_up, units.rank_cache_bytes // (64 * units.rank_cache_ways), units.rank_cache_ways


@settings(max_examples=60, deadline=None)
@given(traces(), st.sampled_from([1, 2]), st.sampled_from([128, 256, 512]))
def test_the_threshold_is_that_of_brute_force(workload: Workload, channels: int, size: int) -> None:
    """Over one and two channels, and whatever is tried together."""
    system = config(channels, rank_cache_bytes=size)
    placement = Placement(system, workload.tables)
    told: list[int] = []
    chosen = choose_thresholds(system, placement, workload, told.append)
    looked_up, sets, ways = brute_force_input(system, workload)
    assert chosen.tolist() == [[best_threshold(batches, sets, ways, THRESHOLDS)[0] for batches in looked_up]]
    assert sum(told) == workload.lookups


def test_tables_in_groups_are_tried_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where memory allows only one table at a time, each has a pass of its own, with the same outcome."""
    rng = np.random.default_rng(4)
    tables = [Table(f"t{k}", 300, 16) for k in range(3)]
    workload = Workload.from_arrays(
        rng.zipf(1.2, 3 * 40 * 20) % 300, lengths=[20] * 120, tables=tables, batch_size=20
    )
    told: list[int] = []
    for system in (config(), config(hot_entries="sketch", sketch_counters=64, sketch_clear="batch")):
        placement = Placement(system, tables)
        assert len(list(threshold.groups(system, 3, 8))) == 1
        together = choose_thresholds(system, placement, workload)
        with monkeypatch.context() as patch:
            patch.setattr(threshold, "MOST_BYTES", 1)
            assert len(list(threshold.groups(system, 3, 8))) == 3
            told.clear()
            assert np.array_equal(choose_thresholds(system, placement, workload, told.append), together)
        assert sum(told) == workload.lookups


@settings(max_examples=30, deadline=None)
@given(traces())
def test_a_threshold_a_batch_of_one_batch_is_that_of_the_trace(workload: Workload) -> None:
    batches = [batch for batch in workload.batches() if batch.batch_size][:1]
    one = Workload.from_batches(
        workload.tables, [Batch(0, b.batch_size, b.indices, b.offsets) for b in batches]
    )
    if not batches:
        return
    placement = Placement(config(), one.tables)
    by_trace, by_batch = (
        choose_thresholds(config(hot_scope=scope), placement, one) for scope in ("trace", "batch")
    )
    assert np.array_equal(by_trace, by_batch)


@settings(max_examples=60, deadline=None)
@given(traces(), st.sampled_from([128, 256, 512]))
def test_thresholds_of_batches_are_those_of_brute_force(workload: Workload, size: int) -> None:
    """Each batch is tried on the caches that the threshold before has left."""
    system = config(rank_cache_bytes=size, hot_scope="batch")
    chosen = choose_thresholds(system, Placement(system, workload.tables), workload)
    looked_up, sets, ways = brute_force_input(system, workload)
    filled = [number for number, batch in enumerate(workload.batches()) if batch.batch_size]
    assert (np.delete(chosen, filled, axis=0) == 1).all()
    for table, batches in enumerate(looked_up):
        caches: dict[int, NaiveLru] = {}
        for number, batch in zip(filled, batches, strict=True):
            best, caches = best_threshold([batch], sets, ways, THRESHOLDS, caches)
            assert chosen[number, table] == best


def test_caches_that_are_emptied_before_each_batch_are_tried_so() -> None:
    """Row 1 in two batches, otherwise alone: a hit only if the cache was kept. All thresholds tie, or 1 wins."""
    for flush, hits in (("never", 1), ("batch", 0)):
        system = config(rank_cache_flush=flush)
        workload = Workload.from_arrays([1] * 2, lengths=[1, 1], tables=[Table("t", 64, 16)], batch_size=1)
        placement = Placement(system, workload.tables)
        trial = threshold.Trial(system, [1])
        for batch in workload.batches():
            trial.start_batch()
            trial.access(placement.locate(0, batch.indices), np.ones(1, np.int64))
        assert trial.hits == [hits]


def sent_bits(engine: NmpEngine) -> dict[int, int]:
    """Lookup of the last batch -> its locality bit; all its instructions agree."""
    bits: dict[int, set[int]] = {}
    for (packets,) in engine.packets:
        stream = packets.stream
        lookups = stream[stream["opcode"] >= isa.LOOKUP]
        for lookup, bit in zip(lookups["lookup"].tolist(), lookups["locality"].tolist(), strict=True):
            bits.setdefault(lookup, set()).add(bit)
        assert not stream["locality"][stream["opcode"] < isa.LOOKUP].any()
    assert all(len(found) == 1 for found in bits.values())
    return {lookup: found.pop() for lookup, found in bits.items()}


@settings(max_examples=40, deadline=None)
@given(
    traces(),
    st.sampled_from(["exact", "table", "batch"]),
    st.sampled_from([1, 2, 3, 7]),
    st.sampled_from([1, 2]),
)
def test_the_bits_that_are_sent(workload: Workload, way: str, least: int, channels: int) -> None:
    """Counted by a Counter and by the plain sketch; what was counted is in the report."""
    words: dict[str, Any] = {"hot_threshold": least}
    if way != "exact":
        words |= {"hot_entries": "sketch", "sketch_rows": 2, "sketch_counters": 64, "sketch_counter_bits": 3}
        words |= {"sketch_clear": way}
    system = config(channels, **words)
    engine = NmpEngine(system, workload.tables, Placement(system, workload.tables))
    hot = seen = clock = sketch_clocks = most = 0
    for batch in workload.batches():
        clock = engine.run_batch(batch, workload.order, clock) + 1
        keys = [table << 44 | row for table, rows in enumerate(rows_by_table(batch)) for row in rows]
        expected: list[bool] = []
        groups = (
            [keys] if way == "batch" else [[k for k in keys if k >> 44 == t] for t in range(batch.n_tables)]
        )
        for group in groups:
            counts, sketch = Counter(group), NaiveSketch(2, 64, 3)
            for key in group:
                sketch.count(key)
            expected += [(counts[key] if way == "exact" else sketch.ask(key)) >= least for key in group]
            sketch_clocks += 1 + 64 + 2 * len(group) if group else 0
            most = max(most, 16 * len(counts))
        assert sent_bits(engine) == dict(enumerate(expected))
        hot, seen = hot + sum(expected), seen + len(expected)
    assert engine.hot_entries is not None
    report = engine.hot_entries.report()
    assert (report["lookups"], report["hot_lookups"], report["index_bytes"]) == (seen, hot, 16 * seen)
    assert report["sketch_clocks"] == (None if way == "exact" else sketch_clocks)
    assert report["counting_bytes"] == (most if way == "exact" else 2 * 64 * 3 // 8)
    assert report["thresholds"] == {table.name: least for table in workload.tables}


def test_no_hot_entry_is_missed_by_a_sketch() -> None:
    """However small it is: its hot lookups contain the exact ones."""
    rows = np.random.default_rng(8).zipf(1.2, 4000) % 3000
    batch = Batch(0, 1, rows, np.array([0, 4000]))
    tables = [Table("t", 3000, 16)]
    found = []
    for words in (
        {"hot_entries": "exact"},
        {"hot_entries": "sketch", "sketch_counters": 64, "sketch_rows": 1},
    ):
        system = config(hot_threshold=5, **words)
        found.append(HotEntries(system, tables, Placement(system, tables)).bits(batch, 0))
    exact, sketch = found
    assert not (exact & ~sketch).any()
    assert exact.sum() < sketch.sum()


def skewed(batches: int = 4) -> Workload:
    rng = np.random.default_rng(11)
    tables = [Table("a", 4000, 16), Table("b", 4000, 16)]
    indices = rng.zipf(1.15, batches * 2 * 16 * 30) % 4000
    return Workload.from_arrays(indices, lengths=[30] * (batches * 32), tables=tables, batch_size=16)


def test_a_run_profiles_and_says_what_it_cost() -> None:
    """Cold lookups bypass; with a RankCache that is too small for all, hot entries hit more often."""
    workload = skewed()
    # sets of 16 ways, as many as the window has entries: no miss goes without a way
    words = {"rank_cache_bytes": 2048, "rank_cache_ways": 16}
    some, every = config(**words), config(**words, hot_entries="all")
    profiled, plain = simulate(some, workload), simulate(every, workload)
    assert (plain.profile, plain.profiling_s) == (None, None)
    profile = profiled.as_json()["profile"]
    assert profile["lookups"] == workload.lookups
    # one line a lookup: cold ones are the bypasses
    assert total(profiled.counters, "cache_bypasses") == workload.lookups - profile["hot_lookups"] > 0
    assert profiled.as_json()["hit_rate"] > plain.as_json()["hit_rate"]
    assert list(profile["thresholds"]) == ["a", "b"]
    assert profiled == simulate(some, workload)
    assert profiled.profiling_s is not None
    assert set(profiled.profiling_s) == {"counting", "choosing"}


def test_threshold_1_is_every_lookup() -> None:
    workload = skewed(2)
    one, every = (
        simulate(config(**words), workload) for words in ({"hot_threshold": 1}, {"hot_entries": "all"})
    )
    assert (one.clocks, one.counters) == (every.clocks, every.counters)


def test_warm_up_is_not_in_the_report() -> None:
    """But its lookups count for the thresholds, as all of the trace does."""
    whole, rest = simulate(config(), skewed()), simulate(config(), skewed(), warmup=3)
    assert whole.profile is not None
    assert rest.profile is not None
    assert rest.profile["lookups"] * 4 == whole.profile["lookups"]
    assert rest.profile["thresholds"] == whole.profile["thresholds"]


@pytest.mark.parametrize("mode", ["closed", "stream"])
@pytest.mark.parametrize("scope", ["trace", "batch"])
def test_progress_adds_up(mode: str, scope: str) -> None:
    """Half of it while thresholds are chosen, no more than there are lookups in all."""
    workload, told = skewed(2), list[int]()
    system = config(hot_scope=scope)
    system = SystemConfig.model_validate({**system.model_dump(), "run": {"mode": mode}})
    result = simulate(system, workload, progress=told.append)
    assert sum(told) == workload.lookups
    assert result.profile is not None
    chosen = result.profile["thresholds"]["a"]
    assert len(chosen) == 2 if scope == "batch" else chosen in THRESHOLDS


def test_thresholds_of_a_sketch_fit_its_counters() -> None:
    system = config(hot_entries="sketch", sketch_counter_bits=2)
    chosen = choose_thresholds(system, Placement(system, skewed().tables), skewed())
    assert set(chosen.reshape(-1)) <= {1, 2, 3}


def test_bits_before_thresholds_are_a_fault() -> None:
    workload = skewed(1)
    engine = NmpEngine(config(), workload.tables, Placement(config(), workload.tables))
    with pytest.raises(RuntimeError, match="chosen over a trace"):
        engine.run_batch(next(workload.batches()), "table", 0)


def test_entries_without_a_key_are_refused() -> None:
    tables = [Table("vast", (1 << 44) + 1, 16)]
    system = config(hot_entries="sketch", hot_threshold=2)
    with pytest.raises(
        RecnmpError, match="table 'vast' has 17592186044417 rows, a key tells at most 17592186044416"
    ):
        HotEntries(system, tables, Placement(system, [Table("t", 1, 16)]))


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ({"hot_entries": "exact"}, "only with a RankCache"),
        ({"hot_threshold": 3}, "nmp.hot_threshold = 3: only with nmp.hot_entries exact or sketch"),
        ({"rank_cache_bytes": 256, "hot_scope": "batch"}, "nmp.hot_scope = 'batch': only with"),
        (
            {"rank_cache_bytes": 256, "hot_entries": "exact", "hot_threshold": 2, "hot_scope": "batch"},
            "nmp.hot_scope = 'batch': only with nmp.hot_threshold auto",
        ),
        (
            {"rank_cache_bytes": 256, "hot_entries": "exact", "sketch_rows": 2},
            "nmp.sketch_rows = 2: only with",
        ),
        (
            {"rank_cache_bytes": 256, "hot_entries": "sketch", "sketch_counters": 96},
            "a power of two, 64 to 1048576",
        ),
        (
            {"rank_cache_bytes": 256, "hot_entries": "sketch", "sketch_counter_bits": 4, "hot_threshold": 16},
            "counters of 4 bits count to 15",
        ),
    ],
)
def test_what_would_mean_nothing_is_refused(words: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RecnmpError, match=complaint):
        SystemConfig.model_validate({"nmp": words})


@pytest.mark.parametrize("value", [0, 65536, 1.5, True, "all"])
def test_what_is_no_threshold_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="allowed is 'auto', or 1 to 65535"):
        SystemConfig.model_validate(
            {"nmp": {"rank_cache_bytes": 256, "hot_entries": "exact", "hot_threshold": value}}
        )
