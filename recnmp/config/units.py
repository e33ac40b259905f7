"""Section nmp: the near-memory units.

Marks of sources are those of recnmp.config.system.
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from ..errors import RecnmpError
from .cache import MOST_WAYS, Bytes, CachePolicy, check_cache
from .section import OrNone, Section, field_of

TAGS = 16  # partial sums of a rank-NMP: PsumTag has 4 bits ([R] RecNMP paper)


class Nmp(Section):
    """Near-memory units: the channel bus, the rank-NMPs and their datapath (docs/microarchitecture.md)."""

    instructions_per_clock: Literal[1, 2] = field_of(
        2, "NMP instructions that cross the channel in a clock", "instructions/clock", "[R] design D2"
    )
    command_mode: Literal["compressed", "ddr"] = field_of(
        "compressed",
        "compressed: NMP instructions; ddr: the plain DDR commands that they stand for, one a clock",
        "name",
        "design D2",
    )
    bus_turnaround: int = field_of(
        2,
        "idle clocks of the bus between instructions and results, and between DIMMs",
        "clocks",
        "design D2",
        0,
        1024,
    )
    nmp_clock_divider: Literal[1, 2, 4] = field_of(
        1, "the logic of rank-NMPs and DIMM-NMPs works on one clock in so many", "clocks", "design D1"
    )
    poolings_per_packet: int = field_of(8, "whole poolings of a packet", "poolings", "[R] design D6", 1, TAGS)
    packets_in_flight: OrNone = field_of(
        None,
        "packets in flight on a channel; none: floor(16 / poolings_per_packet), and never more",
        "packets",
        "design D6",
        1,
        TAGS,
    )
    fifo: int = field_of(64, "instruction FIFO of a rank-NMP", "instructions", "design D4", 1, 1 << 16)
    window: int = field_of(
        16, "instructions that a rank-NMP schedules among", "instructions", "design D4", 1, 1024
    )
    rank_cache_bytes: Bytes = field_of(
        0, "RankCache of a rank-NMP; 0: none", "bytes", "design D5, [P] RecNMP paper", 0, 1 << 26
    )
    rank_cache_ways: int = field_of(4, "lines of a set of the RankCache", "lines", "design D5", 1, MOST_WAYS)
    rank_cache_policy: CachePolicy = field_of(
        "lru", "replacement in the RankCache: lru, fifo, random, tree-plru", "name", "[P] RecNMP paper"
    )
    rank_cache_flush: Literal["never", "batch"] = field_of(
        "never", "when the RankCache is emptied: never, or before each batch", "name", "design D15"
    )
    skip_full_rank: bool = field_of(
        False, "an instruction may pass the head whose rank has no credit", "-", "design D12"
    )
    local_bus: Literal["none", "per_dimm"] = field_of(
        "none", "per_dimm: the ranks of a DIMM share C/A and DQ, and all rules bind", "name", "design D4"
    )
    dequantise_multiply: int = field_of(4, "pipeline stages: scale", "clocks", "design D9", 1, 64)
    dequantise_add: int = field_of(3, "pipeline stages: bias", "clocks", "design D9", 1, 64)
    multiply: int = field_of(4, "pipeline stages: weight", "clocks", "[R] design D9", 1, 64)
    accumulate: int = field_of(
        3, "pipeline stages: adder of the partial sums and of the tree", "clocks", "[R] design D9", 1, 64
    )

    @model_validator(mode="after")
    def _tags_suffice(self) -> Self:
        most = TAGS // self.poolings_per_packet
        if self.packets_in_flight is not None and self.packets_in_flight > most:
            raise RecnmpError(
                f"nmp.packets_in_flight = {self.packets_in_flight}: {TAGS} tags in groups of "
                f"{self.poolings_per_packet} poolings allow 1 to {most} (D6)"
            )
        return self

    @model_validator(mode="after")
    def _cache_can_be_built(self) -> Self:
        check_cache("nmp.rank_cache", self.rank_cache_bytes, self.rank_cache_ways, self.rank_cache_policy)
        return self

    @property
    def tag_groups(self) -> int:
        """K of design D6: packets that may be in flight on a channel."""
        return self.packets_in_flight or TAGS // self.poolings_per_packet
