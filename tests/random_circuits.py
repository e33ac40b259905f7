"""Circuits made at random of everything that PyRTL can express, and inputs for them; all from hypothesis' draws."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyrtl
from hypothesis import strategies as st

Wire = pyrtl.WireVector
# around the borders of 32, 64 and 128 bits, where limbs begin and end
WIDTHS = st.one_of(st.integers(1, 40), st.sampled_from([1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200]))


def raw(op: str, bits: int, *args: Wire) -> Wire:
    """A net that the operators of PyRTL's wires never make, such as a sum without its carry."""
    made = Wire(bits)
    pyrtl.working_block().add_net(pyrtl.LogicNet(op, None, tuple(args), (made,)))
    return made


class Maker:
    """Draws one net after the other over a growing pool of wires."""

    SHORT = "&|^n+-*w~x"

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self.draw = draw
        self.pool: list[Wire] = []
        self.memories: list[pyrtl.MemBlock] = []

    def number(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def any(self, bits: int | None = None) -> Wire:
        """A wire of the pool, made as wide as is wanted."""
        wire = self.pool[self.number(0, len(self.pool) - 1)]
        if bits is None:
            return wire
        if len(wire) > bits:
            low = self.number(0, len(wire) - bits)
            return wire[low : low + bits]
        return wire.sign_extended(bits) if self.number(0, 1) else wire.zero_extended(bits)

    def pair(self) -> tuple[Wire, Wire]:
        first = self.any()
        return first, self.any(len(first))

    def narrow(self) -> Wire:
        """A wire of at most 8 bits, for shifts and addresses."""
        return self.any(self.number(1, 8))

    # each of these makes one wire

    def constant(self) -> Wire:
        bits = self.draw(WIDTHS)
        return pyrtl.Const(self.number(0, (1 << bits) - 1), bits)

    def inverted(self) -> Wire:
        return ~self.any()

    def bitwise(self) -> Wire:
        a, b = self.pair()
        kind = self.number(0, 3)
        return (a & b, a | b, a ^ b, a.nand(b))[kind]

    def arithmetic(self) -> Wire:
        a, b = self.pair()
        return (a + b, a - b)[self.number(0, 1)]

    def multiplied(self) -> Wire:
        a, b = self.pair()
        return (a * b)[: self.number(1, 250)]

    def signed(self) -> Wire:
        a, b = self.pair()
        kinds = (
            pyrtl.signed_add,
            pyrtl.signed_sub,
            pyrtl.signed_lt,
            pyrtl.signed_le,
            pyrtl.signed_gt,
            pyrtl.signed_ge,
        )
        kind = self.number(0, len(kinds))
        if kind == len(kinds):
            return pyrtl.signed_mult(a[:80], b[:80])
        return kinds[kind](a, b)

    def compared(self) -> Wire:
        a, b = self.pair()
        return (a < b, a > b, a == b, a <= b, a >= b, a != b)[self.number(0, 5)]

    def compared_with_itself_nearly(self) -> Wire:
        a = self.any()
        b = a ^ pyrtl.Const(1 << self.number(0, len(a) - 1), len(a))
        return (a < b, a > b, a == b)[self.number(0, 2)]

    def selected(self) -> Wire:
        a, b = self.pair()
        return pyrtl.select(self.any(1), a, b)

    def shifted(self) -> Wire:
        kinds = (pyrtl.shift_right_arithmetic, pyrtl.shift_left_logical, pyrtl.shift_right_logical)
        return kinds[self.number(0, 2)](self.any(), self.narrow())

    def concatenated(self) -> Wire:
        return pyrtl.concat(*(self.any()[:70] for _ in range(self.number(1, 4))))

    def repeated(self) -> Wire:
        return pyrtl.concat(*([self.any(1)] * self.number(2, 90)), self.any(1))

    def picked(self) -> Wire:
        a = self.any()
        low = self.number(0, len(a) - 1)
        return a[low : self.number(low, len(a) - 1) + 1]

    def scattered(self) -> Wire:
        """Bits of a wire in any order: what a slice with a step is, and more."""
        a = self.any()
        places = self.draw(st.lists(st.integers(0, len(a) - 1), min_size=1, max_size=80))
        made = Wire(len(places))
        pyrtl.working_block().add_net(pyrtl.LogicNet("s", tuple(places), (a,), (made,)))
        return made

    def cut_short(self) -> Wire:
        """An operation whose result is narrower than the operation would give."""
        a, b = self.pair()
        op = self.draw(st.sampled_from(self.SHORT))
        bits = self.number(1, len(a))
        if op in "w~":
            return raw(op, bits, a)
        return raw(op, bits, self.any(1), a, b) if op == "x" else raw(op, bits, a, b)

    def read(self) -> Wire:
        if not self.memories:
            return self.inverted()
        memory = self.memories[self.number(0, len(self.memories) - 1)]
        return pyrtl.as_wires(memory[self.any(memory.addrwidth)])

    KINDS = (
        constant, inverted, bitwise, arithmetic, multiplied, signed, compared, compared_with_itself_nearly, selected,
        shifted, concatenated, repeated, picked, scattered, cut_short, read, arithmetic, bitwise, selected, read,
    )  # fmt: skip

    def net(self) -> None:
        """One more wire, sometimes in a scope of names."""
        kind = self.KINDS[self.number(0, len(self.KINDS) - 1)]
        wire = kind(self)
        self.pool.append(wire[:200] if len(wire) > 200 else wire)


@st.composite
def circuits(
    draw: Callable[[Any], Any], nets: int = 20, state_only: bool = False, cut: str = Maker.SHORT
) -> pyrtl.Block:
    """A block with inputs, registers, memories, ROMs and outputs. state_only: outputs show registers only. cut:
    operations that may give fewer bits than they could.
    """
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        maker = Maker(draw)
        maker.SHORT = cut
        for number in range(maker.number(1, 3)):
            maker.pool.append(pyrtl.Input(draw(WIDTHS), f"in{number}"))
        registers = []
        for number in range(maker.number(1, 4)):
            with pyrtl.name_scope(f"part{number % 2}"):
                bits = draw(WIDTHS)
                reset = draw(st.one_of(st.none(), st.integers(0, (1 << bits) - 1)))
                registers.append(pyrtl.Register(bits, f"register{number}", reset_value=reset))
        maker.pool += registers
        writable = []
        for number in range(maker.number(0, 2)):
            writable.append(
                pyrtl.MemBlock(
                    draw(WIDTHS),
                    maker.number(1, 4),
                    f"memory{number}",
                    max_read_ports=None,
                    asynchronous=True,
                )
            )
        maker.memories += writable
        if maker.number(0, 1):
            bits, address = draw(WIDTHS), maker.number(1, 4)
            data = [maker.number(0, (1 << bits) - 1) for _ in range(1 << address)]
            maker.memories.append(
                pyrtl.RomBlock(bits, address, data, "rom", max_read_ports=None, asynchronous=True)
            )
        for _ in range(maker.number(1, nets)):
            maker.net()
        for register in registers:
            register.next <<= maker.any(len(register))
        for memory in writable:
            if maker.number(0, 3):
                write = pyrtl.MemBlock.EnabledWrite(maker.any(memory.bitwidth), maker.any(1))
                memory[maker.any(memory.addrwidth)] <<= write
        for number in range(maker.number(1, 4)):
            shown = registers[number % len(registers)] if state_only else maker.any()
            pyrtl.Output(len(shown), f"out{number}").__ilshift__(shown)
        for number, register in enumerate(registers):
            pyrtl.Output(len(register), f"shown{number}").__ilshift__(register)
        for memory in writable:
            if not state_only:
                pyrtl.Output(memory.bitwidth, f"{memory.name}_at").__ilshift__(
                    memory[maker.any(memory.addrwidth)]
                )
    return block


def by_name(block: pyrtl.Block, kind: type[Wire]) -> list[Wire]:
    return sorted(block.wirevector_subset(kind), key=lambda wire: wire.name)


def stimulus(block: pyrtl.Block, clocks: int, seed: int) -> list[dict[str, int]]:
    """Values for every input on every clock: random bits, all zeros, all ones, single bits, and repetitions."""
    bits = np.random.PCG64(seed)

    def number(width: int) -> int:
        word = sum(int(w) << (64 * k) for k, w in enumerate(bits.random_raw(1 + width // 64)))
        kind = int(bits.random_raw() & np.uint64(7))
        everything = (1 << width) - 1
        return {0: 0, 1: everything, 2: 1 << (word % width), 3: everything ^ (1 << (word % width))}.get(
            kind, word & everything
        )

    rows: list[dict[str, int]] = []
    for _ in range(clocks):
        repeat = bool(rows) and int(bits.random_raw()) % 5 == 0
        rows.append(
            dict(rows[-1]) if repeat else {w.name: number(len(w)) for w in by_name(block, pyrtl.Input)}
        )
    return rows


def simulated(
    block: pyrtl.Block, rows: Sequence[dict[str, int]], simulator: Any = pyrtl.Simulation
) -> list[dict[str, int]]:
    """What PyRTL's own simulator shows at the outputs, on every clock."""
    with pyrtl.set_working_block(block, no_sanity_check=True):
        outputs = by_name(block, pyrtl.Output)
        tracer = pyrtl.SimulationTrace(outputs)
        engine = simulator(tracer=tracer)
        for row in rows:
            engine.step(dict(row))
    names = [wire.name for wire in outputs]
    return [dict(zip(names, row, strict=True)) for row in zip(*(tracer.trace[n] for n in names), strict=True)]


def packed(fields: Sequence[Any], rows: Sequence[dict[str, int]], words: int) -> np.ndarray[Any, Any]:
    """Values by name as rows of 64-bit words: uint64 [clocks, words]."""
    made = np.zeros((len(rows), words), np.uint64)
    for (t, row), field in itertools.product(enumerate(rows), fields):
        for limb in range(field.columns):
            made[t, field.first + limb] = row[field.name] >> (64 * limb) & ((1 << 64) - 1)
    return made


def unpacked(fields: Sequence[Any], rows: np.ndarray[Any, Any]) -> list[dict[str, int]]:
    """The other way round, of uint64 [clocks, words]."""
    return [
        {f.name: sum(int(row[f.first + k]) << (64 * k) for k in range(f.columns)) for f in fields}
        for row in rows
    ]
