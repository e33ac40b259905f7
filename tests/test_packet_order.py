"""Scheduled packets: the same packets in another order, and inside each the same LOOKUPs, channel by channel."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_scheduler import NaiveScheduler, naive_arrivals
from small_trace import system, trace
from test_packets import SEVERAL, config, workloads

from recnmp import isa
from recnmp.config.system import SystemConfig
from recnmp.host import PacketBuilder
from recnmp.kernels.packet_scheduler import POLICIES
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.packets import Packets
from recnmp.placement import Placement
from recnmp.simulate import simulate
from recnmp.values import HashValues
from recnmp.workload import Table, Workload

Packet = tuple[int, int]  # table, and number in it

NAMES = [name for name in instruction_dtype.names if name not in ("packet", "ddr_cmd")]
POLICY_WORDS = st.fixed_dictionaries(
    {
        "threads": st.sampled_from([1, 2, 8]),
        "packet_queue": st.sampled_from([1, 2, 3, 64]),
        "packet_policy": st.sampled_from(POLICIES),
        "starvation_limit": st.sampled_from([0, 1, 2, 64]),
        "instruction_order": st.sampled_from(["pooling", "interleaved"]),
    }
)


def with_units(plain: SystemConfig, words: dict[str, Any]) -> SystemConfig:
    values = plain.model_dump()
    return SystemConfig.model_validate(values | {"nmp": values["nmp"] | words})


def opened(packets: Packets, poolings: int) -> dict[Packet, list[tuple[Any, ...]]]:
    """The LOOKUPs of each packet, in order, without what depends on the order of packets."""
    starts = np.flatnonzero(packets.stream["opcode"] == isa.CONFIG)
    ends = np.flatnonzero(packets.stream["opcode"] == isa.END)
    found = {}
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        assert set(packets.stream["packet"][start : end + 1]) == {packets.first_packet + number}
        key = (int(packets.table[number]), int(packets.first_sample[number]) // poolings)
        found[key] = [tuple(one[name].tolist() for name in NAMES) for one in packets.stream[start + 1 : end]]
    assert len(found) == len(starts)
    return found


def in_turn(lookups: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """One LOOKUP of each rank, and again, until none is left."""
    left: dict[int, list[tuple[Any, ...]]] = {}
    for one in lookups:
        left.setdefault(int(one[NAMES.index("rank")]), []).append(one)
    turned = []
    while any(left.values()):
        turned += [left[rank].pop(0) for rank in sorted(left) if left[rank]]
    return turned


@settings(max_examples=80, deadline=None)
@given(
    workloads(),
    st.sampled_from([("skylake", 1), ("RoRaBaCoCh", 1), *SEVERAL]),
    st.integers(1, 16),
    st.sampled_from(["table", "sample"]),
    POLICY_WORDS,
)
def test_scheduled_packets_are_the_plain_ones_in_the_naive_order(
    workload: Workload, mapping: tuple[str, int], poolings: int, order: str, words: dict[str, Any]
) -> None:
    """Threads, scheduler and order of LOOKUPs against lists; twice, since the second batch begins anew."""
    plain = config(mapping[0], poolings, channels=mapping[1])
    scheduled = with_units(plain, words)
    placement = Placement(plain, workload.tables)
    builders = [PacketBuilder(workload.tables, placement, each.units) for each in (plain, scheduled)]
    naive = NaiveScheduler(
        words["packet_queue"], words["packet_policy"], words["threads"], words["starvation_limit"]
    )
    (batch,) = workload.batches()
    for _ in range(2):
        plain_, scheduled_ = (
            [opened(each, poolings) for each in builder.build(batch, order)] for builder in builders
        )
        per_table = -(-batch.batch_size // poolings)
        instructions = [
            [sum(len(each[t, k]) + 2 for each in plain_ if (t, k) in each) for k in range(per_table)]
            for t in range(batch.n_tables)
        ]
        arrived = naive_arrivals(instructions, order, words["threads"])
        picked = [arrived[n] for n in naive.order([(t, t % words["threads"]) for t, _ in arrived])]
        assert set(picked) == set(chain.from_iterable(plain_))
        for mine, other in zip(scheduled_, plain_, strict=True):
            assert list(mine) == [packet for packet in picked if packet in other]
            for packet, lookups in other.items():
                turned = words["instruction_order"] == "interleaved"
                assert mine[packet] == (in_turn(lookups) if turned else lookups)
        assert builders[1].order.passed_over_max == naive.worst


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("words", [(), ("nmp.instruction_order=interleaved",)])
@pytest.mark.parametrize("mode", ["closed", "stream"])
def test_the_order_changes_no_sum_and_no_count_of_lookups(
    policy: str, words: tuple[str, ...], mode: str
) -> None:
    """Hash values sum without rounding; clocks differ, lookups, lines and results do not."""
    workload = trace(3, order="sample")
    values = HashValues(workload.tables, 4)
    fields = ("lookups", "poolings", "lines", "packets", "instructions", "packet_instructions", "fp_adds")
    ordered = ("nmp.threads=8", f"nmp.packet_policy={policy}", "nmp.packet_queue=3", f"run.mode={mode}")
    plain = simulate(
        system("nmp.threads=1", "nmp.packet_policy=fcfs", name="recnmp-base"), workload, 1, values
    )
    run = simulate(system(*ordered, *words, name="recnmp-base"), workload, 1, values)
    assert run.sums_sha256 == plain.sums_sha256
    assert [run.counters[name] for name in fields] == [plain.counters[name] for name in fields]
    assert run.counters["passed_over_max"] <= 3 * 64


def test_table_aware_packets_find_their_tables_rows_in_the_cache() -> None:
    """Eight tables whose rows fit a RankCache one at a time, not together: kept together they hit, mixed they miss."""
    rng = np.random.Generator(np.random.PCG64(3))
    tables = [Table(f"t{i}", 512, 16) for i in range(8)]
    indices = rng.integers(0, 512, 8 * 32 * 40)
    workload = Workload.from_arrays(indices, lengths=[40] * (8 * 32), tables=tables, batch_size=32)
    memory = ("memory.dimms=1", "memory.ranks_per_dimm=1", "nmp.rank_cache_bytes=32768")
    mixed, kept = (
        simulate(system(*memory, f"nmp.packet_policy={policy}", name="recnmp-cache"), workload)
        for policy in ("round-robin", "table-aware")
    )
    alone = simulate(system(*memory, "nmp.threads=1", name="recnmp-cache"), workload)
    assert kept.counters["cache_hits[0]"] > 1.5 * mixed.counters["cache_hits[0]"]
    assert kept.clocks < mixed.clocks
    # poolings of one length arrive table by table in turn: the queue of 64 sees all, and gives one thread's order back
    assert (kept.clocks, kept.counters["act[0]"]) == (alone.clocks, alone.counters["act[0]"])
