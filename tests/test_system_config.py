"""The configuration is strict, every number says where it comes from, and errors name place and neighbour."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recnmp.cli import main
from recnmp.cli.config import resolved_numbers
from recnmp.config.load import (
    build,
    load_system,
    memory_layer,
    overlay_layer,
    parse_setting,
    preset_names,
    system_layer,
    to_toml,
)
from recnmp.config.order import PARTS, parse_order
from recnmp.config.system import SystemConfig
from recnmp.config.units import Nmp
from recnmp.errors import RecnmpError


def with_settings(*words: str, system: str = "recnmp-base") -> SystemConfig:
    return load_system(system, (), [parse_setting(word, ["host", "recnmp-base"]) for word in words])


def test_defaults_are_the_system_of_the_paper() -> None:
    config = load_system("recnmp-base")
    timing = config.dram.timings()
    assert (timing.nCL, timing.nRCD, timing.nRP, timing.nRAS, timing.nRC) == (16, 16, 16, 39, 55)
    assert (timing.nCCDS, timing.nCCDL, timing.nRRDS, timing.nRRDL, timing.nFAW) == (4, 6, 4, 6, 26)
    assert config.memory.ranks == 8
    channel = config.channel_config()
    assert (channel.ranks, channel.read_queue, channel.rule_set) == (8, 32, "jedec")


def test_presets_are_equal_in_all_that_they_share() -> None:
    assert preset_names() == ["host", "host-llc", "recnmp-base", "recnmp-cache", "recnmp-opt", "recnmp-sched"]
    assert load_system("host-llc").baseline() == load_system("host")
    assert load_system("recnmp-base").as_host() == load_system("host")
    cache = load_system("recnmp-cache")
    assert cache.as_host() == load_system("host")
    none = {**cache.units.model_dump(), "rank_cache_bytes": 0}
    assert none == load_system("recnmp-base").units.model_dump()
    sched = load_system("recnmp-sched").model_dump()
    assert sched["nmp"].pop("packet_policy") == "table-aware"
    expected = {**cache.model_dump(), "name": "recnmp-sched"}
    assert expected["nmp"].pop("packet_policy") == "round-robin"
    assert sched == expected
    opt = load_system("recnmp-opt").model_dump()
    assert opt["nmp"].pop("hot_entries") == "exact"
    sched = load_system("recnmp-sched").model_dump()
    assert sched["nmp"].pop("hot_entries") == "all"
    assert opt == {**sched, "name": "recnmp-opt"}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("nmp.windw=3", "nearest is window"),
        ("memory.fifo=3", "it is 'nmp.fifo'"),
        ("nmp.window=0", "nmp.window = 0: input should be greater than or equal to 1"),
        ("nmp.window=8.0", "nmp.window = 8.0"),
        ("nmp.window=true", "nmp.window = True"),
        ("refresh.enabled=1", "refresh.enabled = 1"),
        ("nmp.poolings_per_packet=17", "less than or equal to 16"),
        ("nmp.packets_in_flight=3", "16 tags in groups of 8 poolings allow 1 to 2"),
        ("nmp.instructions_per_clock=3", "1 or 2"),
        ("dram.timing=DDR4_2400X", "nearest is DDR4_2400"),
        ("dram.organisation=DDR4_8Gb_x9", "nearest is DDR4_8Gb_x8"),
        ("dram.overrides.tREFI=100", "nearest is nREFI"),
        ("dram.overrides.nFAW=-1", "nFAW = -1"),
        ("placement.mapping=RoBaRaCo", "lacks Ch"),
        ("placement.mapping=RoRoBaRaCoCh", "names Ro (row) twice"),
        ("placement.mapping=skylark", "nearest is skylake"),
        ("memory.dimms=64", "ranks = 128"),
        ("memory.dimms=5", "10 ranks: the address of an NMP instruction names at most 8"),
        ("energy.io_pj_per_bit=inf", "finite"),
        ("run.mode=open", "'closed' or 'stream'"),
        (
            "nmp.rank_cache_bytes=1000",
            "no multiple of 256, the bytes of a set of 4 lines (nmp.rank_cache_ways)",
        ),
        ("nmp.rank_cache_bytes=1G", "less than or equal to 67108864"),
        ("nmp.rank_cache_ways=17", "less than or equal to 16"),
        ("nmp.rank_cache_policy=mru", "'lru', 'fifo', 'random' or 'tree-plru'"),
        ("nmp.rank_cache_flush=always", "'never' or 'batch'"),
        ("nmp.threads=0", "greater than or equal to 1"),
        ("nmp.threads=257", "less than or equal to 256"),
        ("nmp.packet_queue=4097", "less than or equal to 4096"),
        ("nmp.packet_policy=table", "'fcfs', 'round-robin' or 'table-aware'"),
        ("nmp.starvation_limit=65536", "less than or equal to 65535"),
        ("nmp.instruction_order=rank", "'pooling' or 'interleaved'"),
    ],
)
def test_bad_settings_are_refused(words: str, complaint: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        with_settings(words)
    message = str(caught.value)
    assert complaint in message
    assert f"--set {words}" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("nmp.window", "expected [SYSTEM.]section.key=value"),
        ("window=3", "expected [SYSTEM.]section.key=value"),
        (".=3", "expected"),
        ("nmp.window=", "'' is not a TOML value"),
        ("other.nmp.window=3", "no system 'other' in this run"),
        ("rank_cache.ways=4", "unknown key 'rank_cache'"),
        ("nmp.window=1\n[x]", "characters that cannot be printed"),
        ("nmp.window=1\nnmp.fifo=2", "characters that cannot be printed"),
        ("nmp.win\ndow=1", "characters that cannot be printed"),
        ("nmp.window=8 # half", "'8 # half' is not a TOML value"),
        ("nmp.window=8, 9", "'8, 9' is not a TOML value"),
        ("nmp.window=8]", "is not a TOML value"),
        ("nmp.window=" + "9" * 5000, "is not a TOML value"),
        ("nmp.window=0x1" + "0" * 5000, "is not a TOML value"),
        ("dram.overrides={nFAW = 9223372036854775808}", "is not a TOML value"),
        ("nmp.window=" + "[" * 5000, "is not a TOML value"),
        ("dram.overrides" + ".a" * 5000 + "=1", "expected [SYSTEM.]section.key=value"),
    ],
)
def test_malformed_settings_are_refused(words: str, complaint: str) -> None:
    with pytest.raises(RecnmpError, match=r"--set") as caught:
        parse_setting(words, ["host", "recnmp-base"])
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value).replace(words, "")
    assert len(str(caught.value)) < 400


def test_a_setting_is_for_all_or_for_one() -> None:
    everyone = parse_setting("host.read_queue=4", ["host", "recnmp-base"])
    baseline = parse_setting("host.host.read_queue=8", ["host", "recnmp-base"])
    system = parse_setting("recnmp-base.nmp.window=2", ["host", "recnmp-base"])
    assert (everyone.system, baseline.system, system.system) == (None, "host", "recnmp-base")
    settings_ = [everyone, baseline, system]
    assert load_system("host", (), settings_).host.read_queue == 8
    near = load_system("recnmp-base", (), settings_)
    assert (near.host.read_queue, near.units.window) == (4, 2)


def test_settings_of_units_pass_over_the_host_unless_it_is_named() -> None:
    assert load_system("host", (), [parse_setting("nmp.window=2", ["host"])]).nmp is None
    with pytest.raises(RecnmpError, match="is a host"):
        load_system("host", (), [parse_setting("host.nmp.window=2", ["host"])])


def test_errors_of_files_name_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("# mine\n[memory]\ndimms = 2\n\n[nmp]\nfifo = 3\nwindw = 8\n")
    with pytest.raises(RecnmpError) as caught:
        overlay_layer(file)
    assert str(caught.value) == f"{file}: line 7: unknown key 'nmp.windw', nearest is window"
    file.write_text("[nmp]\nfifo = 3\nwindow = -8\n")
    with pytest.raises(RecnmpError, match=r"mine\.toml: line 3: nmp\.window = -8"):
        load_system("recnmp-base", [overlay_layer(file)])
    file.write_text("[nmp]\nfifo = \n")
    with pytest.raises(RecnmpError, match=r"mine\.toml: not TOML: .*line 2"):
        overlay_layer(file)
    file.write_text("nmp = 3\n")
    with pytest.raises(RecnmpError, match="is a section"):
        overlay_layer(file)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(RecnmpError, match="not UTF-8"):
        overlay_layer(file)
    with pytest.raises(RecnmpError, match="No such file"):
        overlay_layer(tmp_path / "none.toml")


def test_memory_by_geometry_or_file(tmp_path: Path) -> None:
    assert load_system("recnmp-base", [memory_layer("1x4")]).memory.ranks == 4
    file = tmp_path / "memory.toml"
    file.write_text("[memory]\ndimms = 2\n[dram]\ntiming = 'DDR4_3200AA'\n")
    config = load_system("host", [memory_layer(str(file))])
    assert (config.memory.dimms, config.dram.timings().rate) == (2, 3200)
    for bad, complaint in (
        ("4by2", "neither"),
        ("0x2", "memory.dimms = 0"),
        ("4x2x2", "neither"),
        ("9" * 5000 + "x2", "neither"),
        ("٤x2", "neither"),
    ):
        with pytest.raises(RecnmpError, match=complaint):
            load_system("host", [memory_layer(bad)])
    file.write_text("[nmp]\nfifo = 2\n")
    with pytest.raises(RecnmpError, match="a memory file has only sections"):
        memory_layer(str(file))


def test_a_file_may_be_a_system(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text("kind = 'nmp'\n[memory]\ndimms = 1\n[nmp]\nfifo = 4\n")
    config = load_system(str(file))
    assert (config.name, config.units.fifo, config.units.window) == ("small", 4, Nmp().window)


def test_a_system_file_says_its_kind(tmp_path: Path) -> None:
    file = tmp_path / "queue.toml"
    file.write_text("[host]\nread_queue = 64\n")
    with pytest.raises(RecnmpError) as caught:
        load_system(str(file))
    assert str(caught.value) == f'{file}: no `kind`: a system file says kind = "nmp" or kind = "host"'
    # what goes over a system has none, and a system of Python has a default
    assert load_system("host", [overlay_layer(file)]).host.read_queue == 64
    assert SystemConfig().kind == "nmp"


def test_overrides_replace_single_timings() -> None:
    config = with_settings("dram.overrides.nFAW=30")
    assert config.dram.timings().nFAW == 30
    assert config.dram.timings().nRC == load_system("host").dram.timings().nRC
    rows = {number.key: number for number in resolved_numbers(config)}
    assert rows["timing.nFAW"].value == 30
    assert "override" in rows["timing.nFAW"].source


def test_packets_in_flight_follow_the_tags() -> None:
    groups = {p: Nmp(poolings_per_packet=p).tag_groups for p in (1, 2, 3, 5, 8, 9, 16)}
    assert groups == {1: 16, 2: 8, 3: 5, 5: 3, 8: 2, 9: 1, 16: 1}
    assert Nmp(packets_in_flight=1).tag_groups == 1


def test_a_frozen_configuration_stays_as_it_is() -> None:
    config = load_system("host")
    with pytest.raises(ValueError, match="frozen"):
        config.memory.dimms = 2  # type: ignore[misc]


@given(st.permutations(list(PARTS)), st.booleans())
def test_every_order_parses(parts: list[str], named_group: bool) -> None:
    if not named_group:
        parts = [part for part in parts if part != "Bg"]
    order = parse_order("".join(parts))
    assert sorted(order) == sorted(PARTS)
    if named_group:
        assert list(order) == parts


def test_orders_of_ramulator_put_the_bank_group_where_ramulator_does() -> None:
    # Ramulator 2, linear_mappers.cpp: below the row come bank, bank group, rank in the order of its levels
    assert parse_order("RoBaRaCoCh").index("Bg") == parse_order("RoBaRaCoCh").index("Ba") + 1
    assert parse_order("ChRaBaRoCo").index("Bg") == parse_order("ChRaBaRoCo").index("Ba") - 1


_LAYERS = st.fixed_dictionaries(
    {
        "memory": st.fixed_dictionaries(
            {"dimms": st.sampled_from([1, 2, 4]), "ranks_per_dimm": st.sampled_from([1, 2])}
        ),
        "placement": st.fixed_dictionaries(
            {
                "mapping": st.sampled_from(["skylake", "RoBaRaCoCh", "ChRaBgBaRoCo"]),
                "pages": st.sampled_from(["sequential", "random", "coloured"]),
                "seed": st.integers(0, 2**63 - 1),
            }
        ),
        "dram": st.fixed_dictionaries({"overrides": st.dictionaries(st.just("nFAW"), st.integers(16, 64))}),
        "host": st.fixed_dictionaries({}, optional={"outstanding": st.integers(1, 100)}),
        "nmp": st.fixed_dictionaries({"window": st.integers(1, 64), "skip_full_rank": st.booleans()}),
        "energy": st.fixed_dictionaries({"fp_add_pj": st.floats(0, 1e9), "command_io": st.booleans()}),
    }
)


@settings(max_examples=40)
@given(_LAYERS)
def test_toml_round_trip(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, dict[str, object]]
) -> None:
    config = SystemConfig(**{"name": "x", **values})  # type: ignore[arg-type]
    file = tmp_path_factory.mktemp("toml") / "other.toml"
    file.write_text(to_toml(config), encoding="utf-8")
    assert build([system_layer(str(file))]) == config


def test_a_flush_a_batch_needs_batches_that_end() -> None:
    words = {"nmp": {"rank_cache_bytes": 8192, "rank_cache_flush": "batch"}, "run": {"mode": "stream"}}
    with pytest.raises(RecnmpError, match=r"nmp\.rank_cache_flush = 'batch': only with run\.mode = 'closed'"):
        SystemConfig.model_validate(words)


@pytest.mark.parametrize("value", ["1e10", "-1.0", "inf", "nan"])
def test_energies_are_finite_and_bounded(value: str) -> None:
    with pytest.raises(RecnmpError, match=r"energy\.activate_pj = "):
        load_system("host", settings=[parse_setting(f"energy.activate_pj={value}", ["host"])])


@pytest.mark.parametrize(
    "key", ["memory.dimms=1", "placement.seed=64", "run.mode=stream", "refresh.enabled=false"]
)
def test_the_baseline_has_its_systems_memory(
    key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(tmp_path / "none.npz"), "--set", f"host.{key}"]) == 2
    assert "the baseline has its system's" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["rate", "tCK_ps", "nBL"])
def test_what_the_speed_bin_fixes_is_not_overridden(name: str) -> None:
    with pytest.raises(RecnmpError, match=f"timing {name} = 5: belongs to the speed bin"):
        SystemConfig.model_validate({"dram": {"overrides": {name: 5}}})


def test_numbers_and_nesting_that_python_chokes_on_are_no_toml(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    for text in (
        f"window = {'9' * 5000}",
        f"window = 0x{'f' * 5000}",
        "window = " + "[" * 5000,
        "fifo = 2\nwindow = -9223372036854775809",
        "window" + ".a" * 5000 + " = 1",
    ):
        file.write_text(f"[nmp]\n{text}\n")
        with pytest.raises(RecnmpError, match=r"mine\.toml: ") as caught:
            load_system("recnmp-base", [overlay_layer(file)])
        assert len(str(caught.value)) < 400


def test_none_resets_what_may_be_none(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        "[nmp]\npackets_in_flight = 1\n[host]\noutstanding = 3\n[dram.overrides]\nnFAW = 30\nnRFC = 400\n"
    )
    layer = overlay_layer(file)
    words = ["nmp.packets_in_flight=none", "host.outstanding=none", "dram.overrides.nFAW=none"]
    config = load_system("recnmp-base", [layer], [parse_setting(word, []) for word in words])
    assert (config.units.packets_in_flight, config.host.outstanding) == (None, None)
    assert config.dram.overrides == {"nRFC": 400}
    everything = load_system("recnmp-base", [layer], [parse_setting("dram.overrides=none", [])])
    assert everything.dram.overrides == {}
    # a file over a file says the same
    over = tmp_path / "over.toml"
    over.write_text('[nmp]\npackets_in_flight = "none"\n[host]\noutstanding = "none"\n')
    config = load_system("recnmp-base", [layer, overlay_layer(over)])
    assert (config.units.packets_in_flight, config.host.outstanding) == (None, None)
    for words in (["nmp.window=none"], ["host.outstanding=non"], ["host.outstanding=0"]):
        with pytest.raises(RecnmpError, match="--set"):
            load_system("recnmp-base", [layer], [parse_setting(word, []) for word in words])


@pytest.mark.parametrize(("memory", "most"), [("1x1", 9363), ("1x2", 9363), ("1x4", 3121), ("4x2", 1337)])
def test_every_rank_refreshes_within_one_interval(memory: str, most: int) -> None:
    def staggered(clocks: int) -> SystemConfig:
        words = parse_setting(f"refresh.stagger={clocks}", [])
        return load_system("recnmp-base", [memory_layer(memory)], [words])

    config = staggered(most)
    # REF of the last rank comes before the next one of the first
    assert most * (config.memory.ranks - 1) < config.dram.timings().nREFI
    for clocks in (most + 1, 99999999999, (1 << 63) - 1):
        with pytest.raises(RecnmpError, match=rf"refresh\.stagger = {clocks}: 0 to {most} with"):
            staggered(clocks)


def test_every_number_of_the_host_reaches_its_channel() -> None:
    config = SystemConfig.model_validate(
        {
            "kind": "host",
            "name": "host",
            "dram": {
                "timing": "DDR4_3200AA",
                "organisation": "DDR4_4Gb_x16",
                "rule_set": "ramulator-2.1",
                "overrides": {"nFAW": 77},
            },
            "memory": {"dimms": 1, "ranks_per_dimm": 4},
            "host": {"read_queue": 5, "write_queue": 6, "outstanding": 7},
            "refresh": {"enabled": False},
        }
    )
    channel = config.channel_config()
    assert (channel.read_queue, channel.write_queue, channel.outstanding, channel.ranks) == (5, 6, 7, 4)
    assert (channel.rule_set, channel.refresh) == ("ramulator-2.1", False)
    assert (channel.timing.rate, channel.timing.nFAW) == (3200, 77)
    assert (channel.organisation.density_mb, channel.organisation.dq) == (4096, 16)
