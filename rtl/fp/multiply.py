"""FP32 multiplier: IEEE 754 binary32, round to nearest even, subnormals, one NaN (D10), in 4 clocks.

1. *Normalise.* A subnormal operand gets its leading 1 on top (the last steps of it in stage 2); the other one is
   recoded to 13 digits -2 .. 2 (radix-4 Booth).
2. *Multiply.* 13 multiples are reduced to three words by carry-save adders on whole words; exponents.
3. *Add* the three words.
4. *Round.* A product of 2 or more, or below the least exponent, is shifted right; then it is rounded.

Where both operands are subnormal only one is normalised: their product is less than half the least number. Zero needs
no case of its own: its product has no leading 1, so that it counts as subnormal, whatever its exponent.
"""

from __future__ import annotations

import pyrtl

from ..ports import Hardware, Port, Wires
from ..scope import Scope
from .carry_save import booth_digits, booth_rows, carry_save, reduce_rows
from .format import special_magnitude, unpack
from .shift import normalise, shift_right_sticky

LATENCY = 4


def fp_multiply(a: pyrtl.WireVector, b: pyrtl.WireVector, name: str = "fp_mul") -> pyrtl.Register:
    """a * b of 32-bit words, 4 clocks after its operands. Takes a pair each clock; +0.0 at reset."""
    at = Scope(name)
    return at.register("product", _round(at, _add(at, _multiply(at, _normalise(at, a, b)))))


def _normalise(at: Scope, a: pyrtl.WireVector, b: pyrtl.WireVector) -> dict[str, pyrtl.WireVector]:
    x, y = unpack(a, at, "a"), unpack(b, at, "b")
    thin = at("thin", pyrtl.select(x.normal, y.significand, x.significand))
    other = at("other", pyrtl.select(x.normal, x.significand, y.significand))
    normalised, zeros = normalise(thin, (4, 3, 2))
    one, two, minus = booth_digits(other)
    nan = at("nan", x.nan | y.nan | x.zero & y.infinite | x.infinite & y.zero)
    infinite = at("infinite", x.infinite | y.infinite)
    return {
        "normalised": at.register("normalised_1", at("normalised", normalised)),
        "zeros": at.register("zeros_1", at("zeros", pyrtl.concat(*zeros))),
        "one": at.register("one_1", at("one", one)),
        "two": at.register("two_1", at("two", two)),
        "minus": at.register("minus_1", at("minus", minus)),
        "exponents": at.register("exponents_1", at("exponents", x.exponent + y.exponent)),
        "sign": at.register("sign_1", at("sign", (x.sign ^ y.sign) & ~nan)),
        "nan": at.register("nan_1", nan),
        "top": at.register("top_1", at("top", nan | infinite)),
    }


def _multiply(at: Scope, was: dict[str, pyrtl.WireVector]) -> dict[str, pyrtl.WireVector]:
    multiplicand, last = normalise(was["normalised"], (1, 0))
    rows = booth_rows(at("multiplicand", multiplicand), was["one"], was["two"], was["minus"])
    rows = reduce_rows(at, rows, 3)
    # Signed, 10 bits: how far the product lies below the least exponent; 1 - that is its biased exponent.
    zeros = pyrtl.concat(was["zeros"], *last)
    gap = at("gap", (zeros + pyrtl.Const(128, 10) - was["exponents"])[:10])
    tiny = at("tiny", ~gap[9] & (gap != 0))
    exponent = pyrtl.select(tiny, pyrtl.Const(1, 10), (1 - gap)[:10])
    places = pyrtl.select(gap[5:9] != 0, pyrtl.Const(31, 5), gap[:5])
    exponent = at("exponent", exponent[:9])
    return {
        **{f"row{number}": at.register(f"row{number}_2", row) for number, row in enumerate(rows)},
        "exponent": at.register("exponent_2", exponent),
        "places": at.register("places_2", at("places", pyrtl.select(tiny, places, pyrtl.Const(0, 5)))),
        "tiny": at.register("tiny_2", tiny),
        **{part: at.register(f"{part}_2", was[part]) for part in ("sign", "nan", "top")},
    }


def _add(at: Scope, was: dict[str, pyrtl.WireVector]) -> dict[str, pyrtl.WireVector]:
    partial_sum, partial_carry = carry_save(was["row0"], was["row1"], was["row2"])
    partial_sum, partial_carry = at("partial_sum", partial_sum), at("partial_carry", partial_carry)
    # Of the product's 48 bits the 22 lowest only go into a sticky bit. The others are added with and without a
    # carry from there (the two 1s below the lowest bit), and then chosen.
    low = at("low", partial_sum[:22] + partial_carry[:22])
    x, y = partial_sum[22:], partial_carry[22:]
    carried = (pyrtl.concat(x, pyrtl.Const(1, 1)) + pyrtl.concat(y, pyrtl.Const(1, 1)))[1:27]
    high = at("high", pyrtl.select(at("low_carry", low[22]), carried, (x + y)[:26]))
    kept = at("kept", pyrtl.concat(high, at("rest", low[:22] != 0)))
    long = at("long", high[25] & ~was["tiny"])  # the product of two significands is 2 or more
    # A tiny product goes right by its own number of places, whatever its highest bit.
    places = at("places_right", pyrtl.concat(was["places"][1:], was["places"][0] | long))
    # The exponent, and whether it is too great, with and without the place that `long` adds.
    exponent, above = was["exponent"], (was["exponent"] + 1)[:9]
    overflow = at("overflow", pyrtl.select(long, above > 0xFE, exponent > 0xFE))
    return {
        "kept": at.register("kept_3", kept),
        "exponent": at.register("exponent_3", pyrtl.select(long, above[:8], exponent[:8])),
        "places": at.register("places_3", places),
        "top": at.register("top_3", was["top"] | overflow),
        **{part: at.register(f"{part}_3", was[part]) for part in ("sign", "nan")},
    }


def _round(at: Scope, was: dict[str, pyrtl.WireVector]) -> pyrtl.WireVector:
    shifted = at("shifted", shift_right_sticky(was["kept"], was["places"], (0, 1, 2, 3, 4)))
    guard, sticky, lowest = at("guard", shifted[1]), at("sticky", shifted[0]), shifted[2]
    round_up = at("round_up", guard & (sticky | lowest))
    field = pyrtl.select(at("hidden", shifted[25]), was["exponent"], pyrtl.Const(0, 8))
    # A carry out of the fraction makes a subnormal normal, and the greatest number infinite.
    rounded = at("rounded", (pyrtl.concat(field, shifted[2:25]) + round_up)[:31])
    magnitude = pyrtl.select(was["top"], special_magnitude(was["top"], was["nan"]), rounded)
    return at("result", pyrtl.concat(was["sign"], magnitude))


def _build(wires: Wires) -> Wires:
    return {"product": fp_multiply(wires["a"], wires["b"])}


FP_MUL = Hardware(
    name="fp_mul",
    summary="FP32 multiplier, 4 clocks, a pair of operands each clock",
    inputs=(Port("a", 32, "operand, FP32"), Port("b", 32, "operand, FP32")),
    outputs=(Port("product", 32, "a * b of the operands 4 clocks ago, FP32; +0.0 at reset"),),
    build=_build,
)
