# The RankCaches of one channel: prober and fill (docs/microarchitecture.md, section 4).

from libc.stdint cimport int32_t, int64_t

from .operand_path cimport OperandPath
from .rank_window cimport RankWindow

cdef enum:
    RANKS = 64

# A line that waits for a way.
cdef struct Waiting:
    int32_t slot
    int32_t place
    int32_t line

cdef struct Port:
    int32_t unprobed_head, unprobed_count  # of the ring of entries with unprobed lines, in order of decoding
    int32_t waiting  # number of lines
    int64_t look  # the port has nothing to do before that anyone could see

cdef class RankCache:
    cdef readonly RankWindow window
    cdef readonly OperandPath operands
    cdef readonly bint flushed  # before each batch
    cdef int64_t rows, columns
    cdef readonly tuple caches  # a CacheSets a rank
    cdef void* cache[RANKS]  # the same
    cdef Port[::1] port
    cdef int32_t[:, ::1] unprobed
    cdef Waiting[:, ::1] waiting
    cdef int64_t[:, ::1] counters

    cdef void enter(self, int r, int place) noexcept nogil
    cdef void step(self, int r, int64_t clk) noexcept nogil
    cdef void fill_before(self, int r, int64_t clk) noexcept nogil
    cdef void bring(self, int r, int slot, int64_t clk) noexcept nogil
    cdef void look_up(self, int r, int64_t clk) noexcept nogil
    cdef int64_t next_clk(self, int r, int64_t clk) noexcept nogil
