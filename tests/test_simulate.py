"""Simulations: the host baseline, the near-memory engine in its place, and comparisons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_trace import system, trace

from recnmp.baseline import line_reads
from recnmp.config.load import load_system, memory_layer, parse_setting
from recnmp.config.system import SystemConfig
from recnmp.errors import RecnmpError
from recnmp.placement import Placement
from recnmp.replay import HostChannel
from recnmp.result import Comparison
from recnmp.simulate import compare, make_engine, simulate
from recnmp.stats import ceilings, per_rank, total
from recnmp.values import HashValues
from recnmp.workload import Batch, Table, Workload


class FakeNearMemory:
    """Takes one clock a lookup; counts as the real one does."""

    def __init__(self, config: SystemConfig, *_: object) -> None:
        self.ranks = config.memory.ranks
        self.offered: list[int] = []
        self.reset_counters()

    def run_batch(self, batch: Batch, order: str, start_clock: int, progress: object = None) -> int:
        self.offered.append(start_clock)
        self.lookups += batch.lookups
        return start_clock + batch.lookups

    def run_stream(
        self, batches: Sequence[Batch], order: str, start_clock: int, progress: object = None
    ) -> list[int]:
        self.offered.append(start_clock)
        self.lookups += sum(batch.lookups for batch in batches)
        return [start_clock + self.lookups] * len(batches)

    def reset_counters(self) -> None:
        self.lookups = 0

    def counters(self) -> dict[str, int]:
        spread = [self.lookups, *[0] * (self.ranks - 1)]
        return {
            "lookups": self.lookups,
            "instructions": self.lookups,
            "result_bursts": 3,
            **per_rank("act", spread),
            **per_rank("rd", spread),
        }


def with_fake(config: SystemConfig, tables: Sequence[Table], placement: Placement, values: Any) -> Any:
    make = make_engine if config.kind == "host" else FakeNearMemory
    return make(config, tables, placement, values)


# -- the host baseline


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["table", "sample"]), st.sampled_from([10, 16, 40]))
def test_reads_are_those_of_the_lookups_in_execution_order(seed: int, order: str, dim: int) -> None:
    workload = trace(1, dim, order, seed)
    placement = Placement(system(), workload.tables)
    for batch in workload.batches():
        reads = line_reads(batch, order, placement)
        expected = []
        bags = [(t, b) for t in range(2) for b in range(8)]
        if order == "sample":
            bags.sort(key=lambda bag: (bag[1], bag[0]))
        for t, b in bags:
            first, last = batch.offsets[t * 8 + b], batch.offsets[t * 8 + b + 1]
            for row in batch.indices[first:last]:
                lines = placement.locate(t, np.array([row]))
                expected += list(
                    zip(lines.rank, lines.bankgroup, lines.bank, lines.row, lines.column, strict=True)
                )
        names = ("rank", "bankgroup", "bank", "row", "column")
        assert list(zip(*(reads[name] for name in names), strict=True)) == expected


def test_requests_name_device_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """The channel takes device columns, eight to a burst, as recorded command traces do."""
    seen: list[np.ndarray] = []
    run = HostChannel.run

    def spy(channel: HostChannel, requests: np.ndarray, *more: Any) -> Any:
        seen.append(requests)
        return run(channel, requests, *more)

    monkeypatch.setattr(HostChannel, "run", spy)
    workload = trace(1)
    simulate(system(), workload)
    (batch,) = workload.batches()
    reads = line_reads(batch, workload.order, Placement(system(), workload.tables))
    assert seen[0][:, 6].tolist() == (reads["column"] * 8).tolist()
    assert not seen[0][:, :2].any()


def test_a_single_read_takes_what_the_timings_say() -> None:
    workload = Workload.from_arrays([3], lengths=[1], tables=[Table("a", 10, 16)])
    result = simulate(system(), workload)
    timing = system().dram.timings()
    # offered and accepted at clock 0, ACT at 1, RD at 1 + RCD, and its data
    assert result.clocks == 1 + timing.nRCD + timing.nCL + timing.nBL
    assert result.latencies == (result.clocks,)
    assert (
        result.counters["act"],
        result.counters["rd[0]"] + sum(result.counters[f"rd[{rank}]"] for rank in range(1, 8)),
    ) == (1, 1)


def test_closed_batches_follow_each_other_and_streams_overlap() -> None:
    workload = trace(4)
    near_closed = simulate(system(name="recnmp-base"), workload)
    near_stream = simulate(system("run.mode=stream", name="recnmp-base"), workload)
    assert near_stream.clocks < near_closed.clocks
    assert near_stream.counters["lookups"] == near_closed.counters["lookups"]
    closed, stream = simulate(system(), workload), simulate(system("run.mode=stream"), workload)
    assert sum(closed.latencies) + len(closed.latencies) - 1 == closed.clocks
    assert stream.clocks < closed.clocks
    assert stream.latencies == ()
    reads = [sum(run.counters[f"rd[{rank}]"] for rank in range(8)) for run in (closed, stream)]
    assert reads == [workload.lookups] * 2


def test_warmup_is_left_out_of_every_count() -> None:
    whole, rest = simulate(system(), trace(4)), simulate(system(), trace(4), warmup=3)
    assert rest.latencies == whole.latencies[3:]
    last = list(trace(4).batches())[3]
    assert rest.lookups == rest.counters["lookups"] == last.lookups
    assert rest.clocks == rest.latencies[0]
    for warmup in (-1, 4):
        with pytest.raises(RecnmpError, match="one of the 4 batches must be left"):
            simulate(system(), trace(4), warmup=warmup)


@pytest.mark.parametrize(
    "words", [[], ["run.mode=stream"], ["memory.channels=2", "placement.mapping=RoBaRaCoCh"]]
)
def test_no_run_is_faster_than_its_ceilings(words: list[str]) -> None:
    for memory in ("1x1", "1x2", "4x2"):
        config = load_system("host", [memory_layer(memory)], [parse_setting(word, []) for word in words])
        result = simulate(config, trace(5, seed=9))
        for name, least in ceilings(config, result.counters).items():
            assert 0 <= least <= result.clocks, name


def test_channels_share_the_reads() -> None:
    words = ["placement.mapping=RoBaRaCoCh"]
    one, two = simulate(system(*words), trace()), simulate(system("memory.channels=2", *words), trace())
    assert two.clocks < one.clocks
    assert sum(two.counters[f"rd[{rank}]"] for rank in range(16)) == trace().lookups
    assert two.counters["lines"] == one.counters["lines"]


def test_one_read_outstanding_is_slower_than_a_queue_of_them() -> None:
    assert simulate(system("host.outstanding=1"), trace()).clocks > 2 * simulate(system(), trace()).clocks


def test_refresh_costs_clocks() -> None:
    with_refresh, without = (
        simulate(system(), trace(60)),
        simulate(system("refresh.enabled=false"), trace(60)),
    )
    assert with_refresh.clocks > without.clocks
    assert with_refresh.counters["ref"] > 0 == without.counters["ref"]


def test_useful_bytes_do_not_count_what_lines_add() -> None:
    result = simulate(system(), trace(dim=10))
    assert result.useful_bytes == 40 * trace().lookups
    assert result.bus_bytes >= 64 * trace().lookups


# -- the near-memory engine


@pytest.mark.parametrize("order", ["table", "sample"])
@pytest.mark.parametrize("memory", ["1x2", "4x2"])
def test_near_memory_is_never_faster_than_its_ceilings(memory: str, order: str) -> None:
    config = load_system("recnmp-base", [memory_layer(memory)])
    result = simulate(config, trace(4, order=order, seed=3))
    for name, least in ceilings(config, result.counters).items():
        assert 0 < least <= result.clocks, name


def test_both_sides_read_every_line_once() -> None:
    host, near = compare([system(name="recnmp-base")], trace(dim=48), "t").runs
    assert total(host.counters, "rd") == total(near.counters, "rd") == 3 * trace().lookups
    assert host.counters["lines"] == near.counters["lines"] == 3 * trace().lookups
    # an addition an element and lookup, and what the DIMMs' trees add
    assert near.counters["fp_adds"] >= 48 * trace().lookups
    assert near.counters["fp_muls"] == 0


@pytest.mark.parametrize("dim", [8, 16, 40, 128])
def test_values_change_no_clock_and_their_sums_do_not_depend_on_the_memory(dim: int) -> None:
    workload = trace(dim=dim)
    values = HashValues(workload.tables, 3)
    aligned = [parse_setting("placement.stride=aligned", [])]
    systems = [load_system("recnmp-base", [memory_layer(memory)], aligned) for memory in ("1x2", "4x2")]
    runs = [simulate(config, workload, values=values) for config in systems]
    silent = simulate(systems[1], workload)
    assert silent.latencies == runs[1].latencies
    assert silent.sums_sha256 is None
    # hashed values add up exactly in any order
    exact = hashlib.sha256()
    for batch in workload.batches():
        for table in range(2):
            sums = np.zeros((8, dim), np.float64)
            for sample in range(8):
                first, last = batch.offsets[table * 8 + sample : table * 8 + sample + 2]
                sums[sample] = values.vectors(table, batch.indices[first:last]).sum(axis=0, dtype=np.float64)
            exact.update(sums.astype("<f4").tobytes())
    assert {run.sums_sha256 for run in runs} == {exact.hexdigest()}


# -- comparisons


def run_both(workload: Workload, *words: str, **more: Any) -> Comparison:
    configs = [system(*words, name="recnmp-base")]
    return compare(configs, workload, "t", make=with_fake, **more)


def test_a_system_is_compared_with_the_host_of_its_memory() -> None:
    comparison = run_both(trace(), "memory.dimms=1")
    host, near = comparison.runs
    assert (host.config.name, host.baseline, near.baseline) == ("host", "host", "host")
    assert host.config == near.config.as_host()
    assert host.speedup == 1
    assert near.speedup == host.clocks / near.clocks
    assert near.saving == pytest.approx(1 - near.energy_pj["total"] / host.energy_pj["total"])


def test_systems_share_a_baseline_only_if_it_is_the_same() -> None:
    base = system(name="recnmp-base")
    other = base.model_copy(update={"name": "other"})
    coloured = system("placement.pages=coloured", name="recnmp-base").model_copy(update={"name": "coloured"})
    runs = compare([base, other, coloured], trace(), "t", make=with_fake).runs
    assert [run.config.name for run in runs] == [
        "host",
        "host (coloured)",
        "recnmp-base",
        "other",
        "coloured",
    ]
    assert [run.baseline for run in runs[2:]] == ["host", "host", "host (coloured)"]
    with pytest.raises(RecnmpError, match="same name"):
        compare([base, base], trace(), "t", make=with_fake)


def test_warmup_is_the_same_for_all() -> None:
    comparison = run_both(trace(4), warmup=2)
    assert len({run.lookups for run in comparison.runs}) == 1
    assert [run.batches for run in comparison.runs] == [2, 2]


def test_batches_are_offered_on_the_clock_after_the_last_end() -> None:
    engine = FakeNearMemory(system(name="recnmp-base"))
    simulate(system(name="recnmp-base"), trace(3), make=lambda *_: engine)
    sizes = [batch.lookups for batch in trace(3).batches()]
    assert engine.offered == [0, sizes[0] + 1, sizes[0] + sizes[1] + 2]


def test_what_is_not_there_yet_is_refused_by_name_before_anything_runs() -> None:
    int8 = Workload.from_arrays([3], lengths=[1], tables=[Table("a", 10, 64, "int8")])
    wide = Workload.from_arrays([3], lengths=[1], tables=[Table("a", 10, 200)])
    with pytest.raises(RecnmpError, match="dim 200, but a partial sum holds 1 to 128"):
        compare([system(name="recnmp-base")], wide, "t")
    with pytest.raises(RecnmpError, match="but a row of int8 is read by one instruction"):
        compare([system(name="recnmp-base")], int8, "t")


def test_a_lost_lookup_is_an_error() -> None:
    class Forgetful(FakeNearMemory):
        def counters(self) -> dict[str, int]:
            return {**super().counters(), "lookups": self.lookups - 1}

    with pytest.raises(RuntimeError, match="answered"):
        simulate(system(name="recnmp-base"), trace(), make=lambda config, *_: Forgetful(config))


def test_empty_traces_give_nothing_rather_than_nan() -> None:
    nothing = Workload.from_arrays([], lengths=[], tables=[Table("a", 10, 16)])
    silent = Workload.from_arrays([], lengths=[0, 0], tables=[Table("a", 10, 16)])
    for workload in (nothing, silent):
        text = json.dumps(run_both(workload).as_json(), allow_nan=False)
        for run in json.loads(text)["runs"]:
            assert run["lookups"] == 0
            assert run["lookups_per_s"] is None
            assert run["energy_pj_per_lookup"]["total"] is None
            assert run["energy_saving"] is None
            assert run["energy_pj"]["activate"] == 0
            assert run["clocks"] == 0


def test_a_figure_that_fails_leaves_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from recnmp.analysis import summary_plot

    from recnmp.cli import main

    trace(1).save(tmp_path / "t.npz")
    monkeypatch.setattr(summary_plot, "draw", lambda *_: (_ for _ in ()).throw(RecnmpError("no figure")))
    assert main(["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()
