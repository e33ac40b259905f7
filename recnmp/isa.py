"""Bit layouts of the NMP instruction, as plain data.

One declaration gives the encoder, the decoder and the NumPy columns here, and the wires in `rtl/wires.py`.
Field widths: RecNMP (ISCA 2020) as recalled, 79 bits in all; the meaning of each bit is this project's
(docs/microarchitecture.md, section 2; decisions D6, D7, D8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import RecnmpError


@dataclass(frozen=True)
class Field:
    """A run of bits: its name, width, and what it says."""

    name: str
    bits: int
    meaning: str


@dataclass(frozen=True)
class Layout:
    """Fields of one word, the first in the least significant bits."""

    name: str
    fields: tuple[Field, ...]

    @property
    def width(self) -> int:
        """Bits of the whole word."""
        return sum(field.bits for field in self.fields)

    @property
    def words(self) -> int:
        """64-bit words that hold it."""
        return -(-self.width // 64)

    def spans(self) -> dict[str, tuple[int, int]]:
        """name -> (first bit, one past the last bit)."""
        spans, low = {}, 0
        for field in self.fields:
            spans[field.name] = (low, low + field.bits)
            low += field.bits
        return spans

    def pack(self, columns: Mapping[str, npt.ArrayLike]) -> npt.NDArray[np.uint64]:
        """Encode columns of equal length n into uint64 [n, words], least significant word first.

        Raises RecnmpError where a column is missing, unknown, or holds a value that its field cannot.
        """
        if set(columns) != set(self.spans()):
            odd = sorted(set(columns) ^ set(self.spans()))
            raise RecnmpError(f"{self.name}: fields missing or unknown: {', '.join(odd)}")
        arrays = {name: np.atleast_1d(np.asarray(column)) for name, column in columns.items()}
        out = np.zeros((len(next(iter(arrays.values()))), self.words), np.uint64)
        for field in self.fields:
            column = arrays[field.name]
            wrong = np.flatnonzero((column < 0) | (column >= 1 << field.bits))
            if wrong.size:
                at = int(wrong[0])
                raise RecnmpError(
                    f"{self.name} {at}: {field.name} is {column[at]}, "
                    f"but {field.bits} bits hold 0 to {(1 << field.bits) - 1}"
                )
            low = self.spans()[field.name][0]
            value = column.astype(np.uint64)
            out[:, low // 64] |= value << np.uint64(low % 64)
            if low // 64 != (low + field.bits - 1) // 64:
                out[:, low // 64 + 1] |= value >> np.uint64(64 - low % 64)
        return out

    def unpack(self, packed: npt.NDArray[np.uint64]) -> dict[str, npt.NDArray[np.uint64]]:
        """Decode uint64 [n, words] into one uint64 [n] column a field."""
        columns = {}
        for name, (low, high) in self.spans().items():
            value = packed[:, low // 64] >> np.uint64(low % 64)
            if low // 64 != (high - 1) // 64:
                value = value | (packed[:, low // 64 + 1] << np.uint64(64 - low % 64))
            columns[name] = value & np.uint64((1 << (high - low)) - 1)
        return columns


# Opcodes. That of a LOOKUP says which line of its row its run begins with: LOOKUP + line for 0 to 7, LOOKUP_LINE_8.
CONFIG, END, HOST_READ, LOOKUP_LINE_8, LOOKUP = 1, 2, 3, 4, 8

# Bits of ddr_cmd: the commands that the host expects the rank to need (D3).
PREDICT_ACT, PREDICT_RD, PREDICT_PRE = 1, 2, 4

ADDRESS = Layout(
    "address",
    (
        Field("column", 7, "first burst of the run in its DRAM row"),
        Field("row", 18, "DRAM row"),
        Field("bank", 2, "bank in its bank group"),
        Field("bankgroup", 2, "bank group"),
        Field("rank", 3, "rank in its channel"),
    ),
)

INSTRUCTION = Layout(
    "NMP instruction",
    (
        Field(
            "opcode",
            4,
            "1 CONFIG, 2 END, 3 HOST_READ, LOOKUP: 8 + first line of the run in its row, 4 for line 8",
        ),
        Field("ddr_cmd", 3, "predicted commands: bit 0 ACT, 1 RD, 2 PRE"),
        Field("address", 32, "LOOKUP: layout `address`; CONFIG: layout `config`"),
        Field("vsize", 3, "bursts of 64 bytes, less one"),
        Field("weight", 32, "LOOKUP: weight, FP32 bits; CONFIG: elements of a vector"),
        Field("locality", 1, "1: the line may use the RankCache"),
        Field("psum_tag", 4, "partial sum that the vector is added to"),
        Field(
            "byte_offset",
            4,
            "where the row begins in its line 0, in 4-byte words; only sent where rows need it",
        ),
    ),
)

# Element types by code (D9). int8 and int4 are unsigned: x = scale * q + bias.
DTYPES = ("fp32", "fp16", "int8", "int4")

# Row layouts by code: elements alone; then, or preceded by, scale and bias.
LAYOUTS = ("plain", "tail", "head")

# What CONFIG carries in the address field.
CONFIG_ADDRESS = Layout(
    "config",
    (
        Field("tag_group", 4, "group of PsumTags that the packet uses"),
        Field("dtype", 3, "element type, by its place in DTYPES"),
        Field("layout", 3, "row layout, by its place in LAYOUTS"),
        Field("weighted", 1, "1: multiply by the weight"),
        Field("unused", 21, "0"),
    ),
)

BITS_ALIGNED = INSTRUCTION.width - 4  # 79: without byte_offset
BITS_PACKED = INSTRUCTION.width  # 83 of the 84 pins (D8)
TAGS = 16
MAX_BURSTS = 8  # what vsize can say
ELEMENTS_PER_GROUP = 16


def is_lookup(opcode: npt.NDArray[np.int8]) -> npt.NDArray[np.bool_]:
    """Which opcodes are LOOKUPs."""
    lookups: npt.NDArray[np.bool_] = (opcode >= LOOKUP) | (opcode == LOOKUP_LINE_8)
    return lookups


def lookup_opcode(line: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Opcodes of LOOKUPs whose runs begin with these lines of their rows, 0 to 8."""
    return np.where(line < MAX_BURSTS, LOOKUP + line, LOOKUP_LINE_8)
