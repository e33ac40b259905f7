"""Running a trace on systems: simulate one, or compare some with their host baselines."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from .baseline import HostEngine
from .config.system import SystemConfig
from .errors import RecnmpError
from .hotness import HotEntries
from .means import divide
from .packet_stats import PacketStats
from .placement import Placement
from .progress import Meter, Progress
from .result import Comparison, Result, describe_trace
from .stats import check_counters
from .traffic import TrafficMeasures
from .values import Values
from .workload import Batch, Table, Workload


class Engine(Protocol):
    """A machine that runs batches: the host's, the near-memory one, or one in another language of blocks.

    `progress` is told of lookups as they are finished, in all of as many as the batches have.
    """

    def run_batch(self, batch: Batch, order: str, start_clock: int, progress: Progress | None = None) -> int:
        """Run one batch that is offered at start_clock; the clock at which its last datum has crossed.

        `order` is "table" or "sample". A batch without lookups ends when it starts.
        """

    def run_stream(
        self, batches: Sequence[Batch], order: str, start_clock: int, progress: Progress | None = None
    ) -> list[int]:
        """Run batches back to back, all offered from start_clock on; the clock of the last datum of each."""

    def reset_counters(self) -> None:
        """Set all counters to 0; the state of the machine stays."""

    def counters(self) -> Mapping[str, int]:
        """What was counted since the last reset, by the names of recnmp.stats.COUNTERS."""


@runtime_checkable
class SummingEngine(Protocol):
    """An engine that knows what the tables hold and adds it up."""

    def results(self) -> list[npt.NDArray[np.float32]]:
        """Sums of the last batch, float32 [batch_size, dim] a table."""


@runtime_checkable
class TrafficEngine(Protocol):
    """An engine beside whose work the host reads memory for other programs (D17)."""

    def host_traffic(self) -> TrafficMeasures | None:
        """What those reads met since the last reset; None if there are none."""


@runtime_checkable
class PacketEngine(Protocol):
    """An engine that works in packets, and tells of them."""

    def packet_stats(self) -> PacketStats:
        """Of all packets since the last reset."""
        ...


@runtime_checkable
class ProfilingEngine(Protocol):
    """An engine that may profile batches before they run."""

    hot_entries: HotEntries | None
    """What does; None where nothing does."""


MakeEngine = Callable[[SystemConfig, Sequence[Table], Placement, Values | None], Engine]


def make_engine(
    config: SystemConfig, tables: Sequence[Table], placement: Placement, values: Values | None
) -> Engine:
    """The engine of a system: the host's, or the near-memory one.

    Raises:
        RecnmpError: near-memory units cannot do this yet.
    """
    if config.kind == "host":
        return HostEngine(config, tables, placement)
    # imported only where it is used: a host run needs no near-memory kernels
    from .near_memory import NmpEngine

    return NmpEngine(config, tables, placement, values)


def simulate(
    config: SystemConfig,
    workload: Workload,
    warmup: int = 0,
    values: Values | None = None,
    progress: Progress | None = None,
    make: MakeEngine = make_engine,
) -> Result:
    """Run a trace on one system, without a baseline.

    Args:
        config: the system.
        workload: the trace.
        warmup: batches that run first and are not counted.
        values: what the tables hold, for engines that sum (recnmp.values); None: timing only.
        progress: told of lookups as they are finished, warm-up included.
        make: makes the engine; another one may be handed in.

    Raises:
        RecnmpError: tables do not fit, something is not supported yet, or warm-up leaves no batch.
    """
    run = _Run(config, workload, warmup, values, make)
    run.execute(progress)
    return run.result()


def compare(
    configs: Sequence[SystemConfig],
    workload: Workload,
    name: str,
    warmup: int = 0,
    values: Values | None = None,
    progress: Progress | None = None,
    make: MakeEngine = make_engine,
    host: Callable[[SystemConfig], SystemConfig] = SystemConfig.baseline,
) -> Comparison:
    """Run each system and the host baseline of the same memory, placement and refresh (D14).

    Args:
        configs: the systems; names must differ.
        workload: the trace.
        name: what the trace is called in tables and figures.
        warmup, values, progress, make: as of `simulate`.
        host: the baseline of a system, which may be the system itself; by default `SystemConfig.baseline`.

    Returns:
        Baselines first. Systems whose baselines are equal share one; further ones are named
        `host (SYSTEM)`. A system with host traffic is followed by the same without, `SYSTEM (no traffic)`.
    """
    began = time.perf_counter()
    # every engine is made before the first one runs: what cannot be done is refused at once
    ordered, base_of = with_baselines(configs, host)
    runs = [
        _Run(config, workload, warmup, None if config.kind == "host" else values, make) for config in ordered
    ]
    results: dict[str, Result] = {}
    for run in runs:
        run.execute(progress)
        results[run.config.name] = run.result()
    measured = [
        _against(result, results[base_of[name]], results.get(result.config.without_traffic().name))
        for name, result in results.items()
    ]
    seed = configs[0].placement.seed if configs else 0
    return Comparison(describe_trace(workload, name), seed, warmup, measured, time.perf_counter() - began)


def with_baselines(
    configs: Sequence[SystemConfig], host: Callable[[SystemConfig], SystemConfig] = SystemConfig.baseline
) -> tuple[list[SystemConfig], dict[str, str]]:
    """All runs that a comparison makes, baselines first, and the name of each one's baseline by its name.

    A near-memory system with host traffic is there twice: as it is, and without.

    Raises:
        RecnmpError: two of them have the same name.
    """
    wanted = [host(config) for config in configs]
    own = [_same(config, its) for config, its in zip(configs, wanted, strict=True)]
    baselines = [config for config, alone in zip(configs, own, strict=True) if alone]
    others = [
        (each, its)
        for config, its, alone in zip(configs, wanted, own, strict=True)
        if not alone
        for each in ((config, config.without_traffic()) if config.reads_per_1000_clocks else (config,))
    ]
    base_of = {config.name: _find_baseline(baselines, its, config.name) for config, its in others}
    ordered = [*baselines, *(config for config, _ in others)]
    names = [config.name for config in ordered]
    if len(set(names)) < len(names):
        raise RecnmpError(f"systems have the same name: {', '.join(names)}")
    return ordered, {config.name: config.name for config in baselines} | base_of


def _same(one: SystemConfig, other: SystemConfig) -> bool:
    """Equal but for their names."""
    return one.model_copy(update={"name": other.name}) == other


def _find_baseline(baselines: list[SystemConfig], wanted: SystemConfig, system: str) -> str:
    """Name of the baseline equal to `wanted` but for its name; it joins `baselines` if there is none."""
    for baseline in baselines:
        if _same(baseline, wanted):
            return baseline.name
    taken = any(baseline.name == wanted.name for baseline in baselines)
    named = wanted.model_copy(update={"name": f"{wanted.name} ({system})"}) if taken else wanted
    baselines.append(named)
    return named.name


def _against(run: Result, baseline: Result, quiet: Result | None) -> Result:
    return replace(
        run,
        quiet_clocks=None if quiet is None else quiet.clocks,
        baseline=baseline.config.name,
        baseline_clocks=baseline.clocks,
        baseline_pj=baseline.energy_pj["total"],
    )


class _Run:
    """One system on one trace: when batches are offered, when they end, and what is counted."""

    def __init__(
        self, config: SystemConfig, workload: Workload, warmup: int, values: Values | None, make: MakeEngine
    ) -> None:
        if warmup < 0 or (warmup and warmup >= workload.n_batches):
            raise RecnmpError(
                f"warmup = {warmup}: at least 0, and one of the {workload.n_batches} batches must be left"
            )
        if config.kind == "nmp":
            _check_near_memory(workload)
        self.config = config
        self._workload = workload
        self._warmup = warmup
        placement = Placement(config, workload.tables)
        self._engine = make(config, workload.tables, placement, values)
        self._profiler = self._engine.hot_entries if isinstance(self._engine, ProfilingEngine) else None
        self._streams = config.run.mode == "stream"
        self._row_bytes = np.array([table.row_bytes for table in workload.tables], np.int64)
        self._sums = hashlib.sha256() if values is not None else None
        self._first = self._end = self._next = 0
        self._latencies: list[int] = []
        self._batches = self._lookups = self._useful_bytes = 0
        self._wall_s = 0.0

    def execute(self, progress: Progress | None) -> None:
        """Run the warm-up, forget what was counted, and run the rest."""
        began = time.perf_counter()
        if self._profiler is not None and self._profiler.looks_ahead:
            # half of each lookup's time, as far as progress knows
            progress = Meter(2, progress).step
            self._profiler.choose(self._workload, progress)
        batches = self._workload.batches()
        for batch in islice(batches, self._warmup):
            self._closed(batch, progress)
        self._start_counting()
        if self._streams:
            self._stream(list(batches), progress)
        else:
            for batch in batches:
                self._count(batch)
                self._latencies.append(self._closed(batch, progress))
        self._wall_s = time.perf_counter() - began

    def result(self) -> Result:
        """The measures of the counted batches."""
        counters = dict(self._engine.counters())
        check_counters(counters, self.config.kind)
        if counters["lookups"] != self._lookups:
            raise RuntimeError(
                f"{self.config.name} answered {counters['lookups']} of {self._lookups} lookups"
            )
        return Result(
            config=self.config,
            batches=self._batches,
            lookups=self._lookups,
            useful_bytes=self._useful_bytes,
            clocks=self._end - self._first,
            latencies=tuple(self._latencies),
            counters=counters,
            host_traffic=self._engine.host_traffic() if isinstance(self._engine, TrafficEngine) else None,
            packets=self._engine.packet_stats() if isinstance(self._engine, PacketEngine) else None,
            sums_sha256=self._sums.hexdigest() if self._sums else None,
            profile=self._profiler.report() if self._profiler else None,
            wall_s=self._wall_s,
            profiling_s=self._profiler.seconds() if self._profiler else None,
        )

    def _start_counting(self) -> None:
        self._engine.reset_counters()
        self._first = self._end = self._next

    def _closed(self, batch: Batch, progress: Progress | None) -> int:
        """A batch is offered on the clock after the one before has ended; its latency."""
        start = self._next
        self._end = self._engine.run_batch(batch, self._workload.order, start, progress)
        self._next = self._end + 1
        self._hash_sums([batch])
        return self._end - start

    def _hash_sums(self, batches: Sequence[Batch]) -> None:
        if self._sums is not None and isinstance(self._engine, SummingEngine):
            results = self._engine.results()
            if self._workload.mode != "sum":
                results = divide(results, batches)
            for pooled in results:
                self._sums.update(np.ascontiguousarray(pooled, "<f4").tobytes())

    def _stream(self, batches: list[Batch], progress: Progress | None) -> None:
        """All batches back to back: none has a latency of its own, since all wait from the start."""
        for batch in batches:
            self._count(batch)
        ends = self._engine.run_stream(batches, self._workload.order, self._next, progress)
        self._end = max(ends, default=self._next)
        self._hash_sums(batches)

    def _count(self, batch: Batch) -> None:
        self._batches += 1
        self._lookups += batch.lookups
        if batch.n_tables:
            per_table = np.diff(batch.offsets[:: batch.batch_size])
            self._useful_bytes += int(per_table @ self._row_bytes)


def _check_near_memory(workload: Workload) -> None:
    """Raise RecnmpError for what no setting could make summable, before placement gives advice."""
    from .host import check_table

    for table in workload.tables:
        check_table(table)
