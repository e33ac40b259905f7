# What the host knows of its credits: when places in the ranks' FIFOs are left (docs/microarchitecture.md, section 3).

from libc.stdint cimport int64_t

from .rank_nmp cimport RankNmp
from .vocabulary cimport NEVER

cdef enum:  # whose credit an instruction waits for, beside the number of a rank
    NOBODYS = -1
    ALL = -2
    ANY = -3


cdef inline int64_t credit_from(RankNmp ranks, int r) noexcept nogil:
    """Clock from which the host has a credit of rank r: the place of the next instruction was left before.

    NEVER + 1 where that is not known yet.
    """
    return ranks.fifo[r * ranks.fifo_depth + ranks.rank[r].fifo_tail].popped + 1


cdef inline int64_t next_credit(RankNmp ranks, int whose, int64_t clk) noexcept nogil:
    """First clock after clk on which the host has a credit for which an instruction waited in clk, as far as known."""
    cdef int64_t credit, first = NEVER
    cdef int r
    if whose >= 0:
        return max(clk + 1, credit_from(ranks, whose))
    if whose == ALL:
        first = clk + 1
    for r in range(ranks.ranks):
        credit = credit_from(ranks, r)
        if whose == ALL:
            first = max(first, credit)
        elif credit > clk:
            first = min(first, credit)
    return first
