"""What the kernels of one channel have counted, by the names of recnmp.stats.COUNTERS."""

from __future__ import annotations

from .kernels.channel import Channel
from .kernels.dimm_nmp import DIMM_COUNTERS
from .kernels.host_bus import CHANNEL_COUNTERS
from .kernels.host_traffic import TRAFFIC_COUNTERS
from .kernels.stalls import CAUSES
from .kernels.window_entries import RANK_COUNTERS
from .stats import per_rank

# counters of stats.py that ranks keep, and their names in the kernel
_PER_RANK = {
    "act": "activates",
    "pre": "precharges",
    "prea": "precharges_all",
    "rd": "reads",
    "ref": "refreshes",
    "row_hits": "row_hits",
    "row_misses": "row_misses",
    "row_conflicts": "row_conflicts",
    "mispredictions": "wrong_predictions",
    "hazard_clocks": "hazard_clocks",
}
_PER_RANK_CACHE = {
    "cache_hits": "cache_hits",
    "cache_secondary_hits": "cache_secondary_hits",
    "cache_misses": "cache_misses",
    "cache_bypasses": "cache_bypasses",
    "cache_fills": "cache_fills",
}
# what a line of a lookup may meet, by the kernel's names
_MET = ("cache_hits", "cache_secondary_hits", "cache_misses", "cache_bypasses")


def traffic_counters(kernel: Channel) -> dict[str, int]:
    """What the host's reads beside the near-memory work met, by the kernel's names; empty if there are none."""
    if kernel.traffic is None:
        return {}
    return dict(zip(TRAFFIC_COUNTERS, map(int, kernel.traffic.counts(kernel.now)), strict=True))


def channel_counters(kernel: Channel, end: int) -> dict[str, int]:
    """Counts since the last reset; of fp_adds those of the adder trees. end: clock at which the last batch ended."""
    channel = dict(zip(CHANNEL_COUNTERS, map(int, kernel.counts()), strict=True))
    dimms = dict(zip(DIMM_COUNTERS, map(int, kernel.dimms.counts()), strict=True))
    traffic = traffic_counters(kernel)
    by_rank = kernel.ranks.window.entries.counts()
    counted = {
        "packets": channel["packets"],
        "instructions": channel["instructions"] - 2 * channel["packets"],
        "packet_instructions": 2 * channel["packets"],
        "instruction_clocks": channel["instruction_clocks"],
        "result_bursts": channel["result_bursts"],
        "ca_commands": channel["instruction_clocks"] if kernel.plain_ddr else 0,
        "host_reads": traffic.get("reads_sent", 0),
        "host_lines": traffic.get("lines_crossed", 0),
        "turnarounds": channel["turnarounds"],
        "fp_adds": dimms["tree_adds"],
    }
    # without a RankCache all are bypasses; the reads of other programs are none of these
    met = [RANK_COUNTERS.index(name) for name in _MET]
    counted |= per_rank("lookup_lines", by_rank[:, met].sum(axis=1))
    cached = _PER_RANK_CACHE if kernel.ranks.cache is not None else {}
    for name, kernel_name in (_PER_RANK | cached).items():
        counted |= per_rank(name, by_rank[:, RANK_COUNTERS.index(kernel_name)])
    if kernel.ranks.stalls is not None:
        clocks = kernel.count_stalls(end)
        for number, cause in enumerate(CAUSES):
            counted |= per_rank(f"clocks_{cause}", clocks[:, number])
    return counted
