"""The lane: one control, and the arithmetic of an element. docs/microarchitecture.md, section 7.

An operand *enters* in clock 0, in which it stands in the operand register. What belongs to it n clocks later has
the number n in its name: `tag_11` is the tag of the operand that is being added to its partial sum.
"""

from __future__ import annotations

from functools import partial

import pyrtl

from .fp import add, multiply
from .fp.convert import element_to_fp32
from .fp.dequantise import LATENCY as DEQUANTISED
from .fp.dequantise import scale_and_bias
from .fp.format import ONE
from .ports import Hardware, Port, Wires
from .scope import Scope

PLACE_BITS = 7  # tag 4, group 3
ACCUMULATED = DEQUANTISED + multiply.LATENCY  # the clock in which an operand meets its partial sum
WRITTEN = ACCUMULATED + add.LATENCY - 1  # the clock at whose end the new one is written


def control(wires: Wires, name: str = "lane") -> Wires:
    """Handshake, hazard, and what all elements of an operand have in common, delayed to where it is used."""
    at = Scope(name)
    full, entered = pyrtl.Register(1, at.within("full")), pyrtl.Register(WRITTEN, at.within("entered"))
    place = pyrtl.Register(PLACE_BITS, at.within("place_0"))
    places = [place]
    for clock in range(1, WRITTEN + 1):
        places.append(at.register(f"place_{clock}", places[-1]))

    # Bit n of `entered` says that an operand entered n + 1 clocks ago.
    same_1 = at("same_1", entered[0] & (places[1] == place))
    same_2 = at("same_2", entered[1] & (places[2] == place))
    hazard = at("hazard", same_1 | same_2)
    entering = at("entering", full & ~hazard)
    waiting = at("waiting", full & hazard)
    ready = at("ready", ~full | ~hazard)
    taken = at("taken", ready & wires["valid"])
    full.next <<= taken | waiting
    entered.next <<= pyrtl.concat(entered[:-1], entering)

    scale, bias = scale_and_bias(wires["dtype"], wires["scale"], wires["bias"])
    weight = pyrtl.select(wires["weighted"], wires["weight"], pyrtl.Const(ONE, 32))
    place.next <<= pyrtl.select(taken, pyrtl.concat(wires["tag"], wires["group"]), place)
    scale_0 = _held(at, "scale_0", taken, scale)
    bias_0 = _held(at, "bias_0", taken, bias)
    weight_0 = _held(at, "weight_0", taken, weight)
    first_0 = _held(at, "first_0", taken, wires["first"])

    meets = ACCUMULATED - 1
    first = at.delay("first", first_0, meets)
    # The sum that is written at the end of this clock is not in the memory yet for an operand that meets it next.
    following = at("following", entered[WRITTEN - 1] & (places[WRITTEN] == places[meets]) & ~first)
    return {
        "ready": ready,
        "waiting": waiting,
        "busy": at("busy", full | (entered != 0)),
        "scale_0": scale_0,
        "bias_4": at.delay("bias", bias_0, multiply.LATENCY),
        "weight_7": at.delay("weight", weight_0, DEQUANTISED),
        "first_10": first,
        "tag_10": at("tag_10", places[meets][3:]),
        "group_10": at("group_10", places[meets][:3]),
        "forward_11": at.register("forward_11", following),
        "write_13": at("write_13", entered[WRITTEN - 1]),
        "tag_13": at("tag_13", places[WRITTEN][3:]),
        "group_13": at("group_13", places[WRITTEN][:3]),
    }


def arithmetic(wires: Wires, name: str = "lane") -> Wires:
    """One element of each operand: conversion, three FP units, 16 x 8 partial sums."""
    at = Scope(name)
    taken = at("element_taken", wires["valid"] & wires["ready"])
    number = element_to_fp32(wires["element"], wires["dtype"], at.within("element"))
    number = _held(at, "number_0", taken, number)
    scaled = multiply.fp_multiply(number, wires["scale_0"], at.within("scale_mul"))
    dequantised = add.fp_add(scaled, wires["bias_4"], at.within("bias_add"))
    weighted = multiply.fp_multiply(dequantised, wires["weight_7"], at.within("weight_mul"))

    sums = pyrtl.MemBlock(
        32, PLACE_BITS, at.within("sums"), max_read_ports=2, max_write_ports=1, asynchronous=True
    )
    stored = sums[pyrtl.concat(wires["tag_10"], wires["group_10"])]
    stored = at("stored_10", pyrtl.select(wires["first_10"], pyrtl.Const(0, 32), stored))
    stored = at.register("stored_11", stored)
    latest = pyrtl.WireVector(32, at.within("latest"))
    partial_sum = at("partial_sum_11", pyrtl.select(wires["forward_11"], latest, stored))
    added = add.fp_add_early(partial_sum, weighted, at.within("sum_add"))
    latest <<= at.register("sum_14", added)
    written = pyrtl.concat(wires["tag_13"], wires["group_13"])
    sums[written] <<= pyrtl.MemBlock.EnabledWrite(added, enable=wires["write_13"])

    wanted = sums[at("read_place", pyrtl.concat(wires["read_tag"], wires["read_group"]))]
    return {"sum": at.register("read_sum", pyrtl.select(wires["read"], wanted, pyrtl.Const(0, 32)))}


def _held(at: Scope, label: str, take: pyrtl.WireVector, offered: pyrtl.WireVector) -> pyrtl.Register:
    """A register that takes `offered` where `take`, and else stays."""
    register = pyrtl.Register(len(offered), at.within(label))
    register.next <<= pyrtl.select(take, offered, register)
    return register


VALID = Port("valid", 1, "an operand is offered in this clock")
ELEMENT = Port("element", 32, "its element, right-aligned as stored; higher bits are ignored")
DTYPE = Port("dtype", 2, "0 fp32, 1 fp16, 2 int8, 3 int4; the integers are unsigned")
SHARED = (
    Port("scale", 32, "FP32, used for int8 and int4 only"),
    Port("bias", 32, "FP32, used for int8 and int4 only"),
    Port("weighted", 1, "multiply by the weight"),
    Port("weight", 32, "FP32"),
    Port("first", 1, "the operand is the first of its partial sum, which starts from +0.0"),
    Port("tag", 4, "the partial sum: PsumTag"),
    Port("group", 3, "the partial sum: element group"),
)
READING = (
    Port("read", 1, "read a partial sum"),
    Port("read_tag", 4, "which: PsumTag"),
    Port("read_group", 3, "which: element group"),
)
READY = Port("ready", 1, "an operand that is offered in this clock is taken")
STATUS = (
    READY,
    Port("waiting", 1, "the operand register is held by the hazard in this clock"),
    Port("busy", 1, "an operand is in its register, or in the pipeline and its sum not visible yet"),
)
STEERING = (
    Port("scale_0", 32, "of the operand in its register: scale, FP32"),
    Port("bias_4", 32, "of the operand that entered 4 clocks ago: bias, FP32"),
    Port("weight_7", 32, "of that of 7 clocks ago: weight, FP32"),
    Port("first_10", 1, "of that of 10 clocks ago: it is the first of its partial sum"),
    Port("tag_10", 4, "of that of 10 clocks ago: PsumTag, to read its partial sum"),
    Port("group_10", 3, "of that of 10 clocks ago: element group"),
    Port("forward_11", 1, "that of 11 clocks ago adds to the sum that left the adder last"),
    Port("write_13", 1, "an operand entered 13 clocks ago: its sum is written"),
    Port("tag_13", 4, "of that of 13 clocks ago: PsumTag"),
    Port("group_13", 3, "of that of 13 clocks ago: element group"),
)
SUM = Port("sum", 32, "what was read in the clock before, FP32; +0.0 if nothing was")

LANE_CONTROL = Hardware(
    name="lane_control",
    summary="handshake, hazard and delays that the lanes of a rank share",
    inputs=(VALID, DTYPE, *SHARED),
    outputs=(*STATUS, *STEERING),
    build=control,
)

LANE_ARITHMETIC = Hardware(
    name="lane_arithmetic",
    summary="one element of each operand: dequantise, weight, accumulate, 16 x 8 partial sums",
    inputs=(VALID, READY, ELEMENT, DTYPE, *STEERING, *READING),
    outputs=(SUM,),
    build=arithmetic,
)


def _build_datapath(elements: int, wires: Wires) -> Wires:
    steering = control(wires)
    made = {port.name: steering[port.name] for port in STATUS}
    for element in range(elements):
        inputs = {**wires, **steering, "element": wires[f"element{element}"]}
        made[f"sum{element}"] = arithmetic(inputs, f"lane{element}")["sum"]
    return made


def datapath(elements: int) -> Hardware:
    """A control with so many lanes, of ports element0, element1, ... and sum0, sum1, ...: 16 are a rank's."""
    return Hardware(
        name=f"datapath{elements}",
        summary=f"{elements} lanes with one control",
        inputs=(
            VALID,
            *(Port(f"element{n}", 32, f"element {n}, as a lane's") for n in range(elements)),
            DTYPE,
            *SHARED,
            *READING,
        ),
        outputs=(*STATUS, *(Port(f"sum{n}", 32, f"of element {n}, as a lane's") for n in range(elements))),
        build=partial(_build_datapath, elements),
    )


def _build_lane(wires: Wires) -> Wires:
    steering = control(wires)
    return {**{port.name: steering[port.name] for port in STATUS}, **arithmetic({**wires, **steering})}


LANE = Hardware(
    name="lane",
    summary="the datapath of a rank with one element: control and arithmetic",
    inputs=(VALID, ELEMENT, DTYPE, *SHARED, *READING),
    outputs=(*STATUS, SUM),
    build=_build_lane,
)
