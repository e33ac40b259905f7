"""RankCache of every rank of one channel: its port, which each clock does a fill or a probe, and what waits for fills.

The page is docs/microarchitecture.md, section 4, "RankCache"; tags and policies are in cache_sets. Entries are probed
in the order in which they were decoded, so a ring holds those that have unprobed lines.
"""

cimport cython

import numpy as np

from libc.stdint cimport int32_t, int64_t

from .cache_sets cimport CacheSets
from .rank_window cimport RankWindow
from .window_entries cimport LINES

cdef Port _port[1]
cdef Waiting _waiting[1]


@cython.final
cdef class RankCache:
    """The RankCaches of the ranks of `window`, empty at first.

    sets, ways, policy: of each (kernels/cache_sets). rows, columns: DRAM rows of a bank and bursts of a row, which
    number the lines of a rank. flushed: emptied before each batch.
    """

    def __init__(
        self, RankWindow window, int64_t sets, int ways, str policy, int64_t rows, int64_t columns, bint flushed,
    ):
        cdef int r
        self.window = window
        self.operands = window.operands
        self.rows = rows
        self.columns = columns
        self.flushed = flushed
        if window.ranks > RANKS:
            raise ValueError(f"{window.ranks} ranks, at most {RANKS} are possible")
        self.caches = tuple(CacheSets(sets, ways, policy) for _ in range(window.ranks))
        for r in range(window.ranks):
            self.cache[r] = <void*>self.caches[r]
        cdef int places = window.ranks * window.entries.size
        cdef Port[::1] port = np.zeros(window.ranks, np.asarray(<Port[:1]>_port).dtype)
        cdef int32_t[::1] unprobed = np.zeros(places, np.int32)
        cdef Waiting[::1] waiting = np.zeros(LINES * places, np.asarray(<Waiting[:1]>_waiting).dtype)
        self.kept = (port.base, unprobed.base, waiting.base)
        self.port, self.unprobed, self.waiting = &port[0], &unprobed[0], &waiting[0]

    def start_batch(self, int64_t clk):
        """Empty the ways whose line is not awaited, if caches are flushed; clk: the batch's first clock."""
        cdef int r
        if not self.flushed:
            return
        for r in range(self.window.ranks):
            fill_before(self, r, clk)
            self.caches[r].empty()
