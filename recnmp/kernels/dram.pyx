"""DRAM timing tables made from the rule rows, and the state of a channel's banks.

Two verbs: `earliest(command, place)` asks, `issue(command, place, row, clk)` changes. dram.pxd has them as
inline C functions for the other kernels; here are the Python forms, used by tests and tools.
"""

from itertools import product

import numpy as np

# where a rule of each level is kept
LEVELS = {
    "channel": (RANK, OTHER_RANKS),
    "rank": (RANK,),
    "other_ranks": (OTHER_RANKS,),
    "bankgroup": (BANKGROUP,),
    "bank": (BANK,),
}
COMMANDS = tuple(command.name for command in Command)
WHOLE_RANK = ("PREA", "REF")

# before any command: earlier than any clock, far from overflow when clocks are added
NEVER = -(2**62)


cdef class TimingTable:
    """Gaps by level and preceding command, from any rows with the attributes of `recnmp.timing.Rule`.

    Of several rows for the same level and commands the longest binds. A window above 1 is known for ACT
    after ACT in a rank only (the four-activate window); ValueError for any other, and for a bank or bank
    group row that names a command of a whole rank.
    `commands` keeps only rows between these: a controller that never issues RDA need not wait for it.
    """

    def __init__(self, rows, commands=COMMANDS):
        gaps = {}
        for row in rows:
            if row.level not in LEVELS:
                raise ValueError(f"rule {row.name!r}: level {row.level!r} is none of {', '.join(LEVELS)}")
            if row.level in ("bankgroup", "bank") and {*row.preceding, *row.following} & {*WHOLE_RANK}:
                raise ValueError(f"rule {row.name!r}: {WHOLE_RANK} act on a rank, not on a {row.level}")
            if row.window != 1:
                self._add_window(row)
                continue
            for level, preceding, following in product(LEVELS[row.level], row.preceding, row.following):
                if preceding in commands and following in commands:
                    key = (level, COMMANDS.index(preceding), COMMANDS.index(following))
                    gaps[key] = max(row.clocks, gaps.get(key, row.clocks))
        for (level, preceding, following), clocks in sorted(gaps.items()):
            self._add_wait(level, preceding, following, clocks)

    def _add_window(self, row):
        if (row.level, tuple(row.preceding), tuple(row.following)) != ("rank", ("ACT",), ("ACT",)):
            raise ValueError(f"rule {row.name!r}: a window of {row.window} is known for ACT in a rank only")
        if row.window < 1 or self.window:
            raise ValueError(f"rule {row.name!r}: one ACT window of at least 1, not {row.window}")
        self.window = row.window
        self.window_clocks = row.clocks

    cdef int64_t longest_wait(self):
        """Clocks that no wait is longer than, nor a chain of waits for different commands: their sum."""
        cdef int level, preceding, i
        cdef int64_t clocks = max(self.window_clocks, 0)
        for level in range(N_LEVELS):
            for preceding in range(N_COMMANDS):
                for i in range(self.waits[level][preceding].count):
                    clocks += max(self.waits[level][preceding].wait[i].clocks, 0)
        return clocks

    cdef void _add_wait(self, int level, int preceding, int following, int64_t clocks):
        cdef Waits* waits = &self.waits[level][preceding]
        waits.wait[waits.count].following = following
        waits.wait[waits.count].clocks = clocks
        waits.count += 1


cdef class Device:
    """Banks of a channel (or of a rank in a DIMM), and when each command is next legal at each place.

    `table` is a TimingTable; `ranks`, `bankgroups` a rank and `banks` a bank group are at least 1. All banks
    start closed, with no rule pending. `ranks_per_bus` consecutive ranks share command and data pins (all of
    them if 0): rows of level channel and other ranks bind among those only.
    """

    def __init__(self, TimingTable table, int ranks, int bankgroups, int banks, int ranks_per_bus=0):
        if ranks < 1 or bankgroups < 1 or banks < 1:
            raise ValueError(f"ranks {ranks}, bankgroups {bankgroups}, banks {banks}: each is at least 1")
        self.table = table
        self.ranks, self.bankgroups, self.banks = ranks, bankgroups, banks
        self.ranks_per_bus = ranks_per_bus or ranks
        if ranks % self.ranks_per_bus:
            raise ValueError(f"{ranks} ranks do not fill buses of {ranks_per_bus}")
        self.bus_start = np.arange(ranks, dtype=np.int32) // self.ranks_per_bus * self.ranks_per_bus
        groups = ranks * bankgroups
        self.by_rank = np.full(ranks * N_COMMANDS, NEVER, np.int64)
        self.by_group = np.full(groups * N_COMMANDS, NEVER, np.int64)
        self.by_bank = np.full(groups * banks * N_COMMANDS, NEVER, np.int64)
        self.recent_acts = np.full(ranks * max(table.window, 1), NEVER, np.int64)
        self.oldest_act = np.zeros(ranks, np.int32)
        self.open_row = np.full(groups * banks, CLOSED, np.int32)
        self.open_banks = np.zeros(ranks, np.int32)

    def _place(self, command, rank, bankgroup, bank):
        for name, value, limit in (
            ("command", command, N_COMMANDS),
            ("rank", rank, self.ranks),
            ("bankgroup", bankgroup, self.bankgroups),
            ("bank", bank, self.banks),
        ):
            if not 0 <= value < limit:
                raise ValueError(f"{name} {value} is outside 0 to {limit - 1}")
        group = rank * self.bankgroups + bankgroup
        return group, group * self.banks + bank

    def earliest(self, int command, int rank, int bankgroup=0, int bank=0):
        """First clock at which the rules allow `command` at a place; negative if no command bears on it."""
        group, flat = self._place(command, rank, bankgroup, bank)
        return earliest(self, command, rank, group, flat)

    def issue(self, int command, int rank, int bankgroup, int bank, int row, int64_t clk):
        """Record `command` at clock `clk`; `row` matters to ACT only. Legality is the caller's."""
        group, flat = self._place(command, rank, bankgroup, bank)
        issue(self, command, rank, group, flat, row, clk)

    def row(self, int rank, int bankgroup, int bank):
        """The open row of a bank, -1 if it is closed."""
        cdef int flat
        _, flat = self._place(ACT, rank, bankgroup, bank)
        return self.open_row[flat]
