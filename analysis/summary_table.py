"""The table of a comparison: one column a run, one line a measure, with units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..energy import PARTS

Row = tuple[str, str, list[str]]
_NOTHING = "-"


def render(document: Mapping[str, Any]) -> str:
    """Text of a result document (`Comparison.as_json()` or a `result.json` that was read).

    Columns are the runs in the document's order; what has no value (an empty trace, no baseline) is `-`.
    """
    runs: Sequence[Mapping[str, Any]] = document["runs"]
    rows: list[Row] = [
        ("", "", [run["system"] for run in runs]),
        ("baseline", "", [run["baseline"] or _NOTHING for run in runs]),
        ("batches", "", [_count(run["batches"]) for run in runs]),
        ("lookups", "", [_count(run["lookups"]) for run in runs]),
        ("clocks", "tCK", [_count(run["clocks"]) for run in runs]),
        ("speedup", "x", [_number(run["speedup"], 2) for run in runs]),
        *_latency_rows(runs),
        ("throughput", "M lookups/s", [_scaled(run["lookups_per_s"], 1e-6, 2) for run in runs]),
        ("useful data", "GB/s", [_number(run["gb_per_s"]["useful"], 2) for run in runs]),
        ("data on the channel", "GB/s", [_number(run["gb_per_s"]["bus"], 2) for run in runs]),
        ("instructions", "per lookup", [_instructions(run) for run in runs]),
        *_energy_rows(runs),
        ("energy saving", "%", [_scaled(run["energy_saving"], 100, 1) for run in runs]),
        *_ceiling_rows(runs),
    ]
    lines = [title(document), "", *_aligned(rows), ""]
    lines += [f"energy  {words}" for words in dict.fromkeys(run["energy_counts"] for run in runs)]
    lines.append("ceiling  least clocks that a run's own counts allow, and the speedup that they would give")
    return "\n".join(lines)


def title(document: Mapping[str, Any]) -> str:
    """Trace, memory and baseline of a document in one line, as a table or figure needs it above."""
    trace, runs = document["trace"], document["runs"]
    vectors = sorted({table["row_bytes"] for table in trace["tables"]})
    sizes = f"{vectors[0]}" if len(vectors) == 1 else f"{vectors[0]} to {vectors[-1]}" if vectors else "no"
    words = [f"{trace['name']}: {len(trace['tables'])} tables, {sizes}-byte rows"]
    words += dict.fromkeys(_memory(run["config"]) for run in runs)
    words += dict.fromkeys(_units(run["config"]) for run in runs if run["config"]["nmp"])
    baselines = list(dict.fromkeys(run["baseline"] for run in runs if run["baseline"]))
    words.append(f"baseline {', '.join(baselines)} (no last-level cache)" if baselines else "no baseline")
    if document["warmup"]:
        words.append(f"batches of warm-up: {document['warmup']}")
    return "; ".join(words)


def _memory(config: Mapping[str, Any]) -> str:
    memory, placement = config["memory"], config["placement"]
    channels = "" if memory["channels"] == 1 else f"{memory['channels']} channels of "
    return (
        f"{channels}{memory['dimms']}x{memory['ranks_per_dimm']} {config['dram']['timing']} "
        f"{config['dram']['organisation'].removeprefix('DDR4_')}, {placement['mapping']}, "
        f"{placement['pages']} pages"
    )


def _units(config: Mapping[str, Any]) -> str:
    nmp = config["nmp"]
    flight = nmp["packets_in_flight"] or 16 // nmp["poolings_per_packet"]
    return f"{nmp['poolings_per_packet']} poolings a packet, {flight} packets in flight"


def _latency_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for name in ("mean", "p50", "p95", "max"):
        clocks = [run["batch_latency_clocks"][name] for run in runs]
        rows.append((f"batch latency, {name}", "tCK", [_number(value, 0) for value in clocks]))
    for name in ("mean", "p95"):
        times = [run["batch_latency_us"][name] for run in runs]
        rows.append((f"batch latency, {name}", "us", [_number(value, 2) for value in times]))
    return rows


def _energy_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for part in (*PARTS, "total"):
        values = [run["energy_pj_per_lookup"][part] for run in runs]
        if part == "total" or any(values):
            rows.append((f"energy, {part.replace('_', ' ')}", "pJ/lookup", [_number(v, 1) for v in values]))
    return rows


def _ceiling_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for name in dict.fromkeys(name for run in runs for name in run["ceilings"]):
        bounds = [run["ceilings"][name] for run in runs]
        cells = [f"{_count(bound['clocks'])} ({_number(bound['speedup'], 2)}x)" for bound in bounds]
        rows.append((f"ceiling, {name.replace('_', ' ')}", "tCK", cells))
    return rows


def _instructions(run: Mapping[str, Any]) -> str:
    """LOOKUP instructions a lookup: above 1 where the mapping breaks a row into runs (D8)."""
    if run["kind"] != "nmp" or not run["lookups"]:
        return _NOTHING
    return _number(run["counters"]["instructions"] / run["lookups"], 2)


def _aligned(rows: Sequence[Row]) -> list[str]:
    names = max(len(name) for name, _, _ in rows)
    units = max(len(unit) for _, unit, _ in rows)
    widths = [max(map(len, column)) for column in zip(*(cells for _, _, cells in rows), strict=True)]
    return [
        f"{name:<{names}}  {unit:<{units}}"
        + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, unit, cells in rows
    ]


def _count(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def _number(value: float | None, digits: int) -> str:
    return _NOTHING if value is None else f"{value:,.{digits}f}".replace(",", " ")


def _scaled(value: float | None, factor: float, digits: int) -> str:
    return _number(None if value is None else value * factor, digits)
