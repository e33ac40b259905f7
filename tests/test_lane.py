"""The lane's kernel against a history that was written from the page alone, and against the machine's sums."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lane_history import LaneHistory, number, pattern
from small_trace import system, trace

from recnmp.channels import make_channel
from recnmp.kernels.lane import LANE_COUNTERS, LANE_STAGES, Lane
from recnmp.kernels.sums import accumulate
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.values import HashValues

ODD = [0, 1, 1 << 31, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFF812345, 0x3F800000, 0x7F7FFFFF, 0x00800000]
Row = dict[str, int]


@st.composite
def clocks(draw: st.DrawFn) -> list[Row]:
    """Inputs of some clocks: few sums, so that the hazard is met, and any patterns."""
    bits32 = st.one_of(st.sampled_from(ODD), st.integers(0x3F000000, 0x40FFFFFF), st.integers(0, 2**32 - 1))
    few = st.sampled_from([(0, 0), (0, 1), (15, 7)])
    wide = st.tuples(st.integers(0, 15), st.integers(0, 7))
    one = st.fixed_dictionaries(
        {
            "valid": st.sampled_from([0, 1, 1]),
            "element": bits32,
            "dtype": st.integers(0, 3),
            "scale": bits32,
            "bias": bits32,
            "weighted": st.integers(0, 1),
            "weight": bits32,
            "first": st.sampled_from([0, 0, 0, 1]),
            "place": st.one_of(few, few, wide),
            "read": st.sampled_from([0, 1, 1]),
            "read_place": st.one_of(few, few, wide),
        }
    )
    rows = draw(st.lists(one, min_size=1, max_size=60))
    for row in rows:
        row["tag"], row["group"] = row.pop("place")
        row["read_tag"], row["read_group"] = row.pop("read_place")
    return rows


def words(rows: list[Row]) -> np.ndarray:
    return np.array([[row[name] for name in Lane.INPUTS] for row in rows], np.uint64)


@settings(max_examples=150)
@given(clocks())
def test_every_output_on_every_clock(rows: list[Row]) -> None:
    """`step` and `run` against the history."""
    twin, stepped, ran = LaneHistory(), Lane(), Lane()
    expected = [twin.step(**row) for row in rows]
    assert [stepped.step(**row) for row in rows] == expected
    assert ran.run(words(rows)).tolist() == [list(outputs) for outputs in expected]


def long_rows(seed: int, n: int) -> list[Row]:
    """Meaningful numbers over many clocks: sums that grow, all types, two to five sums at a time."""
    rng = np.random.Generator(np.random.PCG64(seed))
    places = [(int(t), int(g)) for t, g in zip(rng.integers(0, 16, 5), rng.integers(0, 8, 5), strict=True)]
    rows = []
    for clock in range(n):
        some = places[: 2 + clock // 64 % 4]
        tag, group = some[rng.integers(len(some))]
        read_tag, read_group = some[rng.integers(len(some))]
        dtype = int(rng.integers(4))
        single = [pattern(x) for x in rng.standard_normal(4).astype(np.float32)]
        half = int(np.float16(rng.standard_normal()).view(np.uint16))
        rows.append(
            {
                "valid": int(rng.random() < (0.3, 0.9)[clock // 128 % 2]),
                "element": (
                    single[0],
                    half | 0xABCD0000,
                    int(rng.integers(1 << 32)),
                    int(rng.integers(1 << 32)),
                )[dtype],
                "dtype": dtype,
                "scale": single[1],
                "bias": single[2],
                "weighted": int(rng.integers(2)),
                "weight": single[3],
                "first": int(rng.random() < 0.1),
                "tag": tag,
                "group": group,
                "read": int(rng.random() < 0.8),
                "read_tag": read_tag,
                "read_group": read_group,
            }
        )
    return rows


@pytest.mark.parametrize("seed", range(3))
def test_long_runs(seed: int) -> None:
    rows = long_rows(seed, 1200)
    twin, lane = LaneHistory(), Lane()
    expected = [list(twin.step(**row)) for row in rows]
    assert lane.run(words(rows)).tolist() == expected
    taken = sum(row["valid"] and out[0] for row, out in zip(rows, expected, strict=True))
    counted = dict(zip(LANE_COUNTERS, lane.counts().tolist(), strict=True))
    assert counted == {"operands": taken, "hazard_clocks": sum(out[1] for out in expected)}
    assert counted["hazard_clocks"] > 50
    assert len({out[3] for out in expected}) > 300  # the sums are numbers, not all zero or NaN


def test_a_sum_is_seen_fourteen_clocks_after_its_operand_entered() -> None:
    """Offered in clock 0, in the register in 1, which it leaves in 1; 14 clocks on, a read sees it."""
    lane = Lane()
    lane.step(valid=1, element=pattern(np.float32(2.5)))
    seen = [lane.step(read=1) for _ in range(1, 18)]  # clocks 1 to 17
    sums = [number(out[3]) for out in seen]
    # entered in 1, visible from 15 on: read in 15, shown in 16
    assert sums == [0.0] * 15 + [2.5] * 2
    assert [out[2] for out in seen] == [1] * 14 + [0] * 3  # busy while full (1), and until 1 + 13


def test_reset_and_snapshots() -> None:
    rows = words(long_rows(7, 300))
    lane = Lane()
    whole = lane.run(rows)
    assert lane.partial_sums().any()
    lane.reset()
    assert not lane.partial_sums().any()
    assert not lane.counts().any()
    assert np.array_equal(lane.run(rows[:100]), whole[:100])
    kept = lane.snapshot()
    for _ in range(2):
        assert np.array_equal(lane.run(rows[100:]), whole[100:])
        lane.restore(kept)
    assert np.array_equal(kept.run(rows[100:]), whole[100:])


def test_stages_are_those_of_the_configuration() -> None:
    """The kernel's constants, the preset's numbers, and the latency that the rank's timing uses."""
    units = system(name="recnmp-base").units
    assert {name: getattr(units, name) for name in LANE_STAGES} == LANE_STAGES
    nothing = [0] * 13
    lane, clock = Lane(), 0
    offer = [1, pattern(np.float32(1)), *nothing[2:10], 1, 0, 0]
    lane.run(np.array([offer], np.uint64))
    while not lane.partial_sums().any():
        lane.run(np.array([nothing], np.uint64))
        clock += 1
    assert clock == sum(LANE_STAGES.values())  # entered in clock 1, so visible in 1 + 14
    assert make_channel(system(name="recnmp-base")).ranks.pipeline == clock


def test_words_and_columns() -> None:
    lane = Lane()
    assert tuple(inspect.signature(Lane.step).parameters)[1:] == Lane.INPUTS
    with pytest.raises(ValueError, match="inputs have 12 columns, not 13: valid, element"):
        lane.run(np.zeros((5, 12), np.uint64))
    with pytest.raises(ValueError, match=r"outputs are \[4, 4\], not \[5, 4\]"):
        lane.run(np.zeros((5, 13), np.uint64), np.zeros((4, 4), np.uint64))
    # bits above a port's width are ignored
    rows = words(long_rows(3, 200))
    widths = [1, 32, 2, 32, 32, 1, 32, 1, 4, 3, 1, 4, 3]
    high = rows | (np.uint64(0xFFFFFFFFFFFFFFFF) << np.array(widths, np.uint64))
    assert np.array_equal(Lane().run(high), lane.run(rows))


@pytest.mark.parametrize("weighted", [False, True])
def test_sixteen_lanes_sum_as_the_machine_does(weighted: bool) -> None:
    """Operands of a rank in the clocks of a run of recnmp-base: the partial sums of kernels/sums, to the bit.

    Partial sums in a lane are of a tag and element group, and begin anew with each packet. They are read as late
    as possible: when the next packet's CONFIG is about to use the tag again.
    """
    config = system(name="recnmp-base")
    weights = np.random.Generator(np.random.PCG64(3)).standard_normal(5000).astype(np.float32)
    plain = trace(1, dim=48)
    workload = trace(1, dim=48, weights=weights[: plain.lookups]) if weighted else plain
    values = HashValues(workload.tables, 3)
    placement = Placement(config, workload.tables)
    engine = NmpEngine(config, workload.tables, placement, values, logging=True)
    (batch,) = workload.batches()
    engine.run_batch(batch, workload.order, 0)
    ((logs,),), ((packets,),) = engine.logs, engine.packets
    group_of = {int(row["packet"]): int(row["group"]) for row in logs.stream if row["opcode"] == 1}
    per_table = np.diff(batch.offsets[:: batch.batch_size])
    vectors = np.concatenate(
        [
            values.vectors(t, batch.indices[sum(per_table[:t]) : sum(per_table[: t + 1])])
            for t in range(batch.n_tables)
        ]
    )
    operands = logs.operands
    expected = np.zeros((config.memory.ranks, len(packets.table) * 8, 48), np.float32)
    accumulate(
        operands,
        8 * np.arange(len(packets.table)),  # a place for each packet and tag
        packets.first_packet,
        0,
        vectors,
        batch.weights,
        expected,
    )
    busiest = int(np.bincount(operands["rank"]).argmax())
    mine = operands[operands["rank"] == busiest]
    end = int(mine["clk"][-1]) + 20
    rows = np.zeros((16, end, len(Lane.INPUTS)), np.uint64)
    column = {name: number for number, name in enumerate(Lane.INPUTS)}
    come: set[tuple[int, int, int]] = set()
    for clk, lookup, packet, _, tag, group, *_ in mine.tolist():
        at = rows[:, clk - 1]  # offered in the last clock of its transfer
        vector = vectors[lookup, 16 * group : 16 * group + 16]
        at[:, column["valid"]] = 1
        at[:, column["element"]] = vector.view(np.uint32)
        at[:, column["weighted"]] = weighted
        if batch.weights is not None:
            at[:, column["weight"]] = batch.weights[lookup].view(np.uint32)
        at[:, column["first"]] = (packet, tag, group) not in come
        at[:, column["tag"]] = 8 * group_of[packet] + tag
        at[:, column["group"]] = group
        come.add((packet, tag, group))
    last = {}
    for clk, _, packet, _, tag, group, *_ in mine.tolist():
        last[packet, tag, group] = clk
    reads = {}  # the clock in which each partial sum is complete
    for (packet, tag, group), clk in last.items():
        clock = clk + sum(LANE_STAGES.values())
        while clock in reads:  # one read port
            clock += 1
        reads[clock] = packet, tag, group
        at = rows[:, clock] if clock < end else pytest.fail("too short")
        at[:, column["read"]] = 1
        at[:, column["read_tag"]] = 8 * group_of[packet] + tag
        at[:, column["read_group"]] = group
    outputs = np.stack([Lane().run(lane) for lane in rows])
    assert len(reads) > 5
    assert not outputs[:, :, 1].any()  # bursts of a rank are four clocks apart: no hazard
    for clock, (packet, tag, group) in reads.items():
        got = outputs[:, clock + 1, 3].astype(np.uint32)
        want = expected[busiest, 8 * packet + tag, 16 * group : 16 * group + 16]
        assert np.array_equal(got, want.view(np.uint32))
