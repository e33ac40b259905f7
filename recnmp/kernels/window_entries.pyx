"""What the windows of one channel hold: places for instructions and their lines, and the counters of the ranks.

The page is docs/microarchitecture.md, section 4, "Lines". Who changes a line's state: the scheduler (rank_window), the
RankCache (rank_cache) and the datapath (operand_path).
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .row_form cimport ELEMENTS, LINE_BYTES, WORD_BYTES, RowForm, elements_before, is_by_line, line_of_element
from .vocabulary cimport GROUPS, Instruction, first_line

RANK_COUNTERS = (
    "activates", "precharges", "precharges_all", "reads", "refreshes",
    "row_hits", "row_misses", "row_conflicts", "wrong_predictions",
    "cache_hits", "cache_secondary_hits", "cache_misses", "cache_bypasses", "cache_fills", "hazard_clocks",
)

cdef Entry _entry[1]
cdef Places _places[1]


@cython.final
cdef class WindowEntries:
    """The windows of `ranks` ranks, `size` entries each."""

    def __init__(self, int ranks, int size):
        cdef int r, i
        self.ranks = ranks
        self.size = size
        self.entry = np.zeros((ranks, size), np.asarray(<Entry[:1]>_entry).dtype)
        self.places = np.zeros(ranks, np.asarray(<Places[:1]>_places).dtype)
        self.release = np.zeros((ranks, size), np.int64)
        self.counters = np.zeros((ranks, N_COUNTERS), np.int64)
        self.met = np.zeros((ranks, GROUPS, MET_KINDS), np.int64)
        for r in range(ranks):
            for i in range(size):
                self.entry[r, i].next = i + 1 if i + 1 < size else NONE

    def counts(self):
        """int64 [ranks, len(RANK_COUNTERS)], a copy."""
        return np.asarray(self.counters).copy()

    def reset_counts(self):
        """Counters to zero; the machine's state stays."""
        self.counters[:, :] = 0
        self.met[:, :, :] = 0

    cdef int enter(self, int r, Instruction* instruction, int bank) noexcept nogil:
        """A LOOKUP takes a free entry: all lines unprobed, in no chain. The caller has asked for room."""
        cdef Places* places = &self.places[r]
        cdef int place = places.free
        cdef Entry* entry = &self.entry[r, place]
        places.free = entry.next
        places.entries += 1
        entry.instruction = instruction[0]
        entry.age = places.decoded
        places.decoded += 1
        entry.bank = bank
        entry.probed = 0
        entry.taken = 0
        entry.read = 0
        entry.activated = 0
        entry.precharged = 0
        entry.wanted = 0
        entry.offered = 0
        return place

    cdef void lay_out(self, int r, int place, RowForm* form) noexcept nogil:
        """Find the operands of an entry whose rows have this form, and the order of its lines."""
        cdef Entry* entry = &self.entry[r, place]
        cdef int line = first_line(entry.instruction.opcode), bursts = entry.instruction.bursts
        cdef int offset = entry.instruction.byte_offset
        cdef int i, group, low, high
        entry.parameter_line = 0
        entry.parameter_lines = 0
        entry.by_line = is_by_line(form, offset)
        if entry.by_line:
            entry.first = ELEMENTS * line
            entry.last = min(<int>form.dim, ELEMENTS * (line + bursts))
            entry.operands = bursts
            return
        entry.first = elements_before(form, LINE_BYTES * line - WORD_BYTES * offset)
        entry.last = elements_before(form, LINE_BYTES * (line + bursts) - WORD_BYTES * offset)
        if form.parameter_bytes:
            low = WORD_BYTES * offset + form.parameters_at
            entry.parameter_line = low // LINE_BYTES - line
            entry.parameter_lines = (low + form.parameter_bytes - 1) // LINE_BYTES - low // LINE_BYTES + 1
        group = entry.first // ELEMENTS
        entry.operands = (entry.last - 1) // ELEMENTS - group + 1
        for i in range(entry.operands):
            low = max(<int>entry.first, ELEMENTS * (group + i))
            high = min(<int>entry.last, ELEMENTS * (group + i + 1)) - 1
            entry.needs[i] = (1 << entry.parameter_lines) - 1
            entry.needs[i] |= 1 << place_of(entry, line_of_element(form, offset, low) - line)
            entry.needs[i] |= 1 << place_of(entry, line_of_element(form, offset, high) - line)
        entry.held = (1 << entry.operands) - 1
        entry.here = 0

    cdef void give_back(self, int r, int place, int64_t free_from) noexcept nogil:
        """Nothing is to be done for an entry any more but wait: it is free, visible on clock free_from."""
        cdef Places* places = &self.places[r]
        cdef int _
        cdef int at = places.release_head + places.release_count, before
        at = at if at < self.size else at - self.size
        for _ in range(places.release_count):  # those of host reads are known long before
            before = at - 1 if at else self.size - 1
            if self.release[r, before] <= free_from:
                break
            self.release[r, at] = self.release[r, before]
            at = before
        self.release[r, at] = free_from
        places.release_count += 1
        places.entries -= 1
        self.entry[r, place].next = places.free
        places.free = place


cdef inline int place_of(Entry* entry, int column) noexcept nogil:
    """Place in the order of lines of that in a column, counted from the instruction's: undoes `column_of`."""
    if column < entry.parameter_line:
        return column + entry.parameter_lines
    return column - entry.parameter_line if column < entry.parameter_line + entry.parameter_lines else column
