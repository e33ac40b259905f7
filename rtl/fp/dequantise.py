"""x = fl(fl(scale * q) + bias), in 4 + 3 clocks (D9, D10); what is not quantised passes through it unchanged."""

from __future__ import annotations

import pyrtl

from ..ports import Hardware, Port, Wires
from ..scope import Scope
from . import add, multiply
from .convert import element_to_fp32
from .format import MINUS_ZERO, ONE

LATENCY = multiply.LATENCY + add.LATENCY


def dequantise(
    number: pyrtl.WireVector, scale: pyrtl.WireVector, bias: pyrtl.WireVector, name: str = "dequantise"
) -> pyrtl.Register:
    """scale * number + bias, FP32 and rounded twice, 7 clocks after its operands."""
    at = Scope(name)
    scaled = multiply.fp_multiply(number, scale, at.within("scale_mul"))
    return add.fp_add(scaled, at.delay("bias", bias, multiply.LATENCY), at.within("bias_add"))


def scale_and_bias(
    dtype: pyrtl.WireVector, scale: pyrtl.WireVector, bias: pyrtl.WireVector
) -> tuple[pyrtl.WireVector, pyrtl.WireVector]:
    """Those of int8 and int4; for fp32 and fp16 1.0 and -0.0, which change nothing (not even the sign of a zero)."""
    quantised = dtype[1]
    return (
        pyrtl.select(quantised, scale, pyrtl.Const(ONE, 32)),
        pyrtl.select(quantised, bias, pyrtl.Const(MINUS_ZERO, 32)),
    )


def _build(wires: Wires) -> Wires:
    number = element_to_fp32(wires["element"], wires["dtype"])
    scale, bias = scale_and_bias(wires["dtype"], wires["scale"], wires["bias"])
    return {"value": dequantise(number, scale, bias)}


DEQUANTISE = Hardware(
    name="dequantise",
    summary="a stored element to FP32: converted, scaled, biased; 7 clocks",
    inputs=(
        Port("element", 32, "element, right-aligned as stored; higher bits are ignored"),
        Port("dtype", 2, "0 fp32, 1 fp16, 2 int8, 3 int4; the integers are unsigned"),
        Port("scale", 32, "FP32, used for int8 and int4 only"),
        Port("bias", 32, "FP32, used for int8 and int4 only"),
    ),
    outputs=(Port("value", 32, "fl(fl(scale * element) + bias) of the inputs 7 clocks ago; +0.0 at reset"),),
    build=_build,
)
