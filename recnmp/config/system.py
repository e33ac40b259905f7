"""A whole system, frozen and strict: memory, placement, host, refresh, near-memory units, energy, run.

Every number has a unit and a source: "design Dn" is decision n of docs/decisions.md, "[R]" is recalled from the
RecNMP paper (Ke et al., ISCA 2020) and not re-read, "[P]" is in its abstract or summaries.
Clocks are always DRAM command clocks (tCK, design D1).
"""

from __future__ import annotations

import re
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from ..errors import RecnmpError
from .cache import LINE_BYTES, MOST_BYTES, MOST_WAYS, Bytes, CachePolicy, check_cache
from .dram import ChannelConfig, Organisation, Timing, nearest, organisation_preset, timing_preset
from .order import check_mapping
from .section import NONE, OrNone, Section, field_of
from .traffic import Traffic
from .units import Nmp

PAGE_BYTES = 4096
BURST_BYTES = LINE_BYTES
HOST = "host"  # the baseline
NEAR_MEMORY = ("nmp", "traffic")  # sections that a host does not have
# Widths of the address in an NMP instruction (design D8), as largest counts.
ADDRESS_LIMITS = {"ranks": 8, "bank groups": 4, "banks a group": 4, "rows": 1 << 18, "bursts a row": 128}


_NAME = re.compile(
    r"[A-Za-z0-9._+-]{1,40}"
)  # of a system: what tables, figures and --set can show and tell apart


class Dram(Section):
    """The DRAM devices: a speed bin, an organisation, and single timings that replace those of the bin."""

    timing: str = field_of(
        "DDR4_2400R", "speed bin", "name", "DDR4-2400 [P/R] RecNMP paper; its bin as in docs/dram.md"
    )
    organisation: str = field_of("DDR4_8Gb_x8", "device density and width", "name", "[P/R] RecNMP paper")
    rule_set: Literal["jedec", "ramulator-2.1"] = field_of(
        "jedec", "timing rules; they differ in RD to WR of another rank", "name", "deviation D-1"
    )
    overrides: dict[str, int] = field_of(
        {}, "timings that replace those of the speed bin, such as nFAW = 30", "clocks", "user"
    )

    @field_validator("overrides", mode="before")
    @classmethod
    def _taken_back(cls, overrides: Any) -> Any:
        if isinstance(overrides, dict):
            return {name: value for name, value in overrides.items() if value != NONE}
        return {} if overrides == NONE else overrides

    @field_validator("overrides")
    @classmethod
    def _known_timings(cls, overrides: dict[str, int]) -> dict[str, int]:
        for name, value in overrides.items():
            if name not in Timing.model_fields:
                raise RecnmpError(f"unknown timing '{name}', {nearest(name, Timing.model_fields)}")
            if name in ("rate", "tCK_ps", "nBL"):
                raise RecnmpError(
                    f"timing {name} = {value}: belongs to the speed bin, choose another with dram.timing"
                )
            if value < 0:
                raise RecnmpError(f"timing {name} = {value}: must be at least 0")
        return dict(overrides)

    @model_validator(mode="after")
    def _resolves(self) -> Self:
        self.timings()
        return self

    def devices(self) -> Organisation:
        """The organisation that the name stands for."""
        return organisation_preset(self.organisation)

    def timings(self) -> Timing:
        """The timings of the speed bin for this organisation, overrides applied."""
        preset = timing_preset(self.timing, self.devices())
        return Timing(**{**preset.model_dump(), **self.overrides}) if self.overrides else preset


class Memory(Section):
    """Geometry: all ranks of a channel are numbered through, rank = DIMM * ranks_per_dimm + rank in DIMM."""

    channels: int = field_of(1, "independent channels", "channels", "[P] RecNMP paper", 1, 64)
    dimms: int = field_of(4, "DIMMs of a channel", "DIMMs", "[P] RecNMP paper", 1, 64)
    ranks_per_dimm: int = field_of(2, "ranks of a DIMM", "ranks", "[P] RecNMP paper", 1, 64)

    @property
    def ranks(self) -> int:
        """Ranks of a channel."""
        return self.dimms * self.ranks_per_dimm


class PlacementRules(Section):
    """How table rows become places in DRAM (docs/placement.md)."""

    mapping: str = field_of(
        "skylake",
        "physical address to DRAM address: skylake, or an order such as RoBaRaCoCh",
        "name",
        "[P/R] RecNMP paper",
    )
    pages: Literal["sequential", "random", "coloured"] = field_of(
        "random",
        "physical 4 KiB page of a logical one; coloured binds a table to a rank",
        "name",
        "[R] RecNMP paper",
    )
    seed: int = field_of(1, "seed of the random pages", "-", "user", 0, (1 << 63) - 1)
    stride: Literal["packed", "aligned"] = field_of(
        "packed", "distance of rows: their bytes, or rounded up to 64", "name", "design D7"
    )

    @field_validator("mapping")
    @classmethod
    def _known_mapping(cls, name: str) -> str:
        return check_mapping(name)


class Host(Section):
    """The host's memory controller and its source of reads."""

    read_queue: int = field_of(32, "read queue of a channel", "entries", "[P/R] RecNMP paper", 1, 4096)
    write_queue: int = field_of(32, "write queue of a channel", "entries", "[P/R] RecNMP paper", 1, 4096)
    outstanding: OrNone = field_of(
        None, "reads in flight on a channel; none: bounded by the queue", "reads", "design D14", 1
    )
    llc_bytes: Bytes = field_of(
        0, "last-level cache in front of all channels; 0: none", "bytes", "design D14", 0, MOST_BYTES
    )
    llc_ways: int = field_of(
        16, "lines of a set of the last-level cache", "lines", "design D14", 1, MOST_WAYS
    )
    llc_policy: CachePolicy = field_of(
        "lru", "replacement in the last-level cache: lru, fifo, random, tree-plru", "name", "design D14"
    )

    @model_validator(mode="after")
    def _cache_can_be_built(self) -> Self:
        check_cache("host.llc", self.llc_bytes, self.llc_ways, self.llc_policy)
        return self


class Refresh(Section):
    """All-bank refresh."""

    enabled: bool = field_of(True, "refresh is issued", "-", "design D13")
    stagger: int = field_of(
        0, "rank-NMP: refresh of rank r is due r * stagger clocks later", "clocks", "design D13", 0
    )


_MOST_PJ = 1e9  # far above any real event, far below what sums of events could overflow


class EnergyTable(Section):
    """Energy of an event (dynamic energy only; no background, no refresh)."""

    activate_pj: float = field_of(2100.0, "one ACT of a rank", "pJ", "[R] RecNMP paper", 0, _MOST_PJ)
    read_pj_per_bit: float = field_of(
        14.0, "data read from a rank", "pJ/bit", "[R] RecNMP paper", 0, _MOST_PJ
    )
    write_pj_per_bit: float = field_of(
        14.0, "data written to a rank", "pJ/bit", "[R] RecNMP paper", 0, _MOST_PJ
    )
    io_pj_per_bit: float = field_of(
        22.0, "a bit that crosses the channel", "pJ/bit", "[R] RecNMP paper", 0, _MOST_PJ
    )
    buffer_io_pj_per_bit: float = field_of(
        0.0,
        "a bit from a DRAM device to the DIMM's buffer chip, near memory",
        "pJ/bit",
        "unsourced, hence 0 (docs/measures.md)",
        0,
        _MOST_PJ,
    )
    rank_cache_pj: float = field_of(
        50.0, "one probe or fill of a RankCache", "pJ", "[R] RecNMP paper", 0, _MOST_PJ
    )
    fp_add_pj: float = field_of(7.89, "one FP32 addition", "pJ", "[R] RecNMP paper", 0, _MOST_PJ)
    fp_mul_pj: float = field_of(25.2, "one FP32 multiplication", "pJ", "[R] RecNMP paper", 0, _MOST_PJ)
    command_io: bool = field_of(
        True,
        "commands and instructions that cross the channel are charged, on both sides",
        "-",
        "docs/measures.md",
    )
    instruction_bits: int = field_of(79, "an NMP instruction", "bits", "[R] RecNMP paper", 1, 1024)
    offset_instruction_bits: int = field_of(
        83, "an NMP instruction with ByteOffset (stride no multiple of 64)", "bits", "design D8", 1, 1024
    )
    host_command_bits: int = field_of(24, "a DDR command of the host", "bits", "docs/measures.md", 1, 1024)


class Run(Section):
    """How batches follow each other."""

    mode: Literal["closed", "stream"] = field_of(
        "closed",
        "closed: a batch is offered when the one before has ended; stream: back to back",
        "name",
        "docs/measures.md",
    )
    stalls: bool = field_of(
        True, "count what each clock of a rank goes to (near memory only)", "-", "design D18"
    )


class SystemConfig(Section):
    """A system: `kind` host has no near-memory units (`nmp` and `traffic` are None), kind nmp has them.

    Raises:
        RecnmpError: a named preset does not exist, or a constraint between fields is broken.
        pydantic.ValidationError: a single value is of the wrong type or out of range; the readers of
            recnmp.config.load turn it into a RecnmpError of one line that names the file and the key.
    """

    name: str = field_of("recnmp-base", "name of the system in tables and results", "name", "user")
    kind: Literal["host", "nmp"] = field_of(
        "nmp", "host baseline or near-memory processing", "name", "design"
    )
    dram: Dram = Field(default_factory=Dram)
    memory: Memory = Field(default_factory=Memory)
    placement: PlacementRules = Field(default_factory=PlacementRules)
    host: Host = Field(default_factory=Host)
    refresh: Refresh = Field(default_factory=Refresh)
    nmp: Nmp | None = None
    traffic: Traffic | None = None
    energy: EnergyTable = Field(default_factory=EnergyTable)
    run: Run = Field(default_factory=Run)

    @field_validator("name")
    @classmethod
    def _short_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise RecnmpError(
                f"{name!r} cannot name a system (a file without `name` has that of the file): "
                "1 to 40 letters, digits and . _ - +"
            )
        return name

    @model_validator(mode="before")
    @classmethod
    def _units(cls, data: Any) -> Any:
        """A near-memory system that says nothing of its units has the default ones."""
        if isinstance(data, dict) and data.get("kind", "nmp") == "nmp":
            data = {key: value for key, value in data.items() if key not in NEAR_MEMORY or value is not None}
            return {"nmp": Nmp(), "traffic": Traffic(), **data}
        return data

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        self.channel_config()  # the channel has limits of its own
        self._check_stagger()
        if self.kind == "host":
            for section in NEAR_MEMORY:
                if getattr(self, section) is not None:
                    raise RecnmpError(f"system '{self.name}' is a host: it has no section {section}")
            return self
        if self.name == HOST:
            raise RecnmpError(
                f"system '{self.name}' has near-memory units: only a host may have the name of the baseline"
            )
        if (
            self.units.rank_cache_bytes
            and self.units.rank_cache_flush == "batch"
            and self.run.mode == "stream"
        ):
            raise RecnmpError(
                "nmp.rank_cache_flush = 'batch': only with run.mode = 'closed', in a stream batches overlap (D15)"
            )
        devices = self.dram.devices()
        counts = (self.memory.ranks, devices.bankgroups, devices.banks, devices.rows, devices.bursts_per_row)
        for (what, most), count in zip(ADDRESS_LIMITS.items(), counts, strict=True):
            if count > most:
                raise RecnmpError(
                    f"{count} {what}: the address of an NMP instruction names at most {most} (D8)"
                )
        return self

    def _check_stagger(self) -> None:
        """Every rank refreshes once within each REFI (D13)."""
        last, interval = max(1, self.memory.ranks - 1), self.dram.timings().nREFI
        if self.refresh.stagger * last >= interval:
            raise RecnmpError(
                f"refresh.stagger = {self.refresh.stagger}: 0 to {(interval - 1) // last} with "
                f"{self.memory.ranks} ranks, so that all refresh within nREFI = {interval} clocks (D13)"
            )

    @property
    def units(self) -> Nmp:
        """Section nmp of a near-memory system."""
        if self.nmp is None:
            raise RecnmpError(f"system '{self.name}' is a host: it has no near-memory units")
        return self.nmp

    @property
    def reads_per_1000_clocks(self) -> int:
        """Host traffic beside the near-memory work, of a channel (D17); 0 if there is none."""
        return 0 if self.traffic is None else self.traffic.reads_per_1000_clocks

    def without_traffic(self) -> SystemConfig:
        """The same near-memory system without host traffic, by a name that no other system can have."""
        quiet = (
            Traffic()
            if self.traffic is None
            else self.traffic.model_copy(update={"reads_per_1000_clocks": 0})
        )
        return self.model_copy(update={"name": f"{self.name} (no traffic)", "traffic": quiet})

    def channel_config(self) -> ChannelConfig:
        """One channel of this memory, as the DRAM engine takes it."""
        return ChannelConfig(
            timing=self.dram.timings(),
            organisation=self.dram.devices(),
            ranks=self.memory.ranks,
            read_queue=self.host.read_queue,
            write_queue=self.host.write_queue,
            outstanding=self.host.outstanding,
            refresh=self.refresh.enabled,
            rule_set=self.dram.rule_set,
        )

    @property
    def has_llc(self) -> bool:
        """Is it a host with a last-level cache? In a near-memory system section host is its baseline's."""
        return self.kind == "host" and self.host.llc_bytes > 0

    def as_host(self, name: str = HOST) -> SystemConfig:
        """The baseline of this system: the same memory, rules, placement, refresh and queues (D14)."""
        return self.model_copy(update={"name": name, "kind": "host", **dict.fromkeys(NEAR_MEMORY)})

    def baseline(self) -> SystemConfig:
        """What this system is measured against: the host of its memory, or itself if it is such a host (D14).

        A host with a last-level cache is measured against that without, unless `host` is its very name.
        """
        if self.kind == "nmp":
            return self.as_host()
        if self.name == HOST or not self.has_llc:
            return self
        return self.as_host().model_copy(update={"host": self.host.model_copy(update={"llc_bytes": 0})})
