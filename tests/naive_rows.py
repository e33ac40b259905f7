"""Rows as bytes: which line holds what, and which operands the lines of an instruction make.

Written from docs/microarchitecture.md, section 2 ("Rows, lines and operands"), byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from naive_sums import add, canonical, multiply

FP32, FP16, INT8, INT4 = range(4)
PLAIN, TAIL, HEAD = range(3)
LINE_BYTES = 64
GROUP = 16

# (dtype, layout) -> bits an element, bytes of scale and bias each
FORMATS = {
    (FP32, PLAIN): (32, 0),
    (FP16, PLAIN): (16, 0),
    (INT8, TAIL): (8, 4),
    (INT8, HEAD): (8, 2),
    (INT4, TAIL): (4, 2),
    (INT4, HEAD): (4, 2),
}


@dataclass(frozen=True)
class Part:
    """An operand: elements first .. first + count - 1 of element group `group`, and the row's lines that hold them."""

    group: int
    first: int
    count: int
    lines: frozenset[int]


@dataclass(frozen=True)
class Row:
    """The row of a table, which begins at `byte_offset` of its line 0."""

    dtype: int
    layout: int
    dim: int
    byte_offset: int = 0

    @cached_property
    def bits(self) -> int:
        return FORMATS[self.dtype, self.layout][0]

    @cached_property
    def parameter_bytes(self) -> int:
        """Of scale and bias together."""
        return 2 * FORMATS[self.dtype, self.layout][1]

    @cached_property
    def elements_at(self) -> int:
        return self.parameter_bytes if self.layout == HEAD else 0

    @cached_property
    def parameters_at(self) -> int:
        return 0 if self.layout == HEAD else self.element_bytes

    @cached_property
    def element_bytes(self) -> int:
        return -(-self.dim * self.bits // 8)

    @cached_property
    def row_bytes(self) -> int:
        return self.element_bytes + self.parameter_bytes

    @cached_property
    def lines(self) -> int:
        """How many lines belong to it."""
        return -(-(self.byte_offset + self.row_bytes) // LINE_BYTES)

    def lines_of(self, first_byte: int, size: int) -> set[int]:
        """Numbers of the lines that hold these bytes of the row."""
        return {(self.byte_offset + byte) // LINE_BYTES for byte in range(first_byte, first_byte + size)}

    @cached_property
    def parameter_lines(self) -> frozenset[int]:
        return frozenset(self.lines_of(self.parameters_at, self.parameter_bytes))

    @cached_property
    def element_lines(self) -> list[int]:
        """Of each element."""
        found = []
        for element in range(self.dim):
            first = self.elements_at + element * self.bits // 8
            (line,) = self.lines_of(first, max(1, self.bits // 8))  # no element lies in two lines
            found.append(line)
        return found

    def operands(self, lines: Iterable[int]) -> list[Part]:
        """Those of an instruction with these lines of the row, in order of their element groups."""
        wanted = set(lines)
        parts = []
        for group in range(-(-self.dim // GROUP)):
            of_group = range(group * GROUP, min(group * GROUP + GROUP, self.dim))
            here = [element for element in of_group if self.element_lines[element] in wanted]
            if here:
                assert here == list(range(here[0], here[-1] + 1))
                held_by = {self.element_lines[element] for element in here} | self.parameter_lines
                assert held_by <= wanted
                parts.append(Part(group, here[0], len(here), frozenset(held_by)))
        return parts

    def order(self, lines: Iterable[int]) -> list[int]:
        """Parameter lines in column order, then all others in column order (section 4, Lines)."""
        return sorted(lines, key=lambda line: (line not in self.parameter_lines, line))

    # Values (section 6)

    def stored(self, row: bytes, element: int) -> int:
        """The element as stored, right-aligned; `row` are the row's bytes, without what lies before and after."""
        at = self.elements_at + element * self.bits // 8
        if self.bits == 4:
            return row[at] >> 4 * (element % 2) & 15
        return int.from_bytes(row[at : at + self.bits // 8], "little")

    def parameters(self, row: bytes) -> tuple[np.float32, np.float32]:
        """Scale and bias."""
        size = self.parameter_bytes // 2
        words = [row[at : at + size] for at in (self.parameters_at, self.parameters_at + size)]
        scale, bias = (widened(word) for word in words)
        return scale, bias

    def value(self, row: bytes, element: int) -> np.float32:
        """x of section 6."""
        word = self.stored(row, element)
        if self.dtype in (FP32, FP16):
            return canonical(widened(word.to_bytes(self.bits // 8, "little")))
        scale, bias = self.parameters(row)
        return add(multiply(scale, np.float32(word)), bias)


def widened(word: bytes) -> np.float32:
    """Two or four bytes, least significant first, as an FP32 number; the two exactly, digit for digit."""
    if len(word) == 4:
        return np.frombuffer(word, np.dtype("<f4"))[0]
    bits = int.from_bytes(word, "little")
    sign, exponent, fraction = bits >> 15, bits >> 10 & 31, bits & 1023
    if exponent == 31:
        size = np.float32(np.nan if fraction else np.inf)
    else:
        size = np.float32((fraction + (1024 if exponent else 0)) * 2.0 ** (max(exponent, 1) - 25))
    return -size if sign else size
