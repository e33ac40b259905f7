"""A pair: a kernel, the circuit that must do the same on every clock, and inputs that provoke both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ...kernels.clocked import Clocked
from ...kernels.fp_units import Dequantise, FpAdd, FpMul, Widen
from ...kernels.lane import Lane
from ..blocks import BLOCKS
from ..ports import Hardware
from .fp_stimulus import halves, quantised, two_operands
from .lane_stimulus import lane_inputs
from .words import Uint64s, Words

# inputs of some clocks, uint64 [clocks, columns], from random words, the number of the first clock, and their number
Stimulus = Callable[[Words, int, int], Uint64s]

PIECE = 8192  # clocks that are made, run and compared at a time


@dataclass(frozen=True)
class Pair:
    """What is verified under one name.

    `kernel` makes a kernel whose INPUTS and OUTPUTS are the hardware's ports in their order; `fp32` names the ports
    that carry FP32 numbers. Raises ValueError where kernel and hardware have other ports.
    """

    hardware: Hardware
    kernel: Callable[[], Clocked]
    stimulus: Stimulus
    fp32: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        kernel = self.kernel()
        for mine, ports in ((kernel.INPUTS, self.hardware.inputs), (kernel.OUTPUTS, self.hardware.outputs)):
            if mine != tuple(port.name for port in ports):
                raise ValueError(f"{self.hardware.name}: the kernel has {mine}, the hardware {ports}")

    @property
    def name(self) -> str:
        """That of the hardware."""
        return self.hardware.name

    def pieces(self, clocks: int, seed: int) -> Iterator[Uint64s]:
        """Inputs of clocks 0 .. clocks-1, PIECE clocks at a time. Fewer clocks are the beginning of more."""
        for first in range(0, clocks, PIECE):
            yield self._piece(first, seed)[: clocks - first]

    def rows(self, first: int, end: int, seed: int) -> Uint64s:
        """Inputs of clocks first .. end-1, those that `pieces` gives."""
        begin = first - first % PIECE
        whole = np.concatenate([self._piece(at, seed) for at in range(begin, end, PIECE)])
        return whole[first - begin : end - begin]

    def _piece(self, first: int, seed: int) -> Uint64s:
        return np.ascontiguousarray(self.stimulus(Words(seed, first // PIECE), first, PIECE))


_KERNELS: dict[str, tuple[Callable[[], Clocked], Stimulus, frozenset[str]]] = {
    "fp_add": (FpAdd, two_operands, frozenset({"a", "b", "sum"})),
    "fp_mul": (FpMul, two_operands, frozenset({"a", "b", "product"})),
    "widen": (Widen, halves, frozenset({"single"})),
    "dequantise": (Dequantise, quantised, frozenset({"scale", "bias", "value"})),
    "lane": (Lane, lane_inputs, frozenset({"scale", "bias", "weight", "sum"})),
}

PAIRS: dict[str, Pair] = {name: Pair(hardware, *_KERNELS[name]) for name, hardware in BLOCKS.items()}
