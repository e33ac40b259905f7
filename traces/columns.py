"""Columns of a CSV (also compressed with gzip) or Parquet file, with every damage named."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..errors import RecnmpError
from ..workload import sniff
from ..workload.parquet import open_parquet
from .csv_file import first_line, read_csv

_NAMES_SHOWN = 20


def read_columns(
    path: Path, wanted: Sequence[str], delimiter: str | None = None, header: Sequence[str] | None = None
) -> dict[str, Any]:
    """The wanted columns by name, as pyarrow arrays; all texts, those of a CSV included, as large_string.

    delimiter: of a CSV; None: tab if the name ends in .tsv, else comma. header: the columns' names if the
    file has no line of them. A BOM, CRLF, blank lines, quoted line breaks and a missing final newline are all
    right. Raises RecnmpError if the file is not what its name says, truncated, lacks a column, or is Parquet
    although a delimiter or names are given.
    """
    wanted = list(dict.fromkeys(wanted))
    kind = sniff(path)
    if kind == "parquet":
        given = {"delimiter": delimiter is not None, "columns (names of them)": header is not None}
        refuse_unused(path, [name for name, is_given in given.items() if is_given], "Parquet")
        with open_parquet(path) as file:
            check_names(path, wanted, file.schema_arrow.names)
            try:
                table = file.read(columns=wanted)
                return {name: _plain(table[name]) for name in wanted}
            except MemoryError:
                raise
            except (pa.ArrowException, OSError) as error:
                raise RecnmpError(f"{path}: is a damaged Parquet file: {first_line(error)}") from error
    if kind not in ("text", "gzip", "empty"):
        raise RecnmpError(f"{path}: is a {kind} file, allowed here are CSV (also .gz) and Parquet")
    if header is None and kind == "empty":
        raise RecnmpError(f"{path}: is an empty file, allowed is a CSV with a line of column names")

    def check(names: Sequence[str]) -> None:
        check_names(path, wanted, names, delimiter is None, header is None)

    return read_csv(path, wanted, check, delimiter, header, kind == "gzip")


def refuse_unused(path: Path, names: Sequence[str], what: str) -> None:
    """Raises RecnmpError if options were given that mean nothing for such input: never ignored silently."""
    if names:
        raise RecnmpError(f"{path}: {', '.join(names)}: no option of {what}, leave it out")


def check_names(
    path: Path, wanted: Sequence[str], names: Sequence[str], splits: bool = False, heads: bool = False
) -> None:
    """Raises RecnmpError if a wanted column is not there exactly once, with what may be the matter.

    splits: columns may be parted by another delimiter. heads: the first line may be no line of names.
    """
    for name in wanted:
        found = list(names).count(name)
        if found > 1:
            raise RecnmpError(f"{path}: column {name!r} is there {found} times")
        if found:
            continue
        near = get_close_matches(name, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        if splits and any(mark in text and name in text.split(mark) for text in names for mark in ";\t|, "):
            mark = next(mark for mark in ";\t|, " if any(name in text.split(mark) for text in names))
            hint = f"; are columns parted by {mark!r}? Then give it as delimiter."
        elif heads and names and all(text.lstrip("+-").replace(".", "", 1).isdecimal() for text in names):
            hint = "; if the first line holds no names, give them as columns."
        said = [text if text.isprintable() and len(text) < 80 else repr(text[:60]) for text in names]
        more = f" and {len(said) - _NAMES_SHOWN} more" if len(said) > _NAMES_SHOWN else ""
        there = ", ".join(said[:_NAMES_SHOWN]) + more
        raise RecnmpError(f"{path}: there is no column {name!r}{hint} There are: {there}")


def _plain(column: Any) -> Any:
    """One array; dictionaries are spelt out, and kinds of text and of lists that differ in width become one."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], kind)
    # before the chunks become one: 32 bits may be too few for the whole
    if is_text(kind):
        column = column.cast(pa.large_string())
    elif pa.types.is_list(kind):
        column = column.cast(pa.large_list(kind.value_type))
    return column.combine_chunks()


def is_text(kind: Any) -> bool:
    """string, large_string or string_view."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
