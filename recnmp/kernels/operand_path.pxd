# From the DRAM and the RankCache into the datapath of each rank (docs/microarchitecture.md, section 4, "Datapath").

from libc.stdint cimport int32_t, int64_t, uint32_t

from .vocabulary cimport Operand
from .window_entries cimport WindowEntries

# A line that an RD brings: in `clk` its transfer ends.
cdef struct Coming:
    int64_t clk
    int32_t place
    int32_t line

# A line that goes into the cache in `clk`.
cdef struct Fill:
    int64_t clk
    uint32_t slot

cdef struct Path:
    int64_t look  # no operand can be taken before
    int64_t register_free  # from this clock on the operand register takes an operand
    int64_t entered  # clock in which the last operand of the entry below entered the pipeline
    int32_t finished  # tag group of an entry whose last operand was taken and that nobody has noticed yet, or NONE
    int32_t first_offering  # chain of entries that offer operands, oldest first
    int32_t coming_head, coming_count
    int32_t fill_head, fill_count

cdef class OperandPath:
    cdef readonly WindowEntries entries
    cdef readonly bint foreseen
    cdef int64_t data_delay, accumulate
    cdef readonly int divider  # the units work on one clock in so many: 1, 2 or 4
    cdef int tags_per_group, ring
    cdef Path[::1] path
    cdef Coming[:, ::1] coming
    cdef Fill[:, ::1] fill
    cdef int64_t[:, ::1] last  # by rank, tag and element group: clock in which the last operand entered
    cdef bint logging
    cdef Operand[::1] operands
    cdef int64_t n_operands

    cdef void come(self, int r, int place, int line, int64_t clk) noexcept nogil
    cdef void lay(self, int r, int place, int line, int64_t visible) noexcept nogil
    cdef void step(self, int r, int64_t clk) noexcept nogil
    cdef void take(self, int r, int place, int i, int64_t clk) noexcept nogil


cdef inline int64_t on_clock(OperandPath path, int64_t clk) noexcept nogil:
    """The first clock not before clk on which the units work."""
    return clk + path.divider - 1 & ~<int64_t>(path.divider - 1)
