"""Rows of all types in the naive machine, against clocks and values worked out by hand from docs/microarchitecture.md.

DDR4-2400R: CL = RCD = RP = 16, BL 4, CCD 4/6, RRD 4/6. A line whose RD goes in t is present in t + 19. The first LOOKUP
of a batch that starts in s is popped in s + 2, without a cache wanted in s + 3, with one probed then.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_cases import Case
from machine_referee import accept
from naive_lane import NaiveLane
from naive_machine import Log
from naive_rows import FORMATS, Row, widened
from row_corners import row_corners
from test_naive_machine import RD, check_laws

FP32, FP16, INT8, INT4 = range(4)
PLAIN, TAIL, HEAD = range(3)
NAN = 0x7FC00000


def corner(name: str) -> Log:
    case = row_corners()[name]
    machine = case.machine()
    case.run(machine)
    return machine.log


def reads(log: Log) -> list[tuple[int, int]]:
    """(clock, column)."""
    return [(entry[0], entry[6]) for entry in log.commands if entry[1] == RD]


def entered(log: Log) -> list[tuple[int, ...]]:
    """(clock, lookup, element group, first element, elements)."""
    return [(clk, lookup, *part) for clk, lookup, _, _, _, *part in log.operands[0]]


def whole(clock: int, *groups: int, lookup: int = 0) -> list[tuple[int, ...]]:
    """Operands of 16 elements, one a clock."""
    return [(clock + i, lookup, group, 16 * group, 16) for i, group in enumerate(groups)]


def test_parameter_line_first() -> None:
    """ACT 3, parameters 19, elements 25; these are present in 44, and enter one a clock. Done 48 + 14, ready 63."""
    log = corner("int8 of 72 bytes")
    assert reads(log) == [(19, 1), (25, 0)]
    assert entered(log) == whole(45, 0, 1, 2, 3)
    assert [clk for clk, *_ in log.bursts] == [63, 67, 71, 75]
    assert log.ends == [79]
    assert log.total("cache_bypasses") == 2


def test_a_scale_in_two_lines_waits_for_both() -> None:
    log = corner("parameters in two lines")
    assert reads(log) == [(19, 0), (25, 1)]
    assert entered(log) == [*whole(45, 0, 1, 2), (48, 0, 3, 48, 14)]


def test_two_parameter_lines_of_three() -> None:
    """Elements 64 to 125 share line 1 with the scale; they are complete in 44, the others in 31 + 19."""
    log = corner("three lines")
    assert reads(log) == [(19, 1), (25, 2), (31, 0)]
    assert entered(log) == [*whole(45, 4, 5, 6), (48, 0, 7, 112, 14), *whole(51, 0, 1, 2, 3)]


def test_a_line_of_parameters_alone() -> None:
    log = corner("parameters alone at the head")
    assert reads(log) == [(19, 0), (25, 1)]
    assert entered(log) == whole(45, 0, 1, 2, 3)


def test_nine_lines() -> None:
    """RDs 19, 25, ..., 61, and 67 for the second instruction, 6 apart (CCD_L). Group g < 7 lies in lines g and g + 1;
    line 7 completes group 6 in 80, and holds 15 elements of group 7. The last element is present in 86."""
    log = corner("nine lines")
    assert reads(log) == [(19 + 6 * line, line) for line in range(9)]
    assert entered(log) == [
        *((45 + 6 * group, 0, group, 16 * group, 16) for group in range(7)),
        (82, 0, 7, 112, 15),
        (87, 0, 7, 127, 1),
    ]
    assert log.bursts[0][0] == 87 + 14 + 1
    assert log.wrong_predictions == 0


def test_halves_of_a_group_meet_at_the_adder() -> None:
    """First ACT 4 and 8; RDs 20, 24 (the other bank group), 28; so the second run is there first, in 43, the rest of
    the first run in 47. Elements 16 to 23 are in the first run, 24 to 31 in the second.

    From 176 on they hit in 179, 180, 181. Group 0 is taken in 181, the first half of group 1 in 182, the second half
    in 183, when that one enters. It stands in the register from 184 and may enter three clocks later, in 186.
    """
    log = corner("halves of a group hit")
    assert reads(log) == [(20, 0), (24, 0), (28, 1)]
    assert entered(log) == [
        (44, 0, 1, 24, 8), (45, 0, 2, 32, 8), (48, 0, 0, 0, 16), (49, 0, 1, 16, 8),
        (182, 1, 0, 0, 16), (183, 1, 1, 16, 8), (186, 1, 1, 24, 8), (187, 1, 2, 32, 8),
    ]  # fmt: skip
    assert log.total("hazard_clocks") == 2
    assert log.ends == [76, 214]


def test_two_groups_a_line() -> None:
    log = corner("two groups a line")
    assert reads(log) == [(19, 0), (25, 1)]
    assert entered(log) == [(39, 0, 0, 0, 16), (40, 0, 1, 16, 4), (45, 1, 0, 0, 16), (46, 1, 1, 16, 4)]
    assert log.ends == [69]


def test_lines_that_come_faster_than_operands_go() -> None:
    """ACTs 3, 7, 11, 15; rows are complete in 46, 50, 62, 66, but the datapath takes each for 8 clocks: from 46, 54,
    62 and 70. A place is free from 54 on, so the fifth row is popped in 54, reads from 55, and is complete in 80."""
    log = corner("int4 backlog")
    order = [(19, 0), (23, 2), (27, 1), (31, 3), (35, 4), (39, 6), (43, 5), (47, 7), (55, 8), (61, 9)]
    assert reads(log) == order
    starts = (47, 55, 63, 71, 81)
    assert entered(log) == [
        operand for lookup, clock in enumerate(starts) for operand in whole(clock, *range(8), lookup=lookup)
    ]
    assert log.total("hazard_clocks") == 0
    assert log.bursts[0][0] == 88 + 14 + 1


def test_elements_hit_and_wait() -> None:
    """From 159 on: parameters are probed first, in 162: a miss, RD 163 of the open row, present in 182. The elements
    hit in 163. For the second row the parameters are a secondary hit, here from the fill of 183 on."""
    log = corner("elements hit and wait")
    assert reads(log) == [(20, 3), (163, 4)]
    assert entered(log)[1:] == [*whole(183, 0, 1, 2, 3, lookup=1), *whole(187, 0, 1, 2, 3, lookup=2)]
    kinds = ("cache_hits", "cache_secondary_hits", "cache_misses", "cache_bypasses")
    assert [log.total(kind) for kind in kinds] == [2, 1, 2, 0]
    assert log.wrong_predictions == 0


def test_a_place_is_free_when_all_operands_are_taken() -> None:
    """Taken in 38 and 39: the second is popped in 40, reads in 41, is present in 60."""
    log = corner("a place for all operands")
    assert reads(log) == [(19, 0), (41, 1)]
    assert [entry[0] for entry in entered(log)] == [39, 40, 61, 62]


@pytest.mark.parametrize("case", row_corners().values(), ids=row_corners().keys())
def test_corners_keep_the_laws(case: Case) -> None:
    check_laws(case)
    machine = case.machine()
    case.run(machine)
    accept(case, machine.log.commands)


# Rows as bytes

ROWS = [  # dtype, layout, dim, offset -> bytes, lines, parameter lines, operands
    (FP32, PLAIN, 16, 0, 64, 1, [], 1),
    (FP32, PLAIN, 16, 4, 64, 2, [], 1),
    (FP32, PLAIN, 128, 60, 512, 9, [], 8),
    (FP16, PLAIN, 33, 0, 66, 2, [], 3),
    (INT8, TAIL, 64, 0, 72, 2, [1], 4),
    (INT8, TAIL, 64, 56, 72, 2, [1], 4),
    (INT8, TAIL, 59, 0, 67, 2, [0, 1], 4),
    (INT8, TAIL, 128, 56, 136, 3, [2], 8),
    (INT8, HEAD, 128, 60, 132, 3, [0], 8),
    (INT4, TAIL, 7, 0, 8, 1, [0], 1),
    (INT4, TAIL, 121, 0, 65, 2, [0, 1], 8),
    (INT4, HEAD, 128, 56, 68, 2, [0], 8),
]


@pytest.mark.parametrize(
    ("dtype", "layout", "dim", "offset", "size", "lines", "parameters", "operands"), ROWS
)
def test_rows(
    dtype: int,
    layout: int,
    dim: int,
    offset: int,
    size: int,
    lines: int,
    parameters: list[int],
    operands: int,
) -> None:
    row = Row(dtype, layout, dim, offset)
    assert (row.row_bytes, row.lines, sorted(row.parameter_lines)) == (size, lines, parameters)
    assert len(row.operands(range(lines))) == operands


def word(value: np.float32) -> int:
    return int(np.float32(value).view(np.uint32))


def test_values_by_hand() -> None:
    """0.5 * 200 + 3, 0.25 * 9 - 1, and the high nibble second."""
    row = Row(INT8, TAIL, 2)
    assert row.value(bytes([200, 7]) + struct.pack("<ff", 0.5, 3.0), 0) == 103.0
    row = Row(INT4, HEAD, 3)
    stored = struct.pack("<ee", 0.25, -1.0) + bytes([0x94, 0x0F])
    assert [row.value(stored, element) for element in range(3)] == [0.0, 1.25, 2.75]
    # two roundings: 3 * (1 + 2^-23) lies half way between two numbers, goes to 3 + 2^-21, and -3 is exact
    row = Row(INT8, TAIL, 1)
    assert row.value(bytes([3]) + struct.pack("<ff", 1 + 2.0**-23, -3.0), 0) == np.float32(2.0**-21)
    # no product, no sum that is not a number in another way than 0x7FC00000
    assert word(row.value(bytes([0]) + struct.pack("<ff", -np.inf, 1.0), 0)) == NAN
    assert word(Row(FP16, PLAIN, 1).value(bytes([1, 0xFE]), 0)) == NAN


WORDS = st.one_of(
    st.integers(0, 2**32 - 1), st.sampled_from([0, 1, 1 << 31, 0x7F800000, 0xFFC00000, 0x00800000])
)


@given(st.lists(WORDS, min_size=1, max_size=4), st.integers(0, 3), st.integers(0, 1))
def test_a_lane_without_an_element_leaves_its_sum(elements: list[int], dtype: int, weighted: int) -> None:
    """+0.0 with scale 1.0, bias -0.0 and weight 1.0, in a lane of any type: not a bit of any sum changes."""
    lane = NaiveLane()
    common = {"tag": 3, "group": 1, "read_tag": 3, "read_group": 1, "weight": 0x3F800000, "bias": 1 << 31}
    common |= {"scale": 0x3F800000, "weighted": weighted, "read": 1}
    fp32 = [{**common, "element": element, "dtype": 0, "valid": 1} for element in elements]
    masked = {**common, "element": 0, "dtype": dtype, "valid": 1, "first": 0}
    idle = {**masked, "valid": 0}
    sums = []
    for number, operand in enumerate([*fp32, masked]):
        lane.step({**operand, "first": int(not number)})
        for _ in range(20):
            out = lane.step(idle)
        sums.append(out["sum"])
    assert sums[-1] == sums[-2]


@given(st.integers(0, 0xFFFF))
def test_halves_widen_as_numpy_does(bits: int) -> None:
    mine = widened(struct.pack("<H", bits))
    other = np.float32(np.array([bits], np.uint16).view(np.float16)[0])
    assert (np.isnan(mine) and np.isnan(other)) or word(mine) == word(other)


@given(st.sampled_from(list(FORMATS)), st.integers(1, 128), st.integers(0, 15), st.integers(1, 8))
def test_every_byte_of_a_row_is_in_its_lines(
    form: tuple[int, int], dim: int, words: int, first_run: int
) -> None:
    """Both ends belong to it, and operands of two runs hold each element once."""
    row = Row(*form, dim, 4 * words)
    assert 64 * (row.lines - 1) < row.byte_offset + row.row_bytes <= 64 * row.lines
    assert row.lines <= (4 if row.parameter_bytes else 9)
    cut = row.lines if row.parameter_bytes else min(first_run, row.lines)
    parts = row.operands(range(cut)) + row.operands(range(cut, row.lines)) if cut < row.lines else []
    parts = parts or row.operands(range(row.lines))
    assert sorted(e for part in parts for e in range(part.first, part.first + part.count)) == list(range(dim))
