"""Every rule row, alone in a table: blocked at t - 1, legal at t, and nobody else held up."""

from __future__ import annotations

import pytest
from device import Bench, Place

from recnmp.config.dram import channel_preset
from recnmp.kernels.dram import Command, Device, TimingTable
from recnmp.timing import COMMANDS, Rule, rules

TIMING = channel_preset("ddr4-2400-2rank").timing
HERE: Place = (1, 1, 1)
# a place that shares with HERE just what the level looks at, and one that does not
INSIDE: dict[str, Place] = {
    "channel": (0, 0, 0),
    "rank": (1, 0, 0),
    "other_ranks": (0, 0, 0),
    "bankgroup": (1, 1, 0),
    "bank": (1, 1, 1),
}
OUTSIDE: dict[str, Place | None] = {
    "channel": None,
    "rank": (0, 1, 1),
    "other_ranks": (1, 0, 0),
    "bankgroup": (1, 0, 1),
    "bank": (1, 1, 0),
}
ROWS = [
    pytest.param(row, id=f"{rule_set}-{row.level}-{row.name}".replace(" ", "_"))
    for rule_set in ("ramulator-2.1", "jedec")
    for row in rules(TIMING, rule_set, "host")  # type: ignore[arg-type]
]


@pytest.mark.parametrize("row", ROWS)
def test_row_alone_binds(row: Rule) -> None:
    for preceding in row.preceding:
        for following in row.following:
            bench = Bench([row])
            clocks = [100 + 3 * i for i in range(row.window)]
            for clk in clocks[:-1]:
                bench.issue(preceding, HERE, clk)
                bench.assert_free(following, INSIDE[row.level], clk)
            bench.issue(preceding, HERE, clocks[-1])
            bench.assert_earliest(following, INSIDE[row.level], clocks[0] + row.clocks)
            outside = OUTSIDE[row.level]
            if outside is not None:
                bench.assert_free(following, outside, clocks[-1])
            for other in set(COMMANDS) - set(row.following):
                bench.assert_free(other, INSIDE[row.level], clocks[-1])


@pytest.mark.parametrize("row", ROWS)
def test_row_forgets_what_is_too_long_ago(row: Rule) -> None:
    """Only the w-th last command counts: one more moves the earliest clock on."""
    bench = Bench([row])
    clocks = [100 + 3 * i for i in range(row.window + 1)]
    for clk in clocks:
        bench.issue(row.preceding[0], HERE, clk)
    bench.assert_earliest(row.following[0], INSIDE[row.level], clocks[1] + row.clocks)


def test_longest_of_several_rows_binds() -> None:
    short, long = Rule("bank", ("ACT",), ("PRE",), 5), Rule("rank", ("ACT",), ("PRE",), 9)
    for rows in ([short, long], [long, short]):
        bench = Bench(rows)
        bench.issue("ACT", HERE, 10)
        bench.assert_earliest("PRE", HERE, 19)
    bench = Bench([Rule("bank", ("ACT",), ("PRE",), 5), Rule("bank", ("ACT",), ("PRE",), 8)])
    bench.issue("ACT", HERE, 10)
    bench.assert_earliest("PRE", HERE, 18)


def test_fifth_activate_of_a_rank_waits_for_the_window() -> None:
    bench = Bench(rules(TIMING, "jedec", "host"))
    t = TIMING
    clk = 0
    for i in range(4):
        bench.issue("ACT", (0, i % 2, i // 2), clk)
        clk += t.nRRDL
    # per rank, not per bank: the window is full for banks that were never touched, and for them only here
    assert t.nFAW > 4 * t.nRRDL
    bench.assert_earliest("ACT", (0, 0, 2), t.nFAW)
    bench.assert_free("ACT", (1, 0, 0), 0)


def test_rank_switch_differs_between_rule_sets_in_one_row() -> None:
    t = TIMING
    loose, exact = (rules(t, rule_set, "host") for rule_set in ("ramulator-2.1", "jedec"))  # type: ignore[arg-type]
    changed = [(a, b) for a, b in zip(loose, exact, strict=True) if a.clocks != b.clocks]
    assert [a.name for a, _ in changed] == ["rank switch read to write"]
    assert changed[0][0].clocks == t.nBL + t.nCS
    assert changed[0][1].clocks == t.nCL + t.nBL + t.nCS - t.nCWL


def test_inside_a_dimm_only_rank_group_and_bank_bind() -> None:
    inside = rules(TIMING, "jedec", "rank")
    assert {row.level for row in inside} == {"rank", "bankgroup", "bank"}
    assert set(inside) < set(rules(TIMING, "jedec", "host"))


def test_open_rows_follow_commands() -> None:
    device = Device(TimingTable(rules(TIMING, "jedec", "host")), 2, 2, 2)
    code = {name: i for i, name in enumerate(COMMANDS)}
    device.issue(code["ACT"], 0, 1, 1, 5, 10)
    device.issue(code["ACT"], 1, 0, 0, 6, 20)
    device.issue(code["ACT"], 1, 0, 1, 7, 30)
    assert device.row(0, 1, 1) == 5
    assert device.row(1, 0, 0) == 6
    assert device.row(0, 0, 0) == -1
    device.issue(code["PRE"], 0, 1, 1, -1, 90)
    device.issue(code["RDA"], 1, 0, 1, -1, 95)
    assert (device.row(0, 1, 1), device.row(1, 0, 1), device.row(1, 0, 0)) == (-1, -1, 6)
    device.issue(code["PREA"], 1, 0, 0, -1, 200)
    assert device.row(1, 0, 0) == -1


def test_command_codes_are_the_same_everywhere() -> None:
    assert tuple(command.name for command in Command) == COMMANDS
    assert [int(command) for command in Command] == list(range(len(COMMANDS)))


def test_tables_refuse_what_they_cannot_hold() -> None:
    for row in (
        Rule("bank", ("ACT",), ("REF",), 3),
        Rule("bank", ("RD",), ("RD",), 3, window=2),
        Rule("planet", ("RD",), ("RD",), 3),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match="rule"):
            TimingTable([row])
    with pytest.raises(ValueError, match="bank 2"):
        Device(TimingTable([]), 1, 2, 2).earliest(0, 0, 1, 2)
