"""Which host a run is measured against: --baseline, hosts with a last-level cache, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from recnmp.analysis.summary_table import heading, render
from small_trace import system, trace

from recnmp.cli import main
from recnmp.config.load import load_system, parse_setting
from recnmp.errors import RecnmpError
from recnmp.simulate import compare, with_baselines


def simulated(tmp_path: Path, *words: str) -> dict[str, Any]:
    """result.json of a small trace with these options."""
    trace().save(tmp_path / "t.npz")
    assert main(["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "o"), *words]) == 0
    document: dict[str, Any] = json.loads((tmp_path / "o" / "result.json").read_text())
    return document


def measured(document: dict[str, Any]) -> list[tuple[str, str, int]]:
    """Name, baseline and bytes of the host's cache of each run."""
    return [(run["system"], run["baseline"], run["config"]["host"]["llc_bytes"]) for run in document["runs"]]


MIB = 1 << 20


def test_hosts_with_and_without_a_cache_stand_beside_each_other(tmp_path: Path) -> None:
    document = simulated(tmp_path, "--system", "host-llc", "recnmp-base")
    assert measured(document) == [
        ("host", "host", 0),
        ("host-llc", "host", 16 * MIB),
        ("recnmp-base", "host", 0),
    ]
    host, cached, near = document["runs"]
    assert (host["speedup"], host["energy_saving"]) == (1, 0)
    assert cached["speedup"] == host["clocks"] / cached["clocks"] > 1
    assert near["speedup"] == host["clocks"] / near["clocks"]
    assert [run["llc_hit_rate"] is None for run in document["runs"]] == [True, False, True]
    hits, misses = (cached["counters"][name] for name in ("llc_hits", "llc_misses"))
    assert 0 < cached["llc_hit_rate"] == hits / (hits + misses)
    first, second = heading(document)
    assert first.endswith("baseline host (no last-level cache)")
    assert second == "host-llc: last-level cache of 16 MiB, 16 ways, lru"
    table = render(document)
    (row,) = (line.split() for line in table.splitlines() if line.startswith("last-level cache hits"))
    assert row[-4:] == ["%", "-", f"{100 * cached['llc_hit_rate']:.1f}", "-"]
    (row,) = (line.split() for line in table.splitlines() if line.startswith("ceiling, llc"))
    assert row[3] == row[-1] == "-"
    assert "last-level cache not charged (unsourced)" in table


def test_any_host_may_be_the_baseline(tmp_path: Path) -> None:
    document = simulated(tmp_path, "--baseline", "host-llc", "--set", "host.llc_ways=8")
    assert measured(document) == [("host-llc", "host-llc", 16 * MIB), ("recnmp-base", "host-llc", 0)]
    host, near = document["runs"]
    assert near["speedup"] == host["clocks"] / near["clocks"]
    assert host["config"]["host"]["llc_ways"] == 8
    assert heading(document)[0].endswith("baseline host-llc (last-level cache of 16 MiB, 8 ways, lru)")
    beside = simulated(tmp_path, "--baseline", "host-llc", "--system", "host", "recnmp-base")
    assert [run[:2] for run in measured(beside)] == [
        ("host-llc", "host-llc"),
        ("host", "host-llc"),
        ("recnmp-base", "host-llc"),
    ]
    assert beside["runs"][1]["speedup"] < 1
    # named twice it is one run
    twice = simulated(tmp_path, "--baseline", "host-llc", "--system", "host-llc", "recnmp-base")
    assert [run[0] for run in measured(twice)] == ["host-llc", "recnmp-base"]


def test_a_named_baseline_has_its_systems_memory(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('kind = "host"\n[host]\nllc_bytes = "24KiB"\nread_queue = 5\n')
    words = ["--memory", "1x2", "--set", "refresh.enabled=false", "--set", "small.host.llc_policy=fifo"]
    host, near = simulated(tmp_path, "--baseline", str(file), *words)["runs"]
    for section in ("dram", "memory", "placement", "refresh", "run"):
        assert host["config"][section] == near["config"][section]
    expected = {"read_queue": 5, "write_queue": 32, "outstanding": None}
    assert host["config"]["host"] == expected | {"llc_bytes": 24576, "llc_ways": 16, "llc_policy": "fifo"}
    assert near["config"]["host"]["read_queue"] == 32
    # what is set for all goes over what the file says, and what is set for one system holds for its host
    words = ["--set", "host.read_queue=7", "--set", "recnmp-base.host.write_queue=9"]
    host, near = simulated(tmp_path, "--baseline", str(file), *words)["runs"]
    assert [host["config"]["host"][key] for key in ("read_queue", "write_queue")] == [7, 9]


def test_systems_of_other_memories_get_their_own(tmp_path: Path) -> None:
    file = tmp_path / "two.toml"
    file.write_text("kind = 'nmp'\n[memory]\ndimms = 1\n")
    document = simulated(tmp_path, "--baseline", "host-llc", "--system", "recnmp-base", str(file))
    assert [run[:2] for run in measured(document)] == [
        ("host-llc", "host-llc"),
        ("host-llc (two)", "host-llc (two)"),
        ("recnmp-base", "host-llc"),
        ("two", "host-llc (two)"),
    ]
    assert [run["config"]["memory"]["dimms"] for run in document["runs"]] == [4, 1, 4, 1]


def test_a_cache_for_all_is_that_of_the_baseline_too(tmp_path: Path) -> None:
    document = simulated(tmp_path, "--set", "host.llc_bytes=24K")
    assert measured(document) == [("host", "host", 24576), ("recnmp-base", "host", 24576)]
    assert heading(document)[0].endswith("baseline host (last-level cache of 24 KiB, 16 ways, lru)")
    only = simulated(tmp_path, "--set", "host.host.llc_bytes=1088", "--set", "host.llc_ways=1")
    assert measured(only) == [("host", "host", 1088), ("recnmp-base", "host", 0)]
    assert "last-level cache of 1088 bytes, 1 way, lru" in heading(only)[0]


def test_a_host_with_a_cache_alone_is_measured_against_the_host_without(tmp_path: Path) -> None:
    alone = simulated(tmp_path, "--system", "host-llc", "--memory", "1x2")
    assert [run[:2] for run in measured(alone)] == [("host", "host"), ("host-llc", "host")]
    host, cached = (run["config"] for run in alone["runs"])
    assert host["memory"] == cached["memory"]


def test_baselines_of_different_caches_are_named_with_them() -> None:
    small, large = (
        system(f"host.llc_bytes={size}", name="recnmp-base").model_copy(update={"name": size})
        for size in ("24K", "48K")
    )
    document = compare([small, large], trace(1), "t").as_json()
    words = "last-level cache of {} KiB, 16 ways, lru"
    assert heading(document)[0].endswith(
        f"baseline host ({words.format(24)}), host (48K) ({words.format(48)})"
    )


def test_the_default_baseline_of_each_kind() -> None:
    cached = load_system("host-llc", (), [parse_setting("host.read_queue=7", [])])
    assert cached.baseline().name == "host"
    assert cached.baseline().host.read_queue == 7
    for config in (system(), system("host.llc_bytes=24K")):
        assert config.baseline() is config
    near = system("host.llc_bytes=24K", name="recnmp-base")
    assert near.baseline() == system("host.llc_bytes=24K")
    ordered, base_of = with_baselines([cached, near])
    assert [config.name for config in ordered] == ["host", "host (recnmp-base)", "host-llc", "recnmp-base"]
    assert base_of["recnmp-base"] == "host (recnmp-base)"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["host.llc_bytes=1000"], "no multiple of 1024, the bytes of a set of 16 lines"),
        (["host.llc_bytes=1M", "host.llc_ways=12"], "nearest is 1048320"),
        (["host.llc_bytes=8X"], "host.llc_bytes = '8X': not a size: bytes, or a number with K, M or G"),
        (["host.llc_bytes=8.0"], "valid integer"),
        (["host.llc_bytes=true"], "valid integer"),
        (["host.llc_bytes=-1024"], "greater than or equal to 0"),
        (["host.llc_bytes=5G"], "less than or equal to 4294967296"),
        (["host.llc_bytes=1K", "host.llc_ways=0"], "greater than or equal to 1"),
        (["host.llc_bytes=1K", "host.llc_ways=17"], "less than or equal to 16"),
        (["host.llc_bytes=1K", "host.llc_policy=mru"], "'lru', 'fifo', 'random' or 'tree-plru'"),
        (["host.llc_bytes=768", "host.llc_ways=12", "host.llc_policy=tree-plru"], "1, 2, 4, 8 or 16 ways"),
        (["nmp.window=8M"], "nmp.window = '8M': input should be a valid integer"),
    ],
)
def test_caches_that_cannot_be_are_refused_in_one_line(words: list[str], complaint: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        system(*words, name="recnmp-base")
    assert complaint in str(caught.value)
    assert "--set" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("word", "size"),
    [("65536", 65536), ("64K", 65536), ("64KiB", 65536), ("1MB", MIB), ("0", 0), ("4g", 4 << 30)],
)
def test_sizes_are_written_as_people_do(word: str, size: int) -> None:
    assert system(f"host.llc_bytes={word}").host.llc_bytes == size
    assert system(f'host.llc_bytes="{word}"').host.llc_bytes == size


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--baseline", "recnmp-base"], "has near-memory units, a baseline is of kind host"),
        (["--baseline", "hots"], "unknown system 'hots', nearest is host"),
        (["--baseline", "none.toml"], "none.toml: cannot be read"),
        (["--set", "host.llc_ways=4"], "no host of this run has a last-level cache"),
        (["--set", "recnmp-base.host.llc_policy=fifo"], "no host of this run has a last-level cache"),
        (
            ["--set", "nmp.rank_cache_ways=8"],
            "no system of this run has a RankCache (nmp.rank_cache_bytes = 0)",
        ),
        (
            ["--set", "nmp.packet_policy=fcfs", "--set", "nmp.packet_queue=8"],
            "nmp.packet_queue=8: in no system of this run a packet passes another (nmp.packet_policy = 'fcfs')",
        ),
        (
            ["--set", "nmp.packet_policy=fcfs", "--set", "nmp.starvation_limit=8"],
            "nmp.starvation_limit=8: in no system of this run a packet passes another",
        ),
        (
            ["--baseline", "host-llc", "--set", "host-llc.memory.dimms=1"],
            "the baseline has its system's memory",
        ),
        (["--baseline", "host-llc", "--set", "host.host.read_queue=1"], "no system 'host' in this run"),
    ],
)
def test_baselines_that_cannot_be_are_refused(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", str(tmp_path / "none.npz"), *words]) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.count("\n") == 1


def test_a_baseline_file_names_only_what_is_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "b.toml"
    file.write_text('kind = "host"\n\n[memory]\ndimms = 1\n')
    assert main(["simulate", str(tmp_path / "none.npz"), "--baseline", str(file)]) == 2
    assert "b.toml: line 3: memory: a baseline has its system's (D14)" in capsys.readouterr().err
