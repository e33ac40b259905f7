"""What the windows of one channel hold: places for instructions and their lines, and the counters of the ranks.

The page is docs/microarchitecture.md, section 4, "Lines". Who changes a line's state: the scheduler (rank_window), the
RankCache (rank_cache) and the datapath (operand_path).
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .row_form cimport ELEMENTS, LINE_BYTES, WORD_BYTES, RowForm, elements_before, line_of_element
from .vocabulary cimport GROUPS, first_line

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
        cdef Entry[::1] entry = np.zeros(ranks * size, np.asarray(<Entry[:1]>_entry).dtype)
        cdef Places[::1] places = np.zeros(ranks, np.asarray(<Places[:1]>_places).dtype)
        cdef int64_t[::1] release = np.zeros(ranks * size, np.int64)
        self.counters = np.zeros((ranks, N_COUNTERS), np.int64)
        self.met = np.zeros((ranks, GROUPS, MET_KINDS), np.int64)
        self.kept = (entry.base, places.base, release.base)
        self.entry, self.places, self.release = &entry[0], &places[0], &release[0]
        self.first_counter, self.first_met = &self.counters[0, 0], &self.met[0, 0, 0]
        for r in range(ranks):
            for i in range(size):
                entry[r * size + i].next = i + 1 if i + 1 < size else NONE

    def counts(self):
        """int64 [ranks, len(RANK_COUNTERS)], a copy."""
        return np.asarray(self.counters).copy()

    def reset_counts(self):
        """Counters to zero; the machine's state stays."""
        self.counters[:, :] = 0
        self.met[:, :, :] = 0

    cdef void lay_out_parts(self, Entry* entry, const RowForm* form) noexcept nogil:
        """`lay_out` of an entry in which a line is not always one operand."""
        cdef int line = first_line(entry.instruction.opcode), bursts = entry.instruction.bursts
        cdef int offset = entry.instruction.byte_offset
        cdef int i, group, low, high
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


cdef inline int place_of(Entry* entry, int column) noexcept nogil:
    """Place in the order of lines of that in a column, counted from the instruction's: undoes `column_of`."""
    if column < entry.parameter_line:
        return column + entry.parameter_lines
    return column - entry.parameter_line if column < entry.parameter_line + entry.parameter_lines else column
