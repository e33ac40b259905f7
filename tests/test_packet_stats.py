"""What is said of packets: equal to the counters of the ranks, to sums over the log, and to counts by hand."""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trace import system, trace

from recnmp.kernels.packet_log import PACKET_COLUMNS
from recnmp.near_memory import NmpEngine
from recnmp.packet_stats import PacketTally, rank_imbalance
from recnmp.placement import Placement
from recnmp.simulate import compare, simulate
from recnmp.stats import total
from recnmp.workload import Table, Workload

CACHE = "nmp.rank_cache_bytes=4096"
KINDS = ("hits", "secondary_hits", "misses", "bypasses")


@pytest.mark.parametrize("mode", ["closed", "stream"])
@pytest.mark.parametrize("words", [(), (CACHE,), (CACHE, "nmp.rank_cache_ways=1", "memory.dimms=1")])
@pytest.mark.parametrize("warmup", [0, 2])
def test_tables_add_up_to_the_counters(mode: str, words: tuple[str, ...], warmup: int) -> None:
    """By table and by rank the same lines are counted, warm-up left out of both."""
    result = simulate(system(*words, f"run.mode={mode}", name="recnmp-base"), trace(batches=4), warmup)
    assert result.packets is not None
    by_table = {kind: sum(getattr(table, kind) for table in result.packets.tables) for kind in KINDS}
    assert sum(by_table.values()) == result.counters["lines"]
    if CACHE in words:
        assert by_table == {kind: total(result.counters, f"cache_{kind}") for kind in KINDS}
        assert by_table["hits"] > 0
    else:
        assert by_table["bypasses"] == total(result.counters, "rd")


def test_each_table_has_its_own_lines() -> None:
    """Table a has few lines that are asked for again and again, table b each line once."""
    tables = [Table("a", 4, 16), Table("b", 100_000, 16)]
    indices = [*([0, 1, 2, 3] * 100), *range(0, 40_000, 100)]
    workload = Workload.from_arrays(indices, lengths=[50] * 16, tables=tables, batch_size=8)
    run = simulate(system("nmp.rank_cache_bytes=65536", name="recnmp-base"), workload)
    assert run.packets is not None
    a, b = run.packets.tables
    assert (a.misses, a.hits + a.secondary_hits, a.bypasses) == (4, 396, 0)
    assert (b.misses, b.hits + b.secondary_hits, b.bypasses) == (400, 0, 0)
    loaded = run.as_json()["hit_rate_by_table"]
    assert [(table["table"], table["hit_rate"]) for table in loaded] == [("a", 0.99), ("b", 0.0)]


def test_packets_of_the_log_are_those_that_are_told_of() -> None:
    """Latency and evenness by packet, from the logs of sends, operands and results, which share no code with them."""
    config, workload = system(CACHE, name="recnmp-base"), trace(batches=3, dim=64)
    engine = NmpEngine(config, workload.tables, Placement(config, workload.tables), logging=True)
    clock, latencies, uneven = 0, [], []
    for batch in workload.batches():
        clock = engine.run_batch(batch, workload.order, clock) + 1
        ((log,),) = engine.logs
        config_clk = {
            int(log.stream["packet"][at]): int(clk) for clk, at in reversed(log.sends.tolist()) if at >= 0
        }
        ends = {int(burst["packet"]): int(burst["clk"]) + 4 for burst in log.results}
        latencies += [ends[packet] - config_clk[packet] for packet in ends]
        for packet in ends:
            ranks = log.operands["rank"][log.operands["packet"] == packet]
            lines = np.bincount(ranks, minlength=config.memory.ranks)
            uneven.append(max(lines) / fmean(lines))
    said = engine.packet_stats()
    assert said.mean == pytest.approx(fmean(latencies), rel=1e-12)
    assert said.imbalance == pytest.approx(fmean(uneven), rel=1e-12)
    assert said.max == max(latencies)
    assert said.p99 == sorted(latencies)[-(-99 * len(latencies) // 100) - 1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 500), *[st.integers(0, 9)] * 3, st.integers(1, 9)), max_size=60),
    st.data(),
)
def test_a_tally_does_not_mind_how_packets_come(rows: list[Any], data: st.DataObject) -> None:
    """In one call or many; percentiles are those that at least so many percent do not exceed."""
    ended = np.zeros((len(rows), len(PACKET_COLUMNS)), np.int64)
    for at, (clocks, *met) in enumerate(rows):
        ended[at] = at, 10, 10 + clocks, *met, max(met)
    table = np.array([at % 3 for at in range(len(rows))], np.int64)
    whole, parts = PacketTally("abc", 4), PacketTally("abc", 4)
    whole.add(ended, table)
    cut = data.draw(st.integers(0, len(rows)))
    for part in (slice(None, cut), slice(cut, None)):
        parts.add(ended[part], table[part])
    said, other = whole.stats(), parts.stats()
    assert other.tables == said.tables
    assert (other.p50, other.max, other.mean) == (said.p50, said.max, said.mean)
    clocks_of = [row[0] for row in rows]
    for percent, value in ((50, said.p50), (95, said.p95), (99, said.p99)):
        if not rows:
            assert value is None
            continue
        assert value in clocks_of
        assert sum(clocks <= value for clocks in clocks_of) * 100 >= percent * len(rows)
        assert sum(clocks < value for clocks in clocks_of) * 100 < percent * len(rows)
    for at, kind in enumerate(KINDS):
        assert [getattr(lines, kind) for lines in said.tables] == [
            sum(row[1 + at] for row in rows[first::3]) for first in range(3)
        ]


def test_imbalance_by_hand() -> None:
    assert rank_imbalance([30, 10, 10, 10]) == 2.0
    assert rank_imbalance([5, 5]) == 1.0
    assert rank_imbalance([]) is None
    assert rank_imbalance([0, 0]) is None


def test_a_host_has_no_packets_and_one_bank_one_rank() -> None:
    """All rows of a coloured table lie in one rank: the slowest has all lines."""
    tables = [Table("a", 100, 16)]
    workload = Workload.from_arrays(range(64), lengths=[8] * 8, tables=tables, batch_size=8)
    near = system("placement.pages=coloured", "memory.dimms=2", name="recnmp-base")
    host, run = compare([near], workload, "t").runs
    assert run.as_json()["load_imbalance"] == {"packets": 4.0, "run": 4.0}
    said = host.as_json()
    assert said["load_imbalance"] == {"packets": None, "run": 4.0}
    assert set(said["packet_latency_clocks"].values()) == {None}
    assert said["hit_rate_by_table"] == run.as_json()["hit_rate_by_table"] == []
    json.dumps(said)


def test_an_empty_trace_has_packets_of_nothing() -> None:
    workload = Workload.from_arrays([], lengths=[0] * 8, tables=[Table("a", 10, 16)], batch_size=8)
    said = simulate(system(name="recnmp-base"), workload).as_json()
    assert set(said["packet_latency_clocks"].values()) == {None}
    assert said["load_imbalance"] == {"packets": None, "run": None}
