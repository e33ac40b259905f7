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
    `clock`: clocks from an input to what a register or a memory (by name) holds, the shortest way outside of loops.
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
    """Clocks from the inputs to what is held, the shortest way that does not lead through a loop.

    A loop (a hazard, an accumulator) and a shift register in one word would else bring what lies deep in a pipeline
    to its beginning. What only a loop feeds comes a clock after the first of the loop that does.
    """
    held = [*(register.name for register in found.registers), *found.writes]
    inputs = {wire.name for wire in block.wirevector_subset(pyrtl.Input)}
    before = {name: _held_before(found, name, inputs) for name in held}
    reached = {name: _closure(before, name) for name in held}
    loops = {name: {other for other in reached[name] if name in reached[other]} | {name} for name in held}
    clocks: dict[str, int] = {}
    # what reaches less comes first: everything before a loop is known when it is looked at
    for name in sorted(held, key=lambda name: len(reached[name] | {name})):
        if name in clocks:
            continue
        open_ = sorted(loops[name])
        for member in open_:
            outside = [other for other in before[member] if other in inputs or other not in loops[name]]
            plain = [other for other in outside if other in inputs or len(loops[other]) == 1]
            if outside:
                clocks[member] = 1 + min(clocks.get(other, 0) for other in plain or outside)
        wait = deque(sorted((member for member in open_ if member in clocks), key=lambda m: (clocks[m], m)))
        while wait:
            first = wait.popleft()
            for member in open_:
                if member not in clocks and first in before[member]:
                    clocks[member] = clocks[first] + 1
                    wait.append(member)
        for member in open_:
            clocks.setdefault(member, 1)
    return clocks


def _held_before(found: Netlist, name: str, inputs: set[str]) -> set[str]:
    """Inputs, registers and memories of which a register or a memory is made within a clock."""
    if name in found.writes:
        stack = [wire for port in found.writes[name] for wire in port.args]
    else:
        stack = list(found.driver[name].args)
    made_of: set[str] = set()
    seen: set[str] = set()
    while stack:
        wire = stack.pop().name
        if wire in seen:
            continue
        seen.add(wire)
        net = found.driver.get(wire)
        if wire in inputs or (net is not None and net.op == "r"):
            made_of.add(wire)
        elif net is not None:
            if net.op == "m":
                made_of.add(net.op_param[1].name)
            stack += net.args
    return made_of


def _closure(before: dict[str, set[str]], name: str) -> set[str]:
    """Registers and memories of which one is made in any number of clocks."""
    found: set[str] = set()
    stack = [name]
    while stack:
        for other in before[stack.pop()]:
            if other in before and other not in found:
                found.add(other)
                stack.append(other)
    return found
