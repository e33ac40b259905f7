"""Every number of the configuration reaches the machine: an engine made from a configuration against the twin of the
same numbers, on the engine's own instructions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from naive_machine import Machine

from recnmp import isa
from recnmp.config.system import SystemConfig
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.timing import rules
from recnmp.workload import Table, Workload

TABLES = [Table("a", 3000, 32), Table("b", 500, 16)]

EXACT = {"rank_cache_bytes": 512, "hot_entries": "exact"}
SKETCH = {"rank_cache_bytes": 512, "hot_entries": "sketch", "sketch_counters": 64}

# each setting differs from its default, alone; clocks must then be the twin's, and not those of the default
SETTINGS: dict[str, dict[str, Any]] = {
    "nmp.window": {"nmp": {"window": 3}},
    "nmp.fifo": {"nmp": {"fifo": 2}},
    "nmp.poolings_per_packet": {"nmp": {"poolings_per_packet": 3}},
    "nmp.packets_in_flight": {"nmp": {"packets_in_flight": 1}},
    "nmp.instructions_per_clock": {"nmp": {"instructions_per_clock": 1}},
    "nmp.bus_turnaround": {"nmp": {"bus_turnaround": 7}},
    "nmp.skip_full_rank": {"nmp": {"fifo": 2, "skip_full_rank": True}},
    "nmp.local_bus": {"nmp": {"local_bus": "per_dimm"}},
    "nmp.dequantise_multiply": {"nmp": {"dequantise_multiply": 6}},
    "nmp.dequantise_add": {"nmp": {"dequantise_add": 5}},
    "nmp.multiply": {"nmp": {"multiply": 9}},
    "nmp.accumulate": {"nmp": {"accumulate": 2}},
    "nmp.rank_cache_bytes": {"nmp": {"rank_cache_bytes": 4096}},
    "nmp.rank_cache_ways": {"nmp": {"rank_cache_bytes": 4096, "rank_cache_ways": 1}},
    "nmp.rank_cache_policy": {"nmp": {"rank_cache_bytes": 4096, "rank_cache_policy": "random"}},
    "nmp.rank_cache_flush": {"nmp": {"rank_cache_bytes": 4096, "rank_cache_flush": "batch"}},
    "nmp.command_mode": {"nmp": {"command_mode": "ddr"}},
    "nmp.nmp_clock_divider": {"nmp": {"nmp_clock_divider": 2}},
    "traffic.reads_per_1000_clocks": {"traffic": {"reads_per_1000_clocks": 40}},
    "traffic.seed": {"traffic": {"reads_per_1000_clocks": 40, "seed": 2**63 - 1}},
    "nmp.hot_entries": {"nmp": EXACT},
    "nmp.hot_threshold": {"nmp": {**EXACT, "hot_threshold": 5}},
    "nmp.hot_scope": {"nmp": {**EXACT, "hot_scope": "batch"}},
    "a sketch": {"nmp": SKETCH},
    "nmp.sketch_rows": {"nmp": {**SKETCH, "sketch_rows": 1}},
    "nmp.sketch_counters": {"nmp": {**SKETCH, "sketch_counters": 256}},
    "nmp.sketch_counter_bits": {"nmp": {**SKETCH, "sketch_counter_bits": 2}},
    "nmp.sketch_clear": {"nmp": {**SKETCH, "sketch_clear": "batch"}},
    "nmp.threads": {"nmp": {"threads": 2}},
    "nmp.packet_policy": {"nmp": {"packet_policy": "table-aware"}},
    "nmp.packet_queue": {"nmp": {"packet_policy": "table-aware", "packet_queue": 2}},
    "nmp.starvation_limit": {"nmp": {"packet_policy": "table-aware", "starvation_limit": 1}},
    "nmp.instruction_order": {"nmp": {"instruction_order": "interleaved"}},
    "refresh.enabled": {"refresh": {"enabled": False}},
    "refresh.stagger": {"refresh": {"stagger": 311}},
    "memory.dimms": {"memory": {"dimms": 1}},
    "memory.ranks_per_dimm": {"memory": {"ranks_per_dimm": 4}},
    "dram.timing": {"dram": {"timing": "DDR4_3200AA"}},
    "dram.organisation": {"dram": {"organisation": "DDR4_8Gb_x16"}},
    "dram.overrides": {"dram": {"overrides": {"nFAW": 60}}},
}

# some settings change nothing from the defaults, but from this: an instruction can pass only where FIFOs are full, only
# a cache has ways, only what counts has a threshold, only reads that there are have a seed, and where nothing is passed
# over queue and limit are idle
BASES = (
    {"nmp.skip_full_rank": "nmp.fifo", "traffic.seed": "traffic.reads_per_1000_clocks"}
    | {f"nmp.rank_cache_{name}": "nmp.rank_cache_bytes" for name in ("ways", "policy", "flush")}
    | {f"nmp.hot_{name}": "nmp.hot_entries" for name in ("threshold", "scope")}
    | {f"nmp.sketch_{name}": "a sketch" for name in ("rows", "counters", "counter_bits", "clear")}
    | {f"nmp.{name}": "nmp.packet_policy" for name in ("packet_queue", "starvation_limit")}
)


def config(changes: dict[str, Any]) -> SystemConfig:
    """A 2x2 memory with those changes; refreshes come often, so that a short run has some."""
    refi = {"nREFI": 1500} | changes.get("dram", {}).get("overrides", {})
    merged = {**changes, "memory": {"dimms": 2, **changes.get("memory", {})}}
    merged["dram"] = {**changes.get("dram", {}), "overrides": refi}
    return SystemConfig.model_validate(merged)


def engine_and_batches(system: SystemConfig) -> tuple[NmpEngine, Workload]:
    rng = np.random.default_rng(4)
    lengths = rng.integers(0, 25, 2 * 2 * 20)
    workload = Workload.from_arrays(
        rng.integers(0, 500, lengths.sum()), lengths=lengths, tables=TABLES, batch_size=20
    )
    return NmpEngine(system, TABLES, Placement(system, TABLES), logging=True), workload


def run_engine(system: SystemConfig) -> dict[str, list[Any]]:
    engine, workload = engine_and_batches(system)
    log: dict[str, list[Any]] = {"ends": [], "commands": [], "sends": [], "streams": []}
    clock = 0
    if engine.hot_entries is not None and engine.hot_entries.looks_ahead:
        engine.hot_entries.choose(workload)
    for batch in workload.batches():
        end = engine.run_batch(batch, "sample", clock)  # tables alternate: policies have a choice
        clock = end + 1
        log["ends"].append(end)
        log["commands"] += engine.logs[0][0].commands.tolist()
        log["sends"] += engine.logs[0][0].sends.tolist()
        log["streams"].append(engine.logs[0][0].stream)
    log["commands"].sort()
    return log


def run_twin(system: SystemConfig, streams: list[Any]) -> dict[str, list[Any]]:
    """The same numbers by the page's names, taken from the configuration's plain values."""
    values, timing = system.model_dump(), system.dram.timings()
    units = values["nmp"]
    machine = Machine(
        rules(timing, "jedec", "rank"),
        rules(timing, "jedec", "host"),
        nCL=timing.nCL,
        nBL=timing.nBL,
        nREFI=timing.nREFI if values["refresh"]["enabled"] else None,
        dimms=values["memory"]["dimms"],
        ranks_per_dimm=values["memory"]["ranks_per_dimm"],
        fifo=units["fifo"],
        window=units["window"],
        poolings_per_packet=units["poolings_per_packet"],
        packets_in_flight=units["packets_in_flight"],
        instructions_per_clock=units["instructions_per_clock"],
        bus_turnaround=units["bus_turnaround"],
        stagger=values["refresh"]["stagger"],
        local_bus=units["local_bus"],
        skip_full_rank=units["skip_full_rank"],
        dequantise=units["dequantise_multiply"] + units["dequantise_add"],
        multiply=units["multiply"],
        accumulate=units["accumulate"],
        adder=units["accumulate"],
        banks=system.dram.devices().banks,
        rows=system.dram.devices().rows,
        bursts_a_row=system.dram.devices().columns // 8,
        rank_cache_bytes=units["rank_cache_bytes"],
        rank_cache_ways=units["rank_cache_ways"],
        rank_cache_policy=units["rank_cache_policy"],
        rank_cache_flush=units["rank_cache_flush"],
        command_mode=units["command_mode"],
        nmp_clock_divider=units["nmp_clock_divider"],
        bankgroups=system.dram.devices().bankgroups,
        reads_per_1000_clocks=values["traffic"]["reads_per_1000_clocks"],
        traffic_seed=values["traffic"]["seed"],
    )
    ends, clock = [], 0
    for stream in streams:
        opens = np.flatnonzero(stream["opcode"] == isa.CONFIG)
        ends.append(machine.run(stream, np.append(opens, len(stream)), clock))
        clock = ends[-1] + 1
    return {"ends": ends, "commands": sorted(machine.log.commands), "sends": machine.log.sends}


@pytest.mark.parametrize("name", ["defaults", *SETTINGS])
def test_the_engine_is_the_machine_of_its_configuration(name: str) -> None:
    """Commands, sends and ends are those of the twin, clock by clock."""
    system = config(SETTINGS.get(name, {}))
    engine = run_engine(system)
    twin = run_twin(system, engine["streams"])
    assert engine["ends"] == twin["ends"]
    assert [tuple(row) for row in engine["sends"]] == [tuple(row) for row in twin["sends"]]
    assert [tuple(row) for row in engine["commands"]] == [tuple(row) for row in twin["commands"]]


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_matters(name: str) -> None:
    """A setting that changed nothing here would be tested by nothing above."""
    without = SETTINGS[BASES[name]] if name in BASES else {}
    changed, default = run_engine(config(SETTINGS[name])), run_engine(config(without))
    assert (changed["ends"], changed["commands"]) != (default["ends"], default["commands"])


def test_no_setting_of_the_units_is_forgotten() -> None:
    """A new key of section nmp or refresh needs its line above."""
    values = SystemConfig().model_dump()
    keys = {f"{section}.{key}" for section in ("nmp", "traffic", "refresh") for key in values[section]}
    assert keys <= set(SETTINGS)
