"""A PyRTL block as C text: one function that makes a clock, and for outputs that depend on state alone one for them.

The text is a function of the circuit only: no name of a wire is in it, and the order follows from names of sinks
and the structure. Every value is assigned once; registers and memory words are written after their last reading.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyrtl

from ...errors import RecnmpError
from . import words
from .layout import Layout, MemoryField, limbs
from .order import Drivers, Net, Wire
from .pieces import PARAMETERS, pieces
from .rows import shown, whole
from .words import Value, literal


class Text:
    """The body of one C function, as it grows."""

    def __init__(self, layout: Layout, drivers: Drivers, tables: Tables) -> None:
        self.lines: list[str] = []
        self._drivers = drivers
        self._tables = tables
        self._first = {field.name: field.first for field in layout.registers}
        self._memory: dict[str, MemoryField] = {field.name: field for field in layout.memories}
        self._column = {field.name: field.first for field in layout.inputs}
        self._named: dict[str, str] = {}
        self._value: dict[Wire, Value] = {}
        self._seen: set[Wire] = set()

    def let(self, expression: str) -> str:
        """A name for an expression; the same expression has one name."""
        if expression.isidentifier():
            return expression
        name = self._named.get(expression)
        if name is None:
            name = self._named[expression] = f"v{len(self._named)}"
            self.lines.append(f"const W {name} = {expression};")
        return name

    def need(self, wire: Wire) -> Value:
        """The value of a wire; everything that it takes is written first."""
        for step in self._drivers.walk([wire], self._seen):
            self._value[step] = self._made(step)
        return self._value[wire]

    def _made(self, wire: Wire) -> Value:
        count, bits = limbs(len(wire)), len(wire)
        if isinstance(wire, pyrtl.Const):
            masks = (wire.val >> (64 * limb) & ((1 << 64) - 1) for limb in range(count))
            return Value(tuple(self.let(f"SPLAT({literal(mask)})") for mask in masks), bits)
        if isinstance(wire, pyrtl.Input):
            first = self._column[wire.name]
            return Value(tuple(self.let(f"IN({first + limb})") for limb in range(count)), bits)
        if isinstance(wire, pyrtl.Register):
            first = self._first[wire.name]
            return Value(tuple(self.let(f"WORD({first + limb})") for limb in range(count)), bits)
        net = self._drivers.net[wire]
        return self._operation(net, [self._value[arg] for arg in net.args], bits)

    def _operation(self, net: Net, args: list[Value], bits: int) -> Value:
        op, let = net.op, self.let
        if op == "w":
            return words.truncated(let, args[0], bits)
        if op == "~":
            return words.inverted(let, args[0], bits)
        if op in "&|^":
            return words.bitwise(let, op, args[0], args[1], bits)
        if op == "n":
            return words.inverted(let, words.bitwise(let, "&", args[0], args[1], bits), bits)
        if op == "+":
            return words.total(let, args[0], args[1], bits)
        if op == "-":
            return words.difference(let, args[0], args[1], bits)
        if op == "*":
            return words.product(let, args[0], args[1], bits)
        if op == "<":
            return words.less(let, args[0], args[1])
        if op == ">":
            return words.less(let, args[1], args[0])
        if op == "=":
            return words.equal(let, args[0], args[1])
        if op == "x":
            return words.selected(let, args[0], args[1], args[2], bits)
        if op == "c":
            return words.assembled(let, words.gathered(args[::-1]), bits)
        if op == "s":
            return words.assembled(let, words.runs(args[0], net.op_param), bits)
        if op == "m":
            return self._read(net.op_param[1], args[0], bits)
        raise RecnmpError(f"circuit: operation {op!r} of wire {net.dests[0].name!r} is not known")

    def _read(self, memory: pyrtl.MemBlock, address: Value, bits: int) -> Value:
        top, count = literal((1 << memory.addrwidth) - 1), limbs(memory.bitwidth)
        if isinstance(memory, pyrtl.RomBlock):
            where = f"TABLE({self._tables.name(memory)}, {count}, "
        else:
            where = f"READ({self._memory[memory.name].first}, {count}, "
        names = (self.let(f"{where}{limb}, {top}, {address.limbs[0]})") for limb in range(count))
        return words.truncated(self.let, Value(tuple(names), memory.bitwidth), bits)

    def advance(self) -> None:
        """The registers' next values and the memory writes."""
        pending = []
        for register in self._drivers.registers():
            source = self._drivers.next[register]
            value = words.truncated(self.let, self.need(source), len(register))
            self.need(register)
            first = self._first[register.name]
            for limb, name in enumerate(value.limbs):
                if name != self._value[register].limbs[limb]:
                    self.lines.append(f"WORD({first + limb}) = {name};")
        for net in self._drivers.memory_writes():
            memory = net.op_param[1]
            address, data, enable = (self.need(arg) for arg in net.args)
            pending.append((self._memory[memory.name], address, data, enable))
        # only here: every reading of a memory, other writes' operands too, sees the old contents
        for field, address, data, enable in pending:
            for limb, name in enumerate(data.limbs):
                self.lines.append(
                    f"WRITE({field.first}, {field.columns}, {limb}, {literal(field.words - 1)}, "
                    f"{enable.limbs[0]}, {address.limbs[0]}, {name});"
                )

    def outputs(self, layout: Layout, wires: Iterable[Wire]) -> None:
        for field, wire in zip(layout.outputs, wires, strict=True):
            value = self.need(wire)
            for limb, name in enumerate(value.limbs):
                self.lines.append(f"OUT({field.first + limb}) = {name};")

    def assertions(self, wires: Iterable[Wire]) -> None:
        for number, wire in enumerate(wires, 1):
            self.lines.append(f"FAILS({self.need(wire).limbs[0]}, {number});")


class Tables:
    """The contents of ROMs as constant arrays."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._names: dict[int, str] = {}

    def name(self, rom: pyrtl.RomBlock) -> str:
        """The array of a ROM. Raises RecnmpError where it has no data for an address."""
        if rom.id not in self._names:
            name = self._names[rom.id] = f"table{len(self._names)}"
            entries = []
            for address in range(1 << rom.addrwidth):
                value = entry(rom, address)
                entries += [literal(value >> (64 * k) & ((1 << 64) - 1)) for k in range(limbs(rom.bitwidth))]
            self.lines.append(f"static const uint64_t {name}[] = {{")
            self.lines += [", ".join(entries[at : at + 8]) + "," for at in range(0, len(entries), 8)]
            self.lines.append("};")
        return self._names[rom.id]


def entry(rom: pyrtl.RomBlock, address: int) -> int:
    """A word of a ROM. Raises RecnmpError where there is none, and for one that does not fit."""
    where = f"circuit: ROM {rom.name!r}, address {address} of 0 to {(1 << rom.addrwidth) - 1}"
    if callable(rom.data):
        try:
            given = rom.data(address)
        except Exception as error:  # whatever a user's function does
            raise RecnmpError(f"{where}: its function fails: {type(error).__name__}: {error}") from None
    else:
        try:
            given = rom.data[address]
        except (KeyError, IndexError):
            if not rom.pad_with_zeros:
                raise RecnmpError(f"{where}: there is no entry; pad_with_zeros=True fills it up") from None
            given = 0
        except Exception:
            raise RecnmpError(f"{where}: its data are {shown(rom.data)}, no list, dict or function") from None
    try:
        return int(
            pyrtl.infer_val_and_bitwidth(
                whole(given, "entry") if not isinstance(given, str) else given, bitwidth=rom.bitwidth
            ).value
        )
    except ValueError:
        raise RecnmpError(f"{where}: the entry is {shown(given)}, it must be a whole number") from None
    except pyrtl.PyrtlError:
        raise RecnmpError(f"{where}: the entry is {shown(given)}, it has {rom.bitwidth} bits") from None


# One call makes one clock of all copies. `failed`: 0, or an assertion's number (from 1) and, from bit 32 on, the copy.
HEAD = {
    kind: f"{'void' if kind == 'outputs' else 'int64_t'} circuit_{kind}({taken}) {{"
    for kind, taken in PARAMETERS.items()
}
STEP = {"clock": "s += LANES, in += LANES, out += LANES", "advance": "s += LANES, in += LANES"}
STEP["outputs"] = "s += LANES, out += LANES"


def function(kind: str, body: list[str]) -> list[str]:
    """A C function whose body is done for all copies, a vector of them at a time; with what it calls."""
    before, body = pieces(kind, body)
    lines = [*before, HEAD[kind]]
    if kind != "outputs":
        lines.append("int64_t failed = 0;")
    lines += [f"for (int copy = 0; copy < COPIES; copy += LANES, {STEP[kind]}) {{", *body, "}"]
    if kind != "outputs":
        lines.append("return failed;")
    return [*lines, "}"]


def body_text(layout: Layout, drivers: Drivers, state_only: bool) -> str:
    """The C text below the prelude.

    state_only: no output depends on an input of the same clock. Then there are `circuit_outputs` and
    `circuit_advance`, to be called in this order, else `circuit_clock`.
    """
    by_name = {wire.name: wire for wire in drivers.block.wirevector_subset(pyrtl.Output)}
    wires = [by_name[field.name] for field in layout.outputs]
    tables = Tables()
    functions: list[str] = []
    main = Text(layout, drivers, tables)
    if state_only:
        shown = Text(layout, drivers, tables)
        shown.outputs(layout, wires)
        functions += function("outputs", shown.lines)
    else:
        main.outputs(layout, wires)
    main.assertions(drivers.block.rtl_assert_dict)
    main.advance()
    functions += function("advance" if state_only else "clock", main.lines)
    return "\n".join([*tables.lines, *functions, ""])
