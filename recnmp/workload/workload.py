"""A trace of pooled lookups, in memory or streamed from a file or generator."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from ..replacing import replacing
from . import npz, parquet
from .batch import Batch, Piece, join, pieces_of
from .checks import Repair, RepairCounts, as_repair, check_piece
from .header import LARGEST_BATCH, Header, check_mode, check_sizes
from .numbers import as_ids, as_weights, as_whole, shown
from .offsets import Layout, as_offsets, offsets_from_lengths
from .positions import expand_positions
from .sniff import sniff
from .table import Table, check_tables


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
        """What a pooling is: "sum", "mean" or "weighted-mean"."""
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
        """The trace in stored order, at most 2 M lookups at a time (or one bag): memory stays flat."""
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
        repairing, counts = as_repair(repair), RepairCounts()
        sizes = tuple(batch.batch_size for batch in batches)
        header = Header(check_tables(tables), sizes, 0, order, mode, kinds == {True}, origin or {})
        names = tuple(table.name for table in header.tables)
        held: list[Piece] = []
        for number, (batch, size) in enumerate(zip(batches, header.batch_sizes, strict=True)):
            where = f"{name}: batch {number}"
            indices = as_ids(batch.indices, where)
            offsets = as_offsets(batch.offsets, len(indices), where, Layout(names, (size,), None))
            weights = None if batch.weights is None else as_weights(batch.weights, len(indices), where)
            for piece in pieces_of(Batch(number, size, _frozen(indices), offsets, _frozen(weights))):
                held.append(check_piece(piece, header.tables, repairing, counts, name, mode))
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
        positional_weights: npt.ArrayLike | None = None,
        order: str = "table",
        mode: str = "sum",
        repair: Repair | None = None,
        origin: Mapping[str, Any] | None = None,
        name: str = "arrays",
    ) -> Workload:
        """A trace from arrays in table-major form.

        indices: integers [N]. offsets: [bags+1], or lengths: [bags], one of the two; the bags of several
        batches follow each other. batch_size: of every batch, or a list, one each; None: all is one batch.
        weights: real numbers [N]. positional_weights: instead of them, [longest bag] or [T, longest bag]: the weight
        of a lookup by its place in its bag (and table), pruned rows counted; kept as a weight a lookup.
        Native int64 and float32 arrays are not copied (and must not be changed afterwards); others are widened,
        float64 weights rounded to float32.
        Raises RecnmpError, naming `name`, table, batch, bag, position, value and allowed range, on any array
        that contradicts the form, ids out of range (unless repaired), float ids, and a
        mode that the weights contradict.
        """
        tables = check_tables(tables)
        each = _batch_size(batch_size, name)
        layout = Layout(tuple(table.name for table in tables), each)
        ids = as_ids(indices, name)
        if (offsets is None) == (lengths is None):
            raise RecnmpError(f"{name}: give either offsets or lengths")
        if lengths is not None:
            bounds = offsets_from_lengths(lengths, len(ids), name, layout)
        else:
            assert offsets is not None
            bounds = as_offsets(offsets, len(ids), name, layout)
        sizes = _batch_sizes(each, len(bounds) - 1, len(tables))
        factors = None if weights is None else as_weights(weights, len(ids), name)
        if positional_weights is not None:
            if weights is not None:
                raise RecnmpError(f"{name}: give either weights or positional weights")
            factors = expand_positions(
                positional_weights, bounds, sizes, [table.name for table in tables], name
            )
        batches = list(npz.batches_from_arrays(ids, bounds, factors, sizes, len(tables)))
        try:
            check_mode(mode, factors is not None)
        except RecnmpError as error:
            raise RecnmpError(f"{name}: {error}") from error
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


def _batch_size(given: object, name: str) -> int | tuple[int, ...] | None:
    """What `from_arrays` was told, in plain numbers. Raises RecnmpError on what is no size of batches."""
    if given is None:
        return None
    number = as_whole(given)
    listed = isinstance(given, Iterable) and not isinstance(given, str | bytes | Mapping)
    if number is None and listed and np.ndim(given) == 1:  # type: ignore[arg-type]
        try:
            return check_sizes(given)  # type: ignore[arg-type]
        except RecnmpError as error:
            raise RecnmpError(f"{name}: {error}") from error
    if number is None or not 1 <= number <= LARGEST_BATCH:
        raise RecnmpError(
            f"{name}: batch size is {shown(given)}, allowed are whole numbers 1..2^31-1, or a list, one a batch"
        )
    return number


def _batch_sizes(each: int | tuple[int, ...] | None, bags: int, n_tables: int) -> tuple[int, ...]:
    """Samples of each batch; the number of bags fits."""
    if isinstance(each, tuple):
        return each
    if bags == 0:
        return ()
    return (bags // n_tables,) if each is None else (each,) * (bags // (n_tables * each))
