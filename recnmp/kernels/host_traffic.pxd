# Host traffic of one channel: its reads, and the DIMMs' host buffers (docs/microarchitecture.md, section 3).

from libc.stdint cimport int32_t, int64_t, uint64_t

from .vocabulary cimport Instruction

cdef enum:
    HOST_BUFFER = 16  # lines of a DIMM's host buffer

# A line that was read, on its way into the host buffer or in it.
cdef struct HostLine:
    int64_t read  # its number
    int64_t ready  # first clock on which it is visible as ready

cdef class HostTraffic:
    cdef readonly int rate, dimms, ranks_per_dimm
    cdef uint64_t clock_state, place_state
    cdef int bankgroups, banks
    cdef int64_t columns, lines
    # the host's queue: reads next_read to seen - 1, and more that nobody has looked for yet
    cdef int64_t next_read  # the oldest that was not sent
    cdef int64_t next_arrival  # its clock
    cdef int64_t seen
    cdef Instruction instruction  # of the oldest
    # the DIMMs' host buffers
    cdef int32_t[::1] free_places
    cdef HostLine[:, ::1] line
    cdef int32_t[::1] held
    cdef int64_t news  # first clock on which a line is ready that the channel does not know of, NEVER if there is none
    # what is counted
    cdef int64_t[::1] counters
    cdef int64_t[::1] histogram
    cdef bint logging
    cdef int64_t[:, ::1] log
    cdef int64_t n_log

    cdef int64_t arrival(self, int64_t read) noexcept nogil
    cdef void look_ahead(self, int64_t clk) noexcept nogil
    cdef void make_instruction(self) noexcept nogil
    cdef bint may_go(self, int64_t clk) noexcept nogil
    cdef void go(self, int64_t clk) noexcept nogil
    cdef void land(self, int rank, int64_t read, int64_t ready) noexcept nogil
    cdef int dimm_to_send(self, int64_t clk, int last_user, int64_t* soonest) noexcept nogil
    cdef int64_t send_lines(self, int d, int64_t clk, int64_t burst_clocks) noexcept nogil
    cdef void count(self, int64_t read, int64_t crossed) noexcept nogil
    cdef void note(self, int64_t clk, int64_t read, bint crossing) noexcept nogil
    cdef bint has_room(self) noexcept nogil
