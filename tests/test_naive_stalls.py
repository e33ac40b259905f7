"""Causes of the naive machine's clocks: by hand, and laws (docs/microarchitecture.md, section "Stalls")."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from machine_cases import Case, cases, random_case
from naive_machine import Machine
from naive_stalls import CAUSES
from stall_corners import stall_corners

CORNERS = stall_corners()
ACT, PRE, RD, REF = 0, 1, 3, 7


def clocks(machine: Machine) -> list[dict[str, int]]:
    """Of each rank, the causes that it has."""
    counted = [{cause: rank.counters[f"clocks_{cause}"] for cause in CAUSES} for rank in machine.ranks]
    return [{cause: n for cause, n in causes.items() if n} for causes in counted]


def run(case: Case) -> Machine:
    machine = case.machine()
    case.run(machine)
    return machine


def refreshing(case: Case, number: int, refreshes: list[int], end: int) -> set[int]:
    """Clocks in which a refresh of this rank is due or going on, from the clocks of its REFabs."""
    if case.nREFI is None:
        return set()
    due = [
        (k + 1) * case.nREFI + number * case.parameters.get("stagger", 0) for k in range(len(refreshes) + 1)
    ]
    gone = [clk + case.timing.nRFC for clk in refreshes] + [end]
    return {clk for first, last in zip(due, gone, strict=True) for clk in range(first, min(last, end))}


def check_laws(case: Case) -> None:
    """One cause a clock; commands are work, and refreshes take what the log says, clock by clock."""
    machine = run(case)
    end = machine.log.ends[-1]
    for number, (stalls, counted) in enumerate(zip(machine.stalls, clocks(machine), strict=True)):
        assert sum(counted.values()) == end == len(stalls.causes)
        commands = [(clk, code) for clk, code, rank, *_ in machine.log.commands if rank == number]
        work = {clk for clk, code in commands if code in (ACT, PRE, RD)}
        assert all(stalls.causes[clk] == "working" for clk in work)
        refreshes = [clk for clk, code in commands if code == REF]
        units = refreshing(case, number, refreshes, end) - work
        n = case.parameters.get("nmp_clock_divider", 1)  # a cause lasts until the units work again
        expected = {clk for clk in range(end) if clk - clk % n in units}
        assert {clk for clk, cause in enumerate(stalls.causes) if cause == "refresh"} == expected


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_corners(name: str) -> None:
    machine = run(CORNERS[name].case)
    assert clocks(machine) == list(CORNERS[name].clocks)


def test_corners_reach_every_cause() -> None:
    reached = {cause for corner in CORNERS.values() for causes in corner.clocks for cause in causes}
    assert reached == set(CAUSES)


@pytest.mark.parametrize("seed", range(12))
def test_laws_of_random_cases(seed: int) -> None:
    check_laws(random_case(seed))


@settings(max_examples=60, deadline=None)
@given(cases())
def test_laws_of_drawn_cases(case: Case) -> None:
    check_laws(case)


@pytest.mark.parametrize("seed", range(6))
def test_causes_do_not_depend_on_the_order_of_blocks(seed: int) -> None:
    """Each clock is judged by the state at its start. A DIMM's ranks are asked in turn in one block."""
    case = random_case(seed, most_packets=3, longest=10)
    machine, shuffled = run(case), case.machine()
    random.Random(seed).shuffle(shuffled.blocks)
    case.run(shuffled)
    assert [stalls.causes for stalls in machine.stalls] == [stalls.causes for stalls in shuffled.stalls]


def test_counting_begins_with_the_batch_after_a_reset() -> None:
    """The second of two batches alone, from its start at 68: drained in 68 and 72 to 109, work in 69 to 71."""
    case = CORNERS["two_batches"].case
    machine = case.machine()
    first, second = case.batches
    machine.run(first.stream, first.bounds, 0)
    machine.reset_stalls()
    assert machine.run(second.stream, second.bounds, 68) == 110
    assert clocks(machine) == [{"working": 3, "drained": 39}]


def test_while_other_channels_run_on_a_rank_is_drained() -> None:
    corner = CORNERS["refresh"]
    machine = run(corner.case)
    machine.drain_until(machine.clock + 1000)
    (causes,) = corner.clocks
    assert clocks(machine) == [{**causes, "drained": causes["drained"] + 1000}]
