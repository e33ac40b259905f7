"""The order of the nets: depth first from the sinks, so that what belongs together stands together.

PyRTL's own order is breadth first: sixteen equal lanes interleave and every value has to be kept for long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import pyrtl

from ...errors import RecnmpError
from .layout import memories_of, natural

Wire: TypeAlias = pyrtl.WireVector
Net: TypeAlias = pyrtl.LogicNet


class Drivers:
    """Who drives each wire of a block, and what the block changes at the end of a clock."""

    def __init__(self, block: pyrtl.Block) -> None:
        """Raises RecnmpError for a memory with two write ports: PyRTL leaves open which write wins."""
        self.block = block
        self.net: dict[Wire, Net] = {}
        self.next: dict[Wire, Wire] = {}
        self.writes: dict[int, Net] = {}
        for net in block.logic:
            if net.op == "r":
                self.next[net.dests[0]] = net.args[0]
            elif net.op == "@":
                memory = net.op_param[1]
                if memory.id in self.writes:
                    raise RecnmpError(
                        f"circuit: memory {memory.name!r} has several write ports, at most 1 can be: "
                        "which of two writes to one address wins is not defined"
                    )
                self.writes[memory.id] = net
            else:
                self.net[net.dests[0]] = net

    def registers(self) -> list[Wire]:
        """The registers that are driven, by name."""
        return sorted(self.next, key=lambda wire: natural(wire.name))

    def memory_writes(self) -> list[Net]:
        found = (self.writes.get(memory.id) for memory in memories_of(self.block))
        return [net for net in found if net is not None]

    def walk(self, sinks: Iterable[Wire], seen: set[Wire]) -> Iterator[Wire]:
        """Wires that the sinks need, each after those that it needs itself and once only; `seen` grows.

        Sources (inputs, constants, registers) come too. Raises RecnmpError for a wire that nothing drives, and a
        combinational loop.
        """
        for sink in sinks:
            stack: list[tuple[Wire, Iterator[Wire]]] = []
            open_wires: set[Wire] = set()
            self._enter(sink, seen, open_wires, stack)
            while stack:
                wire, below = stack[-1]
                needed = next(below, None)
                if needed is not None:
                    self._enter(needed, seen, open_wires, stack)
                    continue
                stack.pop()
                open_wires.discard(wire)
                seen.add(wire)
                yield wire

    def _enter(
        self, wire: Wire, seen: set[Wire], open_wires: set[Wire], stack: list[tuple[Wire, Iterator[Wire]]]
    ) -> None:
        if wire in seen:
            return
        if wire in open_wires:
            raise RecnmpError(f"circuit: wire {wire.name!r} is in a combinational loop")
        if isinstance(wire, pyrtl.Input | pyrtl.Const | pyrtl.Register):
            args: tuple[Wire, ...] = ()
        elif wire in self.net:
            args = self.net[wire].args
        else:
            raise RecnmpError(f"circuit: nothing drives wire {wire.name!r}")
        open_wires.add(wire)
        stack.append((wire, iter(args)))

    def inputs_below(self, sinks: Sequence[Wire]) -> list[list[str]]:
        """For each sink the names of the inputs on which it depends combinationally; one pass for all."""
        inputs: list[str] = []
        below: dict[Wire, int] = {}  # bit i: input i
        for wire in self.walk(sinks, set()):
            below[wire] = 0
            if isinstance(wire, pyrtl.Input):
                below[wire] = 1 << len(inputs)
                inputs.append(wire.name)
            elif wire in self.net:
                for arg in self.net[wire].args:
                    below[wire] |= below[arg]
        return [
            sorted((name for bit, name in enumerate(inputs) if below[sink] >> bit & 1), key=natural)
            for sink in sinks
        ]
