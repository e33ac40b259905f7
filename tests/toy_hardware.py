"""Small blocks for the tests of exports and faults: one written out, and any number made by chance."""

from __future__ import annotations

import random

import numpy as np
import pyrtl
from recnmp.rtl.export.vectors import Vectors
from recnmp.rtl.ports import Hardware, Port, Wires


def _toy(wires: Wires) -> Wires:
    a, b, write = wires["a"], wires["b"], wires["write"]
    with pyrtl.name_scope("toy"):
        total = pyrtl.WireVector(9, "total")
        total <<= a + b
        kept = pyrtl.Register(8, "kept", reset_value=5)
        kept.next <<= pyrtl.select(write, total[:8], kept)
        once, twice = pyrtl.Register(8, "once"), pyrtl.Register(8, "twice")
        once.next <<= b
        twice.next <<= once
        memory = pyrtl.MemBlock(8, 3, "memory", asynchronous=True)
        memory[a[:3]] <<= pyrtl.MemBlock.EnabledWrite(once, write)
        table = pyrtl.RomBlock(8, 3, [7, 1, 2, 200, 4, 5, 6, 9], "table", asynchronous=True)
        mixed = pyrtl.WireVector(8, "mixed")
        mixed <<= pyrtl.select(wires["read"], table[b[:3]] ^ memory[b[3:6]], pyrtl.Const(0, 8))
    return {"kept": kept, "twice": twice, "mixed": mixed, "below": ~(a < b)}


TOY = Hardware(
    name="toy",
    summary="a block with one of each",
    inputs=(
        Port("a", 8, "left"),
        Port("b", 8, "right"),
        Port("write", 1, "keep the sum | write the memory"),
        Port("read", 1, "read table and memory"),
    ),
    outputs=(
        Port("kept", 8, "sum"),
        Port("twice", 8, "b"),
        Port("mixed", 8, "a table"),
        Port("below", 1, "not a < b"),
    ),
    build=_toy,
)


def random_hardware(seed: int) -> Hardware:
    """A block of some dozen nets of every kind, words up to 70 bits inside, ports up to 64."""
    inputs = tuple(Port(f"in{i}", random.Random(seed + i).choice((1, 3, 8, 31, 64)), "any") for i in range(3))

    def build(wires: Wires) -> Wires:
        chance = random.Random(seed)
        pool = [wires[port.name] for port in inputs]
        pool += [pyrtl.Const(chance.getrandbits(5), 5), pyrtl.Const(0, 2)]
        loops = [
            pyrtl.Register(chance.choice((1, 4, 40)), f"loop/{i}", chance.getrandbits(1)) for i in range(3)
        ]
        pool += loops
        memory = pyrtl.MemBlock(6, 2, "memory", max_read_ports=None, asynchronous=True)
        written = False

        def fit(wire: pyrtl.WireVector, bits: int) -> pyrtl.WireVector:
            return wire[:bits] if len(wire) >= bits else wire.zero_extended(bits)

        for number in range(24):
            a, b = chance.choice(pool), chance.choice(pool)
            kind = chance.randrange(12)
            if kind == 0:
                made = a + b
            elif kind == 1:
                made = a - b
            elif kind == 2:
                made = fit(a, 35) * fit(b, 35)
            elif kind == 3:
                made = chance.choice((a & b, a | b, a ^ b, a.nand(b)))
            elif kind == 4:
                made = chance.choice((a < b, a > b, a == b, a != b, a >= b))
            elif kind == 5:
                made = pyrtl.select(chance.choice(pool)[0], a, b)
            elif kind == 6:
                made = pyrtl.concat(fit(a, 20), b)
            elif kind == 7:
                picks = [chance.randrange(len(a)) for _ in range(chance.randrange(1, 9))]
                made = pyrtl.concat_list([a[pick] for pick in picks])
            elif kind == 8:
                made = ~a[: chance.randrange(1, len(a) + 1)]
            elif kind == 9:
                made = pyrtl.signed_add(fit(a, 9), fit(b, 9))
            elif kind == 10:
                made = pyrtl.Register(len(a), f"stage{number}/q")
                made.next <<= a
            else:
                made = pyrtl.as_wires(memory[fit(a, 2)])
                if not written:
                    memory[fit(b, 2)] <<= pyrtl.MemBlock.EnabledWrite(fit(a, 6), b[0])
                    written = True
            if chance.randrange(3) == 0:
                named = pyrtl.WireVector(
                    len(made), chance.choice((f"part/{number}", f"part__{number}", f"wire{number}"))
                )
                named <<= made
                made = named
            pool.append(fit(made, 70) if len(made) > 70 else made)
        for register in loops:
            register.next <<= fit(chance.choice(pool), len(register))
        chosen = pool[-6:]
        return {f"out{i}": fit(wire, 1 + (7 * i + seed) % 64) for i, wire in enumerate(chosen)}

    outputs = tuple(Port(f"out{i}", 1 + (7 * i + seed) % 64, "any") for i in range(6))
    return Hardware("random", "made by chance", inputs, outputs, build)


def simulated(hardware: Hardware, clocks: int, seed: int, addresses: int = 0) -> Vectors:
    """Vectors from PyRTL's own Simulation, for blocks without a kernel."""
    chance = random.Random(seed)
    simulation = pyrtl.Simulation(tracer=None, block=hardware.circuit())
    inputs, outputs = [], []
    for clock in range(clocks):
        given = {port.name: chance.getrandbits(port.bits) for port in hardware.inputs}
        if clock < addresses:  # memories start unknown in Verilog: written first
            given = {port.name: 0 for port in hardware.inputs} | {"a": clock, "write": 1}
        simulation.step(given)
        inputs.append(list(given.values()))
        outputs.append([simulation.inspect(port.name) for port in hardware.outputs])
    return Vectors(hardware, np.array(inputs, np.uint64), np.array(outputs, np.uint64), "from PyRTL")
