"""Faults of the FP32 units and conversions: rounding, alignment, special values, the multiplier's array."""

from __future__ import annotations

from functools import partial

import pyrtl

from ..fp.format import MINUS_ZERO
from .fault import Fault, Patch
from .patch import instead, remade, stuck


def _upper_half(
    code: pyrtl.WireVector, element: pyrtl.WireVector, dtype: pyrtl.WireVector
) -> pyrtl.WireVector:
    return pyrtl.select(dtype[0], element[4:8].zero_extended(8), code)


# In a block with inputs `element` and `dtype`: of the byte in which an int4 element stands, the upper half is taken.
upper_half = partial(remade, change=_upper_half, others=("element", "dtype"))


def _without_lowest(_: pyrtl.WireVector, low: pyrtl.WireVector) -> pyrtl.WireVector:
    return low[1:22] != 0


def lowest_bit_lost(block: pyrtl.Block, unit: str) -> None:
    """Of a multiplier: the lowest bit of the product leaves no sticky bit."""
    remade(block, f"{unit}/rest", _without_lowest, [f"{unit}/low"])


def booth_bit_lost(block: pyrtl.Block, unit: str) -> None:
    """Of a multiplier: the lowest Booth digit is never 1 or -1."""
    remade(block, f"{unit}/one", lambda one: pyrtl.concat(one[1:], pyrtl.Const(0, 1)))


def positive_overflow_lost(block: pyrtl.Block, unit: str) -> None:
    """Of an adder: only a negative sum that is too great is an infinity."""
    remade(block, f"{unit}/overflow", lambda over, sign: over & sign, [f"{unit}/sign_2"])


_ADD: dict[str, tuple[str, Patch]] = {
    "round_half_up": (
        "a sum halfway between two numbers is rounded up, not to the even one",
        partial(instead, name="fp_add/round_up", other="fp_add/guard"),
    ),
    "guard_lost": (
        "the bit below the last place is lost: sums are cut off",
        partial(stuck, name="fp_add/guard", value=0),
    ),
    "sticky_lost": (
        "what lies below the guard bit is lost: sums above halfway count as halfway",
        partial(stuck, name="fp_add/sticky", value=0),
    ),
    "aligned_sticky_lost": (
        "bits that alignment shifts out leave no sticky bit",
        partial(remade, name="fp_add/aligned", change=lambda word: pyrtl.concat(word[1:], pyrtl.Const(0, 1))),
    ),
    "subnormal_hidden_bit": (
        "a subnormal operand gets the hidden bit of a normal one",
        partial(stuck, name="fp_add/a_normal", value=1),
    ),
    "carry_exponent": (
        "where the sum carries out, the exponent stays",
        partial(instead, name="fp_add/above_2", other="fp_add/exponent_2"),
    ),
    "zero_sign": ("x - x is -0.0 where x is negative", partial(stuck, name="fp_add/cancelled", value=0)),
    "infinities_opposed": (
        "inf - inf is an infinity, not NaN",
        partial(stuck, name="fp_add/opposed", value=0),
    ),
    "positive_overflow_lost": (
        "a positive sum too great is no infinity",
        partial(positive_overflow_lost, unit="fp_add"),
    ),
    "nan_sign": (
        "a NaN keeps the sign of an operand: not the canonical one",
        partial(instead, name="fp_add/sign", other="fp_add/sign_2"),
    ),
}

_MULTIPLY: dict[str, tuple[str, Patch]] = {
    "round_half_up": (
        "a product halfway between two numbers is rounded up, not to the even one",
        partial(instead, name="fp_mul/round_up", other="fp_mul/guard"),
    ),
    "low_half_lost": (
        "the 22 lowest bits of the product leave no sticky bit",
        partial(stuck, name="fp_mul/rest", value=0),
    ),
    "lowest_bit_lost": (
        "the lowest bit of the product leaves no sticky bit",
        partial(lowest_bit_lost, unit="fp_mul"),
    ),
    "booth_bit_lost": (
        "the lowest Booth digit is never 1 or -1",
        partial(booth_bit_lost, unit="fp_mul"),
    ),
    "carry_save_row_dropped": (
        "a row of carries never reaches the next level",
        partial(stuck, name="fp_mul/level1_carry3", value=0),
    ),
    "exponent_one_low": (
        "the exponent of every product is one too low",
        partial(remade, name="fp_mul/gap", change=lambda gap: (gap + 1)[:10]),
    ),
    "subnormal_hidden_bit": (
        "a subnormal product gets the exponent of a normal one",
        partial(stuck, name="fp_mul/hidden", value=1),
    ),
    "subnormal_shift": (
        "a product below the least exponent is shifted by an even number of places only",
        partial(
            remade, name="fp_mul/places", change=lambda places: pyrtl.concat(places[1:], pyrtl.Const(0, 1))
        ),
    ),
    "zero_times_infinity": (
        "0 * inf is an infinity, not NaN",
        partial(
            remade, name="fp_mul/nan", change=lambda _, a, b: a | b, others=["fp_mul/a_nan", "fp_mul/b_nan"]
        ),
    ),
    "overflow_lost": ("a product too great is no infinity", partial(stuck, name="fp_mul/overflow", value=0)),
    "nan_sign": (
        "a NaN has the sign of the product: not the canonical one",
        partial(
            remade,
            name="fp_mul/sign",
            change=lambda _, a, b: a ^ b,
            others=["fp_mul/a_sign", "fp_mul/b_sign"],
        ),
    ),
}

_WIDEN: dict[str, tuple[str, Patch]] = {
    "subnormal": ("a subnormal fp16 counts as normal", partial(stuck, name="widen/least", value=0)),
    "nan": ("an fp16 NaN becomes an infinity", partial(stuck, name="widen/nan", value=0)),
}

_DEQUANTISE: dict[str, tuple[str, Patch]] = {
    "bias_dropped": ("the bias is not added", partial(stuck, name="dequantise/bias_4", value=MINUS_ZERO)),
    "bias_early": (
        "the bias is that of the operand behind",
        partial(instead, name="dequantise/bias_4", other="dequantise/bias_3"),
    ),
    "int4_upper_half": (
        "of the byte of an int4 element the upper half is taken",
        partial(upper_half, name="element/code"),
    ),
}

FP_FAULTS = [
    Fault(f"{block}_{name}", block, says, patch, (output,))
    for block, output, faults in (
        ("fp_add", "sum", _ADD),
        ("fp_mul", "product", _MULTIPLY),
        ("widen", "single", _WIDEN),
        ("dequantise", "value", _DEQUANTISE),
    )
    for name, (says, patch) in faults.items()
]
