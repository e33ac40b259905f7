"""Vectors from a kernel: what the block should do, recorded from what does not share its circuit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

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


# what comes before the stimulus, for blocks with memories: Verilog's start unknown, and the kernel's at 0
PREPARATIONS: dict[str, Callable[[Hardware], Words]] = {"lane": _each_partial_sum_once}


def record(pair: Pair, clocks: int, seed: int) -> Vectors:
    """The pair's stimulus of so many clocks, after what prepares the block, and what its kernel makes of it."""
    hardware = pair.hardware
    prepare = PREPARATIONS.get(hardware.name)
    pieces = [prepare(hardware)] if prepare else []
    inputs = np.concatenate([*pieces, *pair.pieces(clocks, seed)])
    # a stimulus may hold bits above a port's width, which kernels ignore; a testbench's columns have no room for them
    masks = np.array([(1 << port.bits) - 1 for port in hardware.inputs], np.uint64)
    inputs = np.ascontiguousarray(inputs & masks)
    made = f"{clocks} of them random, seed {seed}; outputs from the kernel"
    return Vectors(hardware, inputs, pair.kernel().run(inputs), made)
