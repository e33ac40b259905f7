"""The RankCache in the rank kernels, on streams made by hand: the clocks are those that docs/microarchitecture.md gives.

With CL 16, BL 4, tRCD 16, tRRD_S 4 and tCCD_S 4: an instruction sent in t is decoded in t+1 at the earliest, probed in
t+2 and activated in t+3; a burst read in t enters at t+20.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from machine_cases import Batch, Case, Encoder, Lookup, Packet, Run, cases, random_case
from test_near_memory import kernel, run_kernel
from test_near_memory_referee import judge

from recnmp.config.system import SystemConfig
from recnmp.kernels.channel import Channel
from recnmp.kernels.window_entries import RANK_COUNTERS
from recnmp.near_memory import NmpEngine, add_up
from recnmp.placement import Placement
from recnmp.values import HashValues
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
    judge(made)
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
    wanted = {"cache_misses": 2, "cache_bypasses": 1, "cache_secondary_hits": 1, "cache_hits": 1, "cache_fills": 2}
    assert {name: counted[name] for name in wanted} == wanted


