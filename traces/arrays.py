"""Traces from arrays of others: `.npz` in table-major form or multi-hot, Parquet with list columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import RecnmpError
from ..workload import Batch, Repair, RepairCounts, Table, Workload, as_ids, as_offsets
from ..workload.checks import offsets_from_lengths
from ..workload.npz import read_arrays
from ..workload.parquet import open_parquet
from .columns import read_columns
from .words import Int64


@dataclass(frozen=True)
class ArrayOptions:
    """What arrays do not tell.

    tables: how many, None: from the batch size. rows: of each table, or one for all; empty: largest id + 1.
    batch_size: samples a batch, None: all are one batch. columns: list columns of a Parquet file, each a
    table; empty: all that hold whole numbers.
    """

    tables: int | None = None
    rows: tuple[int, ...] = ()
    batch_size: int | None = None
    dim: int = 32
    dtype: str = "fp32"
    order: str = "table"
    repair: Repair = field(default_factory=Repair)
    columns: tuple[str, ...] = ()


def import_npz(path: Path, options: ArrayOptions) -> Workload:
    """A trace of an `.npz` file: ours, (indices, offsets or lengths, weights), or multi-hot ("0", "1", ...).

    Raises RecnmpError naming what is missing or wrong.
    """
    arrays = read_arrays(path)
    if "header" in arrays:
        return Workload.load(path)
    if arrays and all(name.isdecimal() for name in arrays):
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
    given = "offsets" if "offsets" in arrays else "lengths"
    check = as_offsets if given == "offsets" else offsets_from_lengths
    n_tables = _table_count(path, len(arrays[given]) - (given == "offsets"), options)
    bags = n_tables * options.batch_size if options.batch_size and options.tables is None else None
    offsets = check(arrays[given], bags, len(ids), str(path))
    return Workload.from_arrays(
        ids,
        offsets,
        tables=_tables(_largest(ids, offsets, n_tables, options.batch_size), options, None, path),
        batch_size=options.batch_size,
        weights=arrays.get("weights"),
        order=options.order,
        repair=options.repair,
        origin={"import": {"file": path.name, "form": "npz"}},
        name=str(path),
    )


def _table_count(path: Path, bags: int, options: ArrayOptions) -> int:
    if options.tables is not None:
        return options.tables
    if len(options.rows) > 1:
        return len(options.rows)
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
    return [Table(name, size, options.dim, options.dtype) for name, size in zip(names, rows, strict=True)]


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
        if (file.metadata.metadata or {}).get(b"recnmp"):
            return Workload.load(path)
    names = options.columns or tuple(column.name for column in schema if _holds_ids(column.type))
    if not names:
        raise RecnmpError(f"{path}: no column holds lists of whole numbers")
    columns = read_columns(path, names)
    return _from_bags(
        path, [_column_bags(path, name, columns[name]) for name in names], options, "list columns"
    )


def _holds_ids(kind: Any) -> bool:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(lists and pa.types.is_integer(kind.value_type))


def _column_bags(path: Path, name: str, column: Any) -> _Bags:
    where = f"{path}: column {name!r}"
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise RecnmpError(f"{where}: row {row} is null, allowed is a list of ids, also an empty one")
    lengths = np.ones(len(column), dtype=np.int64)
    values = column
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lengths = column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
        values = column.flatten()
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if values.null_count:
        at = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        raise RecnmpError(f"{where}: row {row}, position {at - int(offsets[row])}: the id is missing")
    return _Bags(name, as_ids(values.to_numpy(zero_copy_only=False), where), offsets)


def _from_bags(path: Path, tables: list[_Bags], options: ArrayOptions, form: str) -> Workload:
    counts = {len(table.offsets) - 1 for table in tables}
    if len(counts) > 1:
        raise RecnmpError(f"{path}: tables have different numbers of samples: {sorted(counts)}")
    samples = counts.pop()
    size = options.batch_size or max(samples, 1)
    batches = []
    for number, low in enumerate(range(0, samples, size)):
        high = min(low + size, samples)
        ids = np.concatenate([table.ids[table.offsets[low] : table.offsets[high]] for table in tables])
        lengths = np.concatenate([np.diff(table.offsets[low : high + 1]) for table in tables])
        batches.append(Batch(number, high - low, ids, np.concatenate([[0], np.cumsum(lengths)])))
    largest = [int(table.ids.max(initial=-1)) for table in tables]
    shapes = _tables(largest, options, [table.name for table in tables], path)
    origin = {"import": {"file": path.name, "form": form}}
    return Workload.from_batches(
        shapes, batches, order=options.order, repair=options.repair, origin=origin, name=str(path)
    )


def repairs_text(counts: RepairCounts) -> str:
    """How many lookups were repaired, one phrase."""
    return f"{counts.clamped:,} clamped, {counts.wrapped:,} taken modulo rows, {counts.pruned:,} pruned"
