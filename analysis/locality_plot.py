"""The figure of `trace info --plot`: LRU hit curve, real against shuffled, and the reuse histogram."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # a file, never a window

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .locality_text import size_text
from .names import printable

_REAL, _SHUFFLED = "#1b5e8c", "#c8742b"


def locality_figure(info: Mapping[str, Any], title: str) -> Figure:
    """The figure of a description by `recnmp.locality.describe`; a trace without lookups gives empty axes."""
    figure = Figure(figsize=(11, 4.4), layout="constrained", dpi=150)
    curve, histogram = figure.subplots(1, 2)
    _draw_curve(curve, info)
    _draw_histogram(histogram, info)
    lookups, rows = f"{info['lookups']:,}", f"{info['rows_touched']:,}"
    figure.suptitle(
        f"{printable(title)}: {lookups} lookups of {rows} rows, {info['order']} by {info['order']}",
        fontsize=12,
        parse_math=False,  # a file's name may hold dollars
    )
    return figure


def save_locality_plot(info: Mapping[str, Any], title: str, path: str | os.PathLike[str], form: str) -> None:
    """Write the figure to `path` in the format `form` (png, svg, pdf)."""
    # without a date, so that the same trace gives the same bytes
    metadata = {"png": {"Software": ""}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    with matplotlib.rc_context({"svg.hashsalt": "recnmp"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # the title may be in any script
        locality_figure(info, title).savefig(Path(path), format=form, metadata=metadata)


def _draw_curve(axes: Axes, info: Mapping[str, Any]) -> None:
    entries = info["hit_curve"]
    places = range(len(entries))
    for key, label, color, mark in (
        ("hit_share", "as executed", _REAL, "o-"),
        ("shuffled_hit_share", "same lookups, shuffled", _SHUFFLED, "s--"),
    ):
        shares = [
            (at, 100 * entry[key])
            for at, entry in zip(places, entries, strict=True)
            if entry[key] is not None
        ]
        if shares:
            xs, ys = zip(*shares, strict=True)
            axes.plot(xs, ys, mark, color=color, label=label, markersize=4, linewidth=1.6)
            axes.legend(loc="best", frameon=False)
    names = [size_text(entry["cache_bytes"]) for entry in entries]
    axes.set_xticks(list(places), names, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_ylim(0, 100)
    axes.set_xlabel("size of one LRU cache over all tables")
    axes.set_ylabel("lookups that hit, %")
    axes.grid(alpha=0.3)


def _draw_histogram(axes: Axes, info: Mapping[str, Any]) -> None:
    entries = info["reuse_histogram"]
    places = list(range(len(entries)))
    for key, label, color, shift in (
        ("rows_share", "rows touched", _SHUFFLED, -0.2),
        ("lookups_share", "lookups", _REAL, 0.2),
    ):
        heights = [100 * (entry[key] or 0) for entry in entries]
        axes.bar([at + shift for at in places], heights, 0.4, color=color, label=label)
    names = ["> 32768" if entry["up_to"] is None else f"{_from(entry)}" for entry in entries]
    axes.set_xticks(places, names, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_xlabel("accesses of a row in the trace")
    axes.set_ylabel("share, %")
    axes.set_ylim(0, 100)
    axes.legend(loc="best", frameon=False)
    axes.grid(alpha=0.3, axis="y")


def _from(entry: Mapping[str, Any]) -> str:
    low, high = entry["above"] + 1, entry["up_to"]
    return f"{high}" if low == high else f"{low} to {high}"
