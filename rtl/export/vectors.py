"""Recorded inputs and expected outputs of a block, a row a clock, as `$readmemh` reads them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ports import Hardware, Port

Words = NDArray[np.uint64]

# The first digit of a line: a clock, or the end. A simulator of two states reads a missing line as zeros.
ROW, END = "1", "e"


def digits(port: Port) -> int:
    """Hexadecimal digits of a port."""
    return -(-port.bits // 4)


@dataclass(frozen=True)
class Vectors:
    """`inputs` [clocks, inputs] and `outputs` [clocks, outputs], in the order of the block's ports.

    Outputs are those that stand in the clock of their row, before its edge. `made` says by what.
    """

    hardware: Hardware
    inputs: Words
    outputs: Words
    made: str

    def text(self) -> str:
        """One line a clock: ROW, then each port in hexadecimal, outputs last, with `_` between; then a line of END."""
        ports = (*self.hardware.inputs, *self.hardware.outputs)
        columns = np.concatenate([self.inputs, self.outputs], axis=1)
        if columns.shape[1] != len(ports):
            raise ValueError(f"{self.hardware.name} has {len(ports)} ports, not {columns.shape[1]}")
        for port, column in zip(ports, columns.T, strict=True):
            if port.bits < 64 and len(column) and int(column.max()) >> port.bits:
                raise ValueError(
                    f"{self.hardware.name}: {port.name} has {port.bits} bits, not {column.max():#x}"
                )
        line = "_".join([ROW, *(f"{{:0{digits(port)}x}}" for port in ports)])
        end = "_".join([END, *("0" * digits(port) for port in ports)])
        head = [
            f"// {self.hardware.name}: {len(columns)} clocks after reset, {self.made}",
            f"// {ROW}_" + "_".join(port.name for port in ports),
        ]
        return "\n".join([*head, *(line.format(*row) for row in columns.tolist()), end, ""])
