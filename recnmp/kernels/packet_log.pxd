# The packets that are over, in the order in which their last result crossed.

from libc.stdint cimport int64_t

from .window_entries cimport MET_KINDS

cdef enum:  # in the order of PACKET_COLUMNS
    PACKET, CONFIG_CLK, CROSSED_CLK, FIRST_MET
    MOST_LINES = FIRST_MET + MET_KINDS
    N_PACKET_COLUMNS

cdef class PacketLog:
    cdef int64_t[:, ::1] lines
    cdef int64_t count

    cdef void add(
        self, int64_t packet, int64_t config_clk, int64_t crossed_clk, int64_t[:, :, ::1] met, int group,
    ) noexcept nogil
