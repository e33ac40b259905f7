from collections.abc import Iterable, Sequence
from enum import IntFlag

from ..timing import Rule

class Command(IntFlag):
    ACT = 0
    PRE = 1
    PREA = 2
    RD = 3
    WR = 4
    RDA = 5
    WRA = 6
    REF = 7

class TimingTable:
    def __init__(self, rows: Iterable[Rule], commands: Sequence[str] = ...) -> None: ...

class Device:
    table: TimingTable
    ranks: int
    bankgroups: int
    banks: int
    ranks_per_bus: int
    def __init__(
        self, table: TimingTable, ranks: int, bankgroups: int, banks: int, ranks_per_bus: int = 0
    ) -> None: ...
    def earliest(self, command: int, rank: int, bankgroup: int = 0, bank: int = 0) -> int: ...
    def issue(self, command: int, rank: int, bankgroup: int, bank: int, row: int, clk: int) -> None: ...
    def row(self, rank: int, bankgroup: int, bank: int) -> int: ...
