"""The referee accepts what is legal and rejects each planted fault, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from referee import check
from test_host_channel import random_reads

from recnmp import HostChannel
from recnmp.config.dram import channel_preset
from recnmp.timing import COMMANDS, rules

CONFIG = channel_preset("ddr4-2400-2rank").model_copy(update={"rule_set": "jedec"})
T = CONFIG.timing
ROWS = rules(T, "jedec", "host")
Log = list[list[int]]


def judge(log: Any, nREFI: int | None = None, ranks: int = 2, **options: Any) -> None:
    check(log, ROWS, CONFIG.organisation, nREFI, T, ranks, **options)


def command(
    clk: int, name: str, rank: int = 0, group: int = 0, bank: int = 0, row: int = -1, column: int = -1
) -> list[int]:
    return [clk, COMMANDS.index(name), rank, group, bank, row, column]


def opened(*more: list[int]) -> Log:
    """ACT of bank 0 at row 5 on clock 1, then more."""
    return [command(1, "ACT", row=5), *more]


READ = 1 + T.nRCD


def test_accepts_the_shortest_legal_sequence() -> None:
    log = opened(
        command(READ, "RD", row=5, column=0),
        command(READ + T.nCCDL, "RD", column=8),
        command(1 + T.nRAS, "PRE"),
        command(1 + T.nRAS + T.nRP, "ACT", row=6),
    )
    judge(log)


FAULTS = {
    "too early by rule 'RCD'": opened(command(READ - 1, "RD", column=0)),
    "too early by rule 'RAS'": opened(command(T.nRAS, "PRE")),
    "too early by rule 'RP'": opened(command(60, "PRE"), command(59 + T.nRP, "ACT", row=6)),
    "too early by rule 'CCD_L read'": opened(
        command(READ, "RD", column=0), command(READ + T.nCCDL - 1, "RD", column=8)
    ),
    "too early by rule 'RRD_S'": opened(command(T.nRRDS, "ACT", group=1, row=5)),
    "too early by rule 'RRD_L'": opened(command(T.nRRDL, "ACT", bank=1, row=5)),
    "too early by rule 'FAW'": [
        command(1 + i * T.nRRDS, "ACT", group=i % 4, bank=i // 4, row=0) for i in range(5)
    ],
    "too early by rule 'rank switch read'": opened(
        command(3, "ACT", rank=1, row=5),
        command(READ + 2, "RD", column=0),
        command(READ + 2 + T.nBL + T.nCS - 1, "RD", rank=1, column=0),
    ),
    "bank is closed": [command(1, "RD", column=0)],
    "open row is 5": opened(command(READ, "RD", row=6, column=0)),
    "bank is open at row 5": opened(command(1 + T.nRC, "ACT", row=6)),
    "1 banks are open": opened(command(1 + T.nRC, "REF", group=-1, bank=-1)),
    "second command on one clock": opened(command(1, "ACT", rank=1, row=5)),
    "goes back from clk 100": opened(command(100, "RD", column=0), command(99, "PRE")),
    "no such rank": [command(1, "ACT", rank=2, row=5)],
    "no such bank group": [command(1, "ACT", group=4, row=5)],
    "no such row": [command(1, "ACT", row=65536)],
    "no such column": opened(command(READ, "RD", column=1024)),
    "refresh is off": [command(9364, "REF", group=-1, bank=-1)],
}


@pytest.mark.parametrize("fault", FAULTS)
def test_rejects(fault: str) -> None:
    with pytest.raises(AssertionError, match=fault.replace("(", r"\(")):
        judge(FAULTS[fault])


def test_window_is_per_rank_not_per_bank() -> None:
    spread = [command(1 + i * T.nRRDS, "ACT", rank=i % 2, group=i // 2, row=0) for i in range(5)]
    judge(spread)


def test_overlapping_bursts_are_rejected_where_no_rule_does() -> None:
    """D-1: the reference's rank switch lets a write's data run into a read's."""
    loose = rules(T, "ramulator-2.1", "host")
    read = READ + 2
    log = opened(
        command(3, "ACT", rank=1, row=5),
        command(read, "RD", column=0),
        command(read + T.nBL + T.nCS, "WR", rank=1, column=0),
    )
    check(log, loose, CONFIG.organisation, None, None, 2)
    with pytest.raises(AssertionError, match="overlap"):
        check(log, loose, CONFIG.organisation, None, T, 2)
    with pytest.raises(AssertionError, match="rank switch read to write"):
        check(log, ROWS, CONFIG.organisation, None, T, 2)


def refreshes(*clocks: int, rank: int = 0) -> Log:
    return [command(clk, "REF", rank, -1, -1) for clk in clocks]


def test_refresh_falls_in_its_interval() -> None:
    judge(refreshes(1000, 2999, 3000), 1000, 1)
    with pytest.raises(AssertionError, match="before it is due"):
        judge(refreshes(999), 1000, 1)
    with pytest.raises(AssertionError, match="was due from 1000 to 1999"):
        judge(refreshes(2000), 1000, 1)
    with pytest.raises(AssertionError, match="REF number 2 of the rank before it is due"):
        judge(refreshes(1000, 1500), 1000, 1)
    with pytest.raises(AssertionError, match=r"rank 1: 0 REF until clk 3000, at least 2"):
        judge(refreshes(1000, 2000, 3000), 1000, 2)
    judge(refreshes(1000), 1000, 1, end=2999)
    with pytest.raises(AssertionError, match="at least 2"):
        judge(refreshes(1000), 1000, 1, end=3000)


def test_stagger_shifts_the_interval_of_a_rank() -> None:
    log = sorted(refreshes(1000) + refreshes(1000 + 300, rank=1))
    judge(log, 1000, 2, stagger=300)
    with pytest.raises(AssertionError, match="before it is due at 1301"):
        judge(log, 1000, 2, stagger=301)


def test_inside_a_dimm_ranks_share_no_bus() -> None:
    inside = rules(T, "jedec", "rank")
    log = [[1, 0, rank, 0, 0, 5, -1] for rank in (0, 1)] + [[READ, 3, rank, 0, 0, 5, 0] for rank in (0, 1)]
    check(log, inside, CONFIG.organisation, None, T, 2, shared_bus=False)
    with pytest.raises(AssertionError, match="second command"):
        check(log, inside, CONFIG.organisation, None, T, 2)


def test_a_real_log_with_one_command_earlier_is_rejected() -> None:
    """A command of a dense log moved one clock ahead is caught, unless that clock was slack."""
    channel = HostChannel(CONFIG, log=True)
    channel.run(random_reads(400, CONFIG))
    log = channel.take_log()
    judge(log, T.nREFI)
    caught = 0
    for at in range(50, 450, 4):
        bent = log.copy()
        bent[at, 0] -= 1
        try:
            judge(bent, T.nREFI)
        except AssertionError:
            caught += 1
    assert caught > 60


@pytest.mark.slow
def test_a_million_commands_are_legal() -> None:
    channel = HostChannel(CONFIG, log=True)
    channel.run(random_reads(340_000, CONFIG))
    log = channel.take_log()
    assert len(log) > 1_000_000
    judge(log, T.nREFI)
    assert np.unique(log[:, 0]).size == len(log)
