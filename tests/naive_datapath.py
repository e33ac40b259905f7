"""Operand register and pipeline of one rank of the naive machine: docs/microarchitecture.md, section 4, Datapath, and
the hazard of section 7."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from naive_window import NEVER, Entry, Line

Sum = tuple[int, int, int]  # tag group, pooling number, element group


class Datapath:
    """Takes a line a clock at most; gives the one that enters the pipeline."""

    def __init__(self, options, counters: Counter) -> None:
        self.options = options
        self.counters = counters
        self.register: Line | None = None
        self.entered: dict[Sum, int] = {}  # partial sum -> clock in which an operand of it entered last

    @staticmethod
    def sum_of(line: Line) -> Sum:
        return line.entry.group, line.entry.instruction.tag, line.element_group

    def step(self, window: Sequence[Entry], t: int) -> Line | None:
        """One clock; the line that entered the pipeline in it, if any."""
        entering = self.register
        if entering is not None:
            last = self.entered.get(self.sum_of(entering), -NEVER)
            if t - last < self.options.accumulate:
                self.counters["hazard_clocks"] += 1
                return None
            self.entered[self.sum_of(entering)] = t
        self.register = self.take(window, t)
        return entering

    def take(self, window: Sequence[Entry], t: int) -> Line | None:
        for entry in window:
            for line in entry.lines:
                if line.offered(t):
                    line.taken = t
                    if all(other.taken <= t for other in entry.lines):
                        entry.room = t + 1
                    return line
        return None
