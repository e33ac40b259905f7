"""PyRTL's operations on words of any width, as C expressions on 64-bit limbs.

The C is written in macros over a type W (see `prelude`), so that the same text serves one copy (W a uint64_t) and
several side by side (W a vector). Bits above a value's width are always zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .layout import WORD, limbs

# Gives a C expression a name, once; the name is what other expressions use.
Let = Callable[[str], str]


@dataclass(frozen=True)
class Value:
    """A word: the C names of its limbs, the lowest first, and its width in bits."""

    limbs: tuple[str, ...]
    bits: int


@dataclass(frozen=True)
class Piece:
    """Some bits of a value: `length` from `low` on, or bit `low` so many times (`repeated`)."""

    value: Value
    low: int
    length: int
    repeated: bool = False


def literal(number: int) -> str:
    return f"0x{number:x}ull"


def mask_of(bits: int, limb: int) -> int:
    """The bits of a limb that a word of `bits` bits uses."""
    return (1 << min(WORD, max(0, bits - WORD * limb))) - 1


def cut(expression: str, bits: int, have: int, limb: int = 0) -> str:
    """An expression that may have `have` bits, without those above `bits`."""
    if mask_of(bits, limb) == mask_of(have, limb):
        return expression
    return f"({expression}) & {literal(mask_of(bits, limb))}"


def truncated(let: Let, value: Value, bits: int) -> Value:
    made = list(value.limbs[: limbs(bits)])
    made[-1] = let(cut(made[-1], bits, value.bits, len(made) - 1))
    return Value(tuple(made), bits)


def bitwise(let: Let, op: str, a: Value, b: Value, bits: int) -> Value:
    made = []
    for limb in range(limbs(bits)):
        expression = cut(f"{a.limbs[limb]} {op} {b.limbs[limb]}", bits, a.bits, limb)
        made.append(let(expression))
    return Value(tuple(made), bits)


def inverted(let: Let, a: Value, bits: int) -> Value:
    short = truncated(let, a, bits)
    flipped = (let(f"{name} ^ {literal(mask_of(bits, limb))}") for limb, name in enumerate(short.limbs))
    return Value(tuple(flipped), bits)


def total(let: Let, a: Value, b: Value, bits: int) -> Value:
    """a + b, whose carry is bit a.bits."""
    if a.bits < WORD:
        return Value((let(cut(f"{a.limbs[0]} + {b.limbs[0]}", bits, a.bits + 1)),), bits)
    made: list[str] = []
    carry = ""
    for limb in range(limbs(bits)):
        if limb == len(a.limbs):
            made.append(carry)
            continue
        first = let(f"{a.limbs[limb]} + {b.limbs[limb]}")
        over = let(f"LT({first}, {b.limbs[limb]})")
        if carry:
            second = let(f"{first} + {carry}")
            over = let(f"{over} | LT({second}, {carry})")
            first = second
        carry = over
        made.append(let(cut(first, bits, max(bits, a.bits + 1), limb)))
    return Value(tuple(made), bits)


def difference(let: Let, a: Value, b: Value, bits: int) -> Value:
    """a - b, negative ones as PyRTL has them: the low bits of the two's complement."""
    made: list[str] = []
    borrow = ""
    for limb in range(limbs(bits)):
        if limb == len(a.limbs):
            made.append(let(cut(f"ZERO - {borrow}", bits, WORD * (limb + 1), limb)))
            continue
        first = let(f"{a.limbs[limb]} - {b.limbs[limb]}")
        if limb + 1 < limbs(bits) or borrow:
            under = let(f"LT({a.limbs[limb]}, {b.limbs[limb]})")
            if borrow:
                second = let(f"{first} - {borrow}")
                under = let(f"{under} | LT({first}, {borrow})")
                first = second
            borrow = under
        made.append(let(cut(first, bits, WORD * (limb + 1), limb)))
    return Value(tuple(made), bits)


def product(let: Let, a: Value, b: Value, bits: int) -> Value:
    """a * b, schoolbook by limbs."""
    if a.bits <= WORD // 2:
        return Value((let(cut(f"MUL32({a.limbs[0]}, {b.limbs[0]})", bits, 2 * a.bits)),), bits)
    if bits <= WORD:
        return Value((let(cut(f"{a.limbs[0]} * {b.limbs[0]}", bits, WORD)),), bits)
    made = ["ZERO"] * limbs(bits)
    for i, left in enumerate(a.limbs):
        carry = "ZERO"
        for j, right in enumerate(b.limbs):
            if i + j >= len(made):
                break
            low, high = let(f"{left} * {right}"), let(f"HIGH({left}, {right})")
            first = let(f"{made[i + j]} + {low}")
            second = let(f"{first} + {carry}")
            carry = let(f"{high} + LT({first}, {low}) + LT({second}, {carry})")
            made[i + j] = second
        if i + len(b.limbs) < len(made):
            made[i + len(b.limbs)] = carry
    made[-1] = let(cut(made[-1], bits, WORD * len(made), len(made) - 1))
    return Value(tuple(made), bits)


def less(let: Let, a: Value, b: Value) -> Value:
    """a < b, unsigned."""
    if a.bits < WORD:
        return Value((let(f"LESS({a.limbs[0]}, {b.limbs[0]})"),), 1)
    result = ""
    for left, right in zip(a.limbs, b.limbs, strict=True):
        here = f"LT({left}, {right})"
        result = let(f"{here} | (EQ({left}, {right}) & {result})") if result else let(here)
    return Value((result,), 1)


def equal(let: Let, a: Value, b: Value) -> Value:
    if len(a.limbs) == 1:
        return Value((let(f"EQ({a.limbs[0]}, {b.limbs[0]})"),), 1)
    unlike = " | ".join(f"({left} ^ {right})" for left, right in zip(a.limbs, b.limbs, strict=True))
    return Value((let(f"EQ({let(unlike)}, ZERO)"),), 1)


def selected(let: Let, choice: Value, otherwise: Value, then: Value, bits: int) -> Value:
    made = []
    for limb in range(limbs(bits)):
        f, t = otherwise.limbs[limb], then.limbs[limb]
        mux = f if f == t else f"MUX({choice.limbs[0]}, {f}, {t})"
        made.append(let(cut(mux, bits, then.bits, limb)))
    return Value(tuple(made), bits)


def runs(value: Value, places: Sequence[int]) -> Iterator[Piece]:
    """The bits of `value` at these places, the lowest first, in as few pieces as can be."""
    at = 0
    while at < len(places):
        end = at + 1
        while end < len(places) and places[end] == places[at]:
            end += 1
        repeated = end - at > 1
        if not repeated:
            while end < len(places) and places[end] == places[end - 1] + 1:
                end += 1
        yield Piece(value, places[at], end - at, repeated)
        at = end


def gathered(values: Sequence[Value]) -> Iterator[Piece]:
    """Whole values one above the other, the lowest first; a bit that comes several times is one piece."""
    at = 0
    while at < len(values):
        end = at + 1
        if values[at].bits == 1:
            while end < len(values) and values[end] == values[at]:
                end += 1
        many = end - at > 1
        yield Piece(values[at], 0, end - at if many else values[at].bits, many)
        at = end


def assembled(let: Let, pieces: Iterator[Piece], bits: int) -> Value:
    """Pieces one above the other, the lowest first."""
    parts: list[list[str]] = [[] for _ in range(limbs(bits))]
    place = 0
    for piece in pieces:
        done = 0
        while done < piece.length and place < bits:
            limb, offset = divmod(place, WORD)
            length = min(piece.length - done, WORD - offset, bits - place)
            low = piece.low if piece.repeated else piece.low + done
            if not piece.repeated:
                length = min(length, WORD - low % WORD)
            name, shift = piece.value.limbs[low // WORD], low % WORD
            part = f"({name} >> {shift})" if shift else name
            if piece.repeated:
                last = low == piece.value.bits - 1
                part = f"((ZERO - {part if last else f'({part} & 1ull)'}) & {literal((1 << length) - 1)})"
            elif low + length < piece.value.bits and shift + length < WORD:
                part = f"({part} & {literal((1 << length) - 1)})"
            if offset:
                part = f"({part} << {offset})"
            parts[limb].append(part)
            place += length
            done += length
    names = []
    for group in parts:
        # a long concatenation goes in steps: no expression is deep
        while len(group) > 8:
            group[:8] = [let(" | ".join(group[:8]))]
        names.append(let(" | ".join(group)) if group else "ZERO")
    return Value(tuple(names), bits)
