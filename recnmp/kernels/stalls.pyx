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
from .window_entries cimport ACTIVATES, NONE, PRECHARGES, READS, REFRESHES, Entry, counters_of

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

    divider: clocks between two on which the logic of the units works (D1); those from one to the next have one cause.
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

    cdef void drain(self, int r, int64_t clk) noexcept nogil:
        """Count the clocks before clk as drained."""
        self.clocks[r, DRAINED] += max(0, clk - self.account[r].since)
        self.account[r].since = max(self.account[r].since, clk)

    cdef void begin(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil:
        """The rank is about to be stepped in clk; head: what its FIFO begins with, visible from clock `visible` on."""
        cdef Account* account = &self.account[r]
        cdef Window* window = &self.window.window[r]
        account.known = -1
        self.until(r, clk, head, visible)
        account.commands = self.commands(r)
        account.refreshes = counters_of(self.window.entries, r)[REFRESHES]
        account.head = head
        account.visible = visible
        account.was_over = account.over
        account.idle = (window.reads | window.activates | window.precharges) == 0
        window.fresh = NONE

    cdef void end(self, int r, int64_t clk, bint moved) noexcept nogil:
        """It was stepped. moved: an instruction was decoded, or lines were unprobed when the clock began.

        Most clocks are told by their command. For the others nothing has changed since the clock began that the cause
        depends on, but that an entry may have come to want lines: it is left out.
        """
        cdef Account* account = &self.account[r]
        cdef int64_t holds = 0
        cdef int cause
        if self.commands(r) != account.commands:
            cause = WORKING
        elif counters_of(self.window.entries, r)[REFRESHES] != account.refreshes:
            cause = REFRESHING
            # nothing but tRFC holds PREA back when a REFab has just gone
            account.refreshed = rank_earliest(self.window.device, PREA, r)
        else:
            if clk < account.known:
                cause = account.held
            else:
                cause = self.cause(r, clk, account.idle, self.window.window[r].fresh, account.head, account.visible,
                                   account.was_over, &holds)
            if moved and cause >= DATAPATH_FULL:
                cause = WORKING
        account.held = cause
        account.held_until = clk + self.divider

    cdef void until(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil:
        """Count the clocks before clk, through which the rank's state stood still."""
        cdef Account* account = &self.account[r]
        cdef Window* window = &self.window.window[r]
        cdef bint idle
        cdef int64_t at = account.since, then, holds = 0
        if at < account.held_until and at < clk:
            then = min(account.held_until, clk)
            self.clocks[r, account.held] += then - at
            at = then
        if at < clk:
            idle = (window.reads | window.activates | window.precharges) == 0
            while at < clk:
                account.held = self.cause(
                    r, at - at % self.divider, idle, NONE, head, visible, account.over, &holds
                )
                then = holds + self.divider - 1
                account.known = then - then % self.divider
                then = min(clk, account.known)
                self.clocks[r, account.held] += then - at
                at = then
        account.since = max(account.since, clk)

    cdef int64_t commands(self, int r) noexcept nogil:
        cdef int64_t* count = counters_of(self.window.entries, r)
        return count[ACTIVATES] + count[PRECHARGES] + count[READS]

    cdef int cause(self, int r, int64_t clk, bint idle, int fresh, int head, int64_t visible, bint over,
                   int64_t* holds) noexcept nogil:
        """Why no command goes for an entry in clk, and the clock until which that stays so.

        idle: no line is wanted. fresh: an entry that does not count as wanting, or NONE.
        """
        cdef Account* account = &self.account[r]
        cdef Window* window = &self.window.window[r]
        cdef uint64_t banks = window.reads | window.activates | window.precharges
        cdef int64_t age = NEVER, by_bank, others
        cdef int b, place, oldest = NONE, command
        cdef Bank* bank = self.window.bank + r * self.window.banks
        cdef Entry* entry = self.window.entries.entry + r * self.window.entries.size
        if clk >= window.refresh_due:
            holds[0] = NEVER
            return REFRESHING
        if clk < account.refreshed:
            holds[0] = account.refreshed
            return REFRESHING
        holds[0] = window.refresh_due
        if idle:
            if head == NOTHING or visible > clk:
                if head != NOTHING:
                    holds[0] = min(holds[0], visible)
                return DRAINED if over else NO_INSTRUCTION
            return DATAPATH_FULL if head == A_LOOKUP else RESULT_FULL
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            place = bank[b].first if bank[b].first != fresh else entry[bank[b].first].next
            if place != NONE and entry[place].age < age:
                age = entry[place].age
                oldest = place
        b = entry[oldest].bank
        command = RD
        if window.open_row[b] == CLOSED:
            command = ACT
        elif window.open_row[b] != entry[oldest].instruction.row:
            return BANK_TIMING
        by_bank = window.by_bank[b * N_COMMANDS + command]
        others = max(
            rank_earliest(self.window.device, command, r), self.window.by_group[bank[b].group * N_COMMANDS + command]
        )
        if command == RD:
            if clk >= by_bank:
                return CCD
            holds[0] = min(holds[0], by_bank)
            return BANK_TIMING
        if clk < others:
            holds[0] = min(holds[0], others)
            return FAW_RRD
        if clk < by_bank:
            holds[0] = min(holds[0], by_bank)
            return BANK_TIMING
        return FAW_RRD if others >= by_bank else BANK_TIMING  # the bus of the DIMM is another rank's
