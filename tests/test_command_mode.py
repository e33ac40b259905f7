"""Plain DDR commands in place of NMP instructions, and units on a slower clock: by hand, and what is charged."""

from __future__ import annotations

from typing import Any

import pytest
from machine_cases import Case, Encoder, Lookup, Packet, Run, random_case
from test_near_memory import kernel

from recnmp.cli.system_arguments import add_system_arguments, chosen_systems
from recnmp.config.load import load_system, parse_setting
from recnmp.config.system import SystemConfig
from recnmp.energy import energy_pj, what_counts
from recnmp.errors import RecnmpError
from recnmp.kernels.host_bus import CHANNEL_COUNTERS
from recnmp.stats import ceilings

A = Lookup(0, (Run(0, 0, 5, 0),))
B = Lookup(0, (Run(0, 0, 6, 0, 2),))  # another row of that bank, two lines


def system(*words: str) -> SystemConfig:
    return load_system("recnmp-base", (), [parse_setting(word, []) for word in words])


def sends(parameters: dict[str, Any], packet: Packet) -> tuple[list[int], dict[str, int]]:
    """Clock of each instruction of one packet, and the channel's counters."""
    case = Case({"dimms": 1, "ranks_per_dimm": 1, **parameters}, (Encoder().encode([packet]),))
    channel = kernel(case)
    channel.run(case.batches[0].stream.copy(), 0, logging=True)
    counts = dict(zip(CHANNEL_COUNTERS, channel.counts().tolist(), strict=True))
    return [clk for clk, _ in channel.take_logs()[3].tolist()], counts


def test_each_command_takes_a_clock() -> None:
    """CONFIG in 0; `a` is ACT, RD in 1, 2; `b` PRE, ACT, RD, RD in 3 to 6; `b` again RD, RD in 7, 8; END in 9."""
    packet = Packet(((A, B, B),), dim=32)
    clocks, counts = sends({"command_mode": "ddr"}, Packet(((A, B, B),), dim=32))
    assert clocks == [0, 1, 3, 7, 9]
    assert counts["instruction_clocks"] == 10
    assert sends({}, packet)[0] == [0, 0, 1, 1, 2]


def test_a_slower_unit_by_hand() -> None:
    """n = 4. CONFIG and `a` are sent in 0, END in 1: all visible by 4. CONFIG is popped in 4, `a` in 8, END in 12.
    `a` is wanted in 12: ACT; RD tRCD = 16 later in 28; its last clock is 28 + 16 + 4 - 1 = 47, so it is offered in 48,
    enters in 52 and is summed in 52 + 14 * 4 = 108. There the tree starts, of no level with one rank: 4 clocks more,
    and the turnaround is over: 112, and 4 to cross."""
    case = Case(
        {"dimms": 1, "ranks_per_dimm": 1, "nmp_clock_divider": 4}, (Encoder().encode([Packet(((A,),))]),)
    )
    channel = kernel(case)
    assert channel.run(case.batches[0].stream.copy(), 0, logging=True) == 116
    commands, operands, bursts, _ = channel.take_logs()
    assert [(int(row["clk"]), int(row["command"])) for row in commands] == [(12, 0), (28, 3)]
    assert [int(row["clk"]) for row in operands] == [52]
    assert [int(row["clk"]) for row in bursts] == [112]


@pytest.mark.parametrize("divider", [2, 4])
@pytest.mark.parametrize("seed", range(8))
def test_all_commands_go_on_clocks_of_the_units(divider: int, seed: int) -> None:
    case = random_case(seed)
    case.parameters["nmp_clock_divider"] = divider
    channel = kernel(case)
    end = 0
    for batch in case.batches:
        end = channel.run(batch.stream.copy(), end + batch.gap, logging=True)
        commands, operands, _, _ = channel.take_logs()
        assert not (commands["clk"] % divider).any()
        assert not (operands["clk"] % divider).any()


def test_commands_are_charged_as_those_of_a_host() -> None:
    plain = system("nmp.command_mode=ddr")
    counts = {"instructions": 10, "packet_instructions": 2, "ca_commands": 35, "result_bursts": 3}
    assert energy_pj(plain, counts)["io_command"] == pytest.approx(35 * 24 * 22)
    assert ceilings(plain, counts)["bus"] == 3 * 4 + 35
    assert "24 bits a plain DDR command" in what_counts(plain)
    assert energy_pj(system(), counts)["io_command"] == pytest.approx(12 * 79 * 22)
    assert ceilings(system(), counts)["bus"] == 3 * 4 + 6


def test_host_reads_are_charged() -> None:
    """An instruction, a line over the channel; their commands are among the ranks'."""
    busy = system("traffic.reads_per_1000_clocks=10")
    counts = {"host_reads": 7, "host_lines": 5}
    energy = energy_pj(busy, counts)
    assert energy["io_command"] == pytest.approx(7 * 79 * 22)
    assert energy["io_data"] == pytest.approx(5 * 512 * 22)
    assert ceilings(busy, counts)["bus"] == 5 * 4 + 4
    assert "host reads included" in what_counts(busy)
    assert "host reads" not in what_counts(system())


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("nmp.command_mode=plain", "'compressed' or 'ddr'"),
        ("nmp.nmp_clock_divider=3", "1, 2 or 4"),
        ("traffic.reads_per_1000_clocks=251", "less than or equal to 250"),
        ("traffic.reads_per_1000_clocks=-1", "greater than or equal to 0"),
        ("traffic.seed=-1", "greater than or equal to 0"),
        ("traffic.rate=1", "unknown key 'traffic.rate'"),
    ],
)
def test_what_cannot_be_is_refused(word: str, complaint: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        system(word)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("words", "names", "complaint"),
    [
        (["traffic.seed=3"], ["recnmp-base"], "no system of this run has host traffic"),
        (["traffic.reads_per_1000_clocks=3"], ["host"], "no system of this run has near-memory units"),
        (
            ["nmp.command_mode=ddr", "nmp.instructions_per_clock=1"],
            ["recnmp-base"],
            "one command goes in a clock",
        ),
        (["host.traffic.reads_per_1000_clocks=3"], ["host"], "it has no section traffic"),
    ],
)
def test_settings_that_would_change_nothing_are_refused(
    words: list[str], names: list[str], complaint: str
) -> None:
    import argparse

    parser = argparse.ArgumentParser()
    add_system_arguments(parser)
    args = parser.parse_args([part for word in words for part in ("--set", word)])
    with pytest.raises(RecnmpError, match=complaint):
        chosen_systems(args, names)


def test_a_baseline_has_no_traffic() -> None:
    busy = system("traffic.reads_per_1000_clocks=10")
    assert busy.baseline() == system().baseline()
    assert busy.baseline().traffic is None
    quiet = busy.without_traffic()
    assert (quiet.name, quiet.reads_per_1000_clocks) == ("recnmp-base (no traffic)", 0)
