"""Why the ranks of a channel do not work: each clock of a rank is counted under exactly one cause (D18).

The page is docs/microarchitecture.md, section 9. Nothing here changes what a rank does. Between two clocks on which a
rank is stepped its state stands still, so that a cause changes only where a rule or a refresh comes to its clock:
clocks in between are counted in a few pieces.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from .dram cimport ACT, CLOSED, N_COMMANDS, PREA, RD, rank_earliest
from .rank_window cimport Bank, Window
from .vocabulary cimport NEVER
from .window_entries cimport ACTIVATES, PRECHARGES, READS, REFRESHES

CAUSES = (
    "working", "refresh", "faw_rrd", "bank_timing", "ccd", "datapath_full", "result_full", "no_instruction", "drained",
)

cdef Account _account[1]

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctzll(x)
    """
    int lowest_bit(uint64_t x) nogil


@cython.final
cdef class Stalls:
    """The accounts of all ranks of `window`.

    divider: clocks between two on which the logic of the units works (D1); the clocks from one to the next have one cause.
    """

    def __init__(self, window, int divider=1):
        self.window = window
        self.divider = divider
        self.account = np.zeros(self.window.ranks, np.asarray(<Account[:1]>_account).dtype)
        self.clocks = np.zeros((self.window.ranks, N_CAUSES), np.int64)

    def counts(self):
        """int64 [ranks, len(CAUSES)], a copy: clocks by cause."""
        return np.asarray(self.clocks).copy()

    def start(self, int64_t clk):
        """Forget what was counted, and count from clk on."""
        cdef int r
        self.clocks[:, :] = 0
        for r in range(self.window.ranks):
            self.account[r].since = clk
            self.account[r].held_until = 0

    cdef void begin(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil:
        """The rank is about to be stepped in clk; head: what its FIFO begins with, and the clock from which it is visible."""
        cdef Account* account = &self.account[r]
        cdef int64_t holds = 0
        self.until(r, clk, head, visible)
        account.held = self.cause(r, clk, head, visible, &holds)
        account.commands = self.commands(r)
        account.refreshes = self.window.counters[r, REFRESHES]

    cdef void end(self, int r, int64_t clk, bint moved) noexcept nogil:
        """It was stepped. moved: an instruction was decoded, or lines were unprobed when the clock began."""
        cdef Account* account = &self.account[r]
        if self.commands(r) != account.commands:
            account.held = WORKING
        elif moved and account.held >= DATAPATH_FULL:
            account.held = WORKING
        if self.window.counters[r, REFRESHES] != account.refreshes:
            # nothing but tRFC holds PREA back when a REFab has just gone
            account.refreshed = rank_earliest(self.window.device, PREA, r)
        account.held_until = clk + self.divider

    cdef void until(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil:
        """Count the clocks before clk, through which the rank's state stood still."""
        cdef Account* account = &self.account[r]
        cdef int64_t at = account.since, unit, then, holds = 0
        cdef int cause
        if at < account.held_until and at < clk:
            then = min(account.held_until, clk)
            self.clocks[r, account.held] += then - at
            at = then
        while at < clk:
            unit = at - at % self.divider
            cause = self.cause(r, unit, head, visible, &holds)
            then = holds + self.divider - 1
            then = min(clk, then - then % self.divider)
            self.clocks[r, cause] += then - at
            at = then
        account.since = max(account.since, clk)

    cdef int64_t commands(self, int r) noexcept nogil:
        cdef int64_t* count = &self.window.counters[r, 0]
        return count[ACTIVATES] + count[PRECHARGES] + count[READS]

    cdef int cause(self, int r, int64_t clk, int head, int64_t visible, int64_t* holds) noexcept nogil:
        """Why no command goes for an entry in clk, from the state as it stands, and the clock until which that is why."""
        cdef Account* account = &self.account[r]
        cdef Window* window = &self.window.window[r]
        cdef uint64_t banks = window.reads | window.activates | window.precharges
        cdef int64_t age = NEVER, by_bank, others
        cdef int b, oldest = 0, command
        cdef Bank* bank
        if clk >= window.refresh_due:
            holds[0] = NEVER
            return REFRESHING
        if clk < account.refreshed:
            holds[0] = account.refreshed
            return REFRESHING
        holds[0] = window.refresh_due
        if banks == 0:
            if head == NOTHING or visible > clk:
                if head != NOTHING:
                    holds[0] = min(holds[0], visible)
                return DRAINED if account.over else NO_INSTRUCTION
            return DATAPATH_FULL if head == A_LOOKUP else RESULT_FULL
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            bank = &self.window.bank[r, b]
            if self.window.entry[r, bank.first].age < age:
                age = self.window.entry[r, bank.first].age
                oldest = b
        bank = &self.window.bank[r, oldest]
        if window.precharges >> oldest & 1:
            return BANK_TIMING
        command = ACT if window.activates >> oldest & 1 else RD
        if command == RD and bank.candidate != bank.first:
            return BANK_TIMING  # the open row is one that a younger entry wants
        by_bank = self.window.by_bank[(r * self.window.banks + oldest) * N_COMMANDS + command]
        others = max(
            rank_earliest(self.window.device, command, r), self.window.by_group[bank.group * N_COMMANDS + command]
        )
        if command == ACT:
            if clk < others or by_bank <= clk:
                if others > clk:
                    holds[0] = min(holds[0], others)
                return FAW_RRD if clk < others or others >= by_bank else BANK_TIMING
            holds[0] = min(holds[0], by_bank)
            return BANK_TIMING
        if clk < by_bank:
            holds[0] = min(holds[0], by_bank)
            return BANK_TIMING
        return CCD
