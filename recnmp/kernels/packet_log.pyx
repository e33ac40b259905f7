"""The packets that are over: their clocks, and what their lines met in the ranks."""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

PACKET_COLUMNS = ("packet", "config_clk", "crossed_clk", "hits", "secondary_hits", "misses", "bypasses", "most_lines")


@cython.final
cdef class PacketLog:
    """Rows int64 [len(PACKET_COLUMNS)] in the order in which packets end."""

    def __init__(self):
        self.lines = np.zeros((0, N_PACKET_COLUMNS), np.int64)
        self.count = 0

    def make_room(self, int64_t packets):
        """For so many more than there are."""
        waiting = self.take()
        self.lines = np.zeros((len(waiting) + packets, N_PACKET_COLUMNS), np.int64)
        np.asarray(self.lines)[: len(waiting)] = waiting
        self.count = len(waiting)

    def take(self):
        """int64 [n, len(PACKET_COLUMNS)]: those since the last call.

        packet, clock of its CONFIG, clock at which its last result had crossed; lines of all ranks by what they met
        (hits, secondary hits, misses, bypasses); lines of the rank that had most.
        """
        finished = np.asarray(self.lines)[: self.count].copy()
        self.count = 0
        return finished

    cdef void add(
        self, int64_t packet, int64_t config_clk, int64_t crossed_clk, int64_t[:, :, ::1] met, int group,
    ) noexcept nogil:
        """A packet is over: what the lines of its tag group met, by rank, is added up and forgotten."""
        cdef int64_t* line = &self.lines[self.count, 0]
        cdef int64_t of_rank, most = 0
        cdef int r, kind
        line[PACKET] = packet
        line[CONFIG_CLK] = config_clk
        line[CROSSED_CLK] = crossed_clk
        for kind in range(MET_KINDS):
            line[FIRST_MET + kind] = 0
        for r in range(met.shape[0]):
            of_rank = 0
            for kind in range(MET_KINDS):
                of_rank += met[r, group, kind]
                line[FIRST_MET + kind] += met[r, group, kind]
                met[r, group, kind] = 0
            most = max(most, of_rank)
        line[MOST_LINES] = most
        self.count += 1
