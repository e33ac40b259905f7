# One channel: all its blocks, and the only clock (docs/microarchitecture.md).

from libc.stdint cimport int64_t

from .host_bus cimport HostBus

cdef class Channel(HostBus):
    cdef readonly int64_t now  # the next clock to run

    cdef int64_t run_clocks(self, bint skip, bint drain, int64_t steps) noexcept nogil
    cdef bint has_room(self) noexcept nogil
    cdef bint finished(self, bint drain) noexcept nogil
    cdef void step_clock(self, int64_t clk, bint skip, bint drain) noexcept nogil
