"""Operand register and pipeline of one rank of the naive machine: docs/microarchitecture.md, section 4, Datapath, and
the hazard of section 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from naive_window import NEVER, Entry, Operand

Sum = tuple[int, int, int]  # tag group, pooling number, element group


class Datapath:
    """Takes an operand a clock at most; gives the one that enters the pipeline."""

    def __init__(self, options, counters: Counter) -> None:
        self.options = options
        self.counters = counters
        self.register: Operand | None = None
        self.entered: dict[Sum, int] = {}  # partial sum -> clock in which an operand of it entered last

    @staticmethod
    def sum_of(operand: Operand) -> Sum:
        return operand.entry.group, operand.entry.instruction.tag, operand.element_group

    def step(self, window: Sequence[Entry], t: int) -> Operand | None:
        """One clock; the operand that entered the pipeline in it, if any."""
        entering = self.register
        if entering is not None:
            last = self.entered.get(self.sum_of(entering), -NEVER)
            if t - last < self.options.accumulate:
                self.counters["hazard_clocks"] += self.options.divider
                return None
            self.entered[self.sum_of(entering)] = t
        self.register = self.take(window, t)
        return entering

    def take(self, window: Sequence[Entry], t: int) -> Operand | None:
        for entry in window:
            for operand in entry.operands:
                if operand.offered(t):
                    operand.taken = t
                    if all(other.taken <= t for other in entry.operands):
                        entry.room = t + 1
                    return operand
        return None
