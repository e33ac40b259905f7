"""A stand-in of a rank's size: a cache, a control and 16 lanes, each with registered outputs.

Not the machine: its lanes multiply and add whole numbers. What it shares with a rank is what makes a simulator slow
or quick: a 128 KiB cache of 4 ways and 64-byte lines, 16 pipelines of a 4-stage multiplier and a 3-stage adder with
16 x 8 partial sums each, and one control that feeds them all.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyrtl

LANES, WAYS, SETS, ELEMENT = 16, 4, 512, 32
OFFSET_BITS, SET_BITS, TAG_BITS, PSUM_BITS = 0, 9, 17, 7
Wires = Mapping[str, pyrtl.WireVector]

# what the control hands to every lane
COMMON = {"enter": 1, "weight": 32, "psum": PSUM_BITS}
CONTROL_INPUTS = {
    "valid": 1,
    "line": SET_BITS + TAG_BITS,
    "weight": 32,
    "psum": PSUM_BITS,
    "fill": 1,
    "data": 64,
}


def pipe(wire: pyrtl.WireVector, clocks: int, name: str) -> pyrtl.WireVector:
    """The wire, so many clocks later."""
    for clock in range(clocks):
        register = pyrtl.Register(len(wire), f"{name}_{clock}")
        register.next <<= wire
        wire = register
    return wire


def normalised(mantissa: pyrtl.WireVector) -> tuple[pyrtl.WireVector, pyrtl.WireVector]:
    """Shifted until its top bit is one, and by how much: the logic that makes floating point large."""
    count = []
    for power in reversed(range(5)):
        distance = 1 << power
        empty = mantissa[-distance:] == 0
        mantissa = pyrtl.select(empty, pyrtl.concat(mantissa[:-distance], pyrtl.Const(0, distance)), mantissa)
        count.append(empty)
    return mantissa, pyrtl.concat(*count)


def multiplier(a: pyrtl.WireVector, b: pyrtl.WireVector) -> pyrtl.WireVector:
    """A 4-stage pipeline on the format of binary32, without its special values."""
    sign = pipe(a[31] ^ b[31], 3, "sign")
    exponent = pipe((a[23:31] + b[23:31])[:9], 1, "exponent")
    low, high = (
        pipe(pyrtl.concat(pyrtl.Const(1, 1), a[:23]) * b[:12], 1, "low"),
        pipe(pyrtl.concat(pyrtl.Const(1, 1), a[:23]) * pyrtl.concat(pyrtl.Const(1, 1), b[12:23]), 1, "high"),
    )
    product = pipe((low + pyrtl.concat(high, pyrtl.Const(0, 12)))[:48], 1, "product")
    exponent = pipe(exponent, 1, "exponent_of_product")
    shifted, count = normalised(product[16:])
    mantissa, less = pipe(shifted[8:], 1, "mantissa"), pipe(count, 1, "count")
    exponent = pipe(exponent, 1, "exponent_of_mantissa")
    rounded = (mantissa[:23] + mantissa[0])[:23]
    return pipe(pyrtl.concat(sign, (exponent - less)[:8], rounded), 1, "multiplied")


def adder(a: pyrtl.WireVector, b: pyrtl.WireVector) -> pyrtl.WireVector:
    """A 3-stage pipeline on the format of binary32, without its special values."""
    swap = a[:31] < b[:31]
    big, small = pyrtl.select(swap, b, a), pyrtl.select(swap, a, b)
    distance = (big[23:31] - small[23:31])[:8]
    wide = pyrtl.concat(pyrtl.Const(1, 1), small[:23], pyrtl.Const(0, 3))
    aligned = pipe(pyrtl.shift_right_logical(wide, distance), 1, "aligned")
    top = pipe(pyrtl.concat(pyrtl.Const(1, 1), big[:23], pyrtl.Const(0, 3)), 1, "top")
    subtract = pipe(big[31] ^ small[31], 1, "subtract")
    sign, exponent = pipe(big[31], 2, "sign"), pipe(big[23:31], 2, "exponent")
    total = pipe(pyrtl.select(subtract, top - aligned, top + aligned)[:28], 1, "total")
    shifted, count = normalised(pyrtl.concat(total, pyrtl.Const(0, 4)))
    rounded = (shifted[8:31] + shifted[7])[:23]
    return pipe(pyrtl.concat(sign, (exponent - count)[:8], rounded), 1, "added")


def lane(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """One element's arithmetic: multiply by the weight, add to a partial sum."""
    enter, psum = pipe(wires["enter"], 4, "enter"), pipe(wires["psum"], 4, "psum")
    with pyrtl.name_scope("multiply"):
        product = multiplier(wires["element"], wires["weight"])
    sums = pyrtl.MemBlock(ELEMENT, PSUM_BITS, "sums", asynchronous=True)
    with pyrtl.name_scope("add"):
        total = adder(product, sums[psum])
    with pyrtl.name_scope("write"):
        leave, place = pipe(enter, 3, "leave"), pipe(psum, 3, "place")
    sums[place] <<= pyrtl.MemBlock.EnabledWrite(total, leave)
    shown = pyrtl.Register(ELEMENT, "shown")
    shown.next <<= total
    return {"sum": shown}


def control(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """Operand register and cache: tags and data of 4 ways, least recently used by an age for each."""
    line, valid = pipe(wires["line"], 1, "line"), pipe(wires["valid"], 1, "valid")
    fill, data = pipe(wires["fill"], 1, "fill"), pipe(wires["data"], 1, "data")
    place, tag = line[:SET_BITS], line[SET_BITS:]
    hits, words, ages = [], [], []
    age = pyrtl.Register(8, "age")
    age.next <<= (age + 1)[:8]
    memories = []
    for way in range(WAYS):
        with pyrtl.name_scope(f"way{way}"):
            tags = pyrtl.MemBlock(TAG_BITS + 1, SET_BITS, "tags", asynchronous=True)
            used = pyrtl.MemBlock(8, SET_BITS, "used", asynchronous=True)
            lines = pyrtl.MemBlock(LANES * ELEMENT, SET_BITS, "lines", asynchronous=True)
        hits.append(tags[place] == pyrtl.concat(pyrtl.Const(1, 1), tag))
        words.append(pyrtl.as_wires(lines[place]))
        ages.append((age - used[place])[:8])
        memories.append((tags, used, lines))
    oldest01, oldest23 = ages[0] < ages[1], ages[2] < ages[3]
    age01 = pyrtl.select(oldest01, ages[1], ages[0])
    age23 = pyrtl.select(oldest23, ages[3], ages[2])
    upper = age01 < age23
    victim = pyrtl.concat(upper, pyrtl.select(upper, oldest23, oldest01))
    hit = pyrtl.or_all_bits(pyrtl.concat(*hits))
    brought = pyrtl.concat(
        *[data ^ pyrtl.Const(0x9E3779B97F4A7C15 * (i + 1) & (2**64 - 1), 64) for i in range(8)]
    )
    for way, (tags, used, lines) in enumerate(memories):
        filled = valid & fill & ~hit & (victim == way)
        tags[place] <<= pyrtl.MemBlock.EnabledWrite(pyrtl.concat(pyrtl.Const(1, 1), tag), filled)
        lines[place] <<= pyrtl.MemBlock.EnabledWrite(brought, filled)
        used[place] <<= pyrtl.MemBlock.EnabledWrite(age, filled | (valid & hits[way]))
    found = words[0]
    for way in range(1, WAYS):
        found = pyrtl.select(hits[way], words[way], found)
    operand = pipe(pyrtl.select(hit, found, brought), 1, "operand")
    out: dict[str, pyrtl.WireVector] = {
        f"element{i}": operand[ELEMENT * i : ELEMENT * (i + 1)] for i in range(LANES)
    }
    out["enter"] = pipe(valid & (hit | fill), 1, "enter")
    out["weight"] = pipe(wires["weight"], 2, "weight")
    out["psum"] = pipe(wires["psum"], 2, "psum")
    out["hit"] = pipe(hit & valid, 1, "hit")
    return out


def shown(outputs: Wires) -> None:
    for name, wire in outputs.items():
        pyrtl.Output(len(wire), name).__ilshift__(wire)


def block_of(build: object, inputs: Mapping[str, int]) -> pyrtl.Block:
    """A block alone."""
    assert callable(build)
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        shown(build({name: pyrtl.Input(bits, name) for name, bits in inputs.items()}))
    return block


def lane_block() -> pyrtl.Block:
    return block_of(lane, {**COMMON, "element": ELEMENT})


def control_block() -> pyrtl.Block:
    return block_of(control, CONTROL_INPUTS)


def rank(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """Control and lanes together; one lane's sum is shown, and all lanes' as a parity."""
    with pyrtl.name_scope("control"):
        made = control(wires)
    sums = []
    for number in range(LANES):
        with pyrtl.name_scope(f"lane{number}"):
            own = {**{name: made[name] for name in COMMON}, "element": made[f"element{number}"]}
            sums.append(lane(own)["sum"])
    return {"hit": made["hit"], **{f"sum{number}": wire for number, wire in enumerate(sums)}}


def flat_block() -> pyrtl.Block:
    return block_of(rank, CONTROL_INPUTS)
