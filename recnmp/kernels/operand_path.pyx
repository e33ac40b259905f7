"""Lines, and operands on their way into the datapath of a rank: which is taken, when it enters, what it waits for.

The page is docs/microarchitecture.md: section 4, "Datapath", and section 7 for the operand register and its hazard. A
line is present in the last clock of its transfer, or while it is here, and stays so. So an operand is offered from the
clock in which the last line that it needs is laid until it is taken; entries that offer operands are one chain, the
oldest first. With one register it is known when an operand is taken in which clock it will enter.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .row_form cimport ELEMENTS
from .vocabulary cimport NEVER, TAGS
from .vocabulary import operand_dtype
from .window_entries cimport CACHE_FILLS, HAZARD_CLOCKS, LINES, NONE, OPERANDS, Entry, WindowEntries

cdef Path _path[1]
cdef Coming _coming[1]
cdef Fill _fill[1]

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctz(x)
    """
    int lowest_bit(unsigned int x) nogil


@cython.final
cdef class OperandPath:
    """The way of the lines and operands of `entries` into the datapaths of their ranks.

    data_delay: clocks from RD to the clock after its burst (CL + BL). accumulate: clocks of the adder of the partial
    sums. tags_per_group: P of D6. foreseen: no operand of this machine can ever wait, since there is no cache, each
    line is one operand (`is_by_line`), and bursts are at least `accumulate` clocks apart; then a line is taken, with
    the clock in which that will be, as soon as its RD is issued. divider: the units work on one clock in so many.
    """

    def __init__(self, WindowEntries entries, int64_t data_delay, int64_t accumulate, int tags_per_group,
                 bint foreseen, int divider=1):
        cdef int r
        self.entries = entries
        self.data_delay = data_delay
        self.accumulate = accumulate * divider
        self.divider = divider
        self.tags_per_group = tags_per_group
        self.foreseen = foreseen
        # lines of a window; a fill may still stand when its entry is free already
        self.ring = LINES * entries.size + 1
        self.path = np.zeros(entries.ranks, np.asarray(<Path[:1]>_path).dtype)
        self.coming = np.zeros((entries.ranks, self.ring), np.asarray(<Coming[:1]>_coming).dtype)
        self.fill = np.zeros((entries.ranks, self.ring), np.asarray(<Fill[:1]>_fill).dtype)
        self.last = np.full((entries.ranks, TAGS * OPERANDS), -NEVER, np.int64)
        for r in range(entries.ranks):
            self.path[r].look = NEVER
            self.path[r].finished = NONE
            self.path[r].first_offering = NONE
        self.log_to(False, 0)

    def log_to(self, bint logging, Py_ssize_t operands):
        """Empty the log and make room in it."""
        self.logging = logging
        self.operands = np.zeros(operands if logging else 0, operand_dtype)
        self.n_operands = 0

    def take_log(self):
        """Operands since the last call, in order of the clock in which they entered and of rank; the log is emptied."""
        operands = np.asarray(self.operands)[: self.n_operands]
        self.n_operands = 0
        # they were logged when they were taken, by ranks that go ahead of each other
        return operands[np.lexsort((operands["rank"], operands["clk"]))]

    cdef void come(self, int r, int place, int line, int64_t clk) noexcept nogil:
        """The RD of a line was issued in clk."""
        cdef Path* path = &self.path[r]
        cdef int at
        cdef int slot
        if self.foreseen:
            self.take(r, place, line, on_clock(self, clk + self.data_delay - 1))
            return
        at = path.coming_head + path.coming_count
        at = at if at < self.ring else at - self.ring
        self.coming[r, at].clk = clk + self.data_delay - 1
        self.coming[r, at].place = place
        self.coming[r, at].line = line
        path.coming_count += 1
        path.look = min(path.look, max(path.register_free, clk + self.data_delay - 1))
        slot = self.entries.entry[r, place].slot[line]
        if slot != NONE:
            at = path.fill_head + path.fill_count
            at = at if at < self.ring else at - self.ring
            self.fill[r, at].clk = on_clock(self, clk + self.data_delay)
            self.fill[r, at].slot = slot
            path.fill_count += 1
            self.entries.counters[r, CACHE_FILLS] += 1

    cdef void lay(self, int r, int place, int line, int64_t visible) noexcept nogil:
        """A line is here, visible on a clock that is the next one at most: operands may be offered from then on."""
        cdef Path* path = &self.path[r]
        cdef Entry* entry = &self.entries.entry[r, place]
        cdef int before = NONE, after = path.first_offering
        cdef int offered = 1 << line if entry.by_line else complete(entry, line)
        if offered == 0:
            return
        path.look = min(path.look, max(path.register_free, visible))
        entry.offered |= offered
        if entry.offered != offered:
            return
        while after != NONE and self.entries.entry[r, after].age < entry.age:
            before = after
            after = self.entries.entry[r, after].next_offering
        entry.next_offering = after
        if before == NONE:
            path.first_offering = place
        else:
            self.entries.entry[r, before].next_offering = place

    cdef void step(self, int r, int64_t clk) noexcept nogil:
        """Take the oldest offered operand, if the register takes one in clk."""
        cdef Path* path = &self.path[r]
        cdef Coming* first
        cdef Entry* entry
        cdef int place, i
        if path.register_free > clk:
            return
        while path.coming_count and self.coming[r, path.coming_head].clk <= clk:
            first = &self.coming[r, path.coming_head]
            path.coming_head = path.coming_head + 1 if path.coming_head + 1 < self.ring else 0
            path.coming_count -= 1
            self.lay(r, first.place, first.line, clk)
        place = path.first_offering
        if place != NONE:
            entry = &self.entries.entry[r, place]
            i = lowest_bit(entry.offered)
            entry.offered &= entry.offered - 1
            if entry.offered == 0:
                path.first_offering = entry.next_offering
            self.take(r, place, i, clk)
        if path.first_offering != NONE:
            path.look = max(path.register_free, clk + 1)
        elif path.coming_count:
            path.look = max(path.register_free, self.coming[r, path.coming_head].clk)
        else:
            path.look = NEVER

    cdef void take(self, int r, int place, int i, int64_t clk) noexcept nogil:
        """The register takes operand i of an entry in clk; with its last one, its place is free on the next clock."""
        cdef Path* path = &self.path[r]
        cdef Entry* entry = &self.entries.entry[r, place]
        cdef int element_group = entry.first // ELEMENTS + i
        cdef int64_t enters = clk + self.divider
        cdef int64_t* last
        cdef Operand* operand
        if not self.foreseen:
            last = &self.last[
                r, (entry.instruction.group * self.tags_per_group + entry.instruction.tag) * OPERANDS + element_group
            ]
            enters = max(enters, last[0] + self.accumulate)
            last[0] = enters
            path.register_free = enters
            self.entries.counters[r, HAZARD_CLOCKS] += enters - clk - self.divider
        if self.logging:
            operand = &self.operands[self.n_operands]
            operand.clk = enters
            operand.lookup = entry.instruction.lookup
            operand.packet = entry.instruction.packet
            operand.rank = r
            operand.tag = entry.instruction.tag
            operand.element_group = element_group
            operand.first = max(<int>entry.first, ELEMENTS * element_group)
            operand.count = min(<int>entry.last, ELEMENTS * (element_group + 1)) - operand.first
            self.n_operands += 1
        entry.taken += 1
        if entry.taken == entry.operands:
            self.entries.give_back(r, place, clk + 1)
            path.finished = entry.instruction.group
            path.entered = enters


cdef inline int complete(Entry* entry, int line) noexcept nogil:
    """A line of an entry is here: the held operands, a bit each, that need no other any more."""
    cdef int i, offered = 0, held = entry.held
    entry.here |= 1 << line
    while held:
        i = lowest_bit(held)
        held &= held - 1
        if entry.needs[i] & ~entry.here == 0:
            offered |= 1 << i
    entry.held &= ~offered
    return offered
