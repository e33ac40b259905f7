# The DIMM-NMPs of one channel: adder tree and result buffer (docs/microarchitecture.md, section 5).

from libc.stdint cimport int32_t, int64_t

from .rank_nmp cimport RankNmp
from .vocabulary cimport GROUPS, NEVER

cdef struct Dimm:
    int64_t next_clk  # nothing can happen in this DIMM before
    int64_t tree_free
    int64_t ready[GROUPS]  # first clock on which the group's results are visible as ready, NEVER if none
    int32_t present[GROUPS]  # a bit a tag that has a result, without the group's base

cdef class DimmNmp:
    cdef readonly int dimms, ranks_per_dimm, tags_per_group, groups
    cdef readonly RankNmp ranks
    cdef int64_t tree_clocks, divider
    cdef Dimm[::1] dimm
    cdef int results  # packets in DIMMs whose results are ready, or will be on a known clock
    cdef int64_t[::1] counters

    cdef int step_dimm(self, int d, int64_t* packet_of, int64_t clk) noexcept nogil
    cdef int width(self, int d, int group) noexcept nogil


cdef inline int64_t next_event(DimmNmp dimms) noexcept nogil:
    """The next clock on which a DIMM or a rank says that something can happen."""
    cdef int64_t clk = NEVER
    cdef int i
    for i in range(dimms.ranks.ranks):
        clk = min(clk, dimms.ranks.rank[i].next_clk)
    for i in range(dimms.dimms):
        clk = min(clk, dimms.dimm[i].next_clk)
    return clk
