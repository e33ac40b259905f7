"""What must happen in the cases of tests/machine_corners.py, worked out by hand, on the naive machine.

DDR4-2400R: CL = RCD = RP = 16, RAS 39, RC 55, RRD 4/6, FAW 26, CCD 4/6, RTP 9, RFC 433 clocks.
"""

from __future__ import annotations

import pytest
from machine_cases import Case
from machine_corners import corners
from naive_machine import Log
from test_naive_machine import ACT, PREA, RD, REF, check_laws


def log_of(name: str) -> Log:
    case = corners()[name]
    machine = case.machine()
    case.run(machine)
    return machine.log


@pytest.mark.parametrize("case", corners().values(), ids=corners().keys())
def test_laws(case: Case) -> None:
    check_laws(case)


def test_config_waits_for_done() -> None:
    """With a window of one, rank 3 takes a LOOKUP 55 clocks (RC) after the other: the eleventh is taken at
    3 + 10 * 55 + 16 + 19 = 588, the twelfth is popped at 589, read at 624, and enters at 644.

    END of packet 0 is popped at 590, CONFIG and END of packet 1 at 591 and 592: `done` of packet 1 is visible
    at 593, cleared from 594. So rank 2 pops CONFIG of packet 2 at 594, its LOOKUP at 595; ACT 596, RD 612.
    """
    log = log_of("config waits for done")
    sends = {index: clk for clk, index in log.sends}
    assert sends[17] < 100  # CONFIG of packet 2
    assert [(e[0], e[1]) for e in log.commands if e[2] == 3 and e[1] == RD][-1] == (624, RD)
    assert [(e[0], e[1]) for e in log.commands if e[2] == 2] == [(596, ACT), (612, RD)]
    # DIMM 1's sum of packet 0 is done at 644 + 14, ready 4 later; DIMM 0 has sent all its sums before
    assert log.bursts[-1][:3] == (662, 1, 0)
    assert log.ends == [666]


def test_tree_is_busy() -> None:
    """DIMM 0 sends at 98 .. 145, so DIMM 1 may from 148 on. Its packet 2 is done at 143: the tree takes 16
    bursts, 143 .. 158. Packet 1 is done at 147 and would be ready at 148, were the tree free."""
    log = log_of("tree is busy")
    assert [operand[0] for operand in log.operands[1] if operand[2] == 2][-1] + 14 == 143
    assert [operand[0] for operand in log.operands[1] if operand[2] == 1][-1] + 14 == 147
    bursts = [(clk, packet) for clk, dimm, packet, *_ in log.bursts if dimm == 1]
    assert bursts == [(148 + 4 * i, 2) for i in range(16)] + [(212 + 4 * i, 1) for i in range(4)]


def test_slow_tree_is_busy() -> None:
    """Rank 0: ACT 6, RD 22 and 28, PRE 46 (RAS), ACT 62, RD 78, 84 .. 108. Rank 1 decodes two instructions more
    before: all is 4 later. Rank 2: ACT 14, RD 30 .. 48, PRE 58 (RTP), ACT 74, RD 90 .. 108. The operand of an RD in t
    enters at t + 22 and is in its sum 28 later: packets 0 and 2 are done at 158, packet 1 at 162.

    The tree takes the two bursts of packet 0 in 158 .. 161, so at 162 packet 1 is there, and goes before packet 2.
    Results are ready 7 * 2 clocks after their start; the bus has packet 0 from 172 on, and then what is oldest.
    """
    log = log_of("slow tree is busy")
    assert [entry[0] for entry in log.commands if entry[2] == 0] == [6, 22, 28, 46, 62, *range(78, 109, 6)]
    assert [entry[0] for entry in log.commands if entry[2] == 1] == [10, 26, 32, 50, 66, *range(82, 113, 6)]
    assert [entry[0] for entry in log.commands if entry[2] == 2] == [
        14, *range(30, 49, 6), 58, 74, *range(90, 109, 6),
    ]  # fmt: skip
    assert [operands[-1][0] + 28 for operands in log.operands[:3]] == [158, 162, 158]
    assert [(clk, packet) for clk, _, packet, *_ in log.bursts] == [
        (172, 0), (176, 0), (180, 1), (184, 1), *((188 + 4 * i, 2) for i in range(8)),
    ]  # fmt: skip


def test_full_rank() -> None:
    """CONFIG 0, popped at 1, credits 2: LOOKUP 0; LOOKUP 1 has no credit until 4. Skipped, it lets
    LOOKUP 2 go at 2. END needs the credit that LOOKUP 1 gives back, at 6."""
    assert log_of("full rank stops").sends == [(0, 0), (2, 1), (4, 2), (4, 3), (6, 4)]
    assert log_of("full rank is skipped").sends == [(0, 0), (2, 1), (2, 3), (4, 2), (6, 4)]


def test_shared_local_bus() -> None:
    """ACT 3 and 4; RD 19 of rank 0. Its next is legal at 25 (CCD_L), as is that of rank 1 (BL + CS): rank 1
    is asked first. Then rank 0 at 31, rank 1 at 37."""
    log = log_of("shared local bus")
    assert [entry[:3] for entry in log.commands] == [
        (3, ACT, 0), (4, ACT, 1), (19, RD, 0), (25, RD, 1), (31, RD, 0), (37, RD, 1),
    ]  # fmt: skip


def test_staggered_refresh() -> None:
    """Idle ranks refresh when due; rank 1 is ready again 433 clocks after its second."""
    log = log_of("staggered refresh")
    assert [entry[:3] for entry in log.commands] == [
        (1000, REF, 0), (1100, REF, 1), (2000, REF, 0), (2100, REF, 1),
        (2503, ACT, 0), (2519, RD, 0), (2533, ACT, 1), (2549, RD, 1),
    ]  # fmt: skip


def test_refresh_leaves_the_hitchhiker() -> None:
    """Visible at 999 and 1000. ACT 999, due 1000, RD 1015 of the first, PREA 1038, REF 1054, ACT 1487."""
    log = log_of("refresh leaves the hitchhiker")
    assert [entry[:2] for entry in log.commands] == [
        (999, ACT), (1015, RD), (1038, PREA), (1054, REF), (1487, ACT), (1503, RD),
    ]  # fmt: skip
    assert log.wrong_predictions == 1


def test_nothing_to_send() -> None:
    """Ends at 58; starts and ends at 1558; starts at 1561. The row that was opened at 3 is closed at 1000."""
    log = log_of("nothing to send")
    assert log.ends == [58, 1558, 1619]
    assert [entry[:2] for entry in log.commands] == [
        (3, ACT), (19, RD), (1000, PREA), (1016, REF), (1564, ACT), (1580, RD),
    ]  # fmt: skip
    assert log.wrong_predictions == 1
