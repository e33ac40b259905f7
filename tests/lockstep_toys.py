"""A small block for the harness: its circuit, its kernel in plain Python, and ways to be wrong at a known place."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyrtl
from recnmp.rtl.lockstep.pair import Pair
from recnmp.rtl.lockstep.words import Words
from recnmp.rtl.ports import Hardware, Port

Rows = np.ndarray


def counter(name: str = "counter") -> Hardware:
    """Adds `step` to a total while `go`; `zero` says that the total is 0."""

    def build(wires: Mapping[str, pyrtl.WireVector]) -> Mapping[str, pyrtl.WireVector]:
        total = pyrtl.Register(16, "total")
        total.next <<= (total + pyrtl.select(wires["go"], wires["step"], pyrtl.Const(0, 8)))[:16]
        zero = pyrtl.WireVector(1, "total_is_0")
        zero <<= total == 0
        return {"total_out": total, "zero": zero}

    inputs = (Port("go", 1, "add"), Port("step", 8, "what to add"))
    outputs = (Port("total_out", 16, "the total"), Port("zero", 1, "it is 0"))
    return Hardware(name, "a running total", inputs, outputs, build)


class CounterKernel:
    """wrong_after: also adds 1 when these two are added in consecutive clocks (0: nothing is)."""

    INPUTS = ("go", "step")
    OUTPUTS = ("total_out", "zero")

    def __init__(self, wrong_after: tuple[int, int] | None = None) -> None:
        self.wrong_after = wrong_after
        self.reset()

    def reset(self) -> None:
        self.total = self.before = 0

    def run(self, inputs: Rows) -> Rows:
        seen = []
        for go, step in inputs.tolist():
            seen.append((self.total, int(self.total == 0)))
            fault = (self.before, go * step) == self.wrong_after
            self.total = (self.total + go * step + fault) % 65536
            self.before = go * step
        return np.array(seen, np.uint64).reshape(-1, 2)


def counter_inputs(words: Words, first: int, clocks: int) -> Rows:
    return np.column_stack([words.bits(clocks, 1), words.bits(clocks, 6)])


COUNTER = Pair(counter(), CounterKernel, counter_inputs)


class Planted:
    """A side that is right but for some bits: {(clock, column): mask}."""

    def __init__(self, right: object, bits: Mapping[tuple[int, int], int]) -> None:
        self.right = right
        self.bits = bits
        self.clock = 0

    def reset(self) -> None:
        self.right.reset()
        self.clock = 0

    def run(self, inputs: Rows) -> Rows:
        outputs = self.right.run(inputs)
        for (clock, column), mask in self.bits.items():
            if 0 <= clock - self.clock < len(outputs):
                outputs[clock - self.clock, column] ^= np.uint64(mask)
        self.clock += len(inputs)
        return outputs
