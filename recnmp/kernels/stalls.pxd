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
    int64_t held_until  # clocks before this one have the cause `held`: that of the clock that was stepped last
    int64_t known  # likewise, of a clock that is being stepped
    int held
    bint over  # the instruction that was popped last ended a batch
    # when the clock that is being stepped began:
    int64_t commands  # for entries
    int64_t refreshes
    int64_t visible  # clock from which the FIFO's head is
    int head
    bint was_over
    bint idle  # no line was wanted

cdef class Stalls:
    cdef readonly RankWindow window
    cdef int divider
    cdef Account[::1] account
    cdef int64_t[:, ::1] clocks

    cdef void drain(self, int r, int64_t clk) noexcept nogil
    cdef void begin(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil
    cdef void end(self, int r, int64_t clk, bint moved) noexcept nogil
    cdef void until(self, int r, int64_t clk, int head, int64_t visible) noexcept nogil
    cdef int cause(self, int r, int64_t clk, bint idle, int fresh, int head, int64_t visible, bint over,
                   int64_t* holds) noexcept nogil
    cdef int64_t commands(self, int r) noexcept nogil
