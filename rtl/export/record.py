"""Vectors from a kernel: what the block should do, recorded from what does not share its circuit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..lockstep.fp_stimulus import SPECIAL_HALVES, SPECIALS
from ..lockstep.pair import Pair
from ..ports import Hardware
from .vectors import Vectors, Words


def _zeros(hardware: Hardware, clocks: int) -> dict[str, Words]:
    return {port.name: np.zeros(clocks, np.uint64) for port in hardware.inputs}


def _each_partial_sum_once(hardware: Hardware) -> Words:
    """A lane's memory holds nothing known at first: a `first` for each of its sums, then clocks to let them settle."""
    sums, settling = 128, 16
    columns = _zeros(hardware, sums + settling)
    number = np.arange(sums, dtype=np.uint64)
    columns["valid"][:sums] = columns["first"][:sums] = 1
    columns["tag"][:sums], columns["group"][:sums] = number >> np.uint64(3), number & np.uint64(7)
    return np.column_stack(list(columns.values()))


def _lane_opening(hardware: Hardware) -> Words:
    """After the first of each sum: special elements times special weights, each in a sum that is read at once."""
    element, weight = _crossed(_FEW, _FEW)
    extra = np.tile(SPECIAL_HALVES, 2)
    halves = len(extra)
    columns = _zeros(hardware, len(element) + halves + 16)
    number = np.arange(len(element) + halves, dtype=np.uint64)
    offered, read = slice(0, len(number)), slice(16, None)
    columns["valid"][offered] = columns["first"][offered] = columns["weighted"][: len(element)] = 1
    columns["element"][offered] = np.concatenate([element, extra])
    columns["dtype"][len(element) : len(number)] = 1
    columns["weight"][: len(element)] = weight
    columns["tag"][offered], columns["group"][offered] = (
        number >> np.uint64(3) & np.uint64(15),
        number & np.uint64(7),
    )
    columns["read"][read] = 1
    columns["read_tag"][read], columns["read_group"][read] = (
        columns["tag"][offered],
        columns["group"][offered],
    )
    return np.concatenate([_each_partial_sum_once(hardware), np.column_stack(list(columns.values()))])


# Zero, the least and greatest subnormal and normal numbers, about one, infinity, a quiet and a signalling NaN.
_FEW = np.array(
    [
        sign << 31 | bits
        for sign in (0, 1)
        for bits in (
            *(0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x00800001, 0x3F7FFFFF, 0x3F800000, 0x3F800001),
            *(0x40000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000),
        )
    ],
    np.uint64,
)


def _crossed(*columns: Words) -> list[Words]:
    """Each value of each column with each of the others."""
    return [grid.reshape(-1) for grid in np.meshgrid(*columns, indexing="ij")]


def _operands(hardware: Hardware) -> Words:
    """Every special value with every other: infinities, NaNs, zeros, subnormals, great numbers, of both signs."""
    return np.column_stack(_crossed(SPECIALS, SPECIALS))


def _halves(hardware: Hardware) -> Words:
    """Each sign and exponent with the fractions at the ends and some between."""
    sign, exponent, fraction = _crossed(
        *(
            np.array(values, np.uint64)
            for values in ((0, 1), range(32), (0, 1, 2, 0x155, 0x1FF, 0x200, 0x3FE, 0x3FF))
        )
    )
    return (sign << np.uint64(15) | exponent << np.uint64(10) | fraction)[:, None]


def _elements(hardware: Hardware) -> Words:
    """Special FP32 and FP16 elements, then the ends of the integers with special scales and biases."""
    few = _FEW[::3]
    parts = [
        _crossed(SPECIALS, *(np.array([number], np.uint64) for number in (0, 0x3F800000, 0x80000000))),
        _crossed(SPECIAL_HALVES, *(np.array([number], np.uint64) for number in (1, 0x3F800000, 0x80000000))),
        _crossed(np.array([0, 1, 255], np.uint64), np.array([2], np.uint64), few, few),
        _crossed(np.array([0, 1, 15], np.uint64), np.array([3], np.uint64), few, few),
    ]
    return np.column_stack([np.concatenate(column) for column in zip(*parts, strict=True)])


# What comes before the stimulus: special values, and for blocks with memories what writes each word, since Verilog's
# start unknown and the kernel's at 0.
OPENINGS: dict[str, Callable[[Hardware], Words]] = {
    "fp_add": _operands,
    "fp_mul": _operands,
    "widen": _halves,
    "dequantise": _elements,
    "lane": _lane_opening,
}


def record(pair: Pair, clocks: int, seed: int) -> Vectors:
    """The pair's stimulus of so many clocks, after the block's opening, and what its kernel makes of it."""
    hardware = pair.hardware
    opening = OPENINGS.get(hardware.name)
    pieces = [opening(hardware)] if opening else []
    inputs = np.concatenate([*pieces, *pair.pieces(clocks, seed)])
    # a stimulus may hold bits above a port's width, which kernels ignore; a testbench's columns have no room for them
    masks = np.array([(1 << port.bits) - 1 for port in hardware.inputs], np.uint64)
    inputs = np.ascontiguousarray(inputs & masks)
    made = f"{clocks} of them random, seed {seed}; outputs from the kernel"
    return Vectors(hardware, inputs, pair.kernel().run(inputs), made)
