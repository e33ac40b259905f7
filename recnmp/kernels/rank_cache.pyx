"""RankCache of every rank of one channel: its port, which each clock does a fill or a probe, and what waits for fills.

The page is docs/microarchitecture.md, section 4, "RankCache"; tags and policies are in cache_sets. Entries are probed
in the order in which they were decoded, so a ring holds those that have unprobed lines.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t, uint32_t

from .cache_sets cimport NO_WAY, CacheSets, arrive, fill, is_pending, probe, set_of, touch, victim
from .operand_path cimport Fill, Path
from .rank_window cimport RankWindow
from .vocabulary cimport NEVER
from .window_entries cimport (
    CACHE_BYPASSES, CACHE_HITS, CACHE_MISSES, CACHE_SECONDARY_HITS, LINES, MET_BYPASS, MET_HIT, MET_MISS,
    MET_SECONDARY_HIT, NONE, SLOT_WAYS, Entry, column_of,
)

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
        self.counters = window.entries.counters
        if window.ranks > RANKS:
            raise ValueError(f"{window.ranks} ranks, at most {RANKS} are possible")
        self.caches = tuple(CacheSets(sets, ways, policy) for _ in range(window.ranks))
        for r in range(window.ranks):
            self.cache[r] = <void*>self.caches[r]
        self.port = np.zeros(window.ranks, np.asarray(<Port[:1]>_port).dtype)
        self.unprobed = np.zeros((window.ranks, window.entries.size), np.int32)
        self.waiting = np.zeros((window.ranks, LINES * window.entries.size), np.asarray(<Waiting[:1]>_waiting).dtype)

    def start_batch(self, int64_t clk):
        """Empty the ways whose line is not awaited, if caches are flushed; clk: the batch's first clock."""
        cdef int r
        if not self.flushed:
            return
        for r in range(self.window.ranks):
            self.fill_before(r, clk)
            self.caches[r].empty()

    cdef void enter(self, int r, int place) noexcept nogil:
        """An entry that was decoded in this clock has unprobed lines, visible on the next."""
        cdef Port* port = &self.port[r]
        cdef int last = port.unprobed_head + port.unprobed_count
        cdef int size = self.window.entries.size
        self.unprobed[r, last if last < size else last - size] = place
        port.unprobed_count += 1

    cdef void step(self, int r, int64_t clk) noexcept nogil:
        """The port's access in clk: a fill, else a probe."""
        cdef Path* path = &self.operands.path[r]
        cdef int slot
        self.fill_before(r, clk)
        if path.fill_count and self.operands.fill[r, path.fill_head].clk == clk:
            slot = self.operands.fill[r, path.fill_head].slot
            self.fill_before(r, clk + 1)
            if self.port[r].waiting:
                self.bring(r, slot, clk)
        elif self.port[r].unprobed_count:
            self.look_up(r, clk)

    cdef void fill_before(self, int r, int64_t clk) noexcept nogil:
        """The fills of all clocks before clk that were not made yet."""
        cdef Path* path = &self.operands.path[r]
        cdef Fill* first
        while path.fill_count and self.operands.fill[r, path.fill_head].clk < clk:
            first = &self.operands.fill[r, path.fill_head]
            path.fill_head = path.fill_head + 1 if path.fill_head + 1 < self.operands.ring else 0
            path.fill_count -= 1
            arrive(<CacheSets>self.cache[r], first.slot // <uint32_t>SLOT_WAYS, first.slot % <uint32_t>SLOT_WAYS)

    cdef void bring(self, int r, int slot, int64_t clk) noexcept nogil:
        """A way is filled in clk: the lines that wait for it are here, visible on the next clock."""
        cdef Port* port = &self.port[r]
        cdef Waiting* line
        cdef int i, kept = 0
        for i in range(port.waiting):
            line = &self.waiting[r, i]
            if line.slot == slot:
                self.operands.lay(r, line.place, line.line, clk + 1)
            else:
                self.waiting[r, kept] = line[0]
                kept += 1
        port.waiting = kept

    cdef void look_up(self, int r, int64_t clk) noexcept nogil:
        """Probe the first unprobed line of the oldest entry that has one; others see its state on the next clock."""
        cdef Port* port = &self.port[r]
        cdef int place = self.unprobed[r, port.unprobed_head]
        cdef Entry* entry = &self.window.entry[r, place]
        cdef int line = entry.probed, way
        cdef int64_t number = (entry.bank * self.rows + entry.instruction.row) * self.columns
        cdef int64_t at
        cdef int64_t* met = &self.window.entries.met[r, entry.instruction.group, 0]
        number += entry.instruction.column + column_of(entry, line)
        at = set_of(<CacheSets>self.cache[r], number)
        way = probe(<CacheSets>self.cache[r], at, number)
        entry.probed += 1
        if way != NO_WAY:
            touch(<CacheSets>self.cache[r], at, way)
            if is_pending(<CacheSets>self.cache[r], at, way):
                self.counters[r, CACHE_SECONDARY_HITS] += 1
                met[MET_SECONDARY_HIT] += 1
                self.waiting[r, port.waiting].slot = at * SLOT_WAYS + way
                self.waiting[r, port.waiting].place = place
                self.waiting[r, port.waiting].line = line
                port.waiting += 1
            else:
                self.counters[r, CACHE_HITS] += 1
                met[MET_HIT] += 1
                self.operands.lay(r, place, line, clk + 1)
        else:
            way = victim(<CacheSets>self.cache[r], at)
            if way != NO_WAY:
                self.counters[r, CACHE_MISSES] += 1
                met[MET_MISS] += 1
                fill(<CacheSets>self.cache[r], at, way, number, True)
                entry.slot[line] = at * SLOT_WAYS + way
            else:
                self.counters[r, CACHE_BYPASSES] += 1
                met[MET_BYPASS] += 1
                entry.slot[line] = NONE
            self.window.want(r, place, 1 << line, clk)
        if entry.probed == entry.instruction.bursts:
            port.unprobed_head = port.unprobed_head + 1 if port.unprobed_head + 1 < self.window.entries.size else 0
            port.unprobed_count -= 1
            if entry.wanted == 0:
                self.window.settle(r, entry, place)

    cdef int64_t next_clk(self, int r, int64_t clk) noexcept nogil:
        """The next clock on which the port has something to do that anyone could see.

        A fill for which no line waits is none: it is made up for before the next probe, which finds it in time.
        """
        if self.port[r].unprobed_count:
            return clk + 1
        if self.port[r].waiting and self.operands.path[r].fill_count:
            return self.operands.fill[r, self.operands.path[r].fill_head].clk
        return NEVER
