"""An embedding table's shape: all that timing needs to know of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import RecnmpError
from .numbers import as_whole, shown

# dtype -> (bits an element, bytes of scale and bias a row). The quantised layouts are Caffe2's and PyTorch's
# row-wise ones: int8 elements then fp32 scale and bias; int4 two to a byte then fp16 scale and bias.
_LAYOUTS = {"fp32": (32, 0), "fp16": (16, 0), "int8": (8, 8), "int4": (4, 4)}
DTYPES = tuple(_LAYOUTS)
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Table:
    """One embedding table.

    name: unique within a workload. rows: number of rows, ids are 0..rows-1. dim: elements a row.
    dtype: "fp32", "fp16", "int8" or "int4" (the last two row-wise quantised, scale and bias stored in the
    row). Raises RecnmpError on an empty name, rows or dim below 1 or beyond 64 bits, an unknown dtype.
    """

    name: str
    rows: int
    dim: int
    dtype: str = "fp32"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise RecnmpError(f"a table's name must be a text of at least one character, not {self.name!r}")
        for field in ("rows", "dim"):
            value = getattr(self, field)
            number = as_whole(value)
            if number is None or not 1 <= number <= _LARGEST:
                raise RecnmpError(
                    f"table {self.name!r}: {field} is {shown(value)}, allowed are whole numbers 1..2^63-1"
                )
            object.__setattr__(self, field, number)
        if not isinstance(self.dtype, str) or self.dtype not in _LAYOUTS:
            near = get_close_matches(str(self.dtype), DTYPES, 1, 0.3)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise RecnmpError(
                f"table {self.name!r}: dtype {self.dtype!r} is unknown{hint}; known: {', '.join(DTYPES)}"
            )

    @property
    def row_bytes(self) -> int:
        """Bytes of one stored row, scale and bias included, before any alignment."""
        bits, extra = _LAYOUTS[self.dtype]
        return (self.dim * bits + 7) // 8 + extra


def check_tables(tables: Iterable[Table]) -> tuple[Table, ...]:
    """The tables as a tuple. Raises RecnmpError if a name occurs twice, or on what is no Table."""
    if isinstance(tables, Table) or not isinstance(tables, Iterable):
        raise RecnmpError(f"tables is {shown(tables)}, allowed is a list of Table")
    tables = tuple(tables)
    seen: dict[str, int] = {}
    for position, table in enumerate(tables):
        if not isinstance(table, Table):
            raise RecnmpError(f"table {position} is {shown(table)}, allowed is a Table")
        if table.name in seen:
            raise RecnmpError(f"tables {seen[table.name]} and {position} have the same name {table.name!r}")
        seen[table.name] = position
    return tables
