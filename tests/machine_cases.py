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

from recnmp.config.dram import Timing, organisation_preset, timing_preset
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.timing import rules

CONFIG, END, LOOKUP = 1, 2, 8
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


@dataclass(frozen=True)
class Packet:
    """Poolings of one table, in tag order; some may be empty, not all."""

    poolings: tuple[tuple[Lookup, ...], ...]
    dim: int = 16
    weighted: bool = False


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
            common = {"packet": self.packets, "dim": packet.dim, "weighted": packet.weighted}
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
        element_group = 0
        for run in lookup.runs:
            bank = (lookup.rank, run.bankgroup, run.bank)
            before = self.rows.get(bank)
            self.rows[bank] = run.row
            predicted = RD if before == run.row else ACT | RD if before is None else PRE | ACT | RD
            records.append(
                {
                    **common,
                    "opcode": LOOKUP + element_group,
                    "lookup": self.lookups,
                    "rank": lookup.rank,
                    "weight": lookup.weight,
                    "ddr_cmd": predicted,
                    **vars(run),
                }
            )
            element_group += run.bursts
        self.lookups += 1
        return records


def one_of(pick: Pick, *options: Any) -> Any:
    """One of the options; hypothesis shrinks towards the first."""
    return options[pick(0, len(options) - 1)]


GEOMETRIES = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 4), (4, 1), (4, 2), (3, 2), (1, 3), (2, 3), (2, 4), (1, 8))
PLACES = ("anywhere", "hot rows", "one bank", "few banks", "hot lines")
HOMES = ("all", "lopsided", "by DIMM", "one rank")


def draw_runs(pick: Pick, bursts: int, place: str, bankgroups: int) -> tuple[Run, ...]:
    """Runs of one vector; with several, each may lie in another bank."""
    runs = []
    while bursts:
        length = bursts if pick(0, 4) < 4 else pick(1, bursts)
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
        last = 128 - length
        runs.append(Run(bankgroup, bank, row, pick(0, 5 if place == "hot lines" else last), length))
        bursts -= length
    return tuple(runs)


def draw_packet(
    pick: Pick, place: str, homes: list[int], bankgroups: int, poolings: int, longest: int, most_bursts: int
) -> Packet:
    """A packet whose lookups are in ranks `homes`."""
    bursts = one_of(pick, 1, most_bursts, pick(1, most_bursts))
    lookups = []
    for _ in range(poolings):
        size = one_of(pick, pick(0, 3), 1, 0, pick(0, longest))
        lookups.append(
            tuple(
                Lookup(one_of(pick, *homes), draw_runs(pick, bursts, place, bankgroups), pick(-8, 8) / 4)
                for _ in range(size)
            )
        )
    return Packet(tuple(lookups), 16 * bursts - pick(0, 15), bool(pick(0, 1)))


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


def draw_localities(pick: Pick, style: str, batch: Batch) -> None:
    """A locality bit for each LOOKUP of the batch."""
    lookups = np.flatnonzero(batch.stream["opcode"] >= LOOKUP)
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
    most_bursts = one_of(pick, 1, 2, 4, 8)
    encoder = Encoder()
    batches = []
    for _ in range(pick(1, 3)):
        packets = []
        for _ in range(pick(0, most_packets)):
            poolings = P if pick(0, 2) else pick(1, P)
            homes = draw_homes(pick, style, dimms, ranks_per_dimm)
            packet = draw_packet(
                pick, place, homes, bankgroups, poolings, longest, 8 if swarm else most_bursts
            )
            if any(packet.poolings):  # a packet without any LOOKUP is not sent
                packets.append(packet)
        batch = encoder.encode(packets, one_of(pick, 0, 1, 2, 3, pick(0, 3000)))
        draw_localities(pick, locality, batch)
        batches.append(batch)
    return Case(parameters, tuple(batches), bin, organisation, nREFI)


def random_case(seed: int, most_packets: int = 6, longest: int = 40) -> Case:
    """The case of this seed."""
    return draw_case(random.Random(seed).randint, most_packets, longest)


@st.composite
def cases(draw: st.DrawFn, most_packets: int = 3, longest: int = 5) -> Case:
    """Small cases that shrink."""
    return draw_case(lambda lo, hi: draw(st.integers(lo, hi)), most_packets, longest)
