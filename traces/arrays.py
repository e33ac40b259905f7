"""Traces from arrays of others: `.npz` in table-major form or multi-hot, Parquet with list columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import RecnmpError
from ..workload import (
    Batch,
    Layout,
    Repair,
    RepairCounts,
    Table,
    Workload,
    as_ids,
    as_offsets,
    offsets_from_lengths,
)
from ..workload.header import check_mode
from ..workload.npz import read_array, read_arrays
from ..workload.parquet import KEY, open_parquet
from ..workload.positions import expand_positions
from .columns import check_names, read_columns, refuse_unused
from .words import Int64


@dataclass(frozen=True)
class ArrayOptions:
    """What arrays do not tell; None: not said.

    tables: how many; None: from the batch size. rows: of each table, or one for all; empty: largest id + 1.
    batch_size: samples a batch; None: all are one batch. dim, dtype, layout: of all tables; None: 32, fp32, the
    dtype's own. order: None: table by table. mode: None: sum. positional_weights: a file with weights by place in the
    bag, [longest bag] or [T, longest bag]. repair: of ids out of range. columns: list columns of a Parquet file, each a
    table; empty: all. What means nothing for a file is refused, not ignored.
    """

    tables: int | None = None
    rows: tuple[int, ...] = ()
    batch_size: int | None = None
    dim: int | None = None
    dtype: str | None = None
    layout: str | None = None
    order: str | None = None
    mode: str | None = None
    positional_weights: Path | None = None
    repair: Repair | None = None
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("tables", "batch_size"):
            size = getattr(self, name)
            if size is not None and size < 1:
                raise RecnmpError(f"{name.replace('_', ' ')}: {size}, allowed is 1 and up")

    def given(self, *names: str) -> list[str]:
        """Those of the options, of all if none is named, that were said, as the command line spells them."""
        names = names or tuple(field.name for field in fields(self))
        spelt = {"columns": "table", "repair": "out-of-range or pruned"}
        return [
            spelt.get(name, name.replace("_", "-")) for name in names if getattr(self, name) not in (None, ())
        ]


def import_npz(path: Path, options: ArrayOptions) -> Workload:
    """A trace of an `.npz` file: ours, (indices, offsets or lengths, weights), or multi-hot ("0", "1", ...).

    Raises RecnmpError naming what is missing or wrong.
    """
    arrays = read_arrays(path)
    if "header" in arrays:
        return _ours(path, options)
    refuse_unused(path, options.given("columns"), ".npz files")
    if arrays and all(name.isdecimal() for name in arrays):
        refuse_unused(path, options.given("tables"), "multi-hot .npz files, whose arrays are the tables")
        return _from_bags(path, _multi_hot(path, arrays), options, "multi-hot npz")
    known = {"indices", "offsets", "lengths", "weights"}
    if "indices" not in arrays or not arrays.keys() & {"offsets", "lengths"}:
        raise RecnmpError(
            f"{path}: has arrays {', '.join(arrays) or 'none'}, allowed are indices with offsets or lengths "
            "(and weights), or multi-hot arrays named 0, 1, 2 ..."
        )
    if arrays.keys() - known:
        raise RecnmpError(f"{path}: unknown arrays {', '.join(sorted(arrays.keys() - known))}")
    ids = as_ids(arrays["indices"], str(path))
    n_tables = options.tables or (len(options.rows) if len(options.rows) > 1 else None)
    names = None if n_tables is None else tuple(f"table{number}" for number in range(n_tables))
    offsets = _bounds(path, arrays, len(ids), Layout(names, options.batch_size))
    if n_tables is None:
        n_tables = _table_count(path, len(offsets) - 1, options)
    return Workload.from_arrays(
        ids,
        offsets,
        tables=_tables(_largest(ids, offsets, n_tables, options.batch_size), options, None, path),
        batch_size=options.batch_size,
        weights=arrays.get("weights"),
        positional_weights=_positional(options),
        order=options.order or "table",
        mode=options.mode or "sum",
        repair=options.repair,
        origin={"import": {"file": path.name, "form": "npz"}},
        name=str(path),
    )


def _positional(options: ArrayOptions) -> Any:
    return None if options.positional_weights is None else read_array(options.positional_weights)


def _ours(path: Path, options: ArrayOptions) -> Workload:
    refuse_unused(path, options.given(), "a trace of this program, which is stored anew as it is")
    return Workload.load(path)


def _bounds(path: Path, arrays: dict[str, Any], lookups: int, layout: Layout) -> Int64:
    """Offsets, from lengths if need be; both may be there if they agree."""
    source = str(path)
    if "offsets" not in arrays:
        return offsets_from_lengths(arrays["lengths"], lookups, source, layout)
    offsets = as_offsets(arrays["offsets"], lookups, source, layout)
    if "lengths" in arrays:
        lengths = as_ids(arrays["lengths"], source, "lengths")
        if len(lengths) != len(offsets) - 1:
            raise RecnmpError(f"{path}: there are {len(lengths)} lengths, but {len(offsets)} offsets")
        bad = np.flatnonzero(lengths != np.diff(offsets))
        if len(bad):
            at = int(bad[0])
            raise RecnmpError(
                f"{path}: lengths: position {at} is {lengths[at]}, but the offsets say "
                f"{offsets[at + 1] - offsets[at]}: they contradict each other"
            )
    return offsets


def _table_count(path: Path, bags: int, options: ArrayOptions) -> int:
    """Tables, if all is one batch."""
    if options.batch_size and bags % options.batch_size == 0:
        return bags // options.batch_size
    raise RecnmpError(
        f"{path}: {bags} bags: give the number of tables, or a batch size that divides the bags"
    )


def _largest(ids: Int64, offsets: Int64, n_tables: int, batch_size: int | None) -> list[int]:
    """Largest id of each table, -1 for a table without lookups."""
    bags = len(offsets) - 1
    size = batch_size or (bags // n_tables if n_tables else 0)
    largest = [-1] * n_tables
    for first in range(0, bags, size or 1):
        low, high = offsets[first], offsets[min(first + size, bags)]
        if high > low:
            table = first // size % n_tables
            largest[table] = max(largest[table], int(ids[low:high].max()))
    return largest


def _tables(
    largest: Sequence[int], options: ArrayOptions, names: Sequence[str] | None, path: Path
) -> list[Table]:
    rows = list(options.rows)
    if not rows:
        rows = [max(top + 1, 1) for top in largest]
    elif len(rows) == 1:
        rows *= len(largest)
    elif len(rows) != len(largest):
        raise RecnmpError(f"{path}: rows are given for {len(rows)} tables, there are {len(largest)}")
    names = names or [f"table{number}" for number in range(len(rows))]
    try:
        return [
            Table(
                name,
                size,
                32 if options.dim is None else options.dim,
                options.dtype or "fp32",
                options.layout or "",
            )
            for name, size in zip(names, rows, strict=True)
        ]
    except RecnmpError as error:
        raise RecnmpError(f"{path}: {error}") from error


@dataclass(frozen=True, eq=False)
class _Bags:
    """One table's bags, a sample each."""

    name: str
    ids: Int64
    offsets: Int64


def _multi_hot(path: Path, arrays: dict[str, Any]) -> list[_Bags]:
    bags = []
    for number in range(len(arrays)):
        array = arrays.get(str(number))
        if array is None or array.ndim != 2:
            found = "is missing" if array is None else f"has shape {array.shape}"
            raise RecnmpError(f"{path}: array {number} {found}, allowed is [samples, lookups of each]")
        samples, width = array.shape
        ids = as_ids(array.reshape(-1), f"{path}: array {number}")
        bags.append(_Bags(f"table{number}", ids, np.arange(samples + 1, dtype=np.int64) * width))
    return bags


def import_parquet(path: Path, options: ArrayOptions) -> Workload:
    """A trace of a Parquet file: ours, or one row a sample with a list of ids (or one id) a table.

    Raises RecnmpError naming column and row where ids are missing or not whole numbers.
    """
    with open_parquet(path) as file:
        schema = file.schema_arrow
        if (file.metadata.metadata or {}).get(KEY):
            return _ours(path, options)
    refuse_unused(path, options.given("tables"), "Parquet files, whose columns are the tables")
    lists = {field.name: field.type for field in schema if _is_list(field.type)}
    names = options.columns or tuple(lists)
    if not names:
        raise RecnmpError(f"{path}: no column holds lists of whole numbers")
    check_names(path, names, schema.names)
    odd = [name for name in lists if not _holds_ids(lists[name].value_type)]
    if odd and not options.columns:
        raise RecnmpError(
            f"{path}: column {odd[0]!r} holds lists of {lists[odd[0]].value_type}, allowed are lists of whole "
            "numbers; to leave it out, name the columns to take (--table)"
        )
    columns = read_columns(path, names)
    return _from_bags(
        path, [_column_bags(path, name, columns[name]) for name in names], options, "list columns"
    )


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def _holds_ids(kind: Any) -> bool:
    # a column of empty lists only is written as one of lists of nothing
    return bool(pa.types.is_integer(kind) or pa.types.is_null(kind))


def _column_bags(path: Path, name: str, column: Any) -> _Bags:
    where = f"{path}: column {name!r}"
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise RecnmpError(f"{where}: row {row} is null, allowed is a list of ids, also an empty one")
    lengths = np.ones(len(column), dtype=np.int64)
    values = column
    if _is_list(column.type):
        lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False).astype(np.int64)
        values = pc.list_flatten(column)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    bad = values.is_null().to_numpy(zero_copy_only=False)
    if values.type == pa.uint64():
        bad = bad | (values.fill_null(0).to_numpy() > 2**63 - 1)
    if bad.any():
        at = int(np.argmax(bad))
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        what = f"{values[at]}, allowed is up to 2^63-1" if values[at].is_valid else "missing"
        raise RecnmpError(f"{where}: row {row}, position {at - int(offsets[row])}: the id is {what}")
    ids = values.cast(pa.int64()) if pa.types.is_null(values.type) else values
    return _Bags(name, as_ids(ids.to_numpy(zero_copy_only=False), where), offsets)


def _from_bags(path: Path, tables: list[_Bags], options: ArrayOptions, form: str) -> Workload:
    counts = {len(table.offsets) - 1 for table in tables}
    if len(counts) > 1:
        raise RecnmpError(f"{path}: tables have different numbers of samples: {sorted(counts)}")
    samples = counts.pop()
    size = options.batch_size or max(samples, 1)
    places, names = _positional(options), [table.name for table in tables]
    mode = options.mode or "sum"
    try:
        check_mode(mode, places is not None)
    except RecnmpError as error:
        raise RecnmpError(f"{path}: {error}") from error
    batches = []
    for number, low in enumerate(range(0, samples, size)):
        high = min(low + size, samples)
        ids = np.concatenate([table.ids[table.offsets[low] : table.offsets[high]] for table in tables])
        lengths = np.concatenate([np.diff(table.offsets[low : high + 1]) for table in tables])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        weights = None
        if places is not None:
            weights = expand_positions(places, offsets, [high - low], names, f"{path}: batch {number}")
        batches.append(Batch(number, high - low, ids, offsets, weights))
    largest = [int(table.ids.max(initial=-1)) for table in tables]
    shapes = _tables(largest, options, names, path)
    origin = {"import": {"file": path.name, "form": form}}
    return Workload.from_batches(
        shapes,
        batches,
        order=options.order or "table",
        mode=mode,
        repair=options.repair,
        origin=origin,
        name=str(path),
    )


def repairs_text(counts: RepairCounts) -> str:
    """How many lookups were repaired, one phrase."""
    return f"{counts.clamped:,} clamped, {counts.wrapped:,} taken modulo rows, {counts.pruned:,} pruned"
