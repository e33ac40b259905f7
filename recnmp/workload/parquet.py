"""Traces as Parquet: one row a bag, sorted by batch, table and sample.

Columns: batch int32, table int32, sample int32, indices large_list<int64>, weights large_list<float32> (only
if the trace is weighted). The header is JSON under the key `recnmp` of the file's metadata, its CRC-32 (decimal)
under `recnmp-crc32`, which need not be there; pages have checksums. Row groups hold at most 2 M lookups, so that
both ends can stream.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..errors import RecnmpError
from .batch import PIECE_BAGS, PIECE_LOOKUPS, Float32, Int64, Piece
from .header import Header

KEY, CHECK = b"recnmp", b"recnmp-crc32"


def _schema(weighted: bool) -> Any:
    columns = [("batch", pa.int32()), ("table", pa.int32()), ("sample", pa.int32())]
    columns.append(("indices", pa.large_list(pa.int64())))
    if weighted:
        columns.append(("weights", pa.large_list(pa.float32())))
    return pa.schema(columns)


def write(path: Path, header: Header, pieces: Iterable[Piece]) -> None:
    """Write pieces, given in stored order, as one file; memory holds one row group at a time."""
    schema = _schema(header.weighted)
    words = ["batch", "table", "sample"]
    with (
        path.open("wb") as stream,
        pq.ParquetWriter(
            stream, schema, compression="zstd", use_dictionary=words, write_page_checksum=True
        ) as writer,
    ):
        group: list[Piece] = []
        lookups = bags = 0
        for piece in pieces:
            lookups, bags = lookups + len(piece.indices), bags + len(piece.lengths)
            if group and (lookups > PIECE_LOOKUPS or bags > PIECE_BAGS):
                _write_group(writer, schema, group)
                group, lookups, bags = [], len(piece.indices), len(piece.lengths)
            group.append(piece)
        if any(len(piece.lengths) for piece in group):
            _write_group(writer, schema, group)
        text = header.to_json().encode()
        writer.add_key_value_metadata({KEY: text, CHECK: str(zlib.crc32(text)).encode()})


def _write_group(writer: Any, schema: Any, pieces: list[Piece]) -> None:
    bag = [piece.first_bag + np.arange(len(piece.lengths)) for piece in pieces]
    sizes = [max(piece.batch_size, 1) for piece in pieces]
    offsets = np.zeros(sum(map(len, bag)) + 1, dtype=np.int64)
    np.cumsum(np.concatenate([piece.lengths for piece in pieces]), out=offsets[1:])
    columns = [
        np.concatenate([np.full(len(piece.lengths), piece.batch, np.int32) for piece in pieces]),
        np.concatenate([(part // size).astype(np.int32) for part, size in zip(bag, sizes, strict=True)]),
        np.concatenate([(part % size).astype(np.int32) for part, size in zip(bag, sizes, strict=True)]),
        pa.LargeListArray.from_arrays(offsets, _gathered([piece.indices for piece in pieces])),
    ]
    if "weights" in schema.names:
        weights = [piece.weights for piece in pieces if piece.weights is not None]
        columns.append(pa.LargeListArray.from_arrays(offsets, _gathered(weights)))
    table = pa.Table.from_arrays([pa.array(column) for column in columns], schema=schema)
    writer.write_table(table, row_group_size=max(len(table), 1))


def _gathered(arrays: list[Any]) -> Any:
    return pa.array(arrays[0] if len(arrays) == 1 else np.concatenate(arrays))


def open_parquet(path: Path) -> Any:
    """The file opened by pyarrow. Raises RecnmpError on a truncated or damaged one."""
    try:
        os.fspath(path).encode()
    except UnicodeEncodeError:  # a name that is no UTF-8: pyarrow takes the open file
        return _opened(path, path.open("rb"))
    return _opened(path, path)


def _opened(path: Path, file: Any) -> Any:
    try:
        return pq.ParquetFile(file, page_checksum_verification=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise RecnmpError(f"{path}: is a truncated or damaged Parquet file: {reason}") from error


def read_header(path: Path) -> Header:
    """The header of a trace. Raises RecnmpError if it is Parquet of another kind, or its columns differ."""
    with open_parquet(path) as file:
        text = (file.schema_arrow.metadata or {}).get(KEY) or (file.metadata.metadata or {}).get(KEY)
        if text is None:
            raise RecnmpError(
                f"{path}: is Parquet, but not a recnmp trace: turn it into one with `recnmp trace import`"
            )
        check = (file.metadata.metadata or {}).get(CHECK)
        if check is not None and check != str(zlib.crc32(text)).encode():
            raise RecnmpError(f"{path}: its description is damaged: its checksum differs")
        header = Header.from_json(text.decode(errors="replace"), str(path))
        wanted = _schema(header.weighted)
        for field in wanted:
            at = file.schema_arrow.get_field_index(field.name)
            if at < 0:
                raise RecnmpError(f"{path}: column {field.name!r} is missing")
            found = file.schema_arrow.field(at).type
            if found != field.type:
                raise RecnmpError(f"{path}: column {field.name!r} is {found}, allowed is {field.type}")
        return header


def read_pieces(path: Path, header: Header) -> Iterator[Piece]:
    """Pieces in stored order, a row group in memory at a time.

    Raises RecnmpError where bags are missing, out of order or null, or a page is damaged.
    """
    cursor = _Cursor(path, header)
    with open_parquet(path) as file:
        for group in range(file.metadata.num_row_groups):
            try:
                table = file.read_row_group(group, columns=_schema(header.weighted).names)
            except (pa.ArrowException, OSError, ValueError) as error:
                reason = str(error).splitlines()[0]
                raise RecnmpError(f"{path}: row group {group} is damaged: {reason}") from error
            yield from cursor.take(table)
    yield from cursor.finish()


class _Cursor:
    """Checks that bags come in order, each once, and cuts row groups at the ends of batches."""

    def __init__(self, path: Path, header: Header) -> None:
        self.path, self.header = path, header
        self.batch = self.bag = self.row = self.lookups = 0

    def _skip_empty(self) -> Iterator[Piece]:
        sizes, tables = self.header.batch_sizes, len(self.header.tables)
        while self.batch < len(sizes) and self.bag == sizes[self.batch] * tables:
            if self.bag == 0:
                nothing = np.zeros(0, dtype=np.int64)
                weights = np.zeros(0, dtype=np.float32) if self.header.weighted else None
                yield Piece(self.batch, sizes[self.batch], 0, nothing, nothing, weights)
            self.batch, self.bag = self.batch + 1, 0

    def take(self, table: Any) -> Iterator[Piece]:
        lengths, indices = self._lists(table["indices"], "indices")
        weights: Float32 | None = None
        if self.header.weighted:
            weight_lengths, weights = self._lists(table["weights"], "weights")
            bad = np.flatnonzero(lengths != weight_lengths)
            if len(bad):
                at = int(bad[0])
                raise RecnmpError(
                    f"{self.path}: row {self.row + at}: {weight_lengths[at]} weights "
                    f"for {lengths[at]} lookups"
                )
        places = [self._numbers(table[name], name) for name in ("batch", "table", "sample")]
        ends = np.zeros(len(lengths) + 1, dtype=np.int64)
        np.cumsum(lengths, out=ends[1:])
        done = 0
        while done < len(lengths):
            yield from self._skip_empty()
            if self.batch == len(self.header.batch_sizes):
                raise RecnmpError(f"{self.path}: row {self.row}: more bags than the {self._bags()} announced")
            size = self.header.batch_sizes[self.batch]
            count = min(len(lengths) - done, size * len(self.header.tables) - self.bag)
            part = slice(done, done + count)
            self._check_places([place[part] for place in places], size)
            low, high = int(ends[done]), int(ends[done + count])
            piece_weights = None if weights is None else weights[low:high]
            yield Piece(self.batch, size, self.bag, lengths[part], indices[low:high], piece_weights)
            self.bag += count
            self.row += count
            self.lookups += high - low
            done += count

    def finish(self) -> Iterator[Piece]:
        yield from self._skip_empty()
        if self.batch < len(self.header.batch_sizes):
            raise RecnmpError(
                f"{self.path}: ends at batch {self.batch}, bag {self.bag}: "
                f"{self.row} bags of {self._bags()} announced"
            )
        if self.lookups != self.header.lookups:
            raise RecnmpError(f"{self.path}: has {self.lookups} lookups, {self.header.lookups} announced")

    def _bags(self) -> int:
        return sum(self.header.batch_sizes) * len(self.header.tables)

    def _numbers(self, column: Any, name: str) -> Int64:
        array = column.combine_chunks()
        if array.null_count:
            raise RecnmpError(f"{self.path}: row {self.row + _first_null(array)}: {name} is missing")
        numbers: Int64 = array.to_numpy().astype(np.int64)
        return numbers

    def _lists(self, column: Any, name: str) -> tuple[Int64, Any]:
        array = column.combine_chunks()
        values = array.flatten()
        lengths: Int64 = array.value_lengths().fill_null(0).to_numpy().astype(np.int64)
        if array.null_count:
            at = self.row + _first_null(array)
            raise RecnmpError(f"{self.path}: row {at}: {name} holds nulls: no list, allowed is an empty one")
        if values.null_count:
            ends, at = np.cumsum(lengths), _first_null(values)
            row = int(np.searchsorted(ends, at, side="right"))
            place = f"row {self.row + row}, position {at - int(ends[row] - lengths[row])}"
            raise RecnmpError(f"{self.path}: {place}: {name} holds nulls, allowed are none")
        return lengths, values.to_numpy()

    def _check_places(self, places: list[Int64], size: int) -> None:
        bag = self.bag + np.arange(len(places[0]))
        wanted = (np.full(len(bag), self.batch), bag // size, bag % size)
        for name, found, want in zip(("batch", "table", "sample"), places, wanted, strict=True):
            bad = np.flatnonzero(found != want)
            if len(bad):
                at = int(bad[0])
                raise RecnmpError(
                    f"{self.path}: row {self.row + at}: {name} is {found[at]}, expected is {want[at]} "
                    "(one row a bag, sorted by batch, table, sample)"
                )


def _first_null(array: Any) -> int:
    return int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
