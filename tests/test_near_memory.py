"""The near-memory kernels against the naive machine that was written from the page alone, clock by clock."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest
from cache_corners import cache_corners
from hypothesis import given, settings
from machine_cases import Case, cases, is_lookup, random_case
from machine_corners import corners
from naive_machine import Log
from row_corners import row_corners

from recnmp.config.dram import organisation_preset
from recnmp.isa import CONFIG
from recnmp.kernels.channel import Channel
from recnmp.kernels.dimm_nmp import DimmNmp
from recnmp.kernels.dram import Device, TimingTable
from recnmp.kernels.host_traffic import TRAFFIC_COUNTERS, HostTraffic
from recnmp.kernels.operand_path import OperandPath
from recnmp.kernels.rank_cache import RankCache
from recnmp.kernels.rank_nmp import RankNmp
from recnmp.kernels.rank_window import RankWindow
from recnmp.kernels.stalls import Stalls
from recnmp.kernels.window_entries import RANK_COUNTERS, WindowEntries
from recnmp.timing import rules

Rows = list[tuple[int, ...]]

DEFAULTS = {
    "fifo": 64,
    "window": 16,
    "poolings_per_packet": 8,
    "packets_in_flight": None,
    "instructions_per_clock": 2,
    "bus_turnaround": 2,
    "stagger": 0,
    "local_bus": "none",
    "skip_full_rank": False,
    "accumulate": 3,
    "rank_cache_bytes": 0,
    "rank_cache_ways": 4,
    "rank_cache_policy": "lru",
    "rank_cache_flush": "never",
    "command_mode": "compressed",
    "nmp_clock_divider": 1,
    "reads_per_1000_clocks": 0,
    "traffic_seed": 1,
}

# what a packet's lines met, as kernels/packet_log names it
MET = ("hits", "secondary_hits", "misses", "bypasses")

# of each rank
COUNTERS = (
    "wrong_predictions",
    "cache_hits",
    "cache_secondary_hits",
    "cache_misses",
    "cache_bypasses",
    "cache_fills",
    "hazard_clocks",
)


def is_by_line(stream: np.ndarray) -> bool:
    """Whether each line is one operand in all packets: fp32 rows that begin with a line, or lie in one."""
    lookups = stream[is_lookup(stream)]
    end = 4 * (lookups["byte_offset"].astype(int) + lookups["dim"])
    return not np.any((lookups["dtype"] != 0) | ((lookups["byte_offset"] != 0) & (end > 64)))


def kernel(case: Case, general: bool = False, watched: bool = False) -> Channel:
    """The kernel of a case, by the case's own words. general: without the shortcut of operands that never wait.
    watched: clocks of ranks are counted by cause."""
    words, timing, devices = DEFAULTS | case.parameters, case.timing, organisation_preset(case.organisation)
    poolings = words["poolings_per_packet"]
    shared, divider = words["local_bus"] == "per_dimm", words["nmp_clock_divider"]
    device = Device(
        TimingTable(rules(timing, "jedec", "host" if shared else "rank")),
        words["dimms"] * words["ranks_per_dimm"],
        devices.bankgroups,
        devices.banks,
        words["ranks_per_dimm"] if shared else 1,
    )
    operands = OperandPath(
        WindowEntries(device.ranks, words["window"]),
        timing.nCL + timing.nBL,
        words["accumulate"],
        poolings,
        foreseen=not general
        and not words["rank_cache_bytes"]
        and words["accumulate"] * divider <= timing.nCCDS
        and is_by_line(case.stream),
        divider=divider,
    )
    window = RankWindow(
        device,
        words["ranks_per_dimm"],
        operands,
        case.nREFI or 0,
        words["stagger"],
        shared,
    )
    cache = None
    if words["rank_cache_bytes"]:
        cache = RankCache(
            window,
            words["rank_cache_bytes"] // (64 * words["rank_cache_ways"]),
            words["rank_cache_ways"],
            words["rank_cache_policy"],
            devices.rows,
            devices.bursts_per_row,
            words["rank_cache_flush"] == "batch",
        )
    stalls = Stalls(window, words["nmp_clock_divider"]) if watched else None
    ranks = RankNmp(window, words["fifo"], poolings, 11 + words["accumulate"], cache, stalls)
    groups = min(words["packets_in_flight"] or 16, 16 // poolings)
    return Channel(
        ranks,
        DimmNmp(ranks, groups, words["accumulate"]),
        words["instructions_per_clock"],
        words["bus_turnaround"],
        4,
        words["skip_full_rank"],
        words["command_mode"] == "ddr",
        host_traffic(case),
    )


def host_traffic(case: Case) -> HostTraffic | None:
    words, devices = DEFAULTS | case.parameters, organisation_preset(case.organisation)
    if not words["reads_per_1000_clocks"]:
        return None
    return HostTraffic(
        words["reads_per_1000_clocks"],
        words["traffic_seed"],
        words["dimms"],
        words["ranks_per_dimm"],
        devices.bankgroups,
        devices.banks,
        devices.rows,
        devices.bursts_per_row,
    )


def run_kernel(case: Case, skip: bool, drain: bool = True, general: bool = False) -> dict[str, Rows]:
    """All logs of all batches, as rows of integers; of each batch also where it ended, and all counters there."""
    channel = kernel(case, general)
    logs: dict[str, Rows] = {
        "commands": [],
        "operands": [],
        "bursts": [],
        "sends": [],
        "ends": [],
        "packets": [],
        "reads": [],
        "counts": [],
    }
    end = 0
    for number, batch in enumerate(case.batches):
        drained = drain or number == len(case.batches) - 1
        end = channel.run(batch.stream.copy(), end + batch.gap, skip=skip, logging=True, drain=drained)
        commands, operands, bursts, sends = channel.take_logs()
        logs["ends"].append((end,))
        logs["reads"] += channel.take_traffic().tolist()
        counts = (channel.counts(), channel.dimms.counts(), channel.ranks.window.entries.counts())
        logs["counts"].append((channel.now, *(n for block in counts for n in block.ravel().tolist())))
        logs["packets"] += channel.take_packets().tolist()
        for name, log in (
            ("commands", commands),
            ("operands", operands),
            ("bursts", bursts),
            ("sends", sends),
        ):
            logs[name] += log.tolist()
    columns = [RANK_COUNTERS.index(name) for name in COUNTERS]
    logs["counters"] = [
        tuple(counts) for counts in channel.ranks.window.entries.counts()[:, columns].tolist()
    ]
    logs["traffic"] = traffic_rows(channel)
    return logs


def traffic_rows(channel: Channel) -> Rows:
    """Latencies of the host's reads, how many had each, and the longest queue."""
    if channel.traffic is None:
        return [(0,)]
    queue = channel.traffic.counts(channel.now)[TRAFFIC_COUNTERS.index("longest_queue")]
    return [*map(tuple, channel.traffic.latencies().tolist()), (int(queue),)]


def packets_of(case: Case, log: Log) -> Rows:
    """The twin's packets in the order in which they end: what its log says of their clocks, lines and ranks."""
    config, left = {}, iter(log.sends)
    for batch in case.batches:
        for clk, at in islice(left, len(batch.stream)):
            if batch.stream[at]["opcode"] == CONFIG:
                config[batch.stream[at]["packet"]] = clk
    crossed = {packet: clk + 4 for clk, _, packet, _, _ in log.bursts}
    rows = []
    for packet, end in sorted(crossed.items(), key=lambda item: item[1]):
        met = [[counters[kind, packet] for kind in MET] for counters in log.counters]
        rows.append((packet, config[packet], end, *map(sum, zip(*met, strict=True)), max(map(sum, met))))
    return rows


def leading_bits(latency: int) -> int:
    """Of a long latency 14 bits are kept."""
    cut = max(0, latency.bit_length() - 14)
    return latency >> cut << cut


def run_twin(case: Case) -> dict[str, Rows]:
    machine = case.machine()
    ends = case.run(machine)
    log = machine.log
    return {
        "commands": sorted(log.commands),
        "operands": sorted(operand for rank in log.operands for operand in rank),
        "bursts": [(clk, packet, dimm, tag, group) for clk, dimm, packet, tag, group in log.bursts],
        "sends": log.sends,
        "ends": [(end,) for end in ends],
        "packets": packets_of(case, log),
        "reads": machine.traffic.log,
        "traffic": [
            *sorted(Counter(map(leading_bits, machine.traffic.latencies())).items()),
            (machine.traffic.longest_queue,),
        ],
        "counters": [tuple(counters[name] for name in COUNTERS) for counters in log.counters],
    }


def check(case: Case) -> None:
    fast = run_kernel(case, skip=True)
    ticked = run_kernel(case, skip=False)
    assert fast == ticked
    general = run_kernel(case, skip=True, general=True)
    twin = run_twin(case)
    # commands of one clock are logged in order of rank by the twin only; the shortcut logs operands ahead
    for logs in (fast, general):
        logs["commands"].sort()
        logs["operands"].sort()
    assert fast == general
    for name, rows in twin.items():
        for mine, other in zip(fast[name], rows, strict=False):
            assert tuple(mine) == tuple(other), name
        assert len(fast[name]) == len(rows), name


@pytest.mark.parametrize("seed", range(60))
def test_random_cases(seed: int) -> None:
    """Larger cases than hypothesis draws."""
    check(random_case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 320))
def test_many_random_cases(seed: int) -> None:
    """Some rules change only one random case in a hundred."""
    check(random_case(seed))


@pytest.mark.parametrize("seed", range(1000, 1060))
def test_batches_back_to_back(seed: int) -> None:
    """Each batch but the last is left when it is sent: no rank has gone further by then than ticks take it."""
    case = random_case(seed)
    if case.parameters.get("rank_cache_flush") == "batch":
        case.parameters["rank_cache_flush"] = "never"  # which needs batches that end
    assert run_kernel(case, True, drain=False) == run_kernel(case, False, drain=False)


CORNERS = corners() | cache_corners() | row_corners()


@pytest.mark.parametrize("name", sorted(CORNERS))
def test_corners(name: str) -> None:
    """Cases made by hand for rules that random cases hardly reach."""
    check(CORNERS[name])


@settings(max_examples=150, deadline=None)
@given(cases())
def test_drawn_cases(case: Case) -> None:
    """Small ones, which shrink to the first rule that differs."""
    check(case)
