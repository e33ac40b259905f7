"""The fields of an IEEE 754 binary32 word (D10)."""

from __future__ import annotations

from dataclasses import dataclass

import pyrtl

from ..scope import Scope

QUIET_NAN = 0x7FC00000
ONE = 0x3F800000
MINUS_ZERO = 0x80000000


@dataclass(frozen=True)
class Operand:
    """A binary32 word taken apart. `exponent` is 1 for zeros and subnormals, which share the least exponent."""

    sign: pyrtl.WireVector
    exponent: pyrtl.WireVector  # 8 bits
    significand: pyrtl.WireVector  # 24 bits, the hidden bit on top
    normal: pyrtl.WireVector  # 1: neither zero nor subnormal (the hidden bit)
    zero: pyrtl.WireVector
    infinite: pyrtl.WireVector
    nan: pyrtl.WireVector


def unpack(word: pyrtl.WireVector, at: Scope, label: str) -> Operand:
    """The operand `word` (32 bits); its flags are named LABEL_nan and so on."""
    field, fraction = word[23:31], word[:23]
    normal = at(f"{label}_normal", field != 0)
    top = at(f"{label}_top", field == 0xFF)
    whole = at(f"{label}_whole", fraction == 0)
    return Operand(
        sign=at(f"{label}_sign", word[31]),
        exponent=at(f"{label}_exponent", pyrtl.concat(field[1:], field[0] | ~normal)),
        significand=at(f"{label}_significand", pyrtl.concat(normal, fraction)),
        normal=normal,
        zero=at(f"{label}_zero", ~normal & whole),
        infinite=at(f"{label}_infinite", top & whole),
        nan=at(f"{label}_nan", top & ~whole),
    )


def special_magnitude(top: pyrtl.WireVector, nan: pyrtl.WireVector) -> pyrtl.WireVector:
    """31 bits: 0, or infinity where `top`, or the canonical quiet NaN where `nan` too."""
    return pyrtl.concat(top.sign_extended(8), nan, pyrtl.Const(0, 22))
