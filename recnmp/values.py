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
from .rows import decode_rows, dequantise, element_type, one_nan
from .workload import Table

Float32s = npt.NDArray[np.float32]
Int64s = npt.NDArray[np.int64]


class Values(Protocol):
    """A source of table rows."""

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim]: those rows of table number `table`."""


class HashValues:
    """A function of seed, table, row and column; all values are multiples of 1/16.

    fp32, fp16: -8 to 127/16. int8 and int4: element q is 0 to 255 or 15, the row's scale c/16 with c of 1 to 4
    or 16, its bias (r - c * 2^(bits-1)) / 16 with r of -128 to 127: so values are at most 40 and 16 by
    magnitude, scale and bias fit every layout, and scale * q + bias is exact.
    Sums are exact in FP32 in any order: of up to 65,536 of them, of int8 rows up to 16,384.
    """

    def __init__(self, tables: Sequence[Table], seed: int = 0) -> None:
        if not 0 <= seed < 1 << 64:
            raise RecnmpError(f"seed of the values is {seed}, allowed 0 to 2^64-1")
        self._tables = tables
        self._seed = np.uint64(seed)

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim]."""
        shape = self._tables[table]
        key = np.asarray(rows).astype(np.uint64)[:, None]
        of_row = _mix(_mix(self._seed + np.uint64(table)) ^ key)
        mixed = _mix(of_row ^ np.arange(shape.dim, dtype=np.uint64))
        if not shape.quantised:
            sixteenths: Float32s = (mixed >> np.uint64(56)).astype(np.float32) - np.float32(128)
            sixteenths /= np.float32(16)
            return sixteenths
        elements = (mixed >> np.uint64(64 - shape.element_bits)).astype(np.uint8)
        # a column that no table has
        bits = _mix(of_row[:, 0] ^ np.uint64(2**64 - 1))
        c = (bits % np.uint64(4 if shape.dtype == "int8" else 16) + np.uint64(1)).astype(np.float32)
        r = (bits >> np.uint64(56)).astype(np.float32) - np.float32(128)
        middle = np.float32(1 << shape.element_bits - 1)
        bias: Float32s = ((r - c * middle) / np.float32(16)).astype(np.float32)
        return dequantise(elements, c / np.float32(16), bias)


class FileValues:
    """Rows from NumPy arrays, one a table: float32 or float16 [rows, dim], quantised ones as they are stored,
    uint8 [rows, row_bytes] in the table's layout (`recnmp.rows.encode_rows` makes them).
    """

    def __init__(self, tables: Sequence[Table], arrays: Sequence[npt.NDArray[Any]]) -> None:
        self._tables = tables
        self._arrays = arrays
        for table, array in zip(tables, arrays, strict=True):
            kind = np.dtype(element_type(table))
            width = table.row_bytes if table.quantised else table.dim
            if array.dtype != kind or array.shape != (table.rows, width):
                stored = (
                    f": stored bytes of {table.dtype} rows, layout {table.layout}" if table.quantised else ""
                )
                raise RecnmpError(
                    f"values of table '{table.name}': {array.dtype} {list(array.shape)}, "
                    f"expected {kind} [{table.rows}, {width}]{stored}"
                )

    def vectors(self, table: int, rows: Int64s) -> Float32s:
        """float32 [len(rows), dim], a copy."""
        stored = np.asarray(self._arrays[table][rows])
        if self._tables[table].quantised:
            return decode_rows(self._tables[table], stored)
        with np.errstate(all="ignore"):
            return one_nan(stored.astype(np.float32))


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
