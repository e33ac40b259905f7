"""The last-level cache before the host's channels (D14), against a model that shares nothing with it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_caches import NaiveCache
from referee import check
from small_trace import system, trace

from recnmp import baseline
from recnmp.baseline import HostEngine, line_reads
from recnmp.config.system import SystemConfig
from recnmp.energy import energy_pj, what_counts
from recnmp.placement import Placement
from recnmp.replay import HostChannel
from recnmp.simulate import compare, make_engine, simulate
from recnmp.stats import ceilings, llc_hit_rate, total
from recnmp.timing import rules
from recnmp.workload import Batch, Table, Workload

# one page after another, so that a line's physical address can be told by hand
PLAIN = ("placement.pages=sequential",)
TWO_CHANNELS = ("memory.channels=2", "placement.mapping=RoBaRaChCo")


def llc(size: str, *words: str) -> SystemConfig:
    return system(f"host.llc_bytes={size}", *words)


def physical_lines(workload: Workload, batch: Batch) -> list[int]:
    """Lines of a batch in execution order, as pages of 4 KiB with whole rows in them, table after table."""
    first_page, lines = [], []
    pages = 0
    for table in workload.tables:
        first_page.append(pages)
        pages += -(-table.rows // (4096 // table.row_bytes))
    bags = [(t, s) for t in range(batch.n_tables) for s in range(batch.batch_size)]
    if workload.order == "sample":
        bags.sort(key=lambda bag: bag[1])
    for t, s in bags:
        size = workload.tables[t].row_bytes
        begin, end = batch.offsets[t * batch.batch_size + s :][:2]
        for row in batch.indices[begin:end].tolist():
            page, slot = divmod(row, 4096 // size)
            byte = (first_page[t] + page) * 4096 + slot * size
            lines += range(byte // 64, (byte + size - 1) // 64 + 1)
    return lines


def naive_hits(config: SystemConfig, workload: Workload) -> list[list[bool]]:
    """Which lines hit, batch after batch, by the numbers of the configuration's plain values."""
    host = config.model_dump()["host"]
    sets = host["llc_bytes"] // 64 // host["llc_ways"]
    cache = NaiveCache(sets, host["llc_ways"], host["llc_policy"])
    return [cache.access(physical_lines(workload, batch)) for batch in workload.batches()]


SETTINGS: dict[str, tuple[str, ...]] = {
    "host.llc_bytes": ("host.llc_bytes=12K",),
    "host.llc_ways": ("host.llc_bytes=24K", "host.llc_ways=3"),
    "host.llc_policy": ("host.llc_bytes=24K", "host.llc_policy=fifo"),
    "random": ("host.llc_bytes=24K", "host.llc_policy=random"),
    "tree-plru": ("host.llc_bytes=24K", "host.llc_policy=tree-plru"),
}


@pytest.mark.parametrize("order", ["table", "sample"])
@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_reaches_the_cache(name: str, order: str) -> None:
    """Hits are those of the plain twin with these numbers, and not those of the default: 24 sets of 16 ways, lru."""
    workload = trace(6, 40, order)
    config, default = (system(*PLAIN, *words) for words in (SETTINGS[name], ("host.llc_bytes=24K",)))
    result, other = simulate(config, workload), simulate(default, workload)
    hits = sum(naive_hits(config, workload), [])  # noqa: RUF017
    assert 0 < result.counters["llc_hits"] == sum(hits)
    assert result.counters["llc_misses"] == len(hits) - sum(hits) == total(result.counters, "rd")
    assert result.counters["lines"] == len(hits)
    assert llc_hit_rate(result.counters) == sum(hits) / len(hits)
    assert result.counters["llc_hits"] != other.counters["llc_hits"]


def test_no_setting_of_the_cache_is_forgotten() -> None:
    keys = {f"host.{key}" for key in system().model_dump()["host"] if key.startswith("llc_")}
    assert keys <= set(SETTINGS)


def test_warm_up_warms_and_batches_share_one_cache() -> None:
    workload = trace(6)
    config = llc("24K", *PLAIN)
    hits = naive_hits(config, workload)
    assert simulate(config, workload, warmup=4).counters["llc_hits"] == sum(map(sum, hits[4:]))
    cold = NaiveCache(24, 16, "lru")
    last = list(workload.batches())[5]
    assert sum(cold.access(physical_lines(workload, last))) < sum(hits[5])


# -- clocks


def logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Channels that engines make from now on keep a log of their commands."""
    monkeypatch.setattr(baseline, "HostChannel", partial(HostChannel, log=True))


def by_rule(config: SystemConfig, workload: Workload, stream: bool) -> tuple[list[int], list[Any]]:
    """Ends of batches and the channels' logs, from the rule of docs/caches.md and channels of one's own."""
    placement = Placement(config, workload.tables)
    channels = [HostChannel(config.channel_config(), log=True) for _ in range(config.memory.channels)]
    batches = list(workload.batches())
    places = [line_reads(batch, workload.order, placement) for batch in batches]
    hits = naive_hits(config, workload)
    offers = [[(number, line) for line in range(len(hits[number]))] for number in range(len(batches))]
    groups = [[pair for group in offers for pair in group]] if stream else offers
    ends, start = [0] * len(batches), 0
    for group in groups:
        before = start
        for index, channel in enumerate(channels):
            mine = [(number, line) for number, line in group if places[number]["channel"][line] == index]
            requests, whose = [], []
            for slot, (number, line) in enumerate(mine):
                if hits[number][line]:
                    ends[number] = max(ends[number], before + slot + 1)
                    continue
                rank, bankgroup, bank, row, column = (
                    int(places[number][name][line]) for name in ("rank", "bankgroup", "bank", "row", "column")
                )
                requests.append([slot, 0, rank, bankgroup, bank, row, 8 * column])
                whose.append(number)
            done = channel.run(np.array(requests, np.int64).reshape(-1, 7), before)
            for number, clock in zip(whose, done.tolist(), strict=True):
                ends[number] = max(ends[number], clock)
        start = max(before - 1, *(ends[number] for number, _ in group), 0) + 1
    return ends, [channel.take_log() for channel in channels]


@pytest.mark.parametrize("mode", ["closed", "stream"])
@pytest.mark.parametrize("words", [(), TWO_CHANNELS], ids=["one", "two"])
def test_ends_and_commands_follow_the_rule_and_the_referee_accepts(
    words: tuple[str, ...], mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged(monkeypatch)
    config = llc("24K", *PLAIN, *words, "refresh.enabled=false")
    workload = trace(6, 40)
    engine = HostEngine(config, workload.tables, Placement(config, workload.tables))
    ends: list[int] = []
    if mode == "stream":
        ends = engine.run_stream(list(workload.batches()), "table", 0)
    else:
        for batch in workload.batches():
            ends.append(engine.run_batch(batch, "table", ends[-1] + 1 if ends else 0))
    expected, logs = by_rule(config, workload, mode == "stream")
    if mode == "stream":
        expected = np.maximum.accumulate(expected).tolist()
    assert ends == expected
    channel = config.channel_config()
    for mine, log in zip(engine._channels, logs, strict=True):
        taken = mine.take_log()
        assert taken.tolist() == log.tolist()
        check(taken, rules(channel.timing, "jedec", "host"), channel.organisation, None, channel.timing, 8)


def bags(*rows: list[int], batch_size: int = 1) -> Workload:
    """One table of 64-byte rows; a bag, and a batch, each."""
    flat = [row for bag in rows for row in bag]
    return Workload.from_arrays(
        flat, lengths=list(map(len, rows)), tables=[Table("a", 100_000, 16)], batch_size=batch_size
    )


def read_clocks() -> int:
    timing = system().dram.timings()
    return 1 + timing.nRCD + timing.nCL + timing.nBL


@pytest.mark.parametrize("count", [1, 7, 1000])
def test_a_batch_that_only_hits_takes_a_clock_a_line(count: int) -> None:
    result = simulate(llc("1M"), bags([5], [5] * count, []))
    assert result.latencies == (read_clocks(), count, 0)
    assert result.counters["llc_hits"] == count
    assert total(result.counters, "rd") == 1


def test_hits_take_their_clock_and_wait_for_nothing() -> None:
    # the same line again while it is read: merged, one read, which ends the batch
    assert simulate(llc("1M"), bags([5, 5, 5])).latencies == (read_clocks(),)
    # a miss after 500 hits is offered in clock 500
    late = simulate(llc("1M"), bags([5], [5] * 500 + [9])).latencies[1]
    open_row = {read_clocks(), read_clocks() - system().dram.timings().nRCD}
    assert late - 500 in open_row
    # hits behind misses that wait for the queue end in their own clocks
    one = llc("1M", "host.read_queue=1")
    misses = [64 * page for page in range(1, 40)]
    assert (
        simulate(one, bags([5], [*misses, 5])).latencies[1] == simulate(one, bags([5], misses)).latencies[1]
    )


@given(st.integers(0, 2**20), st.sampled_from([(), TWO_CHANNELS]), st.sampled_from(["closed", "stream"]))
def test_a_cache_that_never_hits_changes_no_clock(seed: int, words: tuple[str, ...], mode: str) -> None:
    random = np.random.default_rng(seed)
    distinct = random.permutation(2000)[: random.integers(1, 200)]
    lengths = [len(part) for part in np.array_split(distinct, 6)]
    workload = Workload.from_arrays(distinct, lengths=lengths, tables=[Table("a", 2000, 16)], batch_size=2)
    words = (*words, f"run.mode={mode}")
    off, on = simulate(system(*words), workload), simulate(llc("16K", *words), workload)
    assert on.counters["llc_hits"] == 0
    assert (on.clocks, on.latencies) == (off.clocks, off.latencies)
    counters = dict(on.counters)
    assert [counters.pop(name) for name in ("llc_hits", "llc_misses")] == [0, off.counters["lines"]]
    assert counters == off.counters


def test_one_cache_stands_before_all_channels() -> None:
    workload = trace(6, 40)
    one, two = (simulate(llc("24K", *PLAIN, *words), workload) for words in ((), TWO_CHANNELS))
    assert one.counters["llc_hits"] == two.counters["llc_hits"]


@given(st.integers(0, 2**20), st.sampled_from(["lru", "fifo", "random", "tree-plru"]), st.booleans())
def test_no_run_with_a_cache_is_faster_than_its_ceilings(seed: int, policy: str, two: bool) -> None:
    words = (*(TWO_CHANNELS if two else ()), f"host.llc_policy={policy}")
    config = llc("256K", *words)
    result = simulate(config, trace(6, seed=seed), warmup=2)
    bounds = ceilings(config, result.counters)
    assert bounds["llc"] == -(-result.counters["lines"] // (1 + two))
    assert all(0 <= least <= result.clocks for least in bounds.values())


def test_coloured_pages_are_cached_by_their_place_in_the_whole_memory() -> None:
    """Two ranks hold tables whose lines have the same numbers within their ranks: they must not be one line."""
    config = llc("1M", "placement.pages=coloured", "placement.mapping=RaRoBaCoCh")
    workload = Workload.from_arrays(
        [3, 3, 3, 3], lengths=[2, 2], tables=[Table("a", 10, 16), Table("b", 10, 16)], batch_size=1
    )
    assert simulate(config, workload).counters["llc_hits"] == 2


# -- what is counted and said


def test_without_a_cache_nothing_is_counted_or_said() -> None:
    result = simulate(system(), trace())
    assert not any(name.startswith("llc") for name in result.counters)
    assert result.as_json()["llc_hit_rate"] is None
    assert "llc" not in result.as_json()["ceilings"]
    assert "cache" not in what_counts(system())
    empty = Workload.from_arrays([], lengths=[], tables=[Table("a", 10, 16)])
    nothing = simulate(llc("1M"), empty).as_json()
    assert (nothing["llc_hit_rate"], nothing["counters"]["llc_hits"]) == (None, 0)


def test_energy_is_that_of_the_reads_and_hits_are_said_to_be_free() -> None:
    config = llc("1M")
    result = simulate(config, bags([5], [5] * 50))
    assert energy_pj(config, result.counters)["data_read"] == 512 * config.energy.read_pj_per_bit
    assert "last-level cache not charged (unsourced)" in what_counts(config)
    # a near-memory system has section host for its baseline
    assert "last-level" not in what_counts(system("host.llc_bytes=1M", name="recnmp-base"))


def test_progress_adds_up_to_all_lookups() -> None:
    for workload in (trace(6, 40), bags([5], [5] * 50, [])):
        told: list[int] = []
        simulate(llc("1M", *TWO_CHANNELS), workload, progress=told.append)
        assert sum(told) == workload.lookups
        assert min(told) > 0


def test_near_memory_is_measured_against_the_cache_that_its_section_host_has() -> None:
    near = system("host.llc_bytes=1M", name="recnmp-base")
    made: list[SystemConfig] = []

    def make(config: SystemConfig, *more: Any) -> Any:
        made.append(config)
        return make_engine(config, *more)

    host, run = compare([near], trace(), "t", make=make).runs
    assert [config.has_llc for config in made] == [True, False]
    assert host.counters["llc_hits"] > 0
    assert run.counters == simulate(system(name="recnmp-base"), trace()).counters
    assert run.speedup == host.clocks / run.clocks
