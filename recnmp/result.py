"""What simulations yield: the measures of one run, and the document of several runs side by side."""

from __future__ import annotations

import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from . import __version__
from .config.system import BURST_BYTES, SystemConfig
from .energy import energy_pj, what_counts
from .errors import RecnmpError
from .packet_stats import PERCENTS, PacketStats, rank_imbalance
from .replacing import replacing
from .stats import (
    ceilings,
    hit_rate,
    hit_rates,
    latency,
    lines_by_rank,
    llc_hit_rate,
    stalls,
    total,
    with_totals,
)
from .traffic import TrafficMeasures
from .workload import Workload

SCHEMA = "recnmp.result/1"
# In the metadata of every figure, under "Software".
FIGURE_MARK = "recnmp simulate"


@dataclass(frozen=True)
class Result:
    """One system on one trace.

    Attributes:
        config: the system, resolved.
        batches, lookups, useful_bytes: of the counted batches.
        clocks: from the offer of the first counted batch to the end of the last one.
        latencies: clocks of each counted batch (docs/measures.md); empty in stream mode.
        counters: what the engine counted (recnmp.stats.COUNTERS).
        baseline: name of the run that speed-up and saving are relative to (its own name for a baseline);
            None if it ran alone.
        baseline_clocks, baseline_pj: of the baseline over the same batches.
        host_traffic: the reads of other programs beside the near-memory work; None where there are none.
        quiet_clocks: of the same system over the same batches without that traffic; None if it did not run.
        packets: what is said of its packets; None for a system without.
        sums_sha256: hash of all batches' sums (float32, table by table), warm-up included;
            None when the run has no values.
        profile: of hot entries (recnmp.hotness); None if the run has no profiler.
        wall_s: seconds that the simulation took; no part of equality.
        profiling_s: seconds of that for counting, and for choosing thresholds; no part of equality.
    """

    config: SystemConfig
    batches: int
    lookups: int
    useful_bytes: int
    clocks: int
    latencies: tuple[int, ...]
    counters: Mapping[str, int]
    baseline: str | None = None
    baseline_clocks: int | None = None
    baseline_pj: float | None = None
    host_traffic: TrafficMeasures | None = None
    quiet_clocks: int | None = None
    packets: PacketStats | None = None
    sums_sha256: str | None = None
    profile: Mapping[str, Any] | None = None
    wall_s: float = field(default=0.0, compare=False)
    profiling_s: Mapping[str, float] | None = field(default=None, compare=False)

    @property
    def seconds(self) -> float:
        """Simulated seconds of the counted clocks."""
        return self.clocks * self.config.dram.timings().tCK_ps * 1e-12

    @property
    def lookups_per_s(self) -> float | None:
        """Lookups a simulated second; None if no clock passed."""
        return _ratio(self.lookups, self.seconds)

    @property
    def speedup(self) -> float | None:
        """Clocks of the baseline over clocks of this run; None if no clock passed."""
        return _ratio(self.baseline_clocks, self.clocks)

    @property
    def energy_pj(self) -> dict[str, float]:
        """Dynamic energy by part, and `total`, in pJ."""
        return energy_pj(self.config, self.counters)

    @property
    def saving(self) -> float | None:
        """Share of the baseline's energy that this run does not need; None if that is 0."""
        rest = _ratio(self.energy_pj["total"], self.baseline_pj)
        return None if rest is None else 1.0 - rest

    @property
    def bus_bytes(self) -> int:
        """Bytes of the 64-byte data bursts that crossed the channel; no commands, no instructions."""
        bursts = ("rd", "wr") if self.config.kind == "host" else ("result_bursts", "host_lines")
        return BURST_BYTES * sum(total(self.counters, name) for name in bursts)

    def as_json(self) -> dict[str, Any]:
        """The run as plain data; averages of nothing are None."""
        microseconds = self.config.dram.timings().tCK_ps * 1e-6
        clocks = asdict(latency(self.latencies))
        energy = self.energy_pj
        bounds = ceilings(self.config, self.counters)
        return {
            "system": self.config.name,
            "kind": self.config.kind,
            "config": self.config.model_dump(),
            "timing": self.config.dram.timings().model_dump(),
            "baseline": self.baseline,
            "batches": self.batches,
            "lookups": self.lookups,
            "clocks": self.clocks,
            "batch_latency_clocks": clocks,
            "batch_latency_us": {
                name: None if value is None else value * microseconds for name, value in clocks.items()
            },
            "lookups_per_s": self.lookups_per_s,
            "gb_per_s": {
                "useful": _ratio(self.useful_bytes * 1e-9, self.seconds),
                "bus": _ratio(self.bus_bytes * 1e-9, self.seconds),
            },
            "speedup": self.speedup,
            "energy_pj": energy,
            "energy_pj_per_lookup": {part: _ratio(value, self.lookups) for part, value in energy.items()},
            "energy_saving": self.saving,
            "energy_counts": what_counts(self.config),
            "ceilings": {
                name: {"clocks": least, "speedup": _ratio(self.baseline_clocks, least)}
                for name, least in bounds.items()
            },
            "llc_hit_rate": llc_hit_rate(self.counters),
            "hit_rate": hit_rate(self.counters),
            "hit_rate_by_rank": hit_rates(self.counters),
            "stalls": stalls(self.counters),
            "host_traffic": self._traffic(),
            "hit_rate_by_table": self._hit_rate_by_table(),
            "packet_latency_clocks": {
                name: getattr(self.packets, name, None)
                for name in ("mean", *(f"p{percent}" for percent in PERCENTS), "max")
            },
            "load_imbalance": {
                "run": rank_imbalance(lines_by_rank(self.counters)),
                "packets": self.packets.imbalance if self.packets else None,
            },
            "counters": with_totals(self.counters),
            "sums_sha256": self.sums_sha256,
            "profile": None if self.profile is None else dict(self.profile),
        }

    def _traffic(self) -> dict[str, Any] | None:
        measures = self.host_traffic
        if measures is None:
            return None
        return {
            "reads_per_1000_clocks": self.config.reads_per_1000_clocks,
            "reads": measures.reads,
            "latency_clocks": {
                name: getattr(measures, name) for name in ("mean", "p50", "p95", "p99", "max")
            },
            "longest_queue": measures.longest_queue,
            "slowdown": _ratio(self.clocks, self.quiet_clocks),
        }

    def _hit_rate_by_table(self) -> list[dict[str, Any]]:
        """By table of the trace; empty without a RankCache."""
        if self.packets is None or hit_rate(self.counters) is None:
            return []
        return [{**asdict(table), "hit_rate": table.hit_rate} for table in self.packets.tables]


@dataclass(frozen=True)
class Comparison:
    """Several runs of one trace, as `result.json` holds them.

    Attributes:
        trace: name, content hash, shape and origin of the trace.
        seed: of the placement's pages and of hashed values.
        warmup: batches that ran first, uncounted.
        runs: baselines before the systems that name them.
        wall_s: seconds for all runs; no part of equality.
    """

    trace: Mapping[str, Any]
    seed: int
    warmup: int
    runs: Sequence[Result]
    wall_s: float = field(default=0.0, compare=False)

    def as_json(self) -> dict[str, Any]:
        """The document as plain data. `provenance` is all that differs from machine to machine."""
        return {
            "schema": SCHEMA,
            "trace": dict(self.trace),
            "seed": self.seed,
            "warmup": self.warmup,
            "runs": [run.as_json() for run in self.runs],
            "provenance": {
                "recnmp": __version__,
                "python": platform.python_version(),
                "numpy": np.__version__,
                "machine": platform.machine(),
                "system": platform.system(),
                "cpus": os.cpu_count(),
                "wall_s": round(self.wall_s, 3),
                "wall_s_of_runs": [round(run.wall_s, 3) for run in self.runs],
                "profiling_s_of_runs": [
                    run.profiling_s and {what: round(s, 4) for what, s in run.profiling_s.items()}
                    for run in self.runs
                ],
            },
        }

    def text(self) -> str:
        """The document as it is written: keys sorted, no NaN or infinity."""
        return json.dumps(self.as_json(), indent=1, sort_keys=True, allow_nan=False) + "\n"

    def save(self, path: Path) -> None:
        """Write the document; the file is whole or not there."""
        text = self.text()
        with replacing(path) as temporary:
            temporary.write_text(text, encoding="utf-8")


def describe_trace(workload: Workload, name: str) -> dict[str, Any]:
    """Hash, shape and origin of a trace, for the document."""
    sizes = workload.header.batch_sizes
    return {
        "name": name,
        "sha256": workload.content_hash(),
        "batches": workload.n_batches,
        "batch_size": {"min": min(sizes, default=None), "max": max(sizes, default=None)},
        "lookups": workload.lookups,
        "order": workload.order,
        "mode": workload.mode,
        "weighted": workload.weighted,
        "origin": finite(workload.origin),
        "tables": [
            {
                "name": table.name,
                "rows": table.rows,
                "dim": table.dim,
                "dtype": table.dtype,
                "row_bytes": table.row_bytes,
            }
            for table in workload.tables
        ],
    }


def finite(value: Any) -> Any:
    """Plain data without NaN and infinities, which JSON does not have: they become their names."""
    if isinstance(value, Mapping):
        return {str(key): finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def is_result(path: Path) -> bool:
    """Does the file look like a document that `Comparison.save` wrote?"""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("recnmp.result/")


def refuse_foreign(document: Path, figure: Path) -> None:
    """Refuse to write where a file that is not from recnmp would be replaced.

    A figure is taken for ours if it carries our name in its metadata.

    Raises:
        RecnmpError: names the file.
    """
    for path, ours in ((document, is_result), (figure, is_figure)):
        if os.path.lexists(path) and not ours(path):
            raise RecnmpError(f"{path}: exists and is not from recnmp; name another folder with --out")


def is_figure(path: Path) -> bool:
    """Is the file a PNG that says it is from recnmp?"""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError:
        return False
    return head.startswith(b"\x89PNG") and FIGURE_MARK.encode() in head


def _ratio(number: float | None, of: float | None) -> float | None:
    """number / of; None when there is nothing to divide (by), or nothing finite comes of it."""
    if number is None or not of:
        return None
    value = number / of
    return value if math.isfinite(value) else None
