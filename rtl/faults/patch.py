"""Changes of a finished circuit, by the names of its wires: what a fault does to a block that knows of none.

Each changes what readers of a wire see; the wire itself, its name and its driver stay. An operation on a name
that the block has not, or that nobody reads, raises ValueError: a fault must not turn into nothing unseen.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence

import pyrtl

Change = Callable[[pyrtl.WireVector], pyrtl.WireVector]


def wire_named(block: pyrtl.Block, name: str) -> pyrtl.WireVector:
    """The wire, register, input or output of this name."""
    wire = block.get_wirevector_by_name(name)
    if wire is None:
        near = difflib.get_close_matches(name, block.wirevector_by_name, n=3)
        raise ValueError(f"no wire {name!r} in the block" + (f"; near it: {', '.join(near)}" if near else ""))
    return wire


def _readers(block: pyrtl.Block, wire: pyrtl.WireVector, into: str | None) -> list[pyrtl.LogicNet]:
    readers = [net for net in block.logic if any(argument is wire for argument in net.args)]
    if into is not None:
        maker = wire_named(block, into)
        readers = [net for net in readers if net.dests and net.dests[0] is maker]
    if not readers:
        raise ValueError(f"nobody reads the wire {wire.name!r}" + (f" to make {into!r}" if into else ""))
    return readers


def _replaced(
    block: pyrtl.Block, nets: Iterable[pyrtl.LogicNet], places: Mapping[int, pyrtl.WireVector]
) -> None:
    """Arguments of nets replaced all at once: `places` has the new wire for the id of an old one."""
    for net in nets:
        arguments = tuple(places.get(id(wire), wire) for wire in net.args)
        changed = pyrtl.LogicNet(net.op, net.op_param, arguments, net.dests)
        block.logic.remove(net)
        block.add_net(changed)
        if net.op in "m@":
            ports = net.op_param[1].writeport_nets if net.op == "@" else net.op_param[1].readport_nets
            ports[:] = [changed if port == net else port for port in ports]


def rewire(block: pyrtl.Block, name: str, change: Change, into: str | None = None) -> None:
    """Readers of the wire see `change(wire)`, which must be as wide; only those that make `into`, if it is given.

    `into` is the name of a wire, or of a register, which stands for what it holds next. An Output is changed
    on its way out.
    """
    wire = wire_named(block, name)
    with pyrtl.set_working_block(block, no_sanity_check=True):
        if isinstance(wire, pyrtl.Output):
            readers = [net for net in block.logic if net.dests and net.dests[0] is wire]
            wire = readers[0].args[0]
        else:
            readers = _readers(block, wire, into)
        new = change(wire)
        if len(new) != len(wire):
            raise ValueError(f"{name!r} has {len(wire)} bits, not {len(new)}")
        _replaced(block, readers, {id(wire): new})
    block.sanity_check()


def stuck(block: pyrtl.Block, name: str, value: int) -> None:
    """The wire reads as a constant."""
    rewire(block, name, lambda wire: pyrtl.Const(value, len(wire)))


def inverted(block: pyrtl.Block, name: str) -> None:
    """Every bit of the wire reads as its opposite."""
    rewire(block, name, lambda wire: ~wire)


def late(block: pyrtl.Block, *names: str) -> None:
    """The wires are read a clock late."""

    def register(wire: pyrtl.WireVector) -> pyrtl.WireVector:
        held = pyrtl.Register(len(wire))
        held.next <<= wire
        return held

    for name in names:
        rewire(block, name, register)


def early(block: pyrtl.Block, *names: str) -> None:
    """The registers are read a clock early: what they will hold next."""
    for name in names:
        register = wire_named(block, name)
        if not isinstance(register, pyrtl.Register):
            raise ValueError(f"{name!r} is no register")
        (driver,) = [net for net in block.logic_subset("r") if net.dests[0] is register]
        rewire(block, name, lambda wire, driver=driver: driver.args[0][: len(wire)])  # type: ignore[misc]


def remade(
    block: pyrtl.Block, name: str, change: Callable[..., pyrtl.WireVector], others: Sequence[str] = ()
) -> None:
    """Readers of the wire see `change(wire, *others)`, made of it and of other wires of these names."""
    wires = [wire_named(block, other) for other in others]
    rewire(block, name, lambda wire: change(wire, *wires))


def instead(block: pyrtl.Block, name: str, other: str, into: str | None = None) -> None:
    """Readers of a wire see another one, of the same width."""
    substitute = wire_named(block, other)
    rewire(block, name, lambda wire: substitute, into)


def swapped(block: pyrtl.Block, one: str, other: str, into: str | None = None) -> None:
    """Each of two wires of the same width is read in the other's place."""
    first, second = wire_named(block, one), wire_named(block, other)
    if len(first) != len(second):
        raise ValueError(f"{one!r} has {len(first)} bits, {other!r} {len(second)}")
    readers = dict.fromkeys([*_readers(block, first, into), *_readers(block, second, into)])
    _replaced(block, readers, {id(first): second, id(second): first})
    block.sanity_check()


def write_late(block: pyrtl.Block, memory: str) -> None:
    """Everything that is written into the memory of this name arrives a clock late."""
    ports = [net for net in block.logic_subset("@") if net.op_param[1].name == memory]
    if not ports:
        raise ValueError(f"no memory {memory!r} that is written in the block")
    with pyrtl.set_working_block(block, no_sanity_check=True):
        for port in ports:
            held = {}
            for wire in port.args:
                held[id(wire)] = register = pyrtl.Register(len(wire))
                register.next <<= wire
            _replaced(block, [port], held)
    block.sanity_check()
