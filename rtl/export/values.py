"""What a wire carries, as Verilog text: pieces of named wires, constants and operations, most significant first.

Everything has exactly its own width, so that no expression depends on Verilog's rules of widening.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

CHAINS = {"&", "|", "^"}  # a & (b & c) needs no parentheses
COMPARISONS = {"==": "!=", "<": ">=", ">": "<="}


@dataclass(frozen=True)
class Piece:
    """`bits` bits of a wire named `name` of `whole` bits, from bit `low` on."""

    name: str
    low: int
    bits: int
    whole: int

    def text(self) -> str:
        """As `x`, `x[3]` or `x[7:4]`."""
        if self.bits == self.whole:
            return self.name
        high = self.low + self.bits - 1
        return f"{self.name}[{high}]" if self.bits == 1 else f"{self.name}[{high}:{self.low}]"


@dataclass(frozen=True)
class Constant:
    """A number of `bits` bits."""

    number: int
    bits: int

    def text(self) -> str:
        """Up to four bits and small numbers in decimal, others in hexadecimal."""
        if self.bits <= 4 or self.number < 10:
            return f"{self.bits}'d{self.number}"
        return f"{self.bits}'h{self.number:x}"


@dataclass(frozen=True)
class Operation:
    """Text with `sign` as its outermost operator; "" if it binds like a name. `opposite`: its inverse, if shorter."""

    sign: str
    written: str
    bits: int
    opposite: str = ""

    def text(self) -> str:
        """As it is written."""
        return self.written


Part = Piece | Constant | Operation
Value = tuple[Part, ...]


def width(value: Value) -> int:
    """Bits of a value."""
    return sum(part.bits for part in value)


def joined(parts: Sequence[Part]) -> Value:
    """A concatenation, with neighbours in one wire or two constants made one part."""
    merged: list[Part] = []
    for part in parts:
        above = merged[-1] if merged else None
        if isinstance(above, Piece) and isinstance(part, Piece) and above.name == part.name:
            if above.low == part.low + part.bits:
                merged[-1] = replace(part, bits=above.bits + part.bits)
                continue
        elif isinstance(above, Constant) and isinstance(part, Constant):
            merged[-1] = Constant(above.number << part.bits | part.number, above.bits + part.bits)
            continue
        merged.append(part)
    return tuple(merged)


def widened(value: Value, bits: int) -> Value:
    """With zeros above, up to `bits` bits."""
    missing = bits - width(value)
    return joined((Constant(0, missing), *value)) if missing else value


def can_pick(value: Value) -> bool:
    """Whether single bits can be taken from it: Verilog selects from names only."""
    return not any(isinstance(part, Operation) for part in value)


def picked(value: Value, indices: Sequence[int]) -> Value:
    """Bits of a value, the index of the least significant first. The value must not hold an operation."""
    bits: list[Part] = []
    for part in reversed(value):
        if isinstance(part, Piece):
            bits += [Piece(part.name, part.low + i, 1, part.whole) for i in range(part.bits)]
        elif isinstance(part, Constant):
            bits += [Constant(part.number >> i & 1, 1) for i in range(part.bits)]
        else:
            raise ValueError(f"no bits can be taken from {part.text()}")
    return joined([bits[index] for index in reversed(indices)])


def _runs(value: Value) -> Iterator[tuple[Part, int]]:
    """Equal neighbours, counted: sign bits, spread masks."""
    at = 0
    while at < len(value):
        end = at + 1
        while end < len(value) and value[end] == value[at]:
            end += 1
        yield value[at], end - at
        at = end


def text(value: Value) -> str:
    """The value in Verilog."""
    if len(value) == 1:
        return value[0].text()
    written = [f"{{{times}{{{part.text()}}}}}" if times > 1 else part.text() for part, times in _runs(value)]
    return written[0] if len(written) == 1 else f"{{{', '.join(written)}}}"


def operand(value: Value, sign: str) -> str:
    """The value as an operand of `sign`, in parentheses where a reader would want them."""
    only = value[0] if len(value) == 1 else None
    if not isinstance(only, Operation) or not only.sign:
        return text(value)
    plain = (only.sign == sign and sign in CHAINS) or only.sign == "~" != sign
    return only.text() if plain else f"({only.text()})"


def binary(sign: str, left: Value, right: Value, bits: int) -> Value:
    """`left sign right`, which has `bits` bits."""
    return (Operation(sign, f"{operand(left, sign)} {sign} {operand(right, sign)}", bits),)


def bounds(value: Value) -> tuple[int, int]:
    """The least and the greatest number that the value can be, by its constant bits."""
    least = greatest = 0
    for part in value:
        low, high = (part.number, part.number) if isinstance(part, Constant) else (0, (1 << part.bits) - 1)
        least, greatest = least << part.bits | low, greatest << part.bits | high
    return least, greatest


def compared(sign: str, left: Value, right: Value) -> Value:
    """One bit: `left == right`, `left < right` or `left > right`; a constant where constant bits decide it."""
    (least, greatest), (other_least, other_greatest) = bounds(left), bounds(right)
    below, above = greatest < other_least, least > other_greatest
    never = {"==": below or above, "<": least >= other_greatest, ">": greatest <= other_least}
    always = {"==": least == greatest == other_least == other_greatest, "<": below, ">": above}
    if never[sign] or always[sign]:
        return (Constant(int(always[sign]), 1),)
    first, second = operand(left, sign), operand(right, sign)
    return (Operation(sign, f"{first} {sign} {second}", 1, f"{first} {COMPARISONS[sign]} {second}"),)


def inverted(value: Value) -> Value:
    """Every bit its opposite."""
    only = value[0]
    if len(value) == 1 and isinstance(only, Constant):
        return (Constant(only.number ^ (1 << only.bits) - 1, only.bits),)
    if len(value) == 1 and isinstance(only, Operation) and only.opposite:
        return (Operation("!=", only.opposite, 1),)
    return (Operation("~", f"~{operand(value, '~')}", width(value)),)
