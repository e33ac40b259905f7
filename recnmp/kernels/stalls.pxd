# What each clock of each rank went to (docs/microarchitecture.md, section 9).

from libc.stdint cimport int64_t

from .rank_window cimport RankWindow

cdef enum:  # in the order of CAUSES
    WORKING, REFRESHING, FAW_RRD, BANK_TIMING, CCD, DATAPATH_FULL, RESULT_FULL, NO_INSTRUCTION, DRAINED
    N_CAUSES

cdef enum:  # what stands visible at the head of a FIFO
    NOTHING, A_LOOKUP, ANOTHER

cdef struct Account:
    int64_t since  # clocks before are counted
    int64_t refreshed  # the last REFab keeps the rank until this clock
    int64_t held_until  # clocks before this one have the cause of the clock that was stepped last
    int64_t commands  # for entries, when a clock began
    int64_t refreshes  # likewise
    int held
    bint over  # the instruction that was popped last ended a batch

cdef class Stalls:
    cdef readonly RankWindow window
    cdef int divider
    cdef Account[::1] account
    cdef int64_t[:, ::1] clocks

    cdef void begin(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil
    cdef void end(self, int r, int64_t clk, bint moved) noexcept nogil
    cdef void until(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil
    cdef int cause(self, int r, int64_t clk, int head, int64_t visible, int64_t* holds) noexcept nogil
    cdef int64_t commands(self, int r) noexcept nogil
