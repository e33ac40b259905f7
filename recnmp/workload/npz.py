"""Small traces as `.npz`.

Arrays: header (JSON text), indices int64 [N], offsets int64 [bags+1] over the bags of all batches,
weights float32 [N] (only if the trace is weighted).
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecnmpError
from .batch import Batch, Piece, pieces_of
from .header import Header
from .numbers import as_ids, as_weights
from .offsets import Layout, as_offsets
from .sniff import sniff


def write(path: Path, header: Header, pieces: Iterable[Piece]) -> None:
    """Write pieces, given in stored order; the whole trace is held in memory."""
    held = list(pieces)
    nothing = np.zeros(0, dtype=np.int64)
    lengths = np.concatenate([nothing, *(piece.lengths for piece in held)])
    arrays: dict[str, Any] = {
        "header": np.array(header.to_json()),
        "indices": np.concatenate([nothing, *(piece.indices for piece in held)]),
        "offsets": np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)]),
    }
    if header.weighted:
        weights = [piece.weights for piece in held if piece.weights is not None]
        arrays["weights"] = np.concatenate([np.zeros(0, dtype=np.float32), *weights])
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def read_arrays(path: Path) -> dict[str, Any]:
    """All arrays of any `.npz`, by name. Raises RecnmpError if it is damaged or holds anything else."""
    with _named(path), path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):  # NumPy gives other members of a zip file as bytes
            raise RecnmpError(f"{path}: is a zip file, but its member {name!r} is not an array: no .npz")
    return arrays


def read_array(path: Path) -> Any:
    """The array of a `.npy`, or the only one of an `.npz`. Raises RecnmpError on anything else."""
    kind = sniff(path)
    if kind == "npy":
        with _named(path, ".npy"):
            return np.load(path, allow_pickle=False)
    if kind != "zip":
        raise RecnmpError(f"{path}: is a {kind} file, allowed are .npy, and .npz with one array")
    arrays = read_arrays(path)
    if len(arrays) != 1:
        raise RecnmpError(f"{path}: has arrays {', '.join(sorted(arrays)) or 'none'}, allowed is one")
    return next(iter(arrays.values()))


@contextmanager
def _named(path: Path, kind: str = ".npz") -> Iterator[None]:
    """Whatever NumPy raises on a file, as one line that names the file."""
    try:
        yield
    except (NotImplementedError, RuntimeError) as error:
        raise RecnmpError(f"{path}: is packed in a way that cannot be read: {error}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, KeyError) as error:
        raise RecnmpError(f"{path}: is a truncated or damaged {kind} file: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # NumPy reads an array's head as Python: a damaged one raises what that raises
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RecnmpError(f"{path}: holds what is not a plain array: {reason}") from error


def read_header(path: Path, arrays: dict[str, Any]) -> Header:
    """The header among the arrays. Raises RecnmpError if this is another kind of `.npz`."""
    text = arrays.get("header")
    if text is None or text.shape != () or text.dtype.kind != "U":
        raise RecnmpError(
            f"{path}: is .npz, but not a recnmp trace: turn it into one with `recnmp trace import`"
        )
    return Header.from_json(str(text), str(path))


def pieces_from_arrays(path: Path, header: Header, arrays: dict[str, Any]) -> Iterator[Piece]:
    """Pieces in stored order, as views of the arrays. Raises RecnmpError where they contradict each other."""
    source = str(path)
    for name in ("indices", "offsets", *(("weights",) if header.weighted else ())):
        if name not in arrays:
            raise RecnmpError(f"{path}: array {name!r} is missing")
    indices = as_ids(arrays["indices"], source)
    if len(indices) != header.lookups:
        raise RecnmpError(f"{path}: has {len(indices)} lookups, {header.lookups} announced")
    layout = Layout(tuple(table.name for table in header.tables), header.batch_sizes)
    offsets = as_offsets(arrays["offsets"], len(indices), source, layout)
    weights = as_weights(arrays["weights"], len(indices), source) if header.weighted else None
    for batch in batches_from_arrays(indices, offsets, weights, header.batch_sizes, len(header.tables)):
        yield from pieces_of(batch)


def batches_from_arrays(
    indices: Any, offsets: Any, weights: Any, batch_sizes: Iterable[int], n_tables: int
) -> Iterator[Batch]:
    """Cut arrays that run over all batches into batches; indices and weights are views."""
    first = 0
    for number, size in enumerate(batch_sizes):
        last = first + size * n_tables
        low, high = int(offsets[first]), int(offsets[last])
        own = offsets[first : last + 1]
        part = None if weights is None else weights[low:high]
        yield Batch(number, size, indices[low:high], own - low if low else own, part)
        first = last
