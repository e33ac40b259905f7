"""The language of the device-timing tests: probe, issue, assert earliest.

A bench speaks to the kernel's device and to the slow twin's banks at once, and both must agree.
"""

from __future__ import annotations

from collections.abc import Iterable

from slow_twin import Banks

from recnmp.kernels.dram import Device, TimingTable
from recnmp.timing import COMMANDS, Rule

Place = tuple[int, int, int]


class Bench:
    """Two ranks of two bank groups of three banks under the given rows."""

    def __init__(self, rows: Iterable[Rule]) -> None:
        rows = tuple(rows)
        self.device = Device(TimingTable(rows), 2, 2, 3)
        self.twin = Banks(rows, 2, 2, 3)

    def issue(self, command: str, place: Place, clk: int, row: int = 7) -> None:
        self.device.issue(COMMANDS.index(command), *place, row, clk)
        self.twin.issue(command, place, row, clk)

    def probe(self, command: str, place: Place, clk: int) -> bool:
        """Whether the rules allow a command at a clock."""
        legal = self.device.earliest(COMMANDS.index(command), *place) <= clk
        assert legal == (self.twin.earliest(command, place) <= clk), f"kernel and twin differ on {command}"
        return legal

    def assert_earliest(self, command: str, place: Place, clk: int) -> None:
        """Blocked a clock before, and legal at the clock."""
        assert not self.probe(command, place, clk - 1), f"{command} at {place} is legal before {clk}"
        assert self.probe(command, place, clk), f"{command} at {place} is not legal at {clk}"

    def assert_free(self, command: str, place: Place, clk: int) -> None:
        """Nothing holds the command up at the clock, nor did a clock before."""
        assert self.probe(command, place, clk), f"{command} at {place} is not legal at {clk}"
