"""Where every port, register and memory of a block lies in arrays of 64-bit words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyrtl

from ...errors import RecnmpError

WORD = 64
# what an address may be at most: a memory's words are allocated, not hashed
LONGEST_ADDRESS = 26


def limbs(bits: int) -> int:
    """64-bit words that hold so many bits."""
    return (bits + WORD - 1) // WORD


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts numbers in names by value: the order does not depend on how many wires were made before."""
    parts = re.split(r"(\d+)", name)
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


@dataclass(frozen=True)
class Field:
    """A named word in rows of 64-bit words: `columns` words from `first` on, the lowest bits first."""

    name: str
    bits: int
    first: int

    @property
    def columns(self) -> int:
        return limbs(self.bits)


@dataclass(frozen=True)
class RegisterField(Field):
    """A register in the state, and what it holds after reset."""

    reset: int


@dataclass(frozen=True)
class MemoryField(Field):
    """A memory in the state: word i stands at first + i*columns."""

    words: int


@dataclass(frozen=True)
class Layout:
    """Ports and state of a block. `words` is the length of one copy's state in 64-bit words."""

    inputs: tuple[Field, ...]
    outputs: tuple[Field, ...]
    registers: tuple[RegisterField, ...]
    memories: tuple[MemoryField, ...]
    words: int


def row_length(fields: Sequence[Field]) -> int:
    """64-bit words of a row of these ports, at least one: an empty row has no address."""
    return max(1, sum(field.columns for field in fields))


def ports(wires: Iterable[pyrtl.WireVector]) -> tuple[Field, ...]:
    made, first = [], 0
    for wire in wires:
        made.append(Field(wire.name, len(wire), first))
        first += limbs(len(wire))
    return tuple(made)


def memories_of(block: pyrtl.Block) -> list[pyrtl.MemBlock]:
    """All memories that are read or written, ROMs too, in an order that only names decide."""
    found = {net.op_param[1].id: net.op_param[1] for net in block.logic_subset("m@")}
    return sorted(found.values(), key=lambda memory: (natural(memory.name), memory.id))


def chosen(
    block: pyrtl.Block, kind: type[pyrtl.WireVector], names: Sequence[str] | None
) -> list[pyrtl.WireVector]:
    """The Inputs or Outputs in the order of `names`; all of them, by name, where there are none.

    Raises RecnmpError for a name that is no such port, or is there twice, and for an input that is left out.
    """
    found = {wire.name: wire for wire in block.wirevector_subset(kind)}
    for wire in block.rtl_assert_dict:
        found.pop(wire.name, None)
    if names is None:
        return sorted(found.values(), key=lambda wire: natural(wire.name))
    what = kind.__name__.lower()
    if wrong := [name for name in names if name not in found]:
        raise RecnmpError(f"circuit: {wrong[0]!r} is no {what}; there are: {', '.join(sorted(found))}")
    if len(set(names)) < len(names):
        raise RecnmpError(f"circuit: an {what} is named twice: {', '.join(names)}")
    if kind is pyrtl.Input and (missing := sorted(set(found) - set(names))):
        raise RecnmpError(f"circuit: input {missing[0]!r} is not named; every input has to be")
    return [found[name] for name in names]


def lay_out(block: pyrtl.Block, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> Layout:
    """The layout of a block. Raises RecnmpError for what `chosen` refuses, and a memory that is too large."""
    first = 0
    registers: list[RegisterField] = []
    for wire in sorted(block.wirevector_subset(pyrtl.Register), key=lambda wire: natural(wire.name)):
        reset = (wire.reset_value or 0) & wire.bitmask
        registers.append(RegisterField(wire.name, len(wire), first, reset))
        first += limbs(len(wire))
    memories: list[MemoryField] = []
    for memory in memories_of(block):
        if memory.addrwidth > LONGEST_ADDRESS:
            raise RecnmpError(
                f"circuit: memory {memory.name!r} has {memory.addrwidth} address bits, at most {LONGEST_ADDRESS} can be"
            )
        if not isinstance(memory, pyrtl.RomBlock):
            memories.append(MemoryField(memory.name, memory.bitwidth, first, 1 << memory.addrwidth))
            first += limbs(memory.bitwidth) << memory.addrwidth
    names = [field.name for field in (*registers, *memories)]
    if (
        twice := sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    ):
        raise RecnmpError(f"circuit: two registers or memories are called {twice[0]!r}")
    return Layout(
        ports(chosen(block, pyrtl.Input, inputs)),
        ports(chosen(block, pyrtl.Output, outputs)),
        tuple(registers),
        tuple(memories),
        max(1, first),
    )
