"""The table of a comparison: one column a run, one line a measure, with units."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..energy import PARTS
from ..stats import CAUSES
from .names import printable

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
        *_packet_rows(runs),
        *_stall_rows(runs),
        ("throughput", "M lookups/s", [_scaled(run["lookups_per_s"], 1e-6, 2) for run in runs]),
        ("useful data", "GB/s", [_number(run["gb_per_s"]["useful"], 2) for run in runs]),
        ("data on the channel", "GB/s", [_number(run["gb_per_s"]["bus"], 2) for run in runs]),
        ("instructions", "per lookup", [_instructions(run) for run in runs]),
        *_cache_rows(runs),
        *_traffic_rows(runs),
        *_profile_rows(runs),
        *_energy_rows(runs),
        ("energy saving", "%", [_scaled(run["energy_saving"], 100, 1) for run in runs]),
        *_ceiling_rows(runs),
    ]
    lines = [*heading(document), "", *_aligned(rows), ""]
    lines += [f"energy  {words}" for words in dict.fromkeys(run["energy_counts"] for run in runs)]
    if any(run["host_traffic"] for run in runs):
        lines.append("host reads  beside the near-memory work, of other programs; the baseline has none")
    lines.append("ceiling  least clocks that a run's own counts allow, and the speedup that they would give")
    return "\n".join(lines)


def heading(document: Mapping[str, Any]) -> list[str]:
    """Trace, memory, packets and baselines of a document in one line, as a table or figure needs it above.

    What differs from system to system has lines of its own, with the names of those that it is true of.
    """
    trace, runs = document["trace"], document["runs"]
    vectors = sorted({table["row_bytes"] for table in trace["tables"]})
    sizes = f"{vectors[0]}" if len(vectors) == 1 else f"{vectors[0]} to {vectors[-1]}" if vectors else "no"
    common = [f"{printable(trace['name'])}: {_counted(len(trace['tables']), 'table')}, {sizes}-byte rows"]
    apart: list[str] = []
    for said in (_said_of(runs, _memory), _said_of([run for run in runs if run["config"]["nmp"]], _units)):
        (common if len(said) == 1 else apart).extend(said)
    baselines = list(dict.fromkeys(run["baseline"] for run in runs if run["baseline"]))
    common.append(f"baseline {_with_caches(runs, baselines)}" if baselines else "no baseline")
    others = [run for run in runs if _last_level(run) and run["system"] not in baselines]
    apart += [f"{run['system']}: {_last_level(run)}" for run in others]
    if document["warmup"]:
        common.append(f"batches of warm-up: {document['warmup']}")
    return ["; ".join(common), *apart]


def _said_of(runs: Sequence[Mapping[str, Any]], say: Callable[[Mapping[str, Any]], str]) -> list[str]:
    """What `say` says of the configurations; with the runs' names in front if it is not the same of all."""
    names: dict[str, list[str]] = {}
    for run in runs:
        names.setdefault(say(run["config"]), []).append(run["system"])
    if len(names) <= 1:
        return list(names)
    return [f"{', '.join(systems)}: {words}" for words, systems in names.items()]


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
    cache = _rank_cache(config)
    return (
        f"{_counted(nmp['poolings_per_packet'], 'pooling')} a packet, {_counted(flight, 'packet')} in flight, "
        f"{_counted(nmp['threads'], 'thread')}, {nmp['packet_policy']}"
        f"{', ' + cache if cache else ''}{_slower(config)}"
    )


def _slower(config: Mapping[str, Any]) -> str:
    """What is not as usual in how units are driven, in words."""
    nmp, rate = config["nmp"], config["traffic"]["reads_per_1000_clocks"]
    plain = ", plain DDR commands" if nmp["command_mode"] == "ddr" else ""
    clock = f", units on one clock in {nmp['nmp_clock_divider']}" if nmp["nmp_clock_divider"] > 1 else ""
    reads = f", {_counted(rate, 'host read')} in 1000 clocks and channel" if rate else ""
    return plain + clock + reads


def _rank_cache(config: Mapping[str, Any]) -> str:
    """The RankCache of a system in words; "" if it has none."""
    nmp = config["nmp"]
    if nmp is None or not nmp["rank_cache_bytes"]:
        return ""
    emptied = "" if nmp["rank_cache_flush"] == "never" else ", emptied before each batch"
    return (
        f"RankCache of {_size(nmp['rank_cache_bytes'])} a rank, {_counted(nmp['rank_cache_ways'], 'way')}, "
        f"{nmp['rank_cache_policy']}{emptied}{_hot_entries(nmp)}"
    )


def _hot_entries(nmp: Mapping[str, Any]) -> str:
    """Who counts hot entries, and from how many accesses on; "" if every lookup may use the RankCache."""
    if nmp["hot_entries"] == "all":
        return ""
    by = "exactly" if nmp["hot_entries"] == "exact" else "by a sketch"
    threshold = nmp["hot_threshold"]
    if threshold == "auto":
        threshold = "best of each table" + (" and batch" if nmp["hot_scope"] == "batch" else "")
    return f", for hot entries (counted {by}, threshold: {threshold})"


def _with_caches(runs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    """Names of baselines, and whether there is a last-level cache: once, if that is the same of all."""
    caches = {run["system"]: _last_level(run) or "no last-level cache" for run in runs}
    if len({caches[name] for name in names}) == 1:
        return f"{', '.join(names)} ({caches[names[0]]})"
    return ", ".join(f"{name} ({caches[name]})" for name in names)


def _last_level(run: Mapping[str, Any]) -> str:
    """The last-level cache of a host in words; "" if it has none."""
    host = run["config"]["host"]
    if run["kind"] != "host" or not host["llc_bytes"]:
        return ""
    return f"last-level cache of {_size(host['llc_bytes'])}, {_counted(host['llc_ways'], 'way')}, {host['llc_policy']}"


def _size(count: int) -> str:
    """Bytes in the largest binary unit that leaves no fraction of them out."""
    for shift, unit in ((20, "MiB"), (10, "KiB")):
        if count % (1 << shift) == 0:
            return f"{count >> shift} {unit}"
    return f"{count} bytes"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _latency_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for name in ("mean", "p50", "p95", "max"):
        clocks = [run["batch_latency_clocks"][name] for run in runs]
        rows.append((f"batch latency, {name}", "tCK", [_number(value, 0) for value in clocks]))
    for name in ("mean", "p95"):
        times = [run["batch_latency_us"][name] for run in runs]
        rows.append((f"batch latency, {name}", "us", [_number(value, 2) for value in times]))
    return rows


def _packet_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for name in ("mean", "p50", "p95", "p99", "max"):
        clocks = [run["packet_latency_clocks"][name] for run in runs]
        if any(value is not None for value in clocks):
            rows.append((f"packet latency, {name}", "tCK", [_number(value, 0) for value in clocks]))
    for name, words in (("run", "load imbalance"), ("packets", "load imbalance, packets")):
        uneven = [run["load_imbalance"][name] for run in runs]
        if any(value is not None for value in uneven):
            rows.append((words, "x", [_number(value, 2) for value in uneven]))
    return rows


def _stall_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What the clocks of all ranks went to, where that was counted; causes that never were are left out."""
    rows: list[Row] = []
    for cause in CAUSES:
        shares = [run["stalls"].get(cause) for run in runs]
        if any(shares):
            rows.append(
                (f"rank clocks, {cause.replace('_', ' ')}", "%", [_scaled(s, 100, 1) for s in shares])
            )
    return rows


def _energy_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for part in (*PARTS, "total"):
        values = [run["energy_pj_per_lookup"][part] for run in runs]
        if part == "total" or any(values):
            rows.append((f"energy, {part.replace('_', ' ')}", "pJ/lookup", [_number(v, 1) for v in values]))
    return rows


def _traffic_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What the host's own reads met, and what they cost; nothing where no run has any."""
    if not any(run["host_traffic"] for run in runs):
        return []
    met = [run["host_traffic"] or {"latency_clocks": {}} for run in runs]
    rows: list[Row] = [
        (f"host reads, latency {name}", "tCK", [_number(its["latency_clocks"].get(name), 0) for its in met])
        for name in ("mean", "p95", "p99")
    ]
    rows.append(("slowdown by host reads", "x", [_number(its.get("slowdown"), 2) for its in met]))
    return rows


def _cache_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    if any(_last_level(run) for run in runs):
        rows.append(("last-level cache hits", "%", [_scaled(run["llc_hit_rate"], 100, 1) for run in runs]))
    if any(_rank_cache(run["config"]) for run in runs):
        rows.append(("RankCache hits", "%", [_scaled(run["hit_rate"], 100, 1) for run in runs]))
    return rows


def _profile_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    """What runs with a profiler of hot entries counted, and what for."""
    if not any(run["profile"] for run in runs):
        return []
    kinds: list[tuple[str, str, Callable[[Mapping[str, Any]], str]]] = [
        ("hot thresholds", "accesses", _thresholds),
        ("hot lookups", "%", lambda profile: _scaled(profile["hot_share"], 100, 1)),
        ("indices read to count", "MB", lambda profile: _scaled(profile["index_bytes"], 1e-6, 2)),
        ("counting structure", "KiB", lambda profile: _scaled(profile["counting_bytes"], 1 / 1024, 1)),
    ]
    if any(run["profile"] and run["profile"]["sketch_clocks"] is not None for run in runs):
        kinds.append(("sketch at work", "tCK", _sketch_clocks))
    return [
        (name, unit, [say(run["profile"]) if run["profile"] else _NOTHING for run in runs])
        for name, unit, say in kinds
    ]


def _thresholds(profile: Mapping[str, Any]) -> str:
    """The thresholds of all tables, from the least to the largest."""
    found = [t for of in profile["thresholds"].values() for t in (of if isinstance(of, list) else [of])]
    if not found:
        return _NOTHING
    return str(found[0]) if min(found) == max(found) else f"{min(found)} to {max(found)}"


def _sketch_clocks(profile: Mapping[str, Any]) -> str:
    return _NOTHING if profile["sketch_clocks"] is None else _count(profile["sketch_clocks"])


def _ceiling_rows(runs: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows: list[Row] = []
    for name in dict.fromkeys(name for run in runs for name in run["ceilings"]):
        bounds = [run["ceilings"].get(name) for run in runs]
        cells = [
            f"{_count(bound['clocks'])} ({_number(bound['speedup'], 2)}x)" if bound else _NOTHING
            for bound in bounds
        ]
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
