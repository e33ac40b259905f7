"""`trace info` as aligned text; `-` stands where there is nothing to average."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TABLES_SHOWN = 12


def size_text(size: int) -> str:
    """Bytes in the largest binary unit that divides them evenly: 131072 -> "128 KiB"."""
    for power, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size and size % (1 << power) == 0:
            return f"{size >> power} {unit}"
    return f"{size} B"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.2f} %"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Columns of one width, the first to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def locality_text(info: Mapping[str, Any]) -> str:
    """The description that `recnmp.locality.describe` gives, as text with units."""
    return "\n\n".join([_summary(info), _tables(info), _histogram(info), _curve(info)])


def _summary(info: Mapping[str, Any]) -> str:
    pooling, repeated = info["pooling"], info["duplicates_in_bag"]
    lengths = f"{_number(pooling['mean'])} mean, {_number(pooling['standard_deviation'])} deviation, "
    lengths += f"{_number(pooling['min'])} to {_number(pooling['max'])}"
    bad = info["non_finite_weights"]
    lines = [
        ("lookups", _number(info["lookups"])),
        ("batches, samples", f"{_number(info['batches'])}, {_number(info['samples'])}"),
        ("poolings", f"{_number(pooling['poolings'])} ({_number(pooling['empty'])} empty), {info['mode']}"),
        ("pooling, lookups", lengths),
        ("order of poolings", f"{info['order']} by {info['order']}"),
        ("weights", "none" if bad is None else f"one a lookup, {_number(bad)} of them NaN or infinite"),
        (
            "rows touched",
            f"{_number(info['rows_touched'])} ({_number(info['rows_touched_bytes'])} bytes in lines)",
        ),
        ("duplicates in a bag", f"{_number(repeated['lookups'])} lookups, {_percent(repeated['share'])}"),
    ]
    for hot in info["hot_share"]:
        lines.append((f"hottest {100 * hot['rows']:g} % of rows", f"{_percent(hot['lookups'])} of lookups"))
    active = info["origin"].get("active_rows")  # an origin is whatever its writer put there
    if isinstance(active, list) and active and all(type(rows) is int for rows in active):
        span = f"{min(active):,}" if min(active) == max(active) else f"{min(active):,} to {max(active):,}"
        lines.append(("active rows a table", span))
    lines.append(("content hash", info["content_hash"][:16]))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def _tables(info: Mapping[str, Any]) -> str:
    rows = [("table", "rows", "dim", "type", "row bytes", "lookups", "rows touched")]
    for table in info["tables"][:_TABLES_SHOWN]:
        counts = [_number(table[key]) for key in ("rows", "dim")]
        rest = [_number(table[key]) for key in ("row_bytes", "lookups", "rows_touched")]
        rows.append((table["name"], counts[0], counts[1], _stored(table), rest[0], rest[1], rest[2]))
    more = len(info["tables"]) - _TABLES_SHOWN
    return aligned(rows) + (f"\n... and {more} more (--json shows all)" if more > 0 else "")


def _stored(table: Mapping[str, Any]) -> str:
    """`int8 head`, or the type alone where it has one layout only."""
    return str(table["dtype"]) if table["layout"] == "plain" else f"{table['dtype']} {table['layout']}"


def _histogram(info: Mapping[str, Any]) -> str:
    rows = [("accesses a row", "rows", "", "lookups", "")]
    for entry in info["reuse_histogram"]:
        top = "inf)" if entry["up_to"] is None else f"{entry['up_to']}]"
        shares = _percent(entry["rows_share"]), _percent(entry["lookups_share"])
        name = f"({entry['above']}, {top}"
        rows.append((name, _number(entry["rows"]), shares[0], _number(entry["lookups"]), shares[1]))
    return aligned(rows)


def _curve(info: Mapping[str, Any]) -> str:
    rows = [("LRU cache, all tables", "lookups that hit", "if shuffled")]
    for entry in info["hit_curve"]:
        shares = _percent(entry["hit_share"]), _percent(entry["shuffled_hit_share"])
        rows.append((size_text(entry["cache_bytes"]), *shares))
    return aligned(rows)
