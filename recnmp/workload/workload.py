"""A trace of pooled lookups, in memory or streamed from a file or generator."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from . import npz, parquet
from .batch import Batch, Piece, join, pieces_of
from .checks import Repair, RepairCounts, as_ids, as_offsets, as_weights, check_piece, offsets_from_lengths
from .header import Header
from .replacing import replacing
from .sniff import sniff
from .table import Table


@dataclass(frozen=True, eq=False)
class Workload:
    """A trace: its header and a source of pieces that can be gone through again and again.

    header: tables, batch sizes, order and so on. source: gives the pieces in stored order (batch, then bag
    t*B+b). repairs: lookups changed on the way in. Make one with `from_arrays`, `from_batches` or `load`.
    """

    header: Header
    source: Callable[[], Iterator[Piece]]
    repairs: RepairCounts = field(default_factory=RepairCounts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """The T tables."""
        return self.header.tables

    @property
    def order(self) -> str:
        """In which order poolings are executed: "table" by table or "sample" by sample."""
        return self.header.order

    @property
    def mode(self) -> str:
        """What a pooling is: "sum" or "mean"."""
        return self.header.mode

    @property
    def weighted(self) -> bool:
        """Each lookup has a weight."""
        return self.header.weighted

    @property
    def origin(self) -> Mapping[str, Any]:
        """How the trace was made."""
        return self.header.origin

    @property
    def n_batches(self) -> int:
        """Batches."""
        return len(self.header.batch_sizes)

    @property
    def lookups(self) -> int:
        """Lookups of all batches."""
        return self.header.lookups

    def pieces(self) -> Iterator[Piece]:
        """The trace in stored order, at most 8 M lookups at a time (or one bag): memory stays flat."""
        return self.source()

    def batches(self) -> Iterator[Batch]:
        """Whole batches in time order, one in memory at a time."""
        return join(self.pieces())

    def content_hash(self) -> str:
        """SHA-256 (hex) of the content: tables, order, mode, batch sizes, bags, weights; not of the origin.

        The same for the same lookups in any container, any chunking and any integer width they came in.
        """
        digests = [hashlib.sha256() for _ in range(3)]
        for piece in self.pieces():
            for digest, array, kind in zip(
                digests, (piece.lengths, piece.indices, piece.weights), ("<i8", "<i8", "<f4"), strict=True
            ):
                if array is not None:
                    digest.update(np.ascontiguousarray(array, dtype=kind).data)
        said = json.loads(replace(self.header, origin={}).to_json())
        whole = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
        for digest in digests:
            whole.update(digest.digest())
        return whole.hexdigest()

    def save(self, path: str | os.PathLike[str], progress: Callable[[int], object] | None = None) -> None:
        """Write `.parquet` (streams) or `.npz` by the name's ending; the file is whole or not there.

        progress: called with the number of lookups of each piece as it passes.
        Raises RecnmpError on another ending or a place that cannot be written.
        """
        target = Path(path)
        write = _writer(target)
        with replacing(target) as temporary:
            write(temporary, self.header, watched(self.pieces(), progress))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Workload:
        """A trace that `save` wrote; Parquet streams at each use, `.npz` is read at once.

        Raises RecnmpError naming what the file is if it is no trace, and where it is truncated, damaged or
        out of range: at once for `.npz`, while streaming for Parquet.
        """
        file = Path(path)
        kind = sniff(file)
        if kind == "parquet":
            header = parquet.read_header(file)
            return Workload(header, lambda: _checked(parquet.read_pieces(file, header), header, str(file)))
        if kind == "zip":
            arrays = npz.read_arrays(file)
            header = npz.read_header(file, arrays)
            held = tuple(_checked(npz.pieces_from_arrays(file, header, arrays), header, str(file)))
            return Workload(header, lambda: iter(held))
        names = {"empty": "is an empty file", "gzip": "is compressed with gzip"}
        said = names.get(kind, "is neither Parquet nor .npz")
        raise RecnmpError(f"{file}: {said}, not a recnmp trace: see `recnmp trace import --help`")

    @staticmethod
    def from_batches(
        tables: Sequence[Table],
        batches: Sequence[Batch],
        *,
        order: str = "table",
        mode: str = "sum",
        repair: Repair | None = None,
        origin: Mapping[str, Any] | None = None,
        name: str = "batches",
    ) -> Workload:
        """A trace of batches in memory, checked; `name` stands for them in errors.

        Raises RecnmpError as `from_arrays` does, and if some batches have weights and others not.
        """
        kinds = {batch.weights is not None for batch in batches}
        if len(kinds) > 1:
            raise RecnmpError(f"{name}: some batches have weights and others not")
        counts = RepairCounts()
        sizes = tuple(batch.batch_size for batch in batches)
        header = Header(tuple(tables), sizes, 0, order, mode, kinds == {True}, origin or {})
        held: list[Piece] = []
        for number, batch in enumerate(batches):
            where = f"{name}: batch {number}"
            indices = as_ids(batch.indices, where)
            offsets = as_offsets(batch.offsets, batch.batch_size * len(header.tables), len(indices), where)
            weights = None if batch.weights is None else as_weights(batch.weights, len(indices), where)
            for piece in pieces_of(
                Batch(number, batch.batch_size, _frozen(indices), offsets, _frozen(weights))
            ):
                held.append(check_piece(piece, header.tables, repair or Repair(), counts, name, mode))
        header = replace(header, lookups=sum(len(piece.indices) for piece in held))
        return Workload(header, lambda: iter(held), counts)

    @staticmethod
    def from_arrays(
        indices: npt.ArrayLike,
        offsets: npt.ArrayLike | None = None,
        *,
        tables: Sequence[Table],
        lengths: npt.ArrayLike | None = None,
        batch_size: int | Sequence[int] | None = None,
        weights: npt.ArrayLike | None = None,
        order: str = "table",
        mode: str = "sum",
        repair: Repair | None = None,
        origin: Mapping[str, Any] | None = None,
        name: str = "arrays",
    ) -> Workload:
        """A trace from arrays in table-major form.

        indices: integers [N]. offsets: [bags+1], or lengths: [bags], one of the two; the bags of several
        batches follow each other. batch_size: of every batch, or a list, one each; None: all is one batch.
        weights: real numbers [N]. Native int64 and float32 arrays are not copied (and must not be changed
        afterwards); others are widened, float64 weights rounded to float32.
        Raises RecnmpError, naming `name`, table, batch, bag, position, value and allowed range, on any array
        that contradicts the form, ids out of range (unless repaired), float ids, and weights with mode mean.
        """
        tables = tuple(tables)
        ids = as_ids(indices, name)
        if (offsets is None) == (lengths is None):
            raise RecnmpError(f"{name}: give either offsets or lengths")
        bags = _expected_bags(batch_size, len(tables))
        if lengths is not None:
            bounds = offsets_from_lengths(lengths, bags, len(ids), name)
        else:
            assert offsets is not None
            bounds = as_offsets(offsets, bags, len(ids), name)
        sizes = _batch_sizes(batch_size, len(bounds) - 1, len(tables), name)
        factors = None if weights is None else as_weights(weights, len(ids), name)
        batches = list(npz.batches_from_arrays(ids, bounds, factors, sizes, len(tables)))
        if weights is not None and mode == "mean":
            raise RecnmpError(f"{name}: weights with mode mean: a mean takes no weights")
        return Workload.from_batches(
            tables, batches, order=order, mode=mode, repair=repair, origin=origin, name=name
        )


def watched(pieces: Iterator[Piece], progress: Callable[[int], object] | None) -> Iterator[Piece]:
    """The same pieces; `progress` hears the lookups of each once its user asks for the next."""
    for piece in pieces:
        yield piece
        if progress is not None:
            progress(len(piece.indices))


def _writer(path: Path) -> Callable[[Path, Header, Iterator[Piece]], None]:
    if path.suffix == ".parquet":
        return parquet.write
    if path.suffix == ".npz":
        return npz.write
    raise RecnmpError(f"{path}: a trace's name ends in .parquet or .npz, not {path.suffix or 'nothing'!r}")


def _checked(pieces: Iterator[Piece], header: Header, source: str) -> Iterator[Piece]:
    for piece in pieces:
        yield check_piece(piece, header.tables, Repair(), RepairCounts(), source, header.mode)


def _frozen(array: Any) -> Any:
    """A view that cannot be written through; the caller's own array keeps its flags."""
    if array is None:
        return None
    view = array.view()
    view.flags.writeable = False
    return view


def _expected_bags(batch_size: int | Sequence[int] | None, n_tables: int) -> int | None:
    if batch_size is None or isinstance(batch_size, int):
        return None
    return sum(batch_size) * n_tables


def _batch_sizes(
    batch_size: int | Sequence[int] | None, bags: int, n_tables: int, name: str
) -> tuple[int, ...]:
    if batch_size is not None and not isinstance(batch_size, int):
        return tuple(map(int, batch_size))
    if bags == 0:
        return ()
    if n_tables == 0:
        raise RecnmpError(f"{name}: {bags} bags but no tables")
    if batch_size is not None and batch_size < 1:
        raise RecnmpError(f"{name}: batch size is {batch_size}, allowed is 1 and up")
    a_batch = n_tables * batch_size if batch_size else n_tables
    if bags % a_batch:
        what = f"T*B = {n_tables}*{batch_size}" if batch_size else f"T = {n_tables}"
        raise RecnmpError(
            f"{name}: {bags} bags ({bags + 1} offsets), allowed is T*B+1 offsets: "
            f"a multiple of {what}, and one"
        )
    return (batch_size,) * (bags // a_batch) if batch_size else (bags // n_tables,)
