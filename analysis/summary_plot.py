"""The figure of a comparison: batch latency, throughput, and energy by part, one bar a run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..energy import PARTS
from .summary_table import title

# Colours of Okabe and Ito, told apart by colour-blind readers too; a part keeps its colour in every figure.
_PART_COLOURS = dict(
    zip(
        PARTS,
        ("#0072B2", "#56B4E9", "#999999", "#D55E00", "#E69F00", "#CC79A7", "#009E73", "#F0E442"),
        strict=True,
    )
)
_BASELINE, _SYSTEM = "#999999", "#0072B2"


def draw(document: Mapping[str, Any], path: Path, software: str) -> None:
    """Draw a result document as PNG.

    Args:
        document: `Comparison.as_json()`, or a `result.json` that was read.
        path: the file.
        software: goes into the file's metadata under that name.
    """
    runs = document["runs"]
    figure = Figure(figsize=(max(11.0, 3.2 + 2.5 * len(runs)), 4.9), layout="constrained")
    FigureCanvasAgg(figure)
    heading = textwrap.fill(title(document), 130)
    figure.suptitle(heading, fontsize=9)
    latency, throughput, energy = figure.subplots(1, 3)
    _draw_latency(latency, runs)
    _draw_throughput(throughput, runs)
    _draw_energy(energy, runs)
    counts = "\n".join(dict.fromkeys(run["energy_counts"] for run in runs))
    figure.supxlabel(textwrap.fill(counts, 160), fontsize=7)
    figure.savefig(path, format="png", dpi=144, metadata={"Software": software})


def _draw_latency(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    values = [run["batch_latency_us"] for run in runs]
    means = _plain([value["mean"] for value in values])
    top = _plain([value["p95"] for value in values])
    bars = axes.bar(_names(runs), means, color=_colours(runs), width=0.6)
    axes.plot(range(len(runs)), top, "k_", markersize=22, label="95th percentile", linestyle="none")
    axes.bar_label(bars, [_label(value["mean"]) for value in values], padding=-14, color="white", fontsize=9)
    axes.set_ylabel("batch latency, mean (µs)")
    axes.set_title("batch latency")
    axes.set_ylim(0, 1.25 * max([*means, *top, 1e-9]))  # room for the legend
    axes.legend(fontsize=8, frameon=False, loc="upper right")
    _tidy(axes)


def _draw_throughput(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    rates = _plain([run["lookups_per_s"] for run in runs])
    bars = axes.bar(_names(runs), [rate / 1e6 for rate in rates], color=_colours(runs), width=0.6)
    labels = ["" if run["speedup"] is None else f"{run['speedup']:.2f}x" for run in runs]
    axes.bar_label(bars, labels, padding=2, fontsize=9)
    axes.set_ylabel("throughput (million lookups/s)")
    axes.set_title("throughput, and speedup in clocks")
    axes.set_ylim(0, 1.15 * max([*rates, 1.0]) / 1e6)
    _tidy(axes)


def _draw_energy(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    bottom = np.zeros(len(runs))
    for part in PARTS:
        values = np.array(_plain([run["energy_pj_per_lookup"][part] for run in runs])) / 1000
        if values.any():
            axes.bar(
                _names(runs),
                values,
                bottom=bottom,
                width=0.6,
                color=_PART_COLOURS[part],
                label=part.replace("_", " "),
            )
            bottom += values
    for position, run in enumerate(runs):
        if run["energy_saving"] is not None and run["system"] != run["baseline"]:
            words = f"{-100 * run['energy_saving']:+.1f} %"
            axes.text(position, bottom[position], words, ha="center", va="bottom", fontsize=9)
    axes.set_ylabel("dynamic energy (nJ/lookup)")
    axes.set_title("dynamic energy by part")
    axes.set_ylim(0, 1.1 * max([*bottom.tolist(), 1e-9]))
    if bottom.any():
        # beside the bars, highest part first as it is stacked
        axes.legend(fontsize=8, frameon=False, reverse=True, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    _tidy(axes)


def _names(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [run["system"].replace(" (", "\n(") for run in runs]


def _colours(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_BASELINE if run["kind"] == "host" else _SYSTEM for run in runs]


def _plain(values: Sequence[float | None]) -> list[float]:
    """Bars need numbers: what has no value (an empty trace) has no height."""
    return [0.0 if value is None else value for value in values]


def _label(value: float | None) -> str:
    return "" if value is None else f"{value:,.4g}"


def _tidy(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_axisbelow(True)
