"""DIMM-NMP: adder tree over the ranks of a DIMM, and its result buffer, for every DIMM of one channel.

The page is docs/microarchitecture.md, section 5. What is kept here is when results become ready and which bursts
they are; the sums themselves follow from the order of operands (recnmp/kernels/sums.pyx).
"""

cimport cython

import numpy as np

from .rank_nmp cimport RankNmp
from .vocabulary cimport GROUPS, NEVER

cdef enum:
    TREE_BURSTS, TREE_ADDS  # additions of elements
    N_DIMM_COUNTERS

DIMM_COUNTERS = ("tree_bursts", "tree_adds")

cdef Dimm _dimm[1]


@cython.final
cdef class DimmNmp:
    """All DIMM-NMPs of one channel.

    groups: tag groups in use. adder_clocks: latency of one FP32 adder; the tree has ceil(log2 ranks) of them in a row.
    """

    def __init__(self, RankNmp ranks, int groups, int64_t adder_clocks):
        cdef int d, g, levels = 0
        self.ranks = ranks
        self.ranks_per_dimm = ranks.ranks_per_dimm
        self.dimms = ranks.ranks // ranks.ranks_per_dimm
        self.tags_per_group = ranks.tags_per_group
        self.groups = groups
        while 1 << levels < self.ranks_per_dimm:
            levels += 1
        self.divider = ranks.operands.divider
        self.tree_clocks = levels * adder_clocks
        self.dimm = np.zeros(self.dimms, np.asarray(<Dimm[:1]>_dimm).dtype)
        self.counters = np.zeros(N_DIMM_COUNTERS, np.int64)
        for d in range(self.dimms):
            self.dimm[d].next_clk = NEVER
            for g in range(GROUPS):
                self.dimm[d].ready[g] = NEVER

    def counts(self):
        """int64 [len(DIMM_COUNTERS)], a copy."""
        return np.asarray(self.counters).copy()

    def reset_counts(self):
        """Counters to zero; the machine's state stays."""
        self.counters[:] = 0

    def step(self, int d, int64_t[::1] packet_of, int64_t clk, int sent=0):
        """One clock of DIMM d alone, for lockstep.

        packet_of: the packet of each tag group (int64 [GROUPS]); sent: a bit a group whose results the channel begins
        to take in this clock. Returns a bit a group whose results are visible as ready on the next clock.
        """
        cdef int g, ready = 0
        for g in range(self.groups):
            if sent >> g & 1:
                self.results -= self.dimm[d].ready[g] < NEVER
                self.dimm[d].ready[g] = NEVER
        self.step_dimm(d, &packet_of[0], clk)
        for g in range(self.groups):
            ready |= (self.dimm[d].ready[g] <= clk + 1) << g
        return ready

    cdef int step_dimm(self, int d, int64_t* packet_of, int64_t clk) noexcept nogil:
        """Clear groups that have no result, and start the tree on the oldest packet that has one.

        Returns the group that was started, -1 if none.
        """
        cdef Dimm* dimm = &self.dimm[d]
        cdef int first = d * self.ranks_per_dimm
        cdef int g, r, start = -1, tag, present, inputs, width
        cdef int64_t done, soonest = NEVER, bursts = 0
        for g in range(self.groups):
            done = 0
            present = 0
            for r in range(first, first + self.ranks_per_dimm):
                done = max(done, self.ranks.rank[r].done[g])
                present |= self.ranks.rank[r].valid
            if done > clk:
                soonest = min(soonest, done)
                continue
            if not present & ((1 << self.tags_per_group) - 1) << (g * self.tags_per_group):
                for r in range(first, first + self.ranks_per_dimm):
                    self.ranks.clear_done(r, g, clk)
            elif dimm.tree_free > clk:
                soonest = min(soonest, dimm.tree_free)
            elif start < 0:
                start = g
            else:  # one start a clock, and the tree is busy from then on: look again on the next
                soonest = clk + 1
                if packet_of[g] < packet_of[start]:
                    start = g
        if start >= 0:
            width = self.width(d, start)
            dimm.present[start] = 0
            for tag in range(self.tags_per_group):
                inputs = 0
                for r in range(first, first + self.ranks_per_dimm):
                    inputs += self.ranks.rank[r].valid >> (start * self.tags_per_group + tag) & 1
                if inputs:
                    dimm.present[start] |= 1 << tag
                    bursts += width
                    self.counters[TREE_ADDS] += (inputs - 1) * self.ranks.form[first * GROUPS + start].dim
            self.counters[TREE_BURSTS] += bursts
            dimm.tree_free = clk + bursts * self.divider
            self.results += 1
            dimm.ready[start] = clk + (self.tree_clocks + 1) * self.divider
            for r in range(first, first + self.ranks_per_dimm):
                self.ranks.clear_done(r, start, clk)
        dimm.next_clk = soonest
        return start

    cdef int width(self, int d, int group) noexcept nogil:
        """Element groups of the group's vectors."""
        return (self.ranks.form[d * self.ranks_per_dimm * GROUPS + group].dim + 15) // 16
