"""Reading a CSV as RFC 4180 has it, at any size, so that no part of it is lost unseen."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from ..errors import RecnmpError
from ..workload.sniff import kind_of

# A record must fit in a block: larger ones are tried where one does not.
_BLOCKS = (1 << 23, 1 << 27, (1 << 31) - 1)
_PIECE = 1 << 24


def read_csv(
    path: Path,
    wanted: Sequence[str],
    check: Callable[[Sequence[str]], None],
    delimiter: str | None,
    header: Sequence[str] | None,
    packed: bool,
) -> dict[str, Any]:
    """The wanted columns as arrays of large_string.

    check: hears the names of all columns. delimiter: None: tab if the name ends in .tsv, else comma. header:
    names, if the file has no line of them. packed: with gzip. Raises RecnmpError on what is no whole CSV.
    """
    if delimiter is None:
        delimiter = "\t" if ".tsv" in path.suffixes else ","
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise RecnmpError(
            f"delimiter is {delimiter!r}, allowed is one character (ASCII, no quote or line break)"
        )
    _look(path, header, packed)
    for block in _BLOCKS:
        try:
            return _read(path, wanted, check, delimiter, header, packed, block)
        except MemoryError:
            raise
        except UnicodeDecodeError as error:
            raise RecnmpError(f"{path}: the line of names is not UTF-8: {error}") from error
        except (pa.ArrowException, OSError) as error:
            reason = first_line(error)
            if "straddl" not in reason:
                raise RecnmpError(f"{path}: is not a whole CSV file: {reason}") from error
    raise RecnmpError(f"{path}: is not a whole CSV file: a record is over 2 GiB, or a quote is never closed")


def _look(path: Path, header: Sequence[str] | None, packed: bool) -> None:
    """Refuse what is plainly no CSV, also within gzip."""
    with _Stream(path, packed) as stream:
        head = stream.read(1 << 16)
    kind = kind_of(head, path)
    inside = " within gzip" if packed else ""
    if kind not in ("text", "empty"):
        raise RecnmpError(f"{path}: is a {kind} file{inside}, allowed here are CSV (also .gz) and Parquet")
    if b"\0" in head:
        raise RecnmpError(f"{path}: holds zero bytes{inside}, allowed is a CSV in UTF-8")
    blank = not head.removeprefix(b"\xef\xbb\xbf").strip()
    if header is None and blank and len(head) < 1 << 16:
        raise RecnmpError(f"{path}: is an empty file{inside}, allowed is a CSV with a line of column names")


def _read(
    path: Path,
    wanted: Sequence[str],
    check: Callable[[Sequence[str]], None],
    delimiter: str,
    header: Sequence[str] | None,
    packed: bool,
    block: int,
) -> dict[str, Any]:
    parsing = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    reading = pacsv.ReadOptions(column_names=list(header) if header else None, block_size=block)
    counting = pacsv.ReadOptions(block_size=block, use_threads=False)  # one thread says in which line
    names = header
    if names is None:
        with _Stream(path, packed, b"\n") as stream:
            names = pacsv.open_csv(stream, counting, parsing).schema.names
    check(names)
    # A record that the reader must find at the end, or a quote before it was never closed.
    mark = "\x1e\x1e\x1e" if delimiter != "\x1e" else "\x1f\x1f\x1f"
    end = ("\n" + delimiter.join([mark] * len(names)) + "\n").encode()
    converting = pacsv.ConvertOptions(
        include_columns=list(wanted),
        column_types={name: pa.large_string() for name in wanted},
        strings_can_be_null=False,
    )
    try:
        table = _table(path, packed, end, reading, parsing, converting)
    except pa.ArrowInvalid as error:
        if "Expected" not in first_line(error):
            raise
        # one thread counts the lines
        reading.use_threads = False
        table = _table(path, packed, end, reading, parsing, converting)
    columns = {name: table[name].combine_chunks() for name in wanted}
    records = len(table) - 1
    if any(records < 0 or column[records].as_py() != mark for column in columns.values()):
        raise RecnmpError(
            f"{path}: is not a whole CSV file: in its last record, {records + 1}, a quote is never closed"
        )
    return {name: column[:records] for name, column in columns.items()}


def _table(path: Path, packed: bool, end: bytes, reading: Any, parsing: Any, converting: Any) -> Any:
    with _Stream(path, packed, end) as stream:
        return pacsv.read_csv(stream, reading, parsing, converting)


class _Stream(io.RawIOBase):
    """The bytes of a file, unpacked, and some more at the end. Raises RecnmpError on damaged gzip."""

    def __init__(self, path: Path, packed: bool, end: bytes = b"") -> None:
        self._path, self._end = path, end
        self._plain = path.open("rb")
        self._file: BinaryIO | gzip.GzipFile = gzip.GzipFile(fileobj=self._plain) if packed else self._plain

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        parts, wanted = [], size
        try:
            # the reader takes less than it asked for as a block, and a buffer of 2 GiB is not had for nothing
            while size > _PIECE:
                parts.append(self._file.read(_PIECE))
                size = size - _PIECE if parts[-1] else 0
            parts.append(self._file.read(size))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise RecnmpError(f"{self._path}: is a truncated or damaged gzip file: {error}") from error
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if len(data) < wanted:  # the file is over, and the reader wants its last line whole
            room = wanted - len(data)
            data, self._end = data + self._end[:room], self._end[room:]
        return data

    def close(self) -> None:
        self._plain.close()
        super().close()


def first_line(error: BaseException) -> str:
    """What an error says, one line of bearable length."""
    text = (str(error).splitlines() or [type(error).__name__])[0]
    return text if len(text) <= 200 else f"{text[:200]}..."
