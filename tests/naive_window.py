"""What stands in a window of the naive machine: lookups, lines, operands (docs/microarchitecture.md, section 4).

A line has no state but the clocks at which things happened to it, or were to be seen to happen; its state in clock t
is worked out from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

NEVER = 1 << 60


@dataclass(frozen=True)
class Instruction:
    """An instruction. `packet` is the host's Packet; rank and what follows say nothing in CONFIG, END."""

    kind: str  # "CONFIG", "LOOKUP", "END"
    index: int  # in the stream
    packet: object
    lookup: int
    rank: int
    bankgroup: int
    bank: int
    row: int
    column: int
    bursts: int
    tag: int  # pooling number j in the packet
    first_line: int  # number of its first line in the row
    ddr_cmd: int
    locality: bool
    byte_offset: int
    closes_batch: bool  # the last END of its batch


@dataclass(eq=False)
class Line:
    """One of the lines of an entry."""

    entry: Entry
    column: int
    unprobed_from: int = NEVER
    probed: int = NEVER  # the clock of the probe
    wanted_from: int = NEVER
    way: tuple[int, int] | None = None  # (set, way) that it will fill
    read: int = NEVER  # the clock of its RD
    waits_for: tuple[int, int] | None = None  # (set, way), of a secondary hit
    present_from: int = NEVER

    def unprobed(self, t: int) -> bool:
        return self.unprobed_from <= t <= self.probed

    def wanted(self, t: int) -> bool:
        return self.wanted_from <= t <= self.read

    @property
    def settled(self) -> bool:
        """It has left the states unprobed and wanted, be it in this clock."""
        return self.read < NEVER or (self.probed < NEVER and self.wanted_from == NEVER)


@dataclass(eq=False)
class Operand:
    """What the datapath takes at once: elements first .. first + count - 1 of an element group."""

    entry: Entry
    element_group: int
    first: int
    count: int
    lines: list[Line]  # those that hold its elements, and scale and bias
    taken: int = NEVER  # the clock in which the datapath took it

    def offered(self, t: int) -> bool:
        return t <= self.taken and all(line.present_from <= t for line in self.lines)


@dataclass(eq=False)
class Entry:
    """A LOOKUP in the window."""

    instruction: Instruction
    group: int
    lines: list[Line] = field(default_factory=list)  # in their order
    operands: list[Operand] = field(default_factory=list)  # by element group
    issued: set[str] = field(default_factory=set)  # commands issued for it
    compared: bool = False  # with its prediction
    room: int = NEVER  # clock from which its place in the window is free

    @property
    def bank(self) -> tuple[int, int]:
        return self.instruction.bankgroup, self.instruction.bank

    def wants(self, t: int) -> bool:
        """Whether it wants its row, as seen at the start of clock t."""
        return any(line.wanted(t) for line in self.lines)
