"""Counters, declared once, and what is computed from them: totals, latencies, ceilings.

An engine's `counters()` is a flat dict of the names below; a counter that can be kept per rank has one entry
a rank, `act[0]`, `act[1]`, ... (`per_rank` makes them), or, where the engine does not tell ranks apart, one
under its plain name. Numbers are exact ints; nothing is counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from .config.system import SystemConfig

Side = Literal["host", "nmp", "both"]


@dataclass(frozen=True)
class Counter:
    """One counted event: its name and unit, whose it is, and whether ranks may keep their own."""

    name: str
    unit: str
    side: Side
    per_rank: bool
    meaning: str


# What a clock of a rank may go to, in the order in which causes are asked for (docs/microarchitecture.md, section 9).
CAUSES = {
    "working": "a DDR command of a lookup; or no line is wanted, and an instruction is decoded or a line looked up",
    "refresh": "a refresh is due or under way",
    "faw_rrd": "the oldest lookup needs ACT, and tFAW or tRRD forbids it",
    "bank_timing": "its bank is not ready for it: tRCD, tRP, tRC, or another row is open",
    "ccd": "it needs RD, and tCCD forbids it",
    "datapath_full": "the window is full of lookups that wait for data or for the adder",
    "result_full": "CONFIG waits until the packet before has left the rank",
    "no_instruction": "nothing to do: the host has not sent more yet, or data is on its way",
    "drained": "the same, and nothing will come in this batch",
}

COUNTERS = {
    counter.name: counter
    for counter in (
        Counter("lookups", "lookups", "both", False, "rows read, duplicates counted each time"),
        Counter("poolings", "poolings", "both", False, "poolings executed, empty ones included"),
        Counter("lines", "bursts", "both", False, "64-byte lines that the lookups need"),
        Counter("llc_hits", "lines", "host", False, "lines that the last-level cache has, or awaits"),
        Counter("llc_misses", "lines", "host", False, "lines that it has not: read over the channel"),
        Counter(
            "row_hits",
            "requests",
            "both",
            True,
            "requests or instructions first served by RD or WR: their row was open",
        ),
        Counter(
            "row_misses",
            "requests",
            "both",
            True,
            "requests or instructions first served by ACT: their bank was closed",
        ),
        Counter(
            "row_conflicts",
            "requests",
            "both",
            True,
            "requests or instructions first served by PRE: another row was open",
        ),
        Counter("read_latency", "clocks", "host", False, "acceptance to last datum, added over all reads"),
        Counter("act", "commands", "both", True, "ACT commands"),
        Counter("pre", "commands", "both", True, "PRE commands (one bank)"),
        Counter("prea", "commands", "both", True, "PREA commands (all banks; only before a refresh)"),
        Counter("rd", "commands", "both", True, "RD commands, a burst of 64 bytes each"),
        Counter("ref", "commands", "both", True, "REFab commands"),
        Counter("wr", "commands", "host", True, "WR commands, a burst of 64 bytes each"),
        Counter("packets", "packets", "nmp", False, "NMP packets"),
        Counter(
            "passed_over_max",
            "picks",
            "nmp",
            False,
            "picks of the packet scheduler that passed over the same packet, most (of all channels, no sum)",
        ),
        Counter("instructions", "instructions", "nmp", False, "NMP instructions of lookups"),
        Counter(
            "offset_instructions",
            "instructions",
            "nmp",
            False,
            "those of the instructions that carry ByteOffset (83 bits, D8)",
        ),
        Counter(
            "packet_instructions",
            "instructions",
            "nmp",
            False,
            "CONFIG and END, once each on the bus whatever the number of ranks that take them",
        ),
        Counter(
            "instruction_clocks", "clocks", "nmp", False, "clocks in which instructions crossed the channel"
        ),
        Counter(
            "result_bursts", "bursts", "nmp", False, "64-byte bursts of DIMM sums that crossed the channel"
        ),
        Counter(
            "ca_commands",
            "commands",
            "nmp",
            False,
            "plain DDR commands on the C/A pins where nothing is compressed; CONFIG and END are one each",
        ),
        Counter(
            "host_reads", "reads", "nmp", False, "reads of the host's other programs that were sent (D17)"
        ),
        Counter("host_lines", "bursts", "nmp", False, "64-byte lines of such reads that crossed the channel"),
        Counter("turnarounds", "turnarounds", "nmp", False, "changes of direction or DIMM on the bus (D2)"),
        Counter("mispredictions", "instructions", "nmp", True, "command-presence bits that were wrong (D3)"),
        Counter(
            "lookup_lines", "lines", "nmp", True, "lines of lookups, each once for each lookup that it is for"
        ),
        Counter("cache_hits", "lines", "nmp", True, "lines that the RankCache has"),
        Counter("cache_secondary_hits", "lines", "nmp", True, "lines that the RankCache awaits: merged (D5)"),
        Counter("cache_misses", "lines", "nmp", True, "lines that it has not, and takes when they are read"),
        Counter(
            "cache_bypasses",
            "lines",
            "nmp",
            True,
            "lines read past the RankCache: without locality bit, or with all ways of the set awaited",
        ),
        Counter("cache_fills", "lines", "nmp", True, "lines written into the RankCache"),
        Counter(
            "hazard_clocks", "clocks", "nmp", True, "clocks in which an operand waited for the adder (D9)"
        ),
        *(Counter(f"clocks_{cause}", "clocks", "nmp", True, meaning) for cause, meaning in CAUSES.items()),
        Counter("fp_adds", "operations", "nmp", False, "FP32 additions: partial sums, adder trees, biases"),
        Counter("fp_muls", "operations", "nmp", False, "FP32 multiplications by weights and scales"),
    )
}

# on the channel, each once
INSTRUCTIONS = ("instructions", "packet_instructions", "host_reads")
_KEY = re.compile(r"(\w+)(?:\[(\d+)\])?")


def per_rank(name: str, values: Iterable[int]) -> dict[str, int]:
    """The entries of a counter that is kept per rank, from its values in rank order."""
    return {f"{name}[{rank}]": int(value) for rank, value in enumerate(values)}


def check_counters(counters: Mapping[str, int], kind: Literal["host", "nmp"]) -> None:
    """Raise KeyError for an entry that is not declared for this kind of system, or not as it is kept."""
    for key in counters:
        match = _KEY.fullmatch(key)
        counter = COUNTERS.get(match[1]) if match else None
        if match is None or counter is None or counter.side not in (kind, "both"):
            raise KeyError(f"counter '{key}' is not declared for {kind} systems")
        if match[2] is not None and (not counter.per_rank or counter.name in counters):
            raise KeyError(f"counter '{key}': {counter.name} is not kept per rank")


def total(counters: Mapping[str, int], name: str) -> int:
    """A counter over all ranks; 0 if the system does not count it."""
    return counters[name] if name in counters else sum(by_rank(counters, name))


def by_rank(counters: Mapping[str, int], name: str) -> list[int]:
    """A counter kept per rank, in rank order."""
    values: list[int] = []
    while f"{name}[{len(values)}]" in counters:
        values.append(counters[f"{name}[{len(values)}]"])
    return values


def with_totals(counters: Mapping[str, int]) -> dict[str, int]:
    """The counters with a total, under its plain name, for each that is kept per rank."""
    names = {match[1] for key in counters if (match := _KEY.fullmatch(key)) and match[2] is not None}
    return {**counters, **{name: total(counters, name) for name in names}}


def add_counters(many: Iterable[Mapping[str, int]], ranks: int) -> dict[str, int]:
    """Counters of several channels: counts added, ranks numbered through (channel * ranks + rank)."""
    added: dict[str, int] = {}
    for channel, counters in enumerate(many):
        for key, value in counters.items():
            match = _KEY.fullmatch(key)
            if match and match[2] is not None:
                key = f"{match[1]}[{channel * ranks + int(match[2])}]"
            added[key] = added.get(key, 0) + value
    return added


@dataclass(frozen=True)
class Latency:
    """Latencies of batches, in clocks; all None when there is no batch.

    Attributes:
        mean: arithmetic mean.
        p50, p95: nearest-rank percentiles, always the latency of some batch.
        max: the longest.
    """

    mean: float | None
    p50: int | None
    p95: int | None
    max: int | None


def latency(clocks: Sequence[int] | npt.NDArray[np.int64]) -> Latency:
    """Summarise batch latencies int64 [batches], in clocks."""
    ordered = sorted(int(clock) for clock in clocks)
    if not ordered:
        return Latency(None, None, None, None)
    count = len(ordered)
    nearest = [ordered[-(-percent * count // 100) - 1] for percent in (50, 95)]
    return Latency(sum(ordered) / count, nearest[0], nearest[1], ordered[-1])


def ceilings(config: SystemConfig, counters: Mapping[str, int]) -> dict[str, int]:
    """Least clocks of a run, from its own counts (docs/measures.md); no run is ever below one of them.

    Args:
        config: the system.
        counters: what its engine counted, over one or more channels.

    Returns:
        name -> clocks:
        bus: what crossed the busiest possible channel. Host: BL a read. Near memory: BL a result burst or line
            of a host read, and 1 / instructions_per_clock an instruction, or a clock a plain DDR command. No
            turnarounds.
        faw: the run's own ACTs spread evenly over the ranks, four in FAW clocks.
        ccd: the run's own RDs spread evenly over the ranks, one in CCD_S clocks.
        slowest_rank: the same two for the rank that has most, as far as the engine tells ranks apart (the
            host's counts RDs per rank, and ACTs only in all).
        llc: only with a last-level cache. A clock a line, hit or not, spread evenly over the channels.
    """
    timing = config.dram.timings()
    channels = config.memory.channels
    ranks = channels * config.memory.ranks
    acts, reads = total(counters, "act"), total(counters, "rd")
    if config.nmp is None:
        bursts, instruction_clocks = reads + total(counters, "wr"), 0
    else:
        bursts = total(counters, "result_bursts") + total(counters, "host_lines")
        instructions = sum(total(counters, name) for name in INSTRUCTIONS)
        instruction_clocks = -(-instructions // config.nmp.instructions_per_clock)
        if config.nmp.command_mode == "ddr":
            instruction_clocks = total(counters, "ca_commands")

    def activations(count: int) -> int:
        # the first four are free, each further one waits for the fourth last
        return max(0, count - 1) // 4 * timing.nFAW

    def columns(count: int) -> int:
        return max(0, count - 1) * timing.nCCDS

    faw, ccd = activations(-(-acts // ranks)), columns(-(-reads // ranks))
    return {
        # bursts come whole; which channel has most of both is not known, so that their sum is spread
        "bus": max(
            -(-bursts // channels) * timing.nBL, -(-(bursts * timing.nBL + instruction_clocks) // channels)
        ),
        "faw": faw,
        "ccd": ccd,
        "slowest_rank": max(
            faw,
            ccd,
            *map(activations, by_rank(counters, "act")),
            *map(columns, by_rank(counters, "rd")),
        ),
        **({"llc": -(-total(counters, "lines") // channels)} if config.has_llc else {}),
    }


def llc_hit_rate(counters: Mapping[str, int]) -> float | None:
    """Share of the lines that the host's last-level cache has; None without one, and for no lines."""
    hits, misses = total(counters, "llc_hits"), total(counters, "llc_misses")
    return hits / (hits + misses) if hits + misses else None


_CACHE_HITS = ("cache_hits", "cache_secondary_hits")
_CACHE_LINES = (*_CACHE_HITS, "cache_misses", "cache_bypasses")


def hit_rate(counters: Mapping[str, int]) -> float | None:
    """Share of all line accesses that hit a RankCache, secondary hits included; None without one or without lines."""
    hits, lines = (sum(total(counters, name) for name in names) for names in (_CACHE_HITS, _CACHE_LINES))
    return hits / lines if lines else None


def lines_by_rank(counters: Mapping[str, int]) -> list[int]:
    """Lines that each rank delivered for lookups, in rank order: read from its DRAM, or hit in its RankCache."""
    # near memory, a rank's reads are also those of other programs; a host has no others
    return by_rank(counters, "lookup_lines") or by_rank(counters, "rd")


def hit_rates(counters: Mapping[str, int]) -> list[float | None]:
    """The hit rate of each rank, in rank order; empty without a RankCache."""
    hits, lines = (
        [sum(rank) for rank in zip(*(by_rank(counters, name) for name in names), strict=True)]
        for names in (_CACHE_HITS, _CACHE_LINES)
    )
    return [mine / of if of else None for mine, of in zip(hits, lines, strict=True)]


def stalls(counters: Mapping[str, int]) -> dict[str, float]:
    """Share of the clocks of all ranks that went to each cause (D18); empty if they were not counted."""
    clocks = {cause: total(counters, f"clocks_{cause}") for cause in CAUSES}
    whole = sum(clocks.values())
    return {cause: count / whole for cause, count in clocks.items()} if whole else {}
