"""Channel configuration: presets as recorded, names, and refusals in one line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from recnmp import RecnmpError
from recnmp.config.dram import (
    ChannelConfig,
    Organisation,
    Timing,
    channel_preset,
    default_bin,
    organisation_preset,
    organisation_presets,
    timing_preset,
    timing_presets,
)

SHARED = Path(os.environ.get("RECNMP_SHARED", Path(__file__).parent.parent.parent / "shared"))
GOOD = channel_preset("ddr4-2400-2rank")


def test_presets_hold_every_recorded_number() -> None:
    path = SHARED / "golden" / "ddr4.json"
    if not path.is_file():
        pytest.skip(f"{path} is not here")
    golden = json.loads(path.read_text())
    assert timing_presets() == list(golden["speed_bins"])
    assert organisation_presets() == list(golden["organisations"])
    for organisation_name, o in golden["organisations"].items():
        organisation = organisation_preset(organisation_name)
        assert (organisation.density_mb, organisation.dq, organisation.channel_width) == (
            o["density"],
            o["dq"],
            o["channel_width"],
        )
        assert (organisation.bankgroups, organisation.banks, organisation.rows, organisation.columns) == (
            o["bankgroup"],
            o["bank"],
            o["row"],
            o["column"],
        )
        for bin, speed in golden["speed_bins"].items():
            timing = timing_preset(bin, organisation).model_dump()
            secondary = golden["secondary_by_rate_and_dq"][f"{speed['rate']}/x{o['dq']}"]
            assert {name: timing[name] for name in speed} == speed
            assert {name: timing[name] for name in secondary} == secondary
            for name, ns in (
                ("nRFC", golden["RFC_ns_by_density_Mb"][str(o["density"])]),
                ("nREFI", golden["REFI_ns"]),
            ):
                # the least number of clocks that lasts as long
                assert (timing[name] - 1) * timing["tCK_ps"] < 1000 * ns <= timing[name] * timing["tCK_ps"]


def test_rank_of_8_gigabit_x8_devices_is_8_gigabytes() -> None:
    o = organisation_preset("DDR4_8Gb_x8")
    assert o.row_bytes == 8192
    assert o.bursts_per_row == 128
    assert o.rank_bytes == 8 << 30


@pytest.mark.parametrize("name", organisation_presets())
def test_rank_holds_what_its_devices_hold(name: str) -> None:
    o = organisation_preset(name)
    assert o.rank_bytes * 8 == o.density_mb * 2**20 * (o.channel_width // o.dq)


@pytest.mark.parametrize(
    ("name", "bin", "organisation", "ranks"),
    [
        ("ddr4-2400-2rank", "DDR4_2400R", "DDR4_8Gb_x8", 2),
        ("ddr4-3200-8rank", "DDR4_3200AA", "DDR4_8Gb_x8", 8),
        ("DDR4-3200ac-16Gb-x4-4rank", "DDR4_3200AC", "DDR4_16Gb_x4", 4),
        ("ddr4-1600-x16-1rank", "DDR4_1600K", "DDR4_8Gb_x16", 1),
    ],
)
def test_channels_by_name(name: str, bin: str, organisation: str, ranks: int) -> None:
    channel = channel_preset(name)
    assert channel.organisation == organisation_preset(organisation)
    assert channel.timing == timing_preset(bin, channel.organisation)
    assert channel.ranks == ranks
    assert (channel.read_queue, channel.write_queue, channel.refresh) == (32, 32, True)


@pytest.mark.parametrize("rate", [1600, 1866, 2133, 2400, 2666, 2933, 3200])
def test_default_bin_has_equal_latencies(rate: int) -> None:
    timing = timing_preset(default_bin(rate), organisation_preset("DDR4_8Gb_x8"))
    assert timing.rate == rate
    assert timing.nCL == timing.nRCD == timing.nRP


@pytest.mark.parametrize("model", [Timing, Organisation])
def test_every_number_has_unit_and_source(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        extra = field.json_schema_extra
        assert field.description, name
        assert isinstance(extra, dict), name
        assert extra["unit"], name
        assert extra["source"], name


REFUSED: dict[str, Any] = {
    "nearest is DDR4_2400R": lambda: timing_preset("DDR4_2400RR", GOOD.organisation),
    "nearest is DDR4_8Gb_x8": lambda: organisation_preset("DDR4_8Gb_x9"),
    "no DDR4 speed bin has rate 2401": lambda: channel_preset("ddr4-2401-2rank"),
    "not of the form": lambda: channel_preset("ddr4-2400"),
    "ChannelConfig.ranks = 0": lambda: channel_preset("ddr4-2400-0rank"),
    "ChannelConfig.read_queue = 0": lambda: ChannelConfig(**{**dict(GOOD), "read_queue": 0}),
    "ChannelConfig.read_queue = 32.0": lambda: ChannelConfig(**{**dict(GOOD), "read_queue": 32.0}),
    "ChannelConfig.outstanding = 0": lambda: ChannelConfig(**{**dict(GOOD), "outstanding": 0}),
    "ChannelConfig.rule_set = 'jdec'": lambda: ChannelConfig(**{**dict(GOOD), "rule_set": "jdec"}),
    "ChannelConfig.read_qeue: no such setting, nearest is read_queue": lambda: ChannelConfig(
        **{**dict(GOOD), "read_qeue": 8}
    ),
    "Timing.nFAW: missing": lambda: Timing(**{k: v for k, v in dict(GOOD.timing).items() if k != "nFAW"}),
    "Timing.nCL = -1": lambda: Timing(**{**dict(GOOD.timing), "nCL": -1}),
    "only refresh": lambda: Timing(**{**dict(GOOD.timing), "nREFI": 433}),
    "no multiple of 8": lambda: Organisation(**{**dict(GOOD.organisation), "columns": 1020}),
    "at most 64 banks a rank": lambda: Organisation(**{**dict(GOOD.organisation), "banks": 32}),
    "4, 8 or 16 data pins": lambda: Organisation(**{**dict(GOOD.organisation), "dq": 12}),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refusals_are_one_line(message: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        REFUSED[message]()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
