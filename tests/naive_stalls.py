"""What each clock of a rank of the naive machine is spent on: docs/microarchitecture.md, section "Stalls", row by row.

The state is looked at before any block is stepped. Only whether the rank gets a command through is seen afterwards,
since ranks may share a bus.
"""

from __future__ import annotations

from naive_window import NEVER, Entry

CAUSES = (
    "working",
    "refresh",
    "faw_rrd",
    "bank_timing",
    "ccd",
    "datapath_full",
    "result_full",
    "no_instruction",
    "drained",
)
OWN_BANK = (
    "bank",
)  # levels of rules; with a shared bus those of the bus and of other ranks count as the rank's
SHARED = ("rank", "bankgroup", "channel", "other_ranks")


class Stalls:
    """Gives each clock of a rank its cause."""

    def __init__(self, rank) -> None:
        self.rank = rank
        self.nRFC = next(
            row.clocks for row in rank.rules.rows["ACT"] if row.level == "rank" and "REF" in row.preceding
        )
        self.counting = True  # from clock 0 on, or the start of the batch after a reset
        self.drained = False  # the last instruction of a packet that was popped closed a batch
        self.judged = ""  # cause of this clock, if the rank issues no command for an entry in it
        self.decodes = False
        self.causes: list[str] = []  # clock by clock, counted or not

    # -- what is counted
    def reset(self) -> None:
        self.counting = False
        for cause in CAUSES:
            self.rank.counters[f"clocks_{cause}"] = 0

    def drain(self, clocks: int) -> None:
        """Clocks after the end of the channel's last batch."""
        self.rank.counters["clocks_drained"] += clocks

    def judge(self, t: int) -> None:
        """Before clock t."""
        if t % self.rank.options.divider:
            return  # the cause is that of the clock in which the unit worked last
        self.decodes = self.will_decode(t)
        self.judged = self.cause_without_command(t)

    def count(self, t: int) -> None:
        """After clock t."""
        if t % self.rank.options.divider:
            self.add(self.causes[-1])
            return
        issued_at, command = self.rank.last_command
        popped = self.rank.popped is not None and self.rank.popped[0] == t
        assert popped == self.decodes
        cause = "working" if issued_at == t and command in ("ACT", "PRE", "RD") else self.judged
        if popped and self.rank.popped[1].kind != "HOST_READ":
            self.drained = self.rank.popped[1].closes_batch
        self.add(cause)

    def add(self, cause: str) -> None:
        self.causes.append(cause)
        if self.counting:
            self.rank.counters[f"clocks_{cause}"] += 1

    # -- the table from its second row on
    def cause_without_command(self, t: int) -> str:
        if self.is_refreshing(t):
            return "refresh"
        wanting = [entry for entry in self.rank.window if entry.wants(t)]
        if wanting:
            return self.why_oldest_waits(wanting[0], t)
        if self.decodes or any(line.unprobed(t) for entry in self.rank.window for line in entry.lines):
            return "working"
        head = self.head(t)
        if head is not None:
            return "result_full" if head.kind == "CONFIG" else "datapath_full"
        return "drained" if self.drained else "no_instruction"

    def is_refreshing(self, t: int) -> bool:
        return self.rank.refresh_is_due(t) or 1 <= t - self.rank.last_refresh <= self.nRFC - 1

    def why_oldest_waits(self, entry: Entry, t: int) -> str:
        row = self.rank.open.get(entry.bank)
        if row is None:
            shared, bank = self.allowed_from("ACT", SHARED, entry), self.allowed_from("ACT", OWN_BANK, entry)
            if shared > t:
                return "faw_rrd"
            if bank > t:
                return "bank_timing"
            # it goes, unless another rank has the bus; of two rules that ended at once, the first in the table
            return "faw_rrd" if shared >= bank else "bank_timing"
        if row != entry.instruction.row:
            return "bank_timing"
        return "bank_timing" if self.allowed_from("RD", OWN_BANK, entry) > t else "ccd"

    def allowed_from(self, command: str, levels: tuple[str, ...], entry: Entry) -> int:
        """The first clock that all rules of these levels allow."""
        bounds = self.rank.rules.bounds(command, self.rank.number, *entry.bank)
        return max((clk for level, clk in bounds if level in levels), default=-NEVER)

    # -- decoder
    def head(self, t: int):
        fifo = self.rank.fifo
        return fifo[0][1] if fifo and fifo[0][0] <= t else None

    def will_decode(self, t: int) -> bool:
        head = self.head(t)
        if head is None:
            return False
        if head.kind in ("LOOKUP", "HOST_READ"):
            return sum(entry.room > t for entry in self.rank.window) < self.rank.options.window
        return head.kind == "END" or not self.rank.done(head.packet.group, t)
