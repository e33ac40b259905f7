"""An embedding table's shape: all that timing needs to know of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from ..errors import RecnmpError
from .numbers import as_whole, shown

_BITS = {"fp32": 32, "fp16": 16, "int8": 8, "int4": 4}
DTYPES = tuple(_BITS)


@dataclass(frozen=True)
class _Layout:
    """How a row lies in bytes. parameter_bytes: of scale and of bias, each. align: rows are padded to a multiple."""

    parameter_bytes: int = 0
    head: bool = False  # scale and bias before the elements
    align: int = 1


# Tail: Caffe2's and PyTorch's row-wise formats (fused 8-bit: fp32 pair, fused 4-bit: fp16 pair). Head: FBGEMM's
# inference, with padding (head16) as it is on GPUs. The first of a dtype is its default.
_HEAD, _HEAD16 = _Layout(2, head=True), _Layout(2, head=True, align=16)
_LAYOUTS = {
    "fp32": {"plain": _Layout()},
    "fp16": {"plain": _Layout()},
    "int8": {"tail": _Layout(4), "head": _HEAD, "head16": _HEAD16},
    "int4": {"tail": _Layout(2), "head": _HEAD, "head16": _HEAD16},
}
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Table:
    """One embedding table.

    name: unique within a workload. rows: number of rows, ids are 0..rows-1. dim: elements a row.
    dtype: "fp32", "fp16", "int8" or "int4" (the last two row-wise quantised: scale and bias are stored in the
    row). layout: "plain" (fp32, fp16), "tail", "head" or "head16" (int8, int4: scale and bias after or before
    the elements, rows padded to 16 bytes or not); empty: plain or tail.
    Raises RecnmpError on an empty name, rows or dim below 1 or beyond 64 bits, an unknown dtype, a layout that it
    does not have.
    """

    name: str
    rows: int
    dim: int
    dtype: str = "fp32"
    layout: str = ""

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
            raise RecnmpError(f"table {self.name!r}: dtype {_unknown(self.dtype, DTYPES)}")
        layouts = tuple(_LAYOUTS[self.dtype])
        if self.layout == "":
            object.__setattr__(self, "layout", layouts[0])
        if not isinstance(self.layout, str) or self.layout not in layouts:
            raise RecnmpError(
                f"table {self.name!r}: layout of {self.dtype} rows {_unknown(self.layout, layouts)}"
            )

    @property
    def default_layout(self) -> bool:
        """The layout is what rows of this dtype have if nothing is said."""
        return self.layout == next(iter(_LAYOUTS[self.dtype]))

    @property
    def quantised(self) -> bool:
        """Elements are whole numbers q, and x = scale * q + bias."""
        return self.parameter_bytes > 0

    @property
    def element_bits(self) -> int:
        """Bits of an element; int4 lie two to a byte, the first in the lower half."""
        return _BITS[self.dtype]

    @property
    def parameter_bytes(self) -> int:
        """Bytes of the scale, and of the bias that follows it: 4 (fp32), 2 (fp16), or 0: there are none."""
        return self._stored.parameter_bytes

    @property
    def elements_at(self) -> int:
        """Byte of the row where element 0 lies."""
        return 2 * self.parameter_bytes if self._stored.head else 0

    @property
    def parameters_at(self) -> int:
        """Byte of the row where the scale begins; 0 where there is none."""
        return self._element_bytes if self.quantised and not self._stored.head else 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one stored row: elements, scale, bias and the layout's own padding, before any stride."""
        stored = self._stored
        used = self._element_bytes + 2 * stored.parameter_bytes
        return -(-used // stored.align) * stored.align

    @property
    def _element_bytes(self) -> int:
        return (self.dim * self.element_bits + 7) // 8

    @property
    def _stored(self) -> _Layout:
        return _LAYOUTS[self.dtype][self.layout]


def _unknown(word: object, known: tuple[str, ...]) -> str:
    near = get_close_matches(str(word), known, 1, 0.3)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"{word!r} is unknown{hint}; known: {', '.join(known)}"


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
