"""Cases for the near-memory machine: valid instruction streams and parameters, drawn or random.

A case is made by picking integers one after another. `cases()` lets hypothesis pick (small ones, which
shrink), `random_case(seed)` picks pseudo-randomly.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from naive_machine import Machine
from naive_rows import FORMATS, Row

from recnmp.config.dram import Timing, organisation_preset, timing_preset
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.timing import rules

CONFIG, END, LOOKUP, LOOKUP_LINE_8 = 1, 2, 8, 4
ACT, RD, PRE = 1, 2, 4  # predicted commands

Pick = Callable[[int, int], int]  # an integer of lo..hi, both included


@dataclass(frozen=True)
class Run:
    """Consecutive columns of one DRAM row."""

    bankgroup: int
    bank: int
    row: int
    column: int
    bursts: int = 1


@dataclass(frozen=True)
class Lookup:
    """A vector in one rank, as its runs in column order."""

    rank: int
    runs: tuple[Run, ...]
    weight: float = 1.0
    byte_offset: int = 0  # where it begins in its line 0


@dataclass(frozen=True)
class Packet:
    """Poolings of one table, in tag order; some may be empty, not all."""

    poolings: tuple[tuple[Lookup, ...], ...]
    dim: int = 16
    weighted: bool = False
    dtype: int = 0
    layout: int = 0


@dataclass(frozen=True)
class Batch:
    """One batch as the machine takes it; it starts `gap` clocks after the batch before ended."""

    stream: np.ndarray
    bounds: np.ndarray  # int64 [packets + 1]
    gap: int = 0


@dataclass(frozen=True)
class Case:
    """Parameters (names as in `naive_machine.Machine`) and batches."""

    parameters: dict[str, Any]  # beyond rules and timing
    batches: tuple[Batch, ...]
    bin: str = "DDR4_2400R"
    organisation: str = "DDR4_8Gb_x8"
    nREFI: int | None = None

    @property
    def timing(self) -> Timing:
        return timing_preset(self.bin, organisation_preset(self.organisation))

    @property
    def stream(self) -> np.ndarray:
        """Instructions of all batches."""
        return np.concatenate([batch.stream for batch in self.batches])

    def machine(self) -> Machine:
        timing, organisation = self.timing, organisation_preset(self.organisation)
        return Machine(
            rules(timing, "jedec", "rank"),
            rules(timing, "jedec", "host"),
            nCL=timing.nCL,
            nBL=timing.nBL,
            nREFI=self.nREFI,
            banks=organisation.banks,
            rows=organisation.rows,
            bursts_a_row=organisation.columns // 8,
            bankgroups=organisation.bankgroups,
            **self.parameters,
        )

    def run(self, machine: Machine) -> list[int]:
        """Batch after batch on the naive machine; ends of all."""
        end = 0
        ends = []
        for batch in self.batches:
            end = machine.run(batch.stream, batch.bounds, end + batch.gap)
            ends.append(end)
        return ends


class Encoder:
    """Makes instruction streams. Packets, lookups and predictions go on from batch to batch."""

    def __init__(self) -> None:
        self.packets = 0
        self.lookups = 0
        self.rows: dict[tuple[int, int, int], int] = {}  # bank -> row of the last LOOKUP sent there

    def encode(self, packets: list[Packet], gap: int = 0) -> Batch:
        records: list[dict[str, Any]] = []
        bounds = [0]
        for packet in packets:
            common = {"packet": self.packets} | {
                name: getattr(packet, name) for name in ("dim", "weighted", "dtype", "layout")
            }
            records.append({**common, "opcode": CONFIG, "lookup": -1})
            for tag, pooling in enumerate(packet.poolings):
                for lookup in pooling:
                    records += self.runs(lookup, {**common, "tag": tag})
            records.append({**common, "opcode": END, "lookup": -1})
            bounds.append(len(records))
            self.packets += 1
        stream = np.zeros(len(records), instruction_dtype)
        for i, record in enumerate(records):
            for name, value in record.items():
                stream[i][name] = value
        return Batch(stream, np.array(bounds, np.int64), gap)

    def runs(self, lookup: Lookup, common: dict[str, Any]) -> list[dict[str, Any]]:
        records = []
        line = 0
        for run in lookup.runs:
            bank = (lookup.rank, run.bankgroup, run.bank)
            before = self.rows.get(bank)
            self.rows[bank] = run.row
            predicted = RD if before == run.row else ACT | RD if before is None else PRE | ACT | RD
            records.append(
                {
                    **common,
                    "opcode": LOOKUP + line if line < 8 else LOOKUP_LINE_8,
                    "lookup": self.lookups,
                    "rank": lookup.rank,
                    "weight": lookup.weight,
                    "byte_offset": lookup.byte_offset // 4,
                    "ddr_cmd": predicted,
                    **vars(run),
                }
            )
            line += run.bursts
        self.lookups += 1
        return records


def is_lookup(stream: np.ndarray) -> np.ndarray:
    """bool [m]: which instructions are LOOKUPs."""
    return (stream["opcode"] >= LOOKUP) | (stream["opcode"] == LOOKUP_LINE_8)


def one_of(pick: Pick, *options: Any) -> Any:
    """One of the options; hypothesis shrinks towards the first."""
    return options[pick(0, len(options) - 1)]


GEOMETRIES = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (4, 2), (3, 2), (1, 3), (2, 3), (2, 4), (1, 8))
PLACES = ("anywhere", "hot rows", "one bank", "few banks", "hot lines")
HOMES = ("all", "lopsided", "by DIMM", "one rank")


def draw_runs(pick: Pick, lines: int, whole: bool, place: str, bankgroups: int) -> tuple[Run, ...]:
    """Runs of the lines of one row; with several (never if `whole`), each may lie in another bank."""
    runs: list[Run] = []
    while lines:
        length = lines if whole or pick(0, 4) < 4 else pick(1, lines)
        bankgroup, bank = pick(0, bankgroups - 1), pick(0, 3)
        row = pick(0, 65535)
        if place == "one bank":
            bankgroup, bank, row = 1, 2, row % 3
        elif place == "hot rows":
            bankgroup, bank, row = bankgroup % 2, bank % 2, row % 2
        elif place == "few banks":
            bankgroup, bank, row = 0, bank % 2, row % 16
        elif place == "hot lines":
            bankgroup, bank, row = bankgroup % 2, 0, row % 2
        column = pick(0, 5 if place == "hot lines" else 128 - length)
        # of nine lines in a DRAM row the first eight are a run, and the last is one
        runs += [Run(bankgroup, bank, row, column + at, min(8, length - at)) for at in range(0, length, 8)]
        lines -= length
    return tuple(runs)


@dataclass(frozen=True)
class Table:
    """How the rows of a packet's table are stored: by line, or by bytes one after another."""

    dtype: int
    layout: int
    dim: int
    offsets: tuple[int, ...]  # where in its line 0 a row may begin


def draw_table(pick: Pick, style: str, most_bursts: int) -> Table:
    """Of `most_bursts` result bursts at most."""
    groups = one_of(pick, 1, most_bursts, pick(1, most_bursts))
    dim = 16 * groups - pick(0, 15)
    dtype, layout = (0, 0) if style == "fp32 by line" else one_of(pick, *FORMATS)
    if style in ("fp32 by line", "by line"):
        return Table(dtype, layout, dim, (0,))
    if style == "one offset":
        return Table(dtype, layout, dim, (4 * pick(0, 15),))
    # packed: any multiple of the stride, which is one of 4 bytes
    stride = -(-Row(dtype, layout, dim).row_bytes // 4) * 4
    return Table(dtype, layout, dim, tuple(sorted({row * stride % 64 for row in range(16)})))


def draw_lookup(pick: Pick, table: Table, home: int, place: str, bankgroups: int) -> Lookup:
    """One of its rows, in rank `home`."""
    byte_offset = one_of(pick, *table.offsets)
    row = Row(table.dtype, table.layout, table.dim, byte_offset)
    runs = draw_runs(pick, row.lines, bool(row.parameter_bytes), place, bankgroups)
    return Lookup(home, runs, pick(-8, 8) / 4, byte_offset)


ROWS = ("fp32 by line", "packed", "by line", "one offset")


def draw_packet(
    pick: Pick, place: str, homes: list[int], bankgroups: int, poolings: int, longest: int, table: Table
) -> Packet:
    """A packet whose lookups are in ranks `homes`."""
    lookups = []
    for _ in range(poolings):
        size = one_of(pick, pick(0, 3), 1, 0, pick(0, longest))
        lookups.append(
            tuple(draw_lookup(pick, table, one_of(pick, *homes), place, bankgroups) for _ in range(size))
        )
    return Packet(tuple(lookups), table.dim, bool(pick(0, 1)), table.dtype, table.layout)


def draw_homes(pick: Pick, style: str, dimms: int, ranks_per_dimm: int) -> list[int]:
    """The ranks that a packet's lookups may be in: of all, of one DIMM, or one rank."""
    ranks = list(range(dimms * ranks_per_dimm))
    if style == "one rank":
        return [0]
    if style == "lopsided":
        home = pick(-1, len(ranks) - 1)
        return ranks if home < 0 else [home]
    if style == "by DIMM":
        first = ranks_per_dimm * pick(0, dimms - 1)
        return ranks[first : first + ranks_per_dimm]
    return ranks


def draw_cache(pick: Pick) -> dict[str, Any]:
    """Parameters of the RankCache, from a single way up; none at all in one of three cases."""
    if not pick(0, 2):
        return {}
    policy = one_of(pick, "lru", "lru", "fifo", "random", "tree-plru")
    ways = one_of(pick, 1, 2, 4, 8, 16) if policy == "tree-plru" else one_of(pick, 4, 1, 2, 16, pick(1, 16))
    sets = one_of(pick, 1, 1, 2, pick(1, 9), pick(1, 9), 64, 512)
    return {
        "rank_cache_bytes": 64 * ways * sets,
        "rank_cache_ways": ways,
        "rank_cache_policy": policy,
        "rank_cache_flush": one_of(pick, "never", "never", "batch"),
    }


def draw_bus(pick: Pick) -> dict[str, Any]:
    """Parameters of the bus's other modes, most of them absent in most cases."""
    drawn: dict[str, Any] = {}
    if pick(0, 3) == 3:
        drawn["command_mode"] = "ddr"
    if pick(0, 2) == 2:
        drawn["nmp_clock_divider"] = one_of(pick, 2, 4)
    if pick(0, 2) == 2:
        drawn["reads_per_1000_clocks"] = one_of(pick, 250, pick(1, 250), pick(1, 30))
        drawn["traffic_seed"] = pick(0, 2**63 - 1)
    return drawn


def draw_localities(pick: Pick, style: str, batch: Batch) -> None:
    """A locality bit for each LOOKUP of the batch."""
    lookups = np.flatnonzero(is_lookup(batch.stream))
    least = {"all": 0, "mostly": 1, "half": 4, "none": 8}[style]
    batch.stream["locality"][lookups] = [pick(0, 7) >= least for _ in lookups]


def draw_case(pick: Pick, most_packets: int, longest: int) -> Case:
    """A case of up to `most_packets` packets a batch and poolings of up to `longest` lookups."""
    dimms, ranks_per_dimm = one_of(pick, *GEOMETRIES)
    # a swarm of short packets with wide results keeps the bus, the trees and the tag groups busy
    swarm = pick(0, 3) == 3
    P = pick(1, 2) if swarm else one_of(pick, 8, 16, pick(1, 16), pick(1, 16), pick(1, 16))
    most_packets, longest = (3 * most_packets, 2) if swarm else (most_packets, longest)
    bin, organisation = one_of(
        pick,
        ("DDR4_2400R", "DDR4_8Gb_x8"),
        ("DDR4_2400R", "DDR4_8Gb_x8"),
        ("DDR4_1600K", "DDR4_4Gb_x4"),
        ("DDR4_2400T", "DDR4_8Gb_x16"),
        ("DDR4_3200AA", "DDR4_16Gb_x8"),
    )
    timing = timing_preset(bin, organisation_preset(organisation))
    least = timing.nRFC + timing.nRC + timing.nRP + timing.nFAW
    nREFI = one_of(pick, None, None, least + pick(0, 700), timing.nREFI)
    parameters = {
        "dimms": dimms,
        "ranks_per_dimm": ranks_per_dimm,
        "fifo": one_of(pick, 64, 64, 1, 2, 4, 16),
        "window": one_of(pick, 16, 16, 1, 2, 3, 8),
        "poolings_per_packet": P,
        "packets_in_flight": one_of(pick, None, None, 1, pick(1, 16)),
        "instructions_per_clock": one_of(pick, 2, 2, 1),
        "bus_turnaround": one_of(pick, 2, 2, 2, 0, pick(0, 9)),
        "stagger": one_of(pick, 0, 0, 1, pick(0, 200)),
        "local_bus": one_of(pick, "none", "none", "per_dimm"),
        "skip_full_rank": bool(one_of(pick, 0, 0, 1)),
        "accumulate": one_of(pick, 3, 3, 3, 2, pick(1, 9)),
    }
    cache = draw_cache(pick)
    parameters |= cache
    locality = one_of(pick, "all", "all", "mostly", "mostly", "half", "none")
    place, style = one_of(pick, *PLACES), one_of(pick, *HOMES)
    if cache and pick(0, 3):
        place = "hot lines"
    if cache and pick(0, 3) == 3:
        nREFI = least + pick(0, 99)
    bankgroups = organisation_preset(organisation).bankgroups
    most_bursts, rows = one_of(pick, 1, 2, 4, 8), one_of(pick, *ROWS)
    encoder = Encoder()
    batches = []
    for _ in range(pick(1, 3)):
        packets = []
        for _ in range(pick(0, most_packets)):
            poolings = P if pick(0, 2) else pick(1, P)
            homes = draw_homes(pick, style, dimms, ranks_per_dimm)
            table = draw_table(pick, rows, 8 if swarm else most_bursts)
            packet = draw_packet(pick, place, homes, bankgroups, poolings, longest, table)
            if any(packet.poolings):  # a packet without any LOOKUP is not sent
                packets.append(packet)
        batch = encoder.encode(packets, one_of(pick, 0, 1, 2, 3, pick(0, 3000)))
        draw_localities(pick, locality, batch)
        batches.append(batch)
    parameters |= draw_bus(pick)  # last, so that the rest of a seed's case stays as it was
    return Case(parameters, tuple(batches), bin, organisation, nREFI)


def random_case(seed: int, most_packets: int = 6, longest: int = 40) -> Case:
    """The case of this seed."""
    return draw_case(random.Random(seed).randint, most_packets, longest)


@st.composite
def cases(draw: st.DrawFn, most_packets: int = 3, longest: int = 5) -> Case:
    """Small cases that shrink."""
    return draw_case(lambda lo, hi: draw(st.integers(lo, hi)), most_packets, longest)
