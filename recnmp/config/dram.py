"""The DRAM of one channel: timings, organisation and controller, frozen and strict.

Numbers come from `presets/ddr4.toml` (source: the DDR4 tables of Ramulator 2.1, after JEDEC JESD79-4).
Every field carries its unit and source in `model_fields[name].json_schema_extra`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, model_validator

from ..errors import RecnmpError

RuleSet = Literal["ramulator-2.1", "jedec"]
JEDEC = "JEDEC JESD79-4 by way of Ramulator 2.1's DDR4 tables"


def nearest(word: str, known: Iterable[str]) -> str:
    """Text naming the known word closest to `word`, for error messages; all of them if none is close."""
    names = list(known)
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"nearest is {close[0]}" if close else f"known are {', '.join(names)}"


def _one_line(model: type[BaseModel], error: ValidationError) -> str:
    """The first complaint of pydantic in one line: place, value, allowed range."""
    first = error.errors()[0]
    place = ".".join([model.__name__, *map(str, first["loc"])])
    if first["type"] == "extra_forbidden":
        return f"{place}: no such setting, {nearest(str(first['loc'][-1]), model.model_fields)}"
    if first["type"] == "missing":
        return f"{place}: missing"
    return f"{place} = {first['input']!r}: {first['msg']}"


class _Strict(BaseModel):
    """Frozen, no unknown key, no conversion; what does not fit raises RecnmpError in one line."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_line(cls, data: Any, handler: ModelWrapValidatorHandler[Any]) -> Any:
        try:
            return handler(data)
        except ValidationError as error:
            raise RecnmpError(_one_line(cls, error)) from None


def _field(description: str, unit: str, low: int = 1, high: int = 1_000_000, source: str = JEDEC) -> Any:
    return Field(ge=low, le=high, description=description, json_schema_extra={"unit": unit, "source": source})


class Timing(_Strict):
    """DDR4 timings of one speed bin and device, in clocks (tCK) unless said."""

    rate: Annotated[int, _field("data rate", "MT/s")]
    nBL: Annotated[int, _field("burst on the data bus: 8 beats", "clocks")]
    nCL: Annotated[int, _field("CAS latency: RD to first data", "clocks")]
    nRCD: Annotated[int, _field("ACT to RD or WR of a bank", "clocks")]
    nRP: Annotated[int, _field("precharge time", "clocks")]
    nRAS: Annotated[int, _field("ACT to PRE of a bank", "clocks")]
    nRC: Annotated[int, _field("ACT to ACT of a bank", "clocks")]
    nWR: Annotated[int, _field("write recovery: end of write data to PRE", "clocks")]
    nRTP: Annotated[int, _field("RD to PRE", "clocks")]
    nCWL: Annotated[int, _field("CAS write latency: WR to first data", "clocks")]
    nCCDS: Annotated[int, _field("RD to RD or WR to WR, other bank group", "clocks")]
    nCCDL: Annotated[int, _field("RD to RD or WR to WR, same bank group", "clocks")]
    nWTRS: Annotated[int, _field("end of write data to RD, other bank group", "clocks")]
    nWTRL: Annotated[int, _field("end of write data to RD, same bank group", "clocks")]
    nCS: Annotated[int, _field("rank switch on the data bus", "clocks", 0, source="Ramulator 2.1")]
    nRRDS: Annotated[int, _field("ACT to ACT, other bank group", "clocks")]
    nRRDL: Annotated[int, _field("ACT to ACT, same bank group", "clocks")]
    nFAW: Annotated[int, _field("window that holds at most four ACT of a rank", "clocks")]
    nRFC: Annotated[int, _field("REFab to next command of a rank", "clocks", source="Ramulator 2.1, see D-2")]
    nREFI: Annotated[int, _field("REFab every so many clocks", "clocks", 1, 2**40, "Ramulator 2.1, see D-2")]
    tCK_ps: Annotated[int, _field("clock period", "ps")]

    @model_validator(mode="after")
    def _refresh_leaves_room(self) -> Timing:
        # below this a rank can spend all its time refreshing, and no request would ever end
        low = self.nRFC + self.nRC + self.nRP + self.nFAW
        if self.nREFI < low:
            raise RecnmpError(
                f"Timing.nREFI = {self.nREFI}: below nRFC + nRC + nRP + nFAW = {low}: only refresh"
            )
        return self


class Organisation(_Strict):
    """How one rank is laid out. A rank is `channel_width // dq` devices that act as one."""

    density_mb: Annotated[int, _field("density of one device", "Mbit", high=1 << 20)]
    dq: Annotated[int, _field("data pins of one device", "pins", 4, 16)]
    channel_width: Annotated[int, _field("data pins of a rank, without ECC", "pins", 64, 64)]
    bankgroups: Annotated[int, _field("bank groups of a rank", "bank groups", 1, 64)]
    banks: Annotated[int, _field("banks of a bank group", "banks", 1, 64)]
    rows: Annotated[int, _field("rows of a bank", "rows", high=1 << 30)]
    columns: Annotated[int, _field("device columns of a row (a burst is 8)", "columns", 8, 1 << 20)]

    @model_validator(mode="after")
    def _fits(self) -> Organisation:
        if self.dq not in (4, 8, 16):
            raise RecnmpError(f"Organisation.dq = {self.dq}: a DDR4 device has 4, 8 or 16 data pins")
        if self.columns % 8:
            raise RecnmpError(
                f"Organisation.columns = {self.columns}: no multiple of 8, the columns of a burst"
            )
        if self.bankgroups * self.banks > 64:
            raise RecnmpError(
                f"Organisation.bankgroups * banks = {self.bankgroups * self.banks}: at most 64 banks a rank"
            )
        return self

    @property
    def bursts_per_row(self) -> int:
        """64-byte bursts in a row of a rank."""
        return self.columns // 8

    @property
    def row_bytes(self) -> int:
        """Bytes in a row of a rank: 8 KiB with 1024 columns on 64 pins."""
        return self.columns * self.channel_width // 8

    @property
    def rank_bytes(self) -> int:
        """Bytes in a rank."""
        return self.bankgroups * self.banks * self.rows * self.row_bytes


class ChannelConfig(_Strict):
    """One host channel: ranks of one kind behind one FR-FCFS controller (D14, docs/dram.md)."""

    timing: Timing
    organisation: Organisation
    ranks: Annotated[int, _field("ranks on the channel", "ranks", 1, 64, "[P] RecNMP paper")]
    read_queue: Annotated[int, _field("read queue", "entries", source="[P/R] RecNMP paper")] = 32
    write_queue: Annotated[int, _field("write queue", "entries", source="[P/R] RecNMP paper")] = 32
    outstanding: Annotated[
        int | None, _field("most reads between acceptance and last datum; none: the queue bounds", "reads")
    ] = None
    refresh: bool = Field(default=True, description="REFab every nREFI clocks (D13)")
    rule_set: RuleSet = Field(default="ramulator-2.1", description="rule rows in force, see D-1")

    def channel_config(self) -> ChannelConfig:
        """Itself, so that any system that has a channel can be handed to `replay_dram`."""
        return self


@cache
def _ddr4() -> Mapping[str, Any]:
    text = (files("recnmp.presets") / "ddr4.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def timing_presets() -> list[str]:
    """Names of all speed bins, such as DDR4_2400R, from the slowest rate to the fastest."""
    return list(_ddr4()["speed_bins"])


def organisation_presets() -> list[str]:
    """Names of all organisations, such as DDR4_8Gb_x8."""
    return list(_ddr4()["organisations"])


def organisation_preset(name: str) -> Organisation:
    """The organisation called `name`; RecnmpError naming the nearest if there is none."""
    known = _ddr4()["organisations"]
    if name not in known:
        raise RecnmpError(f"organisation {name!r} is unknown, {nearest(name, known)}")
    return Organisation(**known[name])


def timing_preset(bin: str, organisation: Organisation) -> Timing:
    """All timings of speed bin `bin` for devices of `organisation`; RecnmpError if there are none.

    RRD and FAW follow from rate and device width; RFC from density; RFC and REFI are rounded up to clocks.
    """
    tables = _ddr4()
    if bin not in tables["speed_bins"]:
        raise RecnmpError(f"speed bin {bin!r} is unknown, {nearest(bin, tables['speed_bins'])}")
    speed = tables["speed_bins"][bin]
    rfc = tables["refresh"]["RFC_ns"]
    if str(organisation.density_mb) not in rfc:
        raise RecnmpError(
            f"density_mb = {organisation.density_mb}: no RFC is known, only for {', '.join(rfc)}"
        )

    def clocks(ns: int) -> int:
        return -(-ns * 1000 // int(speed["tCK_ps"]))

    return Timing(
        **speed,
        **tables["secondary"][f"{speed['rate']}/x{organisation.dq}"],
        nRFC=clocks(rfc[str(organisation.density_mb)]),
        nREFI=clocks(tables["refresh"]["REFI_ns"]),
    )


def default_bin(rate: int) -> str:
    """The default speed bin of a rate in MT/s: its second fastest (2400: DDR4_2400R, 3200: DDR4_3200AA)."""
    bins = [name for name, speed in _ddr4()["speed_bins"].items() if speed["rate"] == rate]
    if not bins:
        rates = sorted({speed["rate"] for speed in _ddr4()["speed_bins"].values()})
        raise RecnmpError(f"no DDR4 speed bin has rate {rate} MT/s, known are {', '.join(map(str, rates))}")
    return str(bins[1])


_CHANNEL_NAME = re.compile(r"ddr4-(\d+)([a-z]*)-(?:(\d+gb)-)?(?:(x\d+)-)?(\d+)rank", re.IGNORECASE)


def channel_preset(name: str) -> ChannelConfig:
    """A channel by name: `ddr4-RATE[BIN]-[DENSITY-][WIDTH-]NUMBERrank`, RecnmpError if it is none.

    `ddr4-2400-2rank` is two ranks of 8 Gb x8 devices at DDR4_2400R (see `default_bin`);
    `ddr4-3200ac-16gb-x4-4rank` says all.
    """
    match = _CHANNEL_NAME.fullmatch(name)
    if match is None:
        raise RecnmpError(
            f"channel preset {name!r} is not of the form ddr4-RATE[BIN]-[DENSITY-][WIDTH-]NUMBERrank, "
            "such as ddr4-2400-2rank or ddr4-3200ac-16gb-x4-4rank"
        )
    rate, letters, density, width, ranks = match.groups()
    bin = f"DDR4_{rate}{letters.upper()}" if letters else default_bin(int(rate))
    gigabits = (density or "8gb")[:-2]
    organisation = organisation_preset(f"DDR4_{gigabits}Gb_{(width or 'x8').lower()}")
    return ChannelConfig(timing=timing_preset(bin, organisation), organisation=organisation, ranks=int(ranks))
