"""A circuit as Verilog for people: builders' names kept, temporaries written where they are used, and the
registers in the order in which data reaches them.

PyRTL's own export is right, but flat: one line a net, temporaries numbered by chance, widths that lint tools
complain about. Checked against it, and in two simulators (tests/test_verilog.py).
"""

from __future__ import annotations

from collections.abc import Iterable

import pyrtl

from ..ports import Hardware
from . import values
from .names import Names, is_legal, is_temporary
from .netlist import Netlist, netlist
from .values import Constant, Operation, Piece, Value

CLOCK, RESET = "clk", "rst"
LONGEST_INLINE = 64  # a nameless expression beyond this gets a wire of its own
COLUMNS = 110
SHORTEST_LINE = 40  # a statement is not broken before that column
SIGNS = {"&": "&", "|": "|", "^": "^", "+": "+", "-": "-", "*": "*", "<": "<", ">": ">", "=": "=="}


def span(bits: int) -> str:
    """`[7:0] `, or nothing for one bit."""
    return f"[{bits - 1}:0] " if bits > 1 else ""


def _break(line: str, room: int) -> int:
    """The best blank to break a line at: as far outside of brackets as one can be found, then the last; 0 if none."""
    depth, best = 0, (1 << 30, 0)
    for at, sign in enumerate(line[:room]):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == " " and at >= SHORTEST_LINE:
            best = min(best, (depth, -at))
    return -best[1]


def wrapped(line: str, indent: str = "    ") -> str:
    """A statement, indented, on as many lines as it needs."""
    lines = []
    begin = indent
    while len(begin) + len(line) > COLUMNS and (at := _break(line, COLUMNS - len(begin))):
        lines.append(begin + line[:at])
        line, begin = line[at + 1 :], f"{indent}    "
    return "\n".join([*lines, begin + line])


def module(hardware: Hardware, block: pyrtl.Block) -> str:
    """The Verilog module of `hardware`, whose circuit is `block`.

    Ports are `clk`, `rst` (synchronous, active high), then the declared ones in order. Raises ValueError where
    a name of the block or of a port is no Verilog identifier.
    """
    for name in (hardware.name, *(port.name for port in (*hardware.inputs, *hardware.outputs))):
        if not is_legal(name) or name in (CLOCK, RESET):
            raise ValueError(f"{hardware.name}: {name!r} cannot be a name in Verilog")
    return _Writer(hardware, netlist(block, [port.name for port in hardware.outputs])).module()


class _Writer:
    """Walks the netlist once, from what each register holds next; `lines` grows in reading order."""

    def __init__(self, hardware: Hardware, nets: Netlist) -> None:
        self._hardware = hardware
        self._nets = nets
        self._ports = {port.name for port in (*hardware.inputs, *hardware.outputs)}
        self._names = Names({CLOCK, RESET, hardware.name, *self._ports})
        self._values: dict[str, Value] = {}
        self._memories = {memory.name: self._names.of(memory.name) for memory in nets.memories}
        self._lines: list[str] = []
        for port in hardware.inputs:
            self._values[port.name] = (Piece(port.name, 0, port.bits, port.bits),)
        named = [register for register in nets.registers if not is_temporary(register.name)]
        for register in named:
            name = self._names.of(register.name)
            self._values[register.name] = (Piece(name, 0, len(register), len(register)),)
        # before any part is numbered, so that no part takes the name of a wire that comes later
        self._named = {
            name: self._names.of(name)
            for name, net in nets.driver.items()
            if not is_temporary(name) and name not in self._values and name not in self._ports
        }
        for register in nets.registers:
            if register.name not in self._values:
                name = self._names.part(f"{hardware.name}_register")
                self._values[register.name] = (Piece(name, 0, len(register), len(register)),)

    def module(self) -> str:
        """The whole text."""
        nets = self._nets
        self._declare()
        for clock in sorted(set(nets.clock.values())):
            self._lines += ["", f"    // {'-' * 20} clock {clock} {'-' * 20}"]
            registers = [register for register in nets.registers if nets.clock[register.name] == clock]
            held = [(register, self._value_after(register)) for register in registers]
            writes = [
                self._write_port(memory, port)
                for memory in nets.memories
                if nets.clock[memory.name] == clock
                for port in nets.writes[memory.name]
            ]
            if held:
                self._clocked(held)
            self._lines += writes
        self._lines += ["", f"    // {'-' * 20} outputs {'-' * 20}"]
        for port in self._hardware.outputs:
            self._visit(self._nets.driver[port.name].dests[0], port.name)
            self._lines.append(wrapped(f"assign {port.name} = {values.text(self._values[port.name])};"))
        return "\n".join([*self._head(), *self._lines, "endmodule", ""])

    def _head(self) -> Iterable[str]:
        block = self._hardware
        wide = max(len(span(port.bits)) for port in (*block.inputs, *block.outputs))
        ports = [("input ", 1, CLOCK), ("input ", 1, RESET)]
        ports += [("input ", port.bits, port.name) for port in block.inputs]
        ports += [("output", port.bits, port.name) for port in block.outputs]
        lines = [f"    {way} wire {span(bits):<{wide}}{name}" for way, bits, name in ports]
        return f"module {block.name} (", ",\n".join(lines), ");"

    def _declare(self) -> None:
        wide = max((len(span(len(register))) for register in self._nets.registers), default=0)
        for register in self._nets.registers:
            name = values.text(self._values[register.name])
            self._lines.append(f"    reg  {span(len(register)):<{wide}}{name};")
        for memory in self._nets.memories:
            last = (1 << memory.addrwidth) - 1
            name = self._memories[memory.name]
            self._lines.append(f"    reg  {span(memory.bitwidth)}{name} [0:{last}];")
            if isinstance(memory, pyrtl.RomBlock):
                self._lines.append("    initial begin")
                for address in range(last + 1):
                    content = Constant(memory._get_read_data(address), memory.bitwidth)
                    self._lines.append(f"        {name}[{address}] = {content.text()};")
                self._lines.append("    end")

    def _value_after(self, register: pyrtl.Register) -> str:
        """What the register holds after the edge."""
        source = self._nets.driver[register.name].args[0]
        self._visit(source, values.text(self._values[register.name]))
        return values.text(self._cut(source, len(register)))

    def _clocked(self, held: list[tuple[pyrtl.Register, str]]) -> None:
        self._lines += [f"    always @(posedge {CLOCK})", f"        if ({RESET}) begin"]
        for register, _ in held:
            start = Constant(register.reset_value or 0, len(register))
            self._lines.append(f"            {values.text(self._values[register.name])} <= {start.text()};")
        self._lines.append("        end else begin")
        for register, after in held:
            name = values.text(self._values[register.name])
            self._lines.append(wrapped(f"{name} <= {after};", " " * 12))
        self._lines.append("        end")

    def _write_port(self, memory: pyrtl.MemBlock, port: pyrtl.LogicNet) -> str:
        name = self._memories[memory.name]
        for wire in port.args:
            self._visit(wire, name)
        address, data = (values.text(self._values[wire.name]) for wire in port.args[:2])
        enable = values.operand(self._values[port.args[2].name], "&&")
        condition = f"!{RESET}" if enable == "1'd1" else f"!{RESET} && {enable}"
        write = wrapped(f"if ({condition}) {name}[{address}] <= {data};", " " * 8)
        return f"    always @(posedge {CLOCK})\n{write}"

    def _visit(self, root: pyrtl.WireVector, owner: str) -> None:
        """Values of a wire and of all that it needs in this clock, arguments first.

        `owner` is the name after which nameless parts are called.
        """
        stack = [(root, owner, False)]
        while stack:
            wire, owner, arguments_done = stack.pop()
            name = wire.name
            if name in self._values:
                continue
            net = self._nets.driver.get(name)
            if net is None:
                if not isinstance(wire, pyrtl.Const):
                    raise ValueError(f"{self._hardware.name}: nothing drives the wire {name}")
                self._values[name] = (Constant(wire.val, len(wire)),)
                continue
            owner = self._named.get(name, owner)
            if arguments_done:
                self._values[name] = self._settled(name, self._of(net, owner), owner)
            else:
                stack.append((wire, owner, True))
                stack += [(argument, owner, False) for argument in reversed(net.args)]

    def _settled(self, name: str, value: Value, owner: str) -> Value:
        """The value as others shall write it: by a name of its own, or in full."""
        if name in self._named:
            return self._wire(self._named[name], value)
        if name in self._ports:
            return value
        once = self._nets.uses[name] <= 1
        if values.can_pick(value):
            return value if once or len(value) <= 2 else self._wire(self._names.part(owner), value)
        if once and len(values.text(value)) <= LONGEST_INLINE:
            return value
        return self._wire(self._names.part(owner), value)

    def _wire(self, name: str, value: Value) -> Value:
        bits = values.width(value)
        self._lines.append(wrapped(f"wire {span(bits)}{name} = {values.text(value)};"))
        return (Piece(name, 0, bits, bits),)

    def _pickable(self, wire: pyrtl.WireVector, owner: str) -> Value:
        value = self._values[wire.name]
        if not values.can_pick(value):
            value = self._values[wire.name] = self._wire(self._names.part(owner), value)
        return value

    def _cut(self, wire: pyrtl.WireVector, bits: int, owner: str = "") -> Value:
        """The lowest bits of a wire."""
        if len(wire) == bits:
            return self._values[wire.name]
        return values.picked(self._pickable(wire, owner or self._hardware.name), range(bits))

    def _of(self, net: pyrtl.LogicNet, owner: str) -> Value:
        """What a net makes, in exactly the width of its destination."""
        bits = len(net.dests[0])
        if net.op in "&|^+-*":
            # a low bit never depends on a higher one: operands are cut or widened to the result
            left, right = (
                values.widened(self._cut(wire, min(bits, len(wire)), owner), bits) for wire in net.args
            )
            return values.binary(SIGNS[net.op], left, right, bits)
        if net.op in "<>=":
            left, right = (self._values[wire.name] for wire in net.args)
            return values.compared(SIGNS[net.op], left, right)
        if net.op in "~n":
            parts = [self._cut(wire, bits, owner) for wire in net.args]
            return values.inverted(
                parts[0] if net.op == "~" else values.binary("&", parts[0], parts[1], bits)
            )
        if net.op == "x":
            choose = values.operand(self._values[net.args[0].name], "?")
            no, yes = (values.operand(self._cut(wire, bits, owner), "?") for wire in net.args[1:])
            return (Operation("?", f"{choose} ? {yes} : {no}", bits),)
        if net.op == "c":
            value = values.joined([part for wire in net.args for part in self._values[wire.name]])
            if values.width(value) == bits:
                return value
            for wire in net.args:
                self._pickable(wire, owner)
            value = values.joined([part for wire in net.args for part in self._values[wire.name]])
            return values.picked(value, range(bits))
        if net.op == "s":
            return values.picked(self._pickable(net.args[0], owner), net.op_param[:bits])
        if net.op == "m":
            address = values.text(self._values[net.args[0].name])
            return (Operation("", f"{self._memories[net.op_param[1].name]}[{address}]", bits),)
        return self._cut(net.args[0], bits, owner)  # "w"
