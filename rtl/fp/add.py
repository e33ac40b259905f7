"""FP32 adder: IEEE 754 binary32, round to nearest even, subnormals, one NaN (D10), in 3 clocks.

1. *Align.* The operand of greater magnitude stays; the other is shifted right by the difference of exponents,
   with guard, round and sticky bit.
2. *Add* or subtract; never negative.
3. *Round.* Two ways at once. Where operands of about equal size cancelled, the sum is shifted left as far as
   the least exponent allows, and is exact. Else it moves by at most one place, and is rounded.
"""

from __future__ import annotations

import pyrtl

from ..ports import Hardware, Port, Wires
from ..scope import Scope
from .format import special_magnitude, unpack
from .shift import leading_zeros, shift_left, shift_right_sticky

LATENCY = 3


def fp_add(a: pyrtl.WireVector, b: pyrtl.WireVector, name: str = "fp_add") -> pyrtl.Register:
    """a + b of 32-bit words, 3 clocks after its operands. Takes a pair each clock; +0.0 at reset."""
    return Scope(name).register("sum", fp_add_early(a, b, name))


def fp_add_early(a: pyrtl.WireVector, b: pyrtl.WireVector, name: str = "fp_add") -> pyrtl.WireVector:
    """The same before the last register: for who writes it into a memory at that clock edge."""
    at = Scope(name)
    return _round(at, _add(at, _align(at, a, b)))


def _align(at: Scope, a: pyrtl.WireVector, b: pyrtl.WireVector) -> dict[str, pyrtl.WireVector]:
    x, y = unpack(a, at, "a"), unpack(b, at, "b")
    swap = at("swap", a[:31] < b[:31])
    distance = pyrtl.select(swap, (y.exponent - x.exponent)[:8], (x.exponent - y.exponent)[:8])
    distance = at("distance", distance)
    small = at("small", pyrtl.select(swap, x.significand, y.significand))
    shifted = shift_right_sticky(pyrtl.concat(small, pyrtl.Const(0, 3)), distance, (0, 1, 2, 3, 4))
    lost = at("lost", distance[5:] != 0)  # shifted out as a whole
    aligned = pyrtl.select(lost, pyrtl.concat(pyrtl.Const(0, 26), small != 0), shifted)
    subtract = at("subtract", x.sign ^ y.sign)
    opposed = at("opposed", x.infinite & y.infinite & subtract)
    return {
        "big": at.register("big_1", pyrtl.select(swap, y.significand, x.significand)),
        "aligned": at.register("aligned_1", at("aligned", aligned)),
        "exponent": at.register("exponent_1", pyrtl.select(swap, y.exponent, x.exponent)),
        "subtract": at.register("subtract_1", subtract),
        "distant": at.register("distant_1", at("distant", distance[1:] != 0)),
        "sign": at.register("sign_1", pyrtl.select(swap, y.sign, x.sign)),
        "nan": at.register("nan_1", at("nan", x.nan | y.nan | opposed)),
        "infinite": at.register("infinite_1", at("infinite", x.infinite | y.infinite)),
    }


def _add(at: Scope, was: dict[str, pyrtl.WireVector]) -> dict[str, pyrtl.WireVector]:
    exponent, subtract = was["exponent"], was["subtract"]
    # The bit below the lowest carries the 1 that a two's complement needs.
    flipped = pyrtl.concat(pyrtl.Const(0, 1), was["aligned"]) ^ subtract.sign_extended(28)
    total = pyrtl.concat(pyrtl.Const(0, 1), was["big"], pyrtl.Const(1, 4)) + pyrtl.concat(flipped, subtract)
    # A 1 as far below the hidden bit as the exponent is above the least one ends the search for the leading 1.
    places = at("places", (exponent - 1)[:8])
    stop = pyrtl.select(places[5:] != 0, pyrtl.Const(0, 32), _one_hot_from_top(places[:5]))
    total = at("total", total[1:29])
    # Where the leading 1 is: the search begins here, with the half that has it.
    leading = at("leading", _exact(total) | at("stop", stop))
    low_half = at("low_half", leading[16:] == 0)
    return {
        "total": at.register("total_2", total),
        "low_half": at.register("low_half_2", low_half),
        "half": at.register("half_2", pyrtl.select(low_half, leading[:16], leading[16:])),
        "exponent": at.register("exponent_2", exponent),
        "above": at.register("above_2", (exponent + 1)[:8]),
        "below": at.register("below_2", places),
        "subtract": at.register("subtract_2", subtract),
        "distant": at.register("distant_2", was["distant"]),
        "sign": at.register("sign_2", was["sign"]),
        "nan": at.register("nan_2", was["nan"]),
        "infinite": at.register("infinite_2", was["infinite"]),
    }


def _exact(total: pyrtl.WireVector) -> pyrtl.WireVector:
    """Of a sum without carry 24 bits, and the guard bit, which a distance of 1 fills: on top of 32 bits."""
    return pyrtl.concat(total[2:27], pyrtl.Const(0, 7))


def _one_hot_from_top(places: pyrtl.WireVector) -> pyrtl.WireVector:
    """32 bits: a 1 so many places (5 bits) below the top."""
    word = pyrtl.Const(1 << 31, 32)
    for level in range(len(places)):
        by = 1 << level
        word = pyrtl.select(places[level], pyrtl.concat(pyrtl.Const(0, by), word[by:]), word)
    return word


def _round(at: Scope, was: dict[str, pyrtl.WireVector]) -> pyrtl.WireVector:
    total = was["total"]
    carry, hidden = at("carry", total[27]), at("hidden", total[26])
    # Rounded: a carry out, no move, or one place left (24 bits, guard and sticky).
    moved = pyrtl.select(
        carry,
        pyrtl.concat(total[3:], total[:3] != 0),
        pyrtl.select(hidden, pyrtl.concat(total[2:27], total[:2] != 0), total[:26]),
    )
    exponent = pyrtl.select(carry, was["above"], pyrtl.select(hidden, was["exponent"], was["below"]))
    guard, sticky, lowest = at("guard", moved[1]), at("sticky", moved[0]), moved[2]
    round_up = at("round_up", guard & (sticky | lowest))
    rounded = at("rounded", (pyrtl.concat(exponent, moved[2:25]) + round_up)[:31])
    overflow = at("overflow", carry & (was["above"] == 0xFF))
    zeros = at("zeros", pyrtl.concat(was["low_half"], leading_zeros(was["half"])))
    exact = at("normalised", shift_left(_exact(total), zeros))
    least = pyrtl.select(exact[31], (was["exponent"] - zeros)[:8], pyrtl.Const(0, 8))
    near = at("near", ~was["distant"] & ~carry & ~hidden)
    magnitude = pyrtl.select(near, pyrtl.concat(least, exact[8:31]), rounded)
    special = at("special", was["nan"] | was["infinite"] | overflow)
    magnitude = pyrtl.select(special, special_magnitude(special, was["nan"]), magnitude)
    cancelled = at("cancelled", was["subtract"] & (total == 0))
    sign = at("sign", was["sign"] & ~cancelled & ~was["nan"])
    return at("result", pyrtl.concat(sign, magnitude))


def _build(wires: Wires) -> Wires:
    return {"sum": fp_add(wires["a"], wires["b"])}


FP_ADD = Hardware(
    name="fp_add",
    summary="FP32 adder, 3 clocks, a pair of operands each clock",
    inputs=(Port("a", 32, "operand, FP32"), Port("b", 32, "operand, FP32")),
    outputs=(Port("sum", 32, "a + b of the operands 3 clocks ago, FP32; +0.0 at reset"),),
    build=_build,
)
