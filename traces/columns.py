"""Columns of a CSV (also compressed with gzip) or Parquet file, with every damage named."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from ..errors import RecnmpError
from ..workload import sniff
from ..workload.parquet import open_parquet


def read_columns(
    path: Path, wanted: Sequence[str], delimiter: str | None = None, header: Sequence[str] | None = None
) -> dict[str, Any]:
    """The wanted columns by name, as pyarrow arrays; of a CSV as text.

    delimiter: of a CSV; None: tab if the name ends in .tsv, else comma. header: the columns' names if the
    file has no line of them. A BOM, CRLF, blank lines and a missing final newline are all right.
    Raises RecnmpError if the file is not what its name says, truncated, or lacks a column.
    """
    kind = sniff(path)
    if kind == "parquet":
        with open_parquet(path) as file:
            _check_names(path, wanted, file.schema_arrow.names)
            try:
                table = file.read(columns=list(wanted))
            except (pa.ArrowException, OSError) as error:
                raise RecnmpError(f"{path}: is a damaged Parquet file: {_first_line(error)}") from error
        return {name: table[name].combine_chunks() for name in wanted}
    if kind == "empty":
        raise RecnmpError(f"{path}: is an empty file, allowed is a CSV with a line of column names")
    if kind not in ("text", "gzip"):
        raise RecnmpError(f"{path}: is a {kind} file, allowed here are CSV and Parquet")
    return _read_csv(path, wanted, delimiter, header, kind == "gzip")


def _read_csv(
    path: Path, wanted: Sequence[str], delimiter: str | None, header: Sequence[str] | None, packed: bool
) -> dict[str, Any]:
    if delimiter is None:
        delimiter = "\t" if ".tsv" in path.suffixes else ","
    if len(delimiter) != 1:
        raise RecnmpError(f"delimiter is {delimiter!r}, allowed is one character")
    reading = pacsv.ReadOptions(column_names=list(header) if header else None)
    parsing = pacsv.ParseOptions(delimiter=delimiter)
    try:
        with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
            names = list(header) if header else pacsv.open_csv(stream, reading, parsing).schema.names
        _check_names(path, wanted, names)
        converting = pacsv.ConvertOptions(
            include_columns=list(dict.fromkeys(wanted)),
            column_types={name: pa.string() for name in wanted},
            strings_can_be_null=False,
        )
        with pa.input_stream(str(path), compression="gzip" if packed else None) as stream:
            table = pacsv.read_csv(stream, reading, parsing, converting)
    except (pa.ArrowException, OSError) as error:
        reason = _first_line(error)
        if packed and ("ompressed" in reason or "zlib" in reason):
            raise RecnmpError(f"{path}: is a truncated or damaged gzip file: {reason}") from error
        raise RecnmpError(f"{path}: is not a whole CSV file: {reason}") from error
    return {name: table[name].combine_chunks() for name in wanted}


def _check_names(path: Path, wanted: Sequence[str], names: Sequence[str]) -> None:
    for name in wanted:
        found = list(names).count(name)
        if found > 1:
            raise RecnmpError(f"{path}: column {name!r} is there {found} times")
        if not found:
            near = get_close_matches(name, names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise RecnmpError(f"{path}: there is no column {name!r}{hint} There are: {', '.join(names)}")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
