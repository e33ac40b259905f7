"""The referee, which reads only the DDR rows, accepts every log of the near-memory machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from machine_cases import Case, Encoder, Packet, cases, random_case
from machine_corners import lookup
from machine_referee import accept, rows_of
from referee import check
from test_near_memory import kernel

from recnmp.config.dram import organisation_preset
from recnmp.config.system import SystemConfig
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.timing import rules
from recnmp.workload import Table, Workload


def judge(case: Case) -> None:
    """Run a case on the kernel and hand the referee its log."""
    channel = kernel(case)
    log: list[tuple[int, ...]] = []
    end = 0
    for batch in case.batches:
        end = channel.run(batch.stream.copy(), end + batch.gap, logging=True)
        log += channel.take_logs()[0].tolist()
    accept(case, log)


@pytest.mark.parametrize("seed", range(200, 260))
def test_random_cases_are_legal(seed: int) -> None:
    """All timing rules, one command a clock, one burst at a time on a bus, open rows, and refresh in its span."""
    judge(random_case(seed))


@settings(max_examples=100, deadline=None)
@given(cases())
def test_drawn_cases_are_legal(case: Case) -> None:
    """The same for small cases, which shrink."""
    judge(case)


@pytest.mark.parametrize("mapping", ["skylake", "RoBaRaCoCh", "RoRaCoBaCh"])
@pytest.mark.parametrize("dim", [16, 64])
def test_whole_runs_are_legal(mapping: str, dim: int) -> None:
    """A trace through placement, packets and kernel, over several refreshes."""
    tables = [Table("a", 20_000, dim), Table("b", 50_000, dim)]
    rng = np.random.default_rng(11)
    workload = Workload.from_arrays(
        rng.integers(0, 20_000, 2 * 2 * 64 * 60), lengths=[60] * (2 * 2 * 64), tables=tables, batch_size=64
    )
    system = SystemConfig.model_validate({"memory": {"dimms": 2}, "placement": {"mapping": mapping}})
    engine = NmpEngine(system, tables, Placement(system, tables), logging=True)
    clock, logs = 0, []
    for batch in workload.batches():
        clock = engine.run_batch(batch, workload.order, clock) + 1
        logs.append(rows_of(engine.logs[0][0].commands))
    log, timing = np.concatenate(logs), system.dram.timings()
    assert clock > 2 * timing.nREFI
    check(
        log,
        rules(timing, "jedec", "rank"),
        system.dram.devices(),
        timing.nREFI,
        timing,
        ranks=system.memory.ranks,
        end=clock - 1,
        shared_bus=False,
    )
    assert np.count_nonzero(log[:, 1] == 3) == workload.lookups * (dim // 16)


def test_the_referee_sees_a_planted_fault() -> None:
    """One lookup is ACT in clock 3 and RD in clock 19: accepted, and refused with RD a clock sooner."""
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (Encoder().encode([Packet(((lookup(),),))]),))
    channel = kernel(case)
    channel.run(case.batches[0].stream.copy(), 0, logging=True)
    log = rows_of(channel.take_logs()[0])
    words = (rules(case.timing, "jedec", "rank"), organisation_preset(case.organisation), None, case.timing)
    assert log[:, :2].tolist() == [[3, 0], [19, 3]]
    check(log, *words, shared_bus=False)
    log[1, 0] -= 1
    with pytest.raises(AssertionError, match="RCD"):
        check(log, *words, shared_bus=False)
