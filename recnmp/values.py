"""What the tables hold. Traces carry no values (D11); timing never depends on them."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .errors import RecnmpError
from .workload import Table

Float32s = npt.NDArray[np.float32]
Int64s = npt.NDArray[np.int64]


class Values(Protocol):
    """A source of table rows."""

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim]: those rows of table number `table`."""


class HashValues:
    """Elements are multiples of 1/16 from -8 to 127/16, a function of seed, table, row and column.

    Small enough for sums of up to 65,536 of them to be exact in FP32 in any order.
    """

    def __init__(self, tables: Sequence[Table], seed: int = 0) -> None:
        self._tables = tables
        self._seed = np.uint64(seed)

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim]."""
        key = np.asarray(rows).astype(np.uint64)[:, None]
        column = np.arange(self._tables[table].dim, dtype=np.uint64)
        mixed = _mix(_mix(_mix(self._seed + np.uint64(table)) ^ key) ^ column)
        sixteenths: Float32s = (mixed >> np.uint64(56)).astype(np.float32) - np.float32(128)
        sixteenths /= np.float32(16)
        return sixteenths


class FileValues:
    """Rows from NumPy arrays, one a table: float32 [rows, dim]."""

    def __init__(self, tables: Sequence[Table], arrays: Sequence[Float32s]) -> None:
        self._arrays = arrays
        for table, array in zip(tables, arrays, strict=True):
            if array.dtype != np.float32 or array.shape != (table.rows, table.dim):
                raise RecnmpError(
                    f"values of table '{table.name}': {array.dtype} {list(array.shape)}, "
                    f"expected float32 [{table.rows}, {table.dim}]"
                )

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim], a copy."""
        return np.asarray(self._arrays[table][rows])


def load_values(what: str, tables: Sequence[Table], seed: int = 0) -> Values | None:
    """`none`, `hash`, or a file: .npy (of the only table), .npz (an array a table, by name), or a folder of NAME.npy.

    Raises RecnmpError if it is none of these, an array is missing, or its shape or type is another.
    """
    if what == "none":
        return None
    if what == "hash":
        return HashValues(tables, seed)
    path = Path(what)
    if not what or not path.exists():
        raise RecnmpError(
            f"--values {what}: no such file; allowed are none, hash, a .npy or .npz file, or a folder of .npy"
        )
    if path.is_dir():
        return FileValues(tables, [_read(path / f"{table.name}.npy") for table in tables])
    if path.suffix == ".npy" and len(tables) == 1:
        return FileValues(tables, [_read(path)])
    if path.suffix != ".npz":
        raise RecnmpError(
            f"{path}: a .npz file or folder with an array for each of the {len(tables)} tables is needed"
        )
    arrays = _read(path)
    for table in tables:
        if table.name not in arrays:
            raise RecnmpError(
                f"{path}: no array '{table.name}', there are {', '.join(sorted(arrays)) or 'none'}"
            )
    with _named(path):
        return FileValues(tables, [arrays[table.name] for table in tables])


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Whatever a damaged file makes NumPy and zipfile raise, as one line that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise RecnmpError(f"{path}: no such file") from error
    except (
        OSError,
        EOFError,
        ValueError,
        KeyError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        # what is no array at all is taken for a pickle by NumPy, which says nothing to a user
        why = "it does not begin as one" if "pickle" in str(error) else str(error)
        raise RecnmpError(f"{path}: not a whole NumPy file: {why}") from error


def _read(path: Path) -> Any:
    """A memory-mapped array, or the arrays of an .npz."""
    with _named(path):
        return np.load(path, mmap_mode="r", allow_pickle=False)


def _mix(x: npt.NDArray[np.uint64] | np.uint64) -> npt.NDArray[np.uint64]:
    """splitmix64's finaliser, element by element (Steele, Lea, Flood 2014)."""
    with np.errstate(over="ignore"):
        x = np.asarray(x, np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return x ^ (x >> np.uint64(31))
