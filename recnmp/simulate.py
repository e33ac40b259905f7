"""Running a trace on systems: simulate one, or compare some with their host baselines."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from .baseline import HostEngine
from .config.system import SystemConfig
from .errors import RecnmpError
from .placement import Placement
from .result import Comparison, Result, describe_trace
from .stats import check_counters
from .workload import Batch, Table, Workload

# Called with the number of lookups that were finished since the last call.
Progress = Callable[[int], None]


class Engine(Protocol):
    """A machine that runs batches: the host's, the near-memory one, or one in another language of blocks."""

    def run_batch(self, batch: Batch, order: str, start_clock: int) -> int:
        """Run one batch that is offered at start_clock; the clock at which its last datum has crossed.

        `order` is "table" or "sample". A batch without lookups ends when it starts.
        """

    def reset_counters(self) -> None:
        """Set all counters to 0; the state of the machine stays."""

    def counters(self) -> Mapping[str, int]:
        """What was counted since the last reset, by the names of recnmp.stats.COUNTERS."""


MakeEngine = Callable[[SystemConfig, Sequence[Table], Placement, Any], Engine]


def make_engine(config: SystemConfig, tables: Sequence[Table], placement: Placement, values: Any) -> Engine:
    """The engine of a system: the host's, or the near-memory one.

    Raises:
        RecnmpError: near-memory units cannot do this yet.
    """
    if config.kind == "host":
        return HostEngine(config, tables, placement)
    for table in tables:
        if table.dtype != "fp32":
            raise RecnmpError(
                f"table '{table.name}': {table.dtype} rows are not summed near memory yet, only fp32 (system "
                f"{config.name})"
            )
    # imported only where it is used: a host run needs no near-memory kernels
    from .near_memory import NmpEngine

    return NmpEngine(config, tables, placement, values)


def simulate(
    config: SystemConfig,
    workload: Workload,
    warmup: int = 0,
    values: Any = None,
    progress: Progress | None = None,
    make: MakeEngine = make_engine,
) -> Result:
    """Run a trace on one system, without a baseline.

    Args:
        config: the system.
        workload: the trace.
        warmup: batches that run first and are not counted.
        values: what the tables hold, for engines that sum (recnmp.values); None: timing only.
        progress: called after each batch.
        make: makes the engine; another one may be handed in.

    Raises:
        RecnmpError: tables do not fit, something is not supported yet, or warm-up leaves no batch.
    """
    if warmup < 0 or (warmup and warmup >= workload.n_batches):
        raise RecnmpError(f"warmup = {warmup}: the trace has {workload.n_batches} batches, one must be left")
    began = time.perf_counter()
    placement = Placement(config, workload.tables)
    run = _Run(make(config, workload.tables, placement, values), workload, hashing=values is not None)
    for batch in workload.batches():
        if batch.index == warmup:
            run.start_counting()
        run.batch(batch)
        if progress is not None:
            progress(batch.lookups)
    return run.result(config, time.perf_counter() - began)


def compare(
    configs: Sequence[SystemConfig],
    workload: Workload,
    name: str,
    warmup: int = 0,
    values: Any = None,
    progress: Progress | None = None,
    make: MakeEngine = make_engine,
    host: Callable[[SystemConfig], SystemConfig] = SystemConfig.as_host,
) -> Comparison:
    """Run each system and the host baseline of the same memory, placement and refresh (D14).

    Args:
        configs: the systems; names must differ. A host among them is its own baseline.
        workload: the trace.
        name: what the trace is called in tables and figures.
        warmup, values, progress, make: as of `simulate`.
        host: the baseline of a system, by default `SystemConfig.as_host`.

    Returns:
        Baselines first. Systems whose baselines are equal share one; further ones are named
        `host (SYSTEM)`.
    """
    began = time.perf_counter()
    names = [config.name for config in configs]
    if len(set(names)) < len(names):
        raise RecnmpError(f"systems have the same name: {', '.join(names)}")
    baselines: list[SystemConfig] = [config for config in configs if config.kind == "host"]
    pairs: list[tuple[SystemConfig, str]] = []
    for config in configs:
        if config.kind == "nmp":
            pairs.append((config, _find_baseline(baselines, host(config), config.name)))
    runs: dict[str, Result] = {}
    for config in baselines:
        run = simulate(config, workload, warmup, None, progress, make)
        runs[config.name] = _against(run, run)
    for config, baseline in pairs:
        runs[config.name] = _against(simulate(config, workload, warmup, values, progress, make), runs[baseline])
    seed = configs[0].placement.seed if configs else 0
    wall = time.perf_counter() - began
    return Comparison(describe_trace(workload, name), seed, warmup, list(runs.values()), wall)


def _find_baseline(baselines: list[SystemConfig], wanted: SystemConfig, system: str) -> str:
    """Name of the baseline equal to `wanted` but for its name; it joins `baselines` if there is none."""
    for baseline in baselines:
        if baseline.model_copy(update={"name": wanted.name}) == wanted:
            return baseline.name
    taken = any(baseline.name == wanted.name for baseline in baselines)
    named = wanted.model_copy(update={"name": f"{wanted.name} ({system})"}) if taken else wanted
    baselines.append(named)
    return named.name


def _against(run: Result, baseline: Result) -> Result:
    return replace(
        run,
        baseline=baseline.config.name,
        baseline_clocks=baseline.clocks,
        baseline_pj=baseline.energy_pj["total"],
    )


class _Run:
    """The clock of one run: when batches are offered and end."""

    def __init__(self, engine: Engine, workload: Workload, hashing: bool) -> None:
        self._engine = engine
        self._order = workload.order
        self._row_bytes = np.array([table.row_bytes for table in workload.tables], np.int64)
        self._sums = hashlib.sha256() if hashing else None
        self._next = 0
        self.start_counting()

    def start_counting(self) -> None:
        """Forget what was counted: the batches so far were warm-up."""
        self._engine.reset_counters()
        self._first = self._end = self._next
        self._latencies: list[int] = []
        self._lookups = 0
        self._useful_bytes = 0

    def batch(self, batch: Batch) -> None:
        """Closed mode: a batch is offered on the clock after the one before has ended."""
        start = self._next
        self._end = self._engine.run_batch(batch, self._order, start)
        self._next = self._end + 1
        self._latencies.append(self._end - start)
        self._lookups += batch.lookups
        if batch.n_tables:
            per_table = np.diff(batch.offsets[:: batch.batch_size])
            self._useful_bytes += int(per_table @ self._row_bytes)
        if self._sums is not None:
            for sums in getattr(self._engine, "results", list)():
                self._sums.update(np.ascontiguousarray(sums, "<f4").tobytes())

    def result(self, config: SystemConfig, wall_s: float) -> Result:
        """The measures of the counted batches."""
        counters = dict(self._engine.counters())
        check_counters(counters, config.kind)
        if counters["lookups"] != self._lookups:
            raise RuntimeError(f"{config.name} answered {counters['lookups']} of {self._lookups} lookups")
        return Result(
            config=config,
            lookups=self._lookups,
            useful_bytes=self._useful_bytes,
            clocks=self._end - self._first,
            latencies=tuple(self._latencies),
            counters=counters,
            sums_sha256=self._sums.hexdigest() if self._sums else None,
            wall_s=wall_s,
        )
