"""Section nmp: the near-memory units.

Marks of sources are those of recnmp.config.system.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic_core import PydanticCustomError

from ..errors import RecnmpError
from .cache import MOST_WAYS, Bytes, CachePolicy, check_cache
from .section import OrNone, Section, field_of

TAGS = 16  # partial sums of a rank-NMP: PsumTag has 4 bits ([R] RecNMP paper)


MOST_THRESHOLD = (1 << 16) - 1


def _threshold(value: Any) -> Any:
    if value == "auto" or (
        isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MOST_THRESHOLD
    ):
        return value
    raise PydanticCustomError("threshold", f"allowed is 'auto', or 1 to {MOST_THRESHOLD}")


Threshold = Annotated[int | Literal["auto"], BeforeValidator(_threshold)]


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
    threads: int = field_of(
        1, "co-located SLS threads; table t belongs to thread t mod threads", "threads", "design D6", 1, 256
    )
    packet_queue: int = field_of(
        64, "packets that the packet scheduler of the host sees", "packets", "design D6", 1, 4096
    )
    packet_policy: Literal["fcfs", "round-robin", "table-aware"] = field_of(
        "fcfs",
        "which packet goes next: fcfs, round-robin over the threads, table-aware",
        "name",
        "design D6, [P] RecNMP paper",
    )
    starvation_limit: int = field_of(
        64, "picks in a row that may pass over the oldest packet", "picks", "design D6", 0, (1 << 16) - 1
    )
    instruction_order: Literal["pooling", "interleaved"] = field_of(
        "pooling",
        "LOOKUPs of a packet: pooling by pooling, or in turn by rank",
        "name",
        "design D6",
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
    hot_entries: Literal["all", "exact", "sketch"] = field_of(
        "all",
        "which lookups may use the RankCache: all, or those of hot entries, counted exactly or by a sketch",
        "name",
        "[P] RecNMP paper, design D16",
    )
    hot_threshold: Threshold = field_of(
        "auto",
        "accesses in a batch from which on an entry is hot; auto: of 1, 2, 3, 4, 6, 8, 12, 16 the best of each table",
        "accesses",
        "design D16",
    )
    hot_scope: Literal["trace", "batch"] = field_of(
        "trace",
        "hot_threshold auto: one a table for the whole trace, or anew for each batch",
        "name",
        "design D16",
    )
    sketch_rows: int = field_of(
        4, "sketch of the hot-entry profiler: rows", "rows", "docs/microarchitecture.md", 1, 8
    )
    sketch_counters: int = field_of(
        4096,
        "sketch: counters of a row, a power of two",
        "counters",
        "docs/microarchitecture.md",
        64,
        1 << 20,
    )
    sketch_counter_bits: int = field_of(
        8, "sketch: width of a counter, which saturates", "bits", "docs/microarchitecture.md", 2, 16
    )
    sketch_clear: Literal["table", "batch"] = field_of(
        "table",
        "sketch: cleared before each table of a batch, or once a batch",
        "name",
        "docs/microarchitecture.md",
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

    @model_validator(mode="after")
    def _hot_entries_mean_something(self) -> Self:
        if self.hot_entries != "all" and not self.rank_cache_bytes:
            raise RecnmpError(
                f"nmp.hot_entries = '{self.hot_entries}': only with a RankCache (nmp.rank_cache_bytes), which hot "
                "entries would use"
            )
        counted, sketched = self.hot_entries != "all", self.hot_entries == "sketch"
        needs = {
            "hot_threshold": (counted, "nmp.hot_entries exact or sketch"),
            "hot_scope": (counted and self.hot_threshold == "auto", "nmp.hot_threshold auto of hot entries"),
            **{
                name: (sketched, "nmp.hot_entries sketch")
                for name in type(self).model_fields
                if "sketch_" in name
            },
        }
        for name, (used, where) in needs.items():
            value = getattr(self, name)
            if not used and value != type(self).model_fields[name].default:
                raise RecnmpError(f"nmp.{name} = {value!r}: only with {where}")
        if self.sketch_counters & (self.sketch_counters - 1):
            raise RecnmpError(
                f"nmp.sketch_counters = {self.sketch_counters}: a power of two, 64 to {1 << 20}"
            )
        if sketched and self.hot_threshold != "auto" and self.hot_threshold > self.most_counted:
            raise RecnmpError(
                f"nmp.hot_threshold = {self.hot_threshold}: counters of {self.sketch_counter_bits} bits count to "
                f"{self.most_counted} (nmp.sketch_counter_bits)"
            )
        return self

    @property
    def most_counted(self) -> int:
        """Where a counter of the sketch saturates."""
        return (1 << self.sketch_counter_bits) - 1

    @property
    def tag_groups(self) -> int:
        """K of design D6: packets that may be in flight on a channel."""
        return self.packets_in_flight or TAGS // self.poolings_per_packet
