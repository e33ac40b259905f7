"""Where a circuit first did something else than its kernel, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add

import numpy as np

from ..ports import Port
from .pair import Pair
from .words import Uint64s

SHOWN = 16  # clocks up to the difference that are told


@dataclass(frozen=True)
class Difference:
    """The first difference of a run from reset.

    clock, signal: the first clock in which an output differs, and the first such output in port order. kernel,
    circuit: its two values. inputs, kernel_outputs, circuit_outputs: uint64 [clocks, ports] of up to SHOWN clocks
    (of a shortened run: all of them), the last of which is `clock`.
    """

    pair: Pair
    clock: int
    signal: str
    kernel: int
    circuit: int
    inputs: Uint64s
    kernel_outputs: Uint64s
    circuit_outputs: Uint64s

    @property
    def block(self) -> str:
        """The block's name."""
        return self.pair.name

    def lines(self) -> list[str]:
        """The difference in a line, then a table of the clocks that led to it; `*` marks what differs."""
        port = next(port for port in self.pair.hardware.outputs if port.name == self.signal)
        values = [self._value(port, value) for value in (self.kernel, self.circuit)]
        head = f"{self.block}, clock {self.clock:,}, {self.signal}: kernel {values[0]}, circuit {values[1]}"
        return [head, *self._table()]

    def _value(self, port: Port, value: int) -> str:
        hexed = _hex(port, value)
        if port.name not in self.pair.fp32:
            return f"0x{hexed}"
        return f"0x{hexed} ({np.uint32(value).view(np.float32)!s})"

    def _table(self) -> list[str]:
        ports = self.pair.hardware
        first = self.clock - len(self.inputs) + 1
        clocks = range(first, self.clock + 1)
        # an input that never changes is told once, so that the rest fits into a line
        still = [i for i in range(len(ports.inputs)) if len(set(self.inputs[:, i].tolist())) == 1]
        columns = [["", "clock", *(f"{clock:,}" for clock in clocks)]]
        for i, port in enumerate(ports.inputs):
            if i not in still or len(still) == len(ports.inputs):
                columns.append(["in", port.name, *_hexes(port, self.inputs[:, i])])
        differs = self.kernel_outputs != self.circuit_outputs
        for side, outputs in (("kernel", self.kernel_outputs), ("circuit", self.circuit_outputs)):
            for i, port in enumerate(ports.outputs):
                marks = np.where(differs[:, i], "*", "").tolist()
                cells = map(add, marks, _hexes(port, outputs[:, i]))
                columns.append([side, port.name, *cells])
        lines = _aligned(columns)
        if 0 < len(still) < len(ports.inputs):
            told = (f"{ports.inputs[i].name} {_hex(ports.inputs[i], int(self.inputs[0, i]))}" for i in still)
            lines.append("in all these clocks: " + ", ".join(told))
        return lines


def _hex(port: Port, value: int) -> str:
    return f"{value:0{-(-port.bits // 4)}x}"


def _hexes(port: Port, values: Uint64s) -> list[str]:
    return [_hex(port, value) for value in values.tolist()]


def _aligned(columns: list[list[str]]) -> list[str]:
    """Columns to lines, right-aligned; a side is named over its first column only."""
    sides = [column[0] for column in columns]
    for i, column in enumerate(columns):
        if i and sides[i] == sides[i - 1]:
            column[0] = ""
    widths = [max(map(len, column)) for column in columns]
    return [
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in zip(*columns, strict=True)
    ]
