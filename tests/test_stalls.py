"""Causes of clocks that the kernels count, against the naive machine and against clocks worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from machine_cases import Batch, Case, cases, random_case
from naive_stalls import CAUSES
from stall_corners import stall_corners
from test_near_memory import CORNERS as MACHINE_CORNERS
from test_near_memory import kernel

Counts = list[list[int]]  # [ranks, causes]

CORNERS = stall_corners()


def kernel_counts(
    case: Case, skip: bool, uncounted: int = 0, after: int = 0, general: bool = False
) -> Counts:
    """Clocks of all causes from clock 0, or from the batch after `uncounted` ones, to `after` clocks past the end."""
    channel = kernel(case, general, watched=True)
    end = 0
    for number, batch in enumerate(case.batches):
        if number == uncounted > 0:
            channel.reset_counts()
        end = channel.run(batch.stream.copy(), end + batch.gap, skip=skip)
    counts: Counts = channel.count_stalls(end + after).tolist()
    return counts


def twin_counts(case: Case, uncounted: int = 0, after: int = 0) -> Counts:
    """The same of the naive machine."""
    machine = case.machine()
    end = 0
    for number, batch in enumerate(case.batches):
        if number == uncounted > 0:
            machine.reset_stalls()
        end = machine.run(batch.stream, batch.bounds, end + batch.gap)
    machine.drain_until(end + after)
    return [[rank.counters[f"clocks_{cause}"] for cause in CAUSES] for rank in machine.ranks]


def check(case: Case, uncounted: int = 0, after: int = 0) -> None:
    expected = twin_counts(case, uncounted, after)
    for skip in (True, False):
        assert kernel_counts(case, skip, uncounted, after) == expected
    assert kernel_counts(case, True, uncounted, after, general=True) == expected


@pytest.mark.parametrize("skip", [True, False])
@pytest.mark.parametrize("name", sorted(CORNERS))
def test_by_hand(name: str, skip: bool) -> None:
    expected = [[causes.get(cause, 0) for cause in CAUSES] for causes in CORNERS[name].clocks]
    assert kernel_counts(CORNERS[name].case, skip) == expected


@pytest.mark.parametrize("name", sorted(MACHINE_CORNERS))
def test_corners(name: str) -> None:
    check(MACHINE_CORNERS[name])


@pytest.mark.parametrize("seed", range(40))
def test_random_cases(seed: int) -> None:
    check(random_case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_cases(seed: int) -> None:
    check(random_case(seed))


@settings(max_examples=100, deadline=None)
@given(cases())
def test_drawn_cases(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("seed", range(12))
def test_batches_before_a_reset_are_not_counted(seed: int) -> None:
    case = next(case for case in (random_case(seed + 1000 * i) for i in range(99)) if len(case.batches) > 1)
    check(case, uncounted=1)


def in_one_batch(case: Case) -> Case:
    """The case's packets as one batch, an instruction a clock, so that none of two batches share a clock."""
    filled = [batch for batch in case.batches if len(batch.stream)]
    firsts = np.cumsum([0] + [len(batch.stream) for batch in filled])
    bounds = [batch.bounds[1:] + first for batch, first in zip(filled, firsts[:-1], strict=True)]
    stream = np.concatenate([batch.stream for batch in filled])
    whole = Batch(stream, np.concatenate([[0], *bounds]))
    parameters = {**case.parameters, "instructions_per_clock": 1, "rank_cache_flush": "never"}
    return replace(case, parameters=parameters, batches=(whole,))


@pytest.mark.parametrize("seed", range(12))
def test_in_a_stream_the_last_batch_alone_drains(seed: int) -> None:
    """Batches sent back to back are one to the ranks."""
    cases = (random_case(seed + 1000 * i) for i in range(99))
    case = next(case for case in cases if sum(len(batch.stream) > 0 for batch in case.batches) > 1)
    whole = in_one_batch(case)
    filled = [batch for batch in case.batches if len(batch.stream)]
    for skip in (True, False):
        channel = kernel(whole, watched=True)
        end = 0
        for batch in filled:
            end = channel.run(batch.stream.copy(), end, skip=skip, drain=batch is filled[-1])
        assert channel.count_stalls(end).tolist() == twin_counts(whole)


def test_while_other_channels_run_on_a_rank_is_drained() -> None:
    """A refresh comes due then, which does not matter."""
    check(CORNERS["refresh"].case, after=1000)
    check(CORNERS["full_window"].case, after=1)
