"""The figure of a comparison: batch latency, throughput, and energy by part, one bar a run.

Bars lie, so that a run's name of any length stands once, at the left, and is read without turning the head.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from ..energy import PARTS
from .summary_table import heading

# Colours of Okabe and Ito, told apart by colour-blind readers too; a part keeps its colour in every figure.
_PART_COLOURS = dict(
    zip(
        PARTS,
        ("#0072B2", "#56B4E9", "#999999", "#D55E00", "#E69F00", "#CC79A7", "#009E73", "#F0E442"),
        strict=True,
    )
)
_BASELINE, _SYSTEM = "#999999", "#0072B2"
_WIDTH = 13.0  # inches
_TITLE, _SMALL = 160, 200  # characters that fit a line above and below


def draw(document: Mapping[str, Any], path: Path, software: str) -> None:
    """Draw a result document as PNG.

    Args:
        document: `Comparison.as_json()`, or a `result.json` that was read.
        path: the file.
        software: goes into the file's metadata under that name.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the trace's name may be in any script
        summary(document).savefig(path, format="png", dpi=144, metadata={"Software": software})


def summary(document: Mapping[str, Any]) -> Figure:
    """The figure of a result document, not drawn yet."""
    runs = document["runs"]
    above = _filled(heading(document), _TITLE)
    below = _filled(dict.fromkeys(run["energy_counts"] for run in runs), _SMALL)
    lines = above.count("\n") + below.count("\n") + 2
    figure = Figure(figsize=(_WIDTH, 1.6 + 0.16 * lines + 0.5 * max(3, len(runs))), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(above, fontsize=9, parse_math=False)
    latency, throughput, energy = figure.subplots(1, 3, sharey=True)
    _draw_latency(latency, runs)
    _draw_throughput(throughput, runs)
    _draw_energy(energy, runs)
    latency.set_yticks(range(len(runs)), [run["system"].replace(" (", "\n(") for run in runs], fontsize=9)
    latency.set_ylim(len(runs) - 0.4, -0.6)  # the first run on top
    figure.supxlabel(below, fontsize=7)
    return figure


def _draw_latency(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title("batch latency: mean, and 95th percentile (|)", fontsize=10)
    _tidy(axes, "batch latency (µs)")
    values = [run["batch_latency_us"] for run in runs]
    for position, run in enumerate(runs):
        if run["lookups"] and values[position]["mean"] is None:
            axes.text(0.02, position, "none of its own: stream mode", va="center", fontsize=8, color="dimgrey",
                      transform=axes.get_yaxis_transform())  # fmt: skip
    means, top = (_plain([value[name] for value in values]) for name in ("mean", "p95"))
    if _nothing(axes, runs, means):
        return
    axes.barh(range(len(runs)), means, color=_colours(runs), height=0.6)
    known = [position for position, value in enumerate(values) if value["mean"] is not None]
    axes.plot([top[position] for position in known], known, "k|", markersize=18, linestyle="none")
    for position in known:
        _label(axes, max(means[position], top[position]), position, f"mean {means[position]:,.4g}")
    axes.set_xlim(0, 1.45 * max(*means, *top))


def _draw_throughput(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title("throughput, and speedup in clocks", fontsize=10)
    _tidy(axes, "throughput (million lookups/s)")
    rates = [rate / 1e6 for rate in _plain([run["lookups_per_s"] for run in runs])]
    if _nothing(axes, runs, rates):
        return
    axes.barh(range(len(runs)), rates, color=_colours(runs), height=0.6)
    for position, run in enumerate(runs):
        if run["speedup"] is not None:
            _label(axes, rates[position], position, f"{run['speedup']:.2f}x")
    axes.set_xlim(0, 1.2 * max(rates))


def _draw_energy(axes: Axes, runs: Sequence[Mapping[str, Any]]) -> None:
    axes.set_title("dynamic energy by part, and saving", fontsize=10)
    _tidy(axes, "dynamic energy (nJ/lookup)")
    ends = np.zeros(len(runs))
    for part in PARTS:
        values = np.array(_plain([run["energy_pj_per_lookup"][part] for run in runs])) / 1000
        if values.any():
            label = part.replace("_", " ")
            axes.barh(range(len(runs)), values, left=ends, height=0.6, color=_PART_COLOURS[part], label=label)
            ends += values
    if _nothing(axes, runs, ends.tolist()):
        return
    for position, run in enumerate(runs):
        if run["energy_saving"] is not None and run["system"] != run["baseline"]:
            _label(axes, ends[position], position, f"{-100 * run['energy_saving']:+.1f} %")
    axes.set_xlim(0, 1.25 * ends.max())
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _nothing(axes: Axes, runs: Sequence[Mapping[str, Any]], values: Sequence[float]) -> bool:
    """Whether there is nothing to draw; the panel then says so, and has no scale."""
    if any(values):
        return False
    axes.set_xticks([])
    if not any(run["lookups"] for run in runs):
        axes.text(0.5, 0.5, "no lookups", ha="center", va="center", transform=axes.transAxes)
    return True


def _label(axes: Axes, end: float, position: int, words: str) -> None:
    axes.annotate(words, (end, position), (4, 0), textcoords="offset points", va="center", fontsize=9)


def _filled(paragraphs: Iterable[str], width: int) -> str:
    return "\n".join(textwrap.fill(words, width, max_lines=4) for words in paragraphs)


def _colours(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_BASELINE if run["kind"] == "host" else _SYSTEM for run in runs]


def _plain(values: Sequence[float | None]) -> list[float]:
    """Bars need numbers: what has no value (an empty trace) has no length."""
    return [0.0 if value is None else value for value in values]


def _tidy(axes: Axes, label: str) -> None:
    axes.set_xlabel(label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", linewidth=0.4)
    axes.tick_params(axis="y", length=0)
    axes.set_axisbelow(True)
