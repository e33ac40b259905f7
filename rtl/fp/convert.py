"""Elements as they are stored, made FP32: exact, and combinational."""

from __future__ import annotations

import pyrtl

from ..ports import Hardware, Port, Wires
from ..scope import Scope
from .format import QUIET_NAN
from .shift import normalise

# The codes of CONFIG's field dtype (docs/microarchitecture.md, section 7).
FP32, FP16, INT8, INT4 = range(4)


def widen_fp16(half: pyrtl.WireVector, name: str = "widen") -> pyrtl.WireVector:
    """The FP32 word of a binary16 word. A subnormal becomes normal; a NaN becomes 0x7FC00000."""
    at = Scope(name)
    sign, field, fraction = half[15], half[10:15], half[:10]
    normalised, places = normalise(fraction)
    zeros = at("zeros", pyrtl.concat_list(places[::-1]))
    whole = at("whole", fraction == 0)
    least = at("least", field == 0)
    top = at("top", field == 0x1F)
    # A subnormal f * 2^-24 of so many leading zeros has its leading 1 in place 9 - zeros.
    small = pyrtl.concat((pyrtl.Const(112, 7) - zeros)[:8], normalised[:9], pyrtl.Const(0, 14))
    small = pyrtl.select(whole, pyrtl.Const(0, 31), small)
    usual = pyrtl.concat((field + pyrtl.Const(112, 8))[:8], fraction, pyrtl.Const(0, 13))
    infinite = pyrtl.concat(pyrtl.Const(0xFF, 8), pyrtl.Const(0, 23))
    magnitude = pyrtl.select(top, infinite, pyrtl.select(least, small, usual))
    nan = at("nan", top & ~whole)
    return at("single", pyrtl.select(nan, pyrtl.Const(QUIET_NAN, 32), pyrtl.concat(sign, magnitude)))


def unsigned_to_fp32(code: pyrtl.WireVector, name: str = "unsigned") -> pyrtl.WireVector:
    """The FP32 word of an unsigned integer of 2 to 8 bits."""
    at = Scope(name)
    bits = len(code)
    normalised, places = normalise(code)
    zeros = at("zeros", pyrtl.concat_list(places[::-1]))
    exponent = (pyrtl.Const(126 + bits, 8) - zeros)[:8]
    value = pyrtl.concat(pyrtl.Const(0, 1), exponent, normalised[:-1], pyrtl.Const(0, 24 - bits))
    return at("single", pyrtl.select(at("zero", code == 0), pyrtl.Const(0, 32), value))


def element_to_fp32(
    element: pyrtl.WireVector, dtype: pyrtl.WireVector, name: str = "element"
) -> pyrtl.WireVector:
    """The FP32 word of a right-aligned element (32 bits) of a dtype (2 bits); higher bits are ignored."""
    at = Scope(name)
    code = pyrtl.concat(pyrtl.select(dtype[0], pyrtl.Const(0, 4), element[4:8]), element[:4])
    integer = unsigned_to_fp32(at("code", code), at.within("unsigned"))
    wide = pyrtl.select(dtype[0], widen_fp16(element[:16], at.within("widen")), element)
    return at("single", pyrtl.select(dtype[1], integer, wide))


def _build(wires: Wires) -> Wires:
    return {"single": widen_fp16(wires["half"])}


WIDEN = Hardware(
    name="widen",
    summary="FP16 to FP32, exact, combinational",
    inputs=(Port("half", 16, "number, FP16"),),
    outputs=(Port("single", 32, "the same number in the same clock, FP32; any NaN as 0x7FC00000"),),
    build=_build,
)
