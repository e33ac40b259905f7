"""A design of a rank's size: a cache, the control of the lanes and 16 lanes, with outputs of state alone.

The lanes and their control are the machine's own. The cache is a stand-in, with what makes a simulator slow or quick:
128 KiB in 4 ways of 64-byte lines, tags, ages and 512-bit lines in memories, and a fill on a miss.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyrtl
from recnmp.rtl.backend import Composition, Module, Part, compile_block
from recnmp.rtl.lane import LANE_ARITHMETIC, LANE_CONTROL
from recnmp.rtl.lane import arithmetic as lane_arithmetic
from recnmp.rtl.ports import Hardware, Port

LANES, WAYS, ELEMENT = 16, 4, 32
SET_BITS, TAG_BITS = 9, 17
Wires = Mapping[str, pyrtl.WireVector]


def pipe(wire: pyrtl.WireVector, clocks: int, name: str) -> pyrtl.WireVector:
    """The wire, so many clocks later."""
    for clock in range(clocks):
        register = pyrtl.Register(len(wire), f"{name}_{clock}")
        register.next <<= wire
        wire = register
    return wire


def cache(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """An operand's line is looked up, or filled on a miss; what belongs to the operand is delayed as long."""
    valid, line, data = (pipe(wires[name], 1, name) for name in ("valid", "line", "data"))
    place, tag = line[:SET_BITS], line[SET_BITS:]
    now = pyrtl.Register(8, "now")
    now.next <<= (now + 1)[:8]
    hits, words, ages, memories = [], [], [], []
    for way in range(WAYS):
        tags, used, lines = (
            pyrtl.MemBlock(bits, SET_BITS, f"way{way}/{what}", asynchronous=True)
            for what, bits in (("tags", TAG_BITS + 1), ("used", 8), ("lines", LANES * ELEMENT))
        )
        hits.append(tags[place] == pyrtl.concat(pyrtl.Const(1, 1), tag))
        words.append(pyrtl.as_wires(lines[place]))
        ages.append((now - used[place])[:8])
        memories.append((tags, used, lines))
    lower, upper = ages[0] < ages[1], ages[2] < ages[3]
    half = pyrtl.select(lower, ages[1], ages[0]) < pyrtl.select(upper, ages[3], ages[2])
    victim = pyrtl.concat(half, pyrtl.select(half, upper, lower))
    hit = pyrtl.or_all_bits(pyrtl.concat(*hits))
    brought = pyrtl.concat(*[data ^ (0x9E3779B97F4A7C15 * (word + 1) & (2**64 - 1)) for word in range(8)])
    for way, (tags, used, lines) in enumerate(memories):
        filled = valid & ~hit & (victim == way)
        tags[place] <<= pyrtl.MemBlock.EnabledWrite(pyrtl.concat(pyrtl.Const(1, 1), tag), filled)
        lines[place] <<= pyrtl.MemBlock.EnabledWrite(brought, filled)
        used[place] <<= pyrtl.MemBlock.EnabledWrite(now, filled | (valid & hits[way]))
    found = words[0]
    for way in range(1, WAYS):
        found = pyrtl.select(hits[way], words[way], found)
    operand = pipe(pyrtl.select(hit, found, brought), 1, "operand")
    out: dict[str, pyrtl.WireVector] = {
        f"element{n}": operand[ELEMENT * n : ELEMENT * (n + 1)] for n in range(LANES)
    }
    out["hit"], out["operand_valid"] = pipe(hit & valid, 1, "hit"), pipe(valid, 1, "taken")
    out["reading"] = pipe(wires["read"], 1, "reading")
    for port in OPERAND:
        out[f"operand_{port.name}"] = pipe(wires[port.name], 2, port.name)
    return out


CONTROLLED = {port.name: port for port in LANE_CONTROL.inputs}
STEERING = {port.name: port for port in LANE_CONTROL.outputs}
READING = tuple(
    port for port in LANE_ARITHMETIC.inputs if port.name.startswith("read") and port.name != "ready"
)
# of an operand, beside `valid` and its line
OPERAND = tuple(port for port in LANE_CONTROL.inputs if port.name != "valid")
CACHE = Hardware(
    name="cache",
    summary="a stand-in of a RankCache, with the operand register behind it",
    inputs=(
        Port("valid", 1, "an operand is offered"),
        Port("line", SET_BITS + TAG_BITS, "the address of its line"),
        Port("data", 64, "what a fill brings, for all words"),
        READING[0],
        *OPERAND,
    ),
    outputs=(
        *(Port(f"element{n}", ELEMENT, "a 32-bit word of the line") for n in range(LANES)),
        Port("hit", 1, "the line was there"),
        Port("operand_valid", 1, "an operand"),
        Port("reading", 1, "`read`, a clock later"),
        *(Port(f"operand_{port.name}", port.bits, port.meaning) for port in OPERAND),
    ),
    build=cache,
)
INPUTS = (*CACHE.inputs, *READING[1:])
OUTPUTS = (Port("hit", 1, "the line was there"), *(Port(f"sum{n}", 32, "of a lane") for n in range(LANES)))


def rank(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """All of it in one block."""
    with pyrtl.name_scope("cache"):
        found = CACHE.build(wires)
    operand = {name: found[f"operand_{name}"] for name in CONTROLLED}
    steering = LANE_CONTROL.build(operand)
    made = {"hit": found["hit"]}
    for number in range(LANES):
        reading = {port.name: wires[port.name] for port in READING}
        inputs = {**operand, **steering, **reading, "element": found[f"element{number}"]}
        made[f"sum{number}"] = lane_arithmetic(inputs, f"lane{number}")["sum"]
    return made


RANK = Hardware("rank", "cache, control and 16 lanes in one block", INPUTS, OUTPUTS, rank)


def names(ports: tuple[Port, ...]) -> list[str]:
    return [port.name for port in ports]


def compiled(hardware: Hardware) -> Module:
    return compile_block(hardware.circuit(), names(hardware.inputs), names(hardware.outputs))


def composition(sleeping: bool = False) -> Composition:
    """The same as modules: cache, control, and 16 copies of a lane. sleeping: lanes rest when nothing is in them."""
    wires = {f"control.{name}": f"cache.operand_{name}" for name in CONTROLLED}
    for port in LANE_ARITHMETIC.inputs:
        if port.name in STEERING:
            wires[f"lanes.{port.name}"] = f"control.{port.name}"
        elif port.name in CONTROLLED:
            wires[f"lanes.{port.name}"] = f"cache.operand_{port.name}"
    wires |= {f"lanes[{n}].element": f"cache.element{n}" for n in range(LANES)}
    inputs = {port.name: [f"cache.{port.name}"] for port in CACHE.inputs}
    for port in READING:
        inputs.setdefault(port.name, []).append(f"lanes.{port.name}")
    outputs = {"hit": "cache.hit", **{f"sum{n}": f"lanes[{n}].sum" for n in range(LANES)}}
    rest = {"wake": ("valid", "read"), "busy": ("control.busy", "cache.reading")} if sleeping else {}
    return Composition(
        {
            "cache": compiled(CACHE),
            "control": compiled(LANE_CONTROL),
            "lanes": Part(compiled(LANE_ARITHMETIC), LANES, **rest),
        },
        wires,
        inputs,
        outputs,
    )
