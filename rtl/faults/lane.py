"""Faults of the lane: hazard, handshake, what belongs to which operand, partial sums, reading."""

from __future__ import annotations

from functools import partial

import pyrtl

from ..fp.format import MINUS_ZERO
from .fault import Fault, Patch
from .fp import booth_bit_lost, lowest_bit_lost, positive_overflow_lost, upper_half
from .patch import instead, remade, stuck, swapped, write_late


def _tags_only(
    _: pyrtl.WireVector,
    entered: pyrtl.WireVector,
    there: pyrtl.WireVector,
    here: pyrtl.WireVector,
    clock: int,
) -> pyrtl.WireVector:
    return entered[clock - 1] & (there[3:] == here[3:])


def _hazard_by_tag(block: pyrtl.Block) -> None:
    for clock in (1, 2):
        others = ["lane/entered", f"lane/place_{clock}", "lane/place_0"]
        remade(block, f"lane/same_{clock}", partial(_tags_only, clock=clock), others)


def _negative_infinity_finite(
    top: pyrtl.WireVector, whole: pyrtl.WireVector, element: pyrtl.WireVector
) -> pyrtl.WireVector:
    return top & ~(whole & element[15])


_LANE: dict[str, tuple[str, Patch, tuple[str, ...]]] = {
    "hazard_short": (
        "the hazard looks back one clock, not two",
        partial(stuck, name="lane/same_2", value=0),
        ("ready", "waiting", "busy", "sum"),
    ),
    "hazard_by_tag": (
        "the hazard compares tags and ignores groups",
        _hazard_by_tag,
        ("ready", "waiting", "busy", "sum"),
    ),
    "forward_lost": (
        "an operand that meets its sum in the clock in which it is written gets the one before",
        partial(stuck, name="lane/forward_11", value=0),
        ("sum",),
    ),
    "waiting_overwritten": (
        "an operand that waits is overwritten by one that is offered",
        partial(stuck, name="lane/ready", value=1),
        ("ready", "waiting", "busy", "sum"),
    ),
    "busy_short": (
        "busy ends a clock before the sum is visible",
        partial(
            remade,
            name="lane/busy",
            change=lambda _, full, entered: full | (entered[:-1] != 0),
            others=["lane/full", "lane/entered"],
        ),
        ("busy",),
    ),
    "tag_swapped": (
        "the tag to read and the tag to write are swapped",
        partial(swapped, one="lane/tag_10", other="lane/tag_13"),
        ("sum",),
    ),
    "first_ignored": (
        "a first operand is added to what the partial sum held",
        partial(stuck, name="lane/first_10", value=0),
        ("sum",),
    ),
    "bias_dropped": ("the bias is not added", partial(stuck, name="lane/bias_4", value=MINUS_ZERO), ("sum",)),
    "weight_always": (
        "the weight is applied where it is not wanted",
        partial(stuck, name="weighted", value=1),
        ("sum",),
    ),
    "weight_early": (
        "the weight is that of the operand behind",
        partial(instead, name="lane/weight_7", other="lane/weight_6"),
        ("sum",),
    ),
    "int4_upper_half": (
        "of the byte of an int4 element the upper half is taken",
        partial(upper_half, name="lane/element/code"),
        ("sum",),
    ),
    "sum_written_late": (
        "a partial sum is written a clock late",
        partial(write_late, memory="lane/sums"),
        ("sum",),
    ),
    "read_wrong_group": (
        "a read gets the group that is written in its clock",
        partial(
            remade,
            name="lane/read_place",
            change=lambda place, group: pyrtl.concat(place[3:], group),
            others=["lane/group_13"],
        ),
        ("sum",),
    ),
    "widen_nan": (
        "an fp16 NaN becomes an infinity",
        partial(stuck, name="lane/element/widen/nan", value=0),
        ("sum",),
    ),
    "widen_quiet_nan": (
        "the fp16 NaN 0x7e00 becomes an infinity",
        partial(
            remade,
            name="lane/element/widen/nan",
            change=lambda nan, element: nan & (element[:16] != 0x7E00),
            others=["element"],
        ),
        ("sum",),
    ),
    "widen_infinity": (
        "an fp16 -inf becomes a finite number",
        partial(
            remade,
            name="lane/element/widen/top",
            change=_negative_infinity_finite,
            others=["lane/element/widen/whole", "element"],
        ),
        ("sum",),
    ),
    "weight_lowest_bit_lost": (
        "the lowest bit of the weighted product leaves no sticky bit",
        partial(lowest_bit_lost, unit="lane/weight_mul"),
        ("sum",),
    ),
    "weight_booth_bit_lost": (
        "the lowest Booth digit of what is weighted is never 1 or -1",
        partial(booth_bit_lost, unit="lane/weight_mul"),
        ("sum",),
    ),
    "scale_booth_bit_lost": (
        "the lowest Booth digit of what is scaled is never 1 or -1",
        partial(booth_bit_lost, unit="lane/scale_mul"),
        ("sum",),
    ),
    "bias_positive_overflow_lost": (
        "with the bias, a positive sum too great is no infinity",
        partial(positive_overflow_lost, unit="lane/bias_add"),
        ("sum",),
    ),
    "positive_overflow_lost": (
        "a positive partial sum too great is no infinity",
        partial(positive_overflow_lost, unit="lane/sum_add"),
        ("sum",),
    ),
    "round_half_up": (
        "the accumulating adder rounds half up",
        partial(instead, name="lane/sum_add/round_up", other="lane/sum_add/guard"),
        ("sum",),
    ),
}

LANE_FAULTS = [
    Fault(f"lane_{name}", "lane", says, patch, seen) for name, (says, patch, seen) in _LANE.items()
]
