"""Host traffic of the naive machine: docs/microarchitecture.md, section 3, "Host traffic", told once more.

Every read that ever arrived is kept with the clocks of all that happened to it; what somebody sees in clock t is
worked out from them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace

from naive_window import NEVER, Entry, Instruction, Line

MASK = 2**64 - 1
PLACES = 16  # of a DIMM's host buffer
LINE_CLOCKS = 4  # of a host line on the channel
ACT_RD = 0b011


def splitmix64(state: int) -> Iterator[int]:
    """The generator as its authors give it."""
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


@dataclass(eq=False)
class Read:
    """A read of the host."""

    number: int
    arrival: int
    rank: int
    bankgroup: int
    bank: int
    row: int
    column: int
    ready: int = NEVER  # the clock from which its line is visible as ready
    crossing: int = NEVER  # the clock in which its line begins to cross

    @property
    def crossed(self) -> int:
        return self.crossing + LINE_CLOCKS


class Traffic:
    """The reads of a channel; `options` are those of the naive machine. rate 0: there are none."""

    def __init__(self, options, rate: int, seed: int) -> None:
        self.options = options
        self.rate = rate
        self.clocks = splitmix64(seed)
        self.places = splitmix64((seed + 2**63) & MASK)
        self.reads: list[Read] = []
        self.log: list[tuple[int, int, int]] = []  # clk, number, 0: sent, 1: begins to cross
        self.longest_queue = 0
        self.arrived = 0  # reads that have arrived: the first so many
        self.sent = 0  # reads that were sent: likewise, since none passes another
        self.away: list[Read] = []  # sent, and not crossed yet

    def arrive(self, t: int) -> None:
        """Know all reads that arrive up to clock t, and one more."""
        while self.rate and (not self.reads or self.reads[-1].arrival <= t):
            self.reads.append(self.make(len(self.reads)))

    def make(self, i: int) -> Read:
        options = self.options
        h, g = next(self.clocks), next(self.places)
        arrival = ((65536 * i + h // 2**48) * 1000 // self.rate) // 65536
        ranks = options.dimms * options.ranks_per_dimm
        sizes = (options.rows, ranks, options.banks, options.bankgroups, options.bursts_a_row)
        total = 1
        for size in sizes:
            total *= size
        rest, digits = g % total, []
        for size in reversed(sizes):  # the last is the least significant
            digits.append(rest % size)
            rest //= size
        column, bankgroup, bank, rank, row = digits
        return Read(i, arrival, rank, bankgroup, bank, row, column)

    def dimm(self, read: Read) -> int:
        return read.rank // self.options.ranks_per_dimm

    def measure_queue(self, t: int) -> None:
        """The length of the host's queue, as seen at the start of clock t."""
        self.arrive(t)
        while self.arrived < len(self.reads) and self.reads[self.arrived].arrival <= t:
            self.arrived += 1
        self.longest_queue = max(self.longest_queue, self.arrived - self.sent)
        self.away = [read for read in self.away if read.crossed > t]

    def may_go(self, t: int, credits: list[int]) -> Read | None:
        """The oldest read, if it has arrived, its rank has a credit, and its DIMM's buffer a place."""
        if self.sent == self.arrived:
            return None
        oldest = self.reads[self.sent]
        taken = sum(self.dimm(read) == self.dimm(oldest) for read in self.away if read.crossed > t)
        return oldest if credits[oldest.rank] and taken < PLACES else None

    def send(self, read: Read, t: int) -> Instruction:
        self.sent += 1
        self.away.append(read)
        self.log.append((t, read.number, 0))
        return Instruction(
            kind="HOST_READ",
            index=-1,
            packet=SimpleNamespace(group=-1, number=-1),
            lookup=read.number,
            rank=read.rank,
            bankgroup=read.bankgroup,
            bank=read.bank,
            row=read.row,
            column=read.column,
            bursts=1,
            tag=-1,
            first_line=0,
            ddr_cmd=ACT_RD,
            locality=False,
            byte_offset=0,
            closes_batch=False,
        )

    def enter(self, instruction: Instruction, t: int) -> Entry:
        """The window entry of a HOST_READ that is decoded in clock t."""
        entry = Entry(instruction, -1, compared=True)  # never to be compared
        entry.lines.append(Line(entry, instruction.column, wanted_from=t + 1))
        return entry

    def land(self, entry: Entry, t: int, n: int) -> None:
        """Its RD is issued in clock t: the line goes into the host buffer in the last clock of its transfer."""
        last = t + self.options.nCL + self.options.nBL - 1
        while last % n:
            last += 1
        self.reads[entry.instruction.lookup].ready = entry.room = last + n

    def ready(self, t: int) -> dict[int, list[Read]]:
        """DIMM -> its lines that are visible as ready in clock t and have not gone, oldest first."""
        ready: dict[int, list[Read]] = {}
        for read in self.away:
            if read.ready <= t <= read.crossing:
                ready.setdefault(self.dimm(read), []).append(read)
        return ready

    def cross(self, reads: list[Read], t: int) -> int:
        """They go one after another from clock t on; the clock at which the last has crossed."""
        for read in reads:
            read.crossing = t
            self.log.append((t, read.number, 1))
            t += LINE_CLOCKS
        return t

    def latencies(self) -> list[int]:
        """Of all reads whose line has begun to cross."""
        return sorted(read.crossed - read.arrival for read in self.reads if read.crossing < NEVER)
