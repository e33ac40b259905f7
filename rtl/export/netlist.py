"""A PyRTL Block as a writer wants it: who drives what, what reaches an output, and how far it is from the inputs.

Nothing here depends on the order of PyRTL's sets or on the numbers in temporary names, so that the same
circuit always gives the same text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyrtl


@dataclass
class Netlist:
    """The live part of a block, seen from its outputs.

    `driver`: the net of each wire. `uses`: how often a wire is an argument. `registers`, `memories`: in the
    order in which a walk from the outputs meets them, registers by `clock` first. `writes`: a memory's write ports.
    `clock`: clocks from an input to what a register or a memory (by name) holds, the shortest way.
    """

    outputs: list[str]
    driver: dict[str, pyrtl.LogicNet] = field(default_factory=dict)
    uses: Counter[str] = field(default_factory=Counter)
    registers: list[pyrtl.Register] = field(default_factory=list)
    memories: list[pyrtl.MemBlock] = field(default_factory=list)
    writes: dict[str, list[pyrtl.LogicNet]] = field(default_factory=dict)
    clock: dict[str, int] = field(default_factory=dict)


def netlist(block: pyrtl.Block, outputs: Sequence[str]) -> Netlist:
    """What of `block` reaches the outputs of these names."""
    found = Netlist(list(outputs))
    drivers = {net.dests[0].name: net for net in block.logic if net.dests}
    writes: dict[str, list[pyrtl.LogicNet]] = {}
    for net in block.logic_subset("@"):
        writes.setdefault(net.op_param[1].name, []).append(net)
    stack = list(reversed(outputs))
    while stack:
        name = stack.pop()
        if name in found.driver or name not in drivers:
            continue
        net = drivers[name]
        found.driver[name] = net
        found.uses.update(wire.name for wire in net.args)
        if net.op == "r":
            found.registers.append(net.dests[0])
        stack += [wire.name for wire in reversed(net.args)]
        if net.op == "m" and net.op_param[1].name not in found.writes:
            memory = net.op_param[1]
            found.memories.append(memory)
            # two ports differ in their wires; port order has no meaning, but the text wants one
            ports = sorted(writes.get(memory.name, []), key=lambda port: [wire.name for wire in port.args])
            found.writes[memory.name] = ports
            for port in ports:
                found.uses.update(wire.name for wire in port.args)
                stack += [wire.name for wire in reversed(port.args)]
    found.clock = _clocks(found, block)
    found.registers.sort(key=lambda register: found.clock[register.name])
    return found


def _clocks(found: Netlist, block: pyrtl.Block) -> dict[str, int]:
    """Breadth first from the inputs, over wires within a clock and registers and write ports to the next."""
    readers: dict[str, list[tuple[str, int]]] = {}
    for name, net in found.driver.items():
        for wire in net.args:
            readers.setdefault(wire.name, []).append((name, net.op == "r"))
    for memory, ports in found.writes.items():
        for port in ports:
            for wire in port.args:
                readers.setdefault(wire.name, []).append((memory, 1))
    distance: dict[str, int] = {}
    queue = deque((wire.name, 0) for wire in block.wirevector_subset(pyrtl.Input))
    while queue:
        name, clocks = queue.popleft()
        if distance.get(name, clocks + 1) <= clocks:
            continue
        distance[name] = clocks
        for reader, more in readers.get(name, ()):
            if more:
                queue.append((reader, clocks + 1))
            else:
                queue.appendleft((reader, clocks))
    held = [*(register.name for register in found.registers), *found.writes]
    return {name: distance.get(name, 1) for name in held}
