"""The RankCache in the rank kernels, on streams made by hand; the clocks follow from docs/microarchitecture.md.

With CL 16, BL 4, tRCD 16, tRRD_S 4 and tCCD_S 4: an instruction sent in t is decoded in t+1 at the earliest, probed in
t+2 and activated in t+3; a burst read in t enters at t+20.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from machine_cases import Case, Encoder, Lookup, Packet, Run, random_case
from machine_referee import accept
from test_near_memory import kernel, run_kernel

from recnmp.config.system import SystemConfig
from recnmp.kernels.channel import Channel
from recnmp.kernels.window_entries import RANK_COUNTERS
from recnmp.simulate import simulate
from recnmp.stats import total
from recnmp.workload import Table, Workload

ONE_RANK = {"dimms": 1, "ranks_per_dimm": 1, "rank_cache_bytes": 4 * 64 * 8}
X, Y, Z = Run(0, 0, 5, 8), Run(1, 0, 7, 8), Run(0, 0, 5, 16)  # Z is another line of X's row


def case(*batches: list[list[tuple[Run, int]]], **words: Any) -> Case:
    """A packet a batch, from the poolings of each: runs with their locality bits."""
    encoder, made = Encoder(), []
    for poolings in batches:
        packet = Packet(tuple(tuple(Lookup(0, (run,)) for run, _ in pooling) for pooling in poolings))
        batch = encoder.encode([replace(packet, dim=16 * poolings[0][0][0].bursts)])
        bits = [bit for pooling in poolings for _, bit in pooling]
        batch.stream["locality"][batch.stream["opcode"] >= 8] = bits
        made.append(batch)
    return Case(ONE_RANK | words, tuple(made))


def counts(channel: Channel) -> dict[str, int]:
    """Counters over all ranks, those that are not 0."""
    totals = dict(zip(RANK_COUNTERS, channel.ranks.window.entries.counts().sum(axis=0).tolist(), strict=True))
    return {name: value for name, value in totals.items() if value}


def ran(made: Case) -> tuple[dict[str, Any], dict[str, int]]:
    """Logs, the same with and without skipping, and counters."""
    logs = run_kernel(made, skip=True)
    assert logs == run_kernel(made, skip=False)
    channel, end = kernel(made), 0
    for batch in made.batches:
        end = channel.run(batch.stream.copy(), end + batch.gap)
    accept(made, logs["commands"])
    return logs, counts(channel)


def commands(logs: dict[str, Any]) -> list[tuple[str, int]]:
    names = {0: "ACT", 1: "PRE", 2: "PREA", 3: "RD", 7: "REF"}
    return [(names[row[1]], row[0]) for row in logs["commands"]]


def entered(logs: dict[str, Any]) -> list[tuple[int, int]]:
    """Lookup and clock, in order."""
    return [(row[1], row[0]) for row in logs["operands"]]


def test_the_example_of_the_page() -> None:
    """A miss, a secondary hit in the same partial sum, a bypass, and a hit in the next batch."""
    logs, counted = ran(case([[(X, 1), (X, 1)], [(Y, 0)]], [[(X, 1)]]))
    assert [clk for clk, _ in logs["sends"]] == [0, 0, 1, 1, 2, 69, 69, 70]
    assert commands(logs) == [("ACT", 4), ("ACT", 8), ("RD", 20), ("RD", 24)]
    assert entered(logs) == [(0, 40), (1, 43), (2, 44), (3, 74)]
    assert [row[0] for row in logs["bursts"]] == [59, 63, 89]
    assert logs["ends"] == [(67,), (93,)]
    expected = {
        "cache_misses": 1,
        "cache_fills": 1,
        "cache_secondary_hits": 1,
        "cache_bypasses": 1,
        "cache_hits": 1,
        "hazard_clocks": 1,
        "reads": 2,
        "activates": 2,
        "row_misses": 2,
    }
    assert counted == expected


def test_a_set_of_awaited_ways_is_bypassed() -> None:
    """One way in all: Y finds it awaited and is read past it, X merges, and then Y misses, since it was never filled.

    X is probed in 3 and activated in 4, Y probed in 4 and activated in 8; RDs in 20 and 24. X is filled in 40.
    """
    words = {"rank_cache_bytes": 64, "rank_cache_ways": 1}
    logs, counted = ran(case([[(X, 1)], [(Y, 1)], [(X, 1)]], [[(X, 1)], [(Y, 1)]], **words))
    assert commands(logs)[:4] == [("ACT", 4), ("ACT", 8), ("RD", 20), ("RD", 24)]
    # X enters at 40, its merged twin is here from 41 and enters at 42, Y at 44
    assert entered(logs)[:3] == [(0, 40), (2, 42), (1, 44)]
    wanted = {
        "cache_misses": 2,
        "cache_bypasses": 1,
        "cache_secondary_hits": 1,
        "cache_hits": 1,
        "cache_fills": 2,
    }
    assert {name: counted[name] for name in wanted} == wanted


def test_a_port_that_fills_does_not_probe() -> None:
    """X is filled in 40. A LOOKUP of X that is first in its window's order in 39 merges, in 40 it waits for the port.

    Entry i is decoded in 2 + i; those between are bypasses of one row: ACT in 8, RDs in 24, 30, ..., the first enters
    at 44. With 37 ahead of it, the probe would be in 40, is in 41, and the line enters at 43; so it does from 38 on.
    """
    for ahead, enters, kind in (
        (36, 42, "cache_secondary_hits"),
        (37, 43, "cache_hits"),
        (38, 43, "cache_hits"),
    ):
        between = [(Run(2, 0, 1, column), 0) for column in range(ahead - 1)]
        logs, counted = ran(case([[(X, 1)], between, [(X, 1)]], window=64))
        assert commands(logs)[:4] == [("ACT", 4), ("ACT", 8), ("RD", 20), ("RD", 24)]
        assert (ahead, enters) in entered(logs)
        assert counted[kind] == 1
        assert counted["cache_bypasses"] == ahead - 1


def test_lines_of_an_entry_go_their_own_ways() -> None:
    """Of four lines the second is in the cache: it passes the first one, which is read.

    The first batch brings that line: it enters at 40, `done` is visible at 54 and the burst goes in 55.
    """
    wide = Run(0, 0, 5, 8, 4)
    logs, counted = ran(case([[(replace(X, column=9), 1)]], [[(wide, 1)]]))
    start = logs["sends"][3][0]
    assert logs["ends"][0] == (59,)
    assert start == 59 + 2
    # decoded in start + 2, probed in start + 3 .. + 6; the row is open still, and bursts of a bank group 6 apart
    reads = [clk for name, clk in commands(logs)[2:] if name == "RD"]
    assert reads == [start + 4, start + 10, start + 16]
    groups = [(row[5], row[0] - start) for row in logs["operands"][1:]]
    assert groups == [(1, 6), (0, 24), (2, 30), (3, 36)]
    assert (counted["cache_hits"], counted["cache_misses"], counted["row_hits"]) == (1, 4, 1)


@pytest.mark.parametrize("words", [{"rank_cache_bytes": 0}, {}])
def test_an_entry_is_free_when_its_last_line_is_taken(words: dict[str, Any]) -> None:
    """A window of one: RD in 19, taken in 38, so the next LOOKUP is decoded in 39 and activated in 40."""
    logs, _ = ran(case([[(X, 0), (Y, 0)]], window=1, **words))
    assert commands(logs) == [("ACT", 3), ("RD", 19), ("ACT", 40), ("RD", 56)]
    assert entered(logs) == [(0, 39), (1, 76)]


@pytest.mark.parametrize(("accumulate", "waits"), [(3, 0), (6, 0), (7, 1), (9, 3)])
def test_a_slow_adder_holds_the_register(accumulate: int, waits: int) -> None:
    """Bursts of one bank group are 6 clocks apart: with an adder of 7 or more the second waits for the first."""
    logs, counted = ran(case([[(X, 0), (Z, 0)]], rank_cache_bytes=0, accumulate=accumulate))
    assert commands(logs) == [("ACT", 3), ("RD", 19), ("RD", 25)]
    assert entered(logs) == [(0, 39), (1, 45 + waits)]
    assert counted.get("hazard_clocks", 0) == waits


@pytest.mark.parametrize(("flush", "hits"), [("never", 1), ("batch", 0)])
def test_a_flush_empties_the_cache_before_a_batch(flush: str, hits: int) -> None:
    _, counted = ran(case([[(X, 1)]], [[(X, 1)]], rank_cache_flush=flush))
    assert counted.get("cache_hits", 0) == hits
    assert counted["cache_misses"] == 2 - hits


def test_hits_are_not_predictions() -> None:
    """In the second batch Y of X's bank is predicted to need PRE and ACT, and X after it too: but X hits."""
    other = replace(Y, bankgroup=0)
    logs, counted = ran(case([[(X, 1)]], [[(other, 1), (X, 1)]]))
    assert counted["cache_hits"] == 1
    assert "wrong_predictions" not in counted
    # Z misses, and its row is no longer open: predicted RD only, since X was the last LOOKUP sent there
    logs, counted = ran(case([[(X, 1)]], [[(other, 1), (X, 1)], [(Z, 1)]]))
    assert counted["wrong_predictions"] == 1
    assert [name for name, _ in commands(logs)] == ["ACT", "RD", "PRE", "ACT", "RD", "PRE", "ACT", "RD"]


def test_every_access_is_counted_once() -> None:
    """In the totals of a run, and misses have fills."""
    for seed in range(30):
        made = random_case(seed)
        made.parameters.pop("reads_per_1000_clocks", None)  # whose reads are no accesses
        _, counted = ran(made)
        lines = sum(int(batch.stream["bursts"].sum()) for batch in made.batches)
        hits = counted.get("cache_hits", 0) + counted.get("cache_secondary_hits", 0)
        assert hits + counted.get("cache_misses", 0) + counted.get("cache_bypasses", 0) == lines
        assert counted.get("cache_misses", 0) == counted.get("cache_fills", 0)
        assert counted.get("reads", 0) == lines - hits


def test_lines_beyond_the_row_are_refused() -> None:
    made = case([[(replace(X, bursts=8), 1)]])
    stream = made.batches[0].stream.copy()
    stream["opcode"][1] = 9
    with pytest.raises(ValueError, match="instruction 1: 8 bursts from line 1 on, but its row ends before"):
        kernel(made).run(stream, 0)


def test_the_cache_shows_in_a_whole_run() -> None:
    """Rows that come again are read once: fewer reads, fewer clocks, and a hit rate a rank."""
    tables = [Table("a", 600, 64)]
    workload = Workload.from_arrays(
        np.random.default_rng(3).integers(0, 600, 2 * 16 * 40),
        lengths=[40] * 32,
        tables=tables,
        batch_size=16,
    )
    results = {
        size: simulate(SystemConfig.model_validate({"nmp": {"rank_cache_bytes": size}}), workload)
        for size in (0, 1 << 17)
    }
    without, cached = results[0], results[1 << 17]
    assert cached.clocks < without.clocks
    assert total(cached.counters, "rd") <= 600 * 4 < total(without.counters, "rd")
    document = cached.as_json()
    rates = document["hit_rate_by_rank"]
    read = total(cached.counters, "rd") / total(cached.counters, "lines")
    assert document["hit_rate"] == pytest.approx(1 - read)
    assert len(rates) == 8
    assert min(rates) <= document["hit_rate"] <= max(rates)
    assert (without.as_json()["hit_rate"], without.as_json()["hit_rate_by_rank"]) == (None, [])
    assert document["energy_pj"]["rank_cache"] > 0 == without.as_json()["energy_pj"]["rank_cache"]
