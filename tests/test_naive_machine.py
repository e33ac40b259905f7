"""The naive machine against clocks worked out by hand from docs/microarchitecture.md, and against laws."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from machine_cases import Batch, Case, Encoder, Lookup, Packet, Run, cases, is_lookup, random_case
from naive_machine import Machine
from naive_window import NEVER

from recnmp.kernels.dram import Device, TimingTable
from recnmp.timing import rules

ACT, PRE, PREA, RD, REF = 0, 1, 2, 3, 7
LARGE = 12


def run(*batches: Batch, nREFI: int | None = None, **parameters: object) -> Machine:
    case = Case({"dimms": 1, "ranks_per_dimm": 1, **parameters}, batches, nREFI=nREFI)
    machine = case.machine()
    case.run(machine)
    return machine


def lookup(rank: int = 0, bankgroup: int = 0, bank: int = 0, row: int = 5, column: int = 3) -> Lookup:
    return Lookup(rank, (Run(bankgroup, bank, row, column),))


# DDR4-2400R: CL = RCD = RP = 16, RAS 39, RC 55, RRD 4/6, FAW 26, CCD 4/6, RTP 9, RFC 433 clocks.


@pytest.mark.parametrize(("ranks_per_dimm", "levels"), [(1, 0), (2, 1), (3, 2), (4, 2)])
def test_one_lookup(ranks_per_dimm: int, levels: int) -> None:
    """0 CONFIG and LOOKUP sent, 1 END sent and CONFIG popped, 2 LOOKUP popped, 3 ACT, 19 RD, 39 enters,
    53 done and tree started, 54 + 3 levels ready and sent, four clocks later crossed."""
    batch = Encoder().encode([Packet(((lookup(),),))])
    log = run(batch, ranks_per_dimm=ranks_per_dimm).log
    assert log.sends == [(0, 0), (0, 1), (1, 2)]
    assert log.commands == [(3, ACT, 0, 0, 0, 5, -1), (19, RD, 0, 0, 0, 5, 3)]
    assert log.operands[0] == [(39, 0, 0, 0, 0, 0, 0, 16)]
    assert log.bursts == [(54 + 3 * levels, 0, 0, 0, 0)]
    assert log.ends == [58 + 3 * levels]
    assert log.wrong_predictions == 0


def test_single_rate_command_bus() -> None:
    """One instruction a clock: CONFIG 0, LOOKUP 1 visible 2 decoded 2 ACT 3: CONFIG's decoding hid it."""
    log = run(Encoder().encode([Packet(((lookup(),),))]), instructions_per_clock=1).log
    assert log.sends == [(0, 0), (1, 1), (2, 2)]
    assert log.ends == [58]


def test_ten_lookups() -> None:
    """Ten banks in rotating bank groups, two poolings.

    Decoded at 2 .. 11 one a clock, so the window sees them from 3 on. ACTs 4 apart (RRD_S), the fifth 26
    after the first (FAW), and so on; each RD 16 after its ACT; the last enters at 75 + 20 = 95, is in its sum
    at 109; ready at 110, two bursts.
    """
    lookups = [lookup(bankgroup=i % 4, bank=i // 4, row=i) for i in range(10)]
    log = run(Encoder().encode([Packet((tuple(lookups[:5]), tuple(lookups[5:])))])).log
    assert [clk for clk, *_ in log.sends] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    acts = [3, 7, 11, 15, 29, 33, 37, 41, 55, 59]
    assert [clk for clk, code, *_ in log.commands if code == ACT] == acts
    assert [clk for clk, code, *_ in log.commands if code == RD] == [clk + 16 for clk in acts]
    assert [clk for clk, *_ in log.operands[0]] == [clk + 36 for clk in acts]
    assert log.bursts == [(110, 0, 0, 0, 0), (114, 0, 0, 1, 0)]
    assert log.ends == [118]


def test_open_row_first_and_its_predictions() -> None:
    """Rows 5, 9, 5 of one bank: the third goes before the second, which makes its prediction wrong.

    ACT 3, RD 19, RD of the third 25 (CCD_L); PRE 42 (RAS), ACT 58, RD 74, enters 94, done 108, burst 109.
    """
    lookups = (lookup(), lookup(row=9), lookup(column=4))
    log = run(Encoder().encode([Packet((lookups,))])).log
    assert [entry[:2] for entry in log.commands] == [
        (3, ACT),
        (19, RD),
        (25, RD),
        (42, PRE),
        (58, ACT),
        (74, RD),
    ]
    assert [entry[1] for entry in log.operands[0]] == [0, 2, 1]
    assert log.wrong_predictions == 1
    assert log.ends == [113]


def test_refresh_lets_activated_entries_read() -> None:
    """Start 996: ACT 999; due 1000; RD 1015; PREA 1038 (RAS); REF 1054 (RP); ACT of the other 1487 (RFC)."""
    lookups = (lookup(), lookup(bankgroup=1))
    batch = replace(Encoder().encode([Packet((lookups,))]), gap=996)
    log = run(batch, nREFI=1000).log
    assert [entry[:2] for entry in log.commands] == [
        (999, ACT), (1015, RD), (1038, PREA), (1054, REF), (1487, ACT), (1503, RD),
    ]  # fmt: skip
    assert log.ends == [1542]
    assert log.wrong_predictions == 0


def test_one_packet_in_flight_turns_the_bus_around() -> None:
    """Second CONFIG two clocks after the first result has crossed at 58; its row is open: RD 63, enters 83,
    done 97, burst 98."""
    packets = [Packet(((lookup(),),)), Packet(((lookup(column=7),),))]
    log = run(Encoder().encode(packets), packets_in_flight=1).log
    assert [clk for clk, *_ in log.sends] == [0, 0, 1, 60, 60, 61]
    assert [clk for clk, *_ in log.bursts] == [54, 98]
    assert log.ends == [102]


def test_two_dimms() -> None:
    """DIMMs 0 and 1 have one of two poolings each. The LOOKUP of DIMM 1 is sent at 1, and popped at 2 behind
    CONFIG, as the other is. Both are ready at 54; DIMM 0 sends at 54 .. 57, DIMM 1 at 60 .. 63."""
    log = run(Encoder().encode([Packet(((lookup(0),), (lookup(1),)))]), dimms=2).log
    assert log.sends == [(0, 0), (0, 1), (1, 2), (1, 3)]
    assert [entry[:2] for entry in log.commands] == [(3, ACT), (3, ACT), (19, RD), (19, RD)]
    assert log.bursts == [(54, 0, 0, 0, 0), (60, 1, 0, 1, 0)]
    assert log.ends == [64]


def test_fifo_of_one_waits_for_credits() -> None:
    """CONFIG 0, popped 1, credit back 2: LOOKUP 2, popped 3, END 4, popped 5; ACT 4, ... burst 55."""
    log = run(Encoder().encode([Packet(((lookup(),),))]), fifo=1).log
    assert log.sends == [(0, 0), (2, 1), (4, 2)]
    assert log.ends == [59]


def test_results_of_a_packet_go_together() -> None:
    """Packet 0: rows 5 and 9 of one bank, ACT 3, RD 19, PRE 42, ACT 58, RD 74, enters 94, done 108.
    It is ready at 109. Packet 1, of eight bursts: ACT 7, RD 23, 29, ... 65 (CCD_L), enters 85, done 99.
    It is ready at 100, and sends at 100, 104, ..., 128; only then packet 0, though older, at 132.
    """
    slow = Packet(((lookup(), lookup(row=9)),))
    wide = Packet(((Lookup(0, (Run(1, 1, 1, 0, 8),)),),), dim=128)
    log = run(Encoder().encode([slow, wide])).log
    packets = [(clk, packet) for clk, _, packet, *_ in log.bursts]
    assert packets == [(clk, int(clk < 132)) for clk in range(100, 136, 4)]
    assert log.ends == [136]


# Laws


def operands_of(lookup: np.void) -> set[tuple[int, ...]]:
    """What a LOOKUP adds to its sum: a row's elements, each where its bytes are, by element group."""
    first = 8 if lookup["opcode"] == 4 else int(lookup["opcode"]) - 8
    lines = range(first, first + int(lookup["bursts"]))
    dtype, head = int(lookup["dtype"]), lookup["layout"] == 2
    begin = 4 * int(lookup["byte_offset"]) + (4 if head else 0)
    bits = (32, 16, 8, 4)[dtype]
    mine = [e for e in range(int(lookup["dim"])) if (begin + e * bits // 8) // 64 in lines]
    parts = {group: [e for e in mine if e // 16 == group] for group in {e // 16 for e in mine}}
    common = [int(lookup[name]) for name in ("lookup", "packet", "rank", "tag")]
    return {(*common, group, part[0], len(part)) for group, part in parts.items()}


def check_cache_laws(machine: Machine, lines: list[tuple[int, ...]], reads: list[tuple[int, ...]]) -> None:
    """`lines` were accessed, `reads` issued, by (rank, bank group, bank, row, column)."""
    log = machine.log
    kinds = ("cache_hits", "cache_secondary_hits", "cache_misses", "cache_bypasses")
    for rank, counters in enumerate(log.counters):
        assert sum(counters[kind] for kind in kinds) == sum(line[0] == rank for line in lines)
        read = sum(line[0] == rank for line in reads)
        assert counters["cache_misses"] + counters["cache_bypasses"] == read
        assert counters["cache_fills"] == counters["cache_misses"]
    assert set(reads) == set(lines)
    assert all(reads.count(line) <= lines.count(line) for line in set(reads))
    for rank in machine.ranks:
        assert rank.cache is not None
        assert not rank.cache.fetched
        assert not rank.cache.waiting


def check_laws(case: Case) -> None:
    machine = case.machine()
    ends = case.run(machine)
    stream, log = case.stream, machine.log
    ranks = len(machine.ranks)
    lookups = stream[is_lookup(stream)]

    # every instruction is sent once, at most so many a clock
    assert sorted(index for _, index in log.sends) == sorted(
        index for batch in case.batches for index in range(len(batch.stream))
    )
    clocks = [clk for clk, _ in log.sends]
    assert clocks == sorted(clocks)
    plain = machine.options.command_mode == "ddr"
    most = 1 if plain else machine.options.instructions_per_clock
    all_clocks = clocks + [clk for clk, _, crossing in machine.traffic.log if not crossing]
    assert max(map(all_clocks.count, set(all_clocks)), default=0) <= most

    # every element of every row enters once, in its own rank, for its own tag, from the lines of one instruction
    expected = sorted(operand for i in lookups for operand in operands_of(i))
    assert sorted(entry[1:] for of_rank in log.operands for entry in of_rank) == expected
    lines = [
        (int(i["rank"]), int(i["bankgroup"]), int(i["bank"]), int(i["row"]), int(i["column"]) + burst)
        for i in lookups
        for burst in range(i["bursts"])
    ]
    reads = [entry[2:] for entry in log.commands if entry[1] == RD]
    for read in machine.traffic.reads:  # of the host's other programs
        if read.ready < NEVER:
            reads.remove((read.rank, read.bankgroup, read.bank, read.row, read.column))
    if any(rank.cache for rank in machine.ranks) and lookups["locality"].any():
        check_cache_laws(machine, lines, reads)
    else:
        assert sorted(reads) == sorted(lines)
        assert log.total("cache_bypasses") == len(lines)

    # a result burst for every element group of every tag of a DIMM that got an instruction, and no other
    per_dimm = case.parameters["ranks_per_dimm"]
    dims = {int(i["packet"]): int(i["dim"]) for i in stream}
    tags = {(int(i["rank"]) // per_dimm, int(i["packet"]), int(i["tag"])) for i in lookups}
    assert sorted(entry[1:] for entry in log.bursts) == sorted(
        (*tag, group) for tag in tags for group in range(-(-dims[tag[1]] // 16))
    )

    # the bus is never used twice, and turns around
    sent = {clk: 1 for clk, _ in log.sends}
    if plain:
        every = iter(log.sends)
        for batch in case.batches:
            for clk, index in islice(every, len(batch.stream)):
                of = batch.stream[index]
                if is_lookup(of):
                    sent[clk] = int(of["bursts"]) + bin(of["ddr_cmd"] & 0b101).count("1")
    for clk, _, crossing in machine.traffic.log:
        if not crossing:
            sent[clk] = 2 if plain else 1
    lines_of_reads = {
        (clk, clk + 4, machine.traffic.dimm(machine.traffic.reads[number]))
        for clk, number, crossing in machine.traffic.log
        if crossing
    }
    uses = sorted(
        {(clk, clk + long, "instructions") for clk, long in sent.items()}
        | {(e[0], e[0] + 4, e[1]) for e in log.bursts}
        | lines_of_reads,
        key=lambda use: use[0],
    )
    turnaround = machine.options.bus_turnaround
    for (_, end, user), (start, _, next_user) in pairwise(uses):
        assert start >= end + (turnaround if user != next_user else 0)

    # commands: legal by the kernels' timing table too, on banks in the right state, one a rank a clock
    shared = machine.options.local_bus == "per_dimm"
    seen: set[tuple[int, int]] = set()
    table = TimingTable(rules(case.timing, "jedec", "host" if shared else "rank"))
    devices = [Device(table, per_dimm if shared else ranks, 4, 4) for _ in range(ranks // per_dimm)]
    for clk, code, rank, bankgroup, bank, row, _ in log.commands:
        bus = rank // per_dimm if shared else rank
        assert (clk, bus) not in seen
        seen.add((clk, bus))
        device = devices[rank // per_dimm]
        at = (rank % per_dimm if shared else rank, max(bankgroup, 0), max(bank, 0))
        assert clk >= device.earliest(code, *at)
        open_row = device.row(*at)
        assert (
            open_row == -1
            if code == ACT
            else open_row == row
            if code == RD
            else open_row != -1 or code != PRE
        )
        device.issue(code, *at, row, clk)

    # refreshes: the k-th of a rank in its own interval (D13), none missing
    for rank in range(ranks if case.nREFI else 0):
        clocks = [entry[0] for entry in log.commands if entry[1] == REF and entry[2] == rank]
        offset = rank * machine.options.stagger
        for k, clk in enumerate(clocks, 1):
            assert k * case.nREFI + offset <= clk < (k + 1) * case.nREFI + offset
        assert len(clocks) >= (ends[-1] - offset) // case.nREFI - 1

    # ends are ordered, and everything is over at the last
    starts = [before + batch.gap for before, batch in zip([0, *ends], case.batches, strict=False)]
    assert all(start <= end for start, end in zip(starts, ends, strict=True))
    assert ends[-1] == max([starts[-1]] + [e[0] + 4 for e in log.bursts if e[0] >= starts[-1]])
    assert machine.clock == ends[-1]
    for rank in machine.ranks:
        assert all(operand.taken < machine.clock for entry in rank.window for operand in entry.operands)
        assert rank.datapath.register is None


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_laws_of_small_cases(case: Case) -> None:
    check_laws(case)


@pytest.mark.parametrize("seed", range(LARGE))
def test_laws_of_larger_cases(seed: int) -> None:
    check_laws(random_case(seed))


@pytest.mark.parametrize("seed", range(LARGE, 2 * LARGE))
def test_order_of_blocks_does_not_matter(seed: int) -> None:
    """Section 1: every block sees the state at the start of the clock."""
    case = random_case(seed, most_packets=4, longest=20)
    plain, shuffled = case.machine(), case.machine()
    rng = random.Random(seed)
    tick = shuffled.tick

    def shuffled_tick() -> None:
        rng.shuffle(shuffled.blocks)
        tick()

    shuffled.tick = shuffled_tick  # type: ignore[method-assign]
    assert case.run(plain) == case.run(shuffled)
    assert plain.log.sends == shuffled.log.sends
    assert plain.log.bursts == shuffled.log.bursts
    assert plain.log.operands == shuffled.log.operands
    assert sorted(plain.log.commands) == sorted(shuffled.log.commands)
    assert plain.log.counters == shuffled.log.counters


def test_cases_reach_every_corner() -> None:
    """The generator makes what it promises, so that a twin that survives it has seen it."""
    seen = set()
    for seed in range(300):
        case = random_case(seed)
        parameters, stream = case.parameters, case.stream
        lookups = stream[is_lookup(stream)]
        seen |= {
            (name, parameters[name]) for name in ("fifo", "window", "instructions_per_clock", "local_bus")
        }
        seen |= {
            (name, parameters[name]) for name in ("dimms", "ranks_per_dimm", "skip_full_rank", "accumulate")
        }
        seen |= {("P", parameters["poolings_per_packet"]), ("refresh", case.nREFI is not None)}
        seen |= {("bursts", int(bursts)) for bursts in lookups["bursts"]}
        seen |= {("opcode", int(opcode)) for opcode in lookups["opcode"]}
        seen |= {("dtype, layout", (int(i["dtype"]), int(i["layout"]))) for i in lookups}
        seen |= {("words", int(words)) for words in lookups["byte_offset"]}
        seen |= {("batches", len(case.batches)), ("bin", case.bin)}
        if lookups["locality"].any() and "rank_cache_bytes" in parameters:
            ways = parameters["rank_cache_ways"]
            seen |= {("ways", ways), ("sets", parameters["rank_cache_bytes"] // 64 // ways)}
            seen |= {(name, parameters[f"rank_cache_{name}"]) for name in ("policy", "flush")}
    for name, values in {
        "fifo": (1, 2, 4, 64),
        "window": (1, 2, 3, 16),
        "instructions_per_clock": (1, 2),
        "local_bus": ("none", "per_dimm"),
        "skip_full_rank": (False, True),
        "dimms": (1, 2, 3, 4),
        "ranks_per_dimm": (1, 2, 3, 4, 8),
        "accumulate": (1, 2, 3, 9),
        "P": range(1, 17),
        "refresh": (False, True),
        "bursts": range(1, 9),
        "opcode": (*range(8, 16), 4),
        "dtype, layout": ((0, 0), (1, 0), (2, 1), (2, 2), (3, 1), (3, 2)),
        "words": range(16),
        "batches": (1, 2, 3),
        "ways": (1, 2, 3, 4, 5, 8, 16),
        "sets": (1, 2, 3, 5, 7, 64, 512),
        "policy": ("lru", "fifo", "random", "tree-plru"),
        "flush": ("never", "batch"),
    }.items():
        assert {(name, value) for value in values} - seen == set()
