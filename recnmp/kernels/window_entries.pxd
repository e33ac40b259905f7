# What the windows of one channel hold: the entries and their lines (docs/microarchitecture.md, section 4).

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from .row_form cimport ELEMENTS, RowForm, is_by_line
from .vocabulary cimport GROUPS, NEVER, Instruction, first_line

cdef enum:
    NONE = -1
    LINES = 8  # of an entry, at most
    OPERANDS = 8  # of an entry, at most: the element groups of a partial sum
    SLOT_WAYS = 16  # ways of a set, at most

cdef enum:  # of a rank, in the order of RANK_COUNTERS
    ACTIVATES, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES
    ROW_HITS, ROW_MISSES, ROW_CONFLICTS, WRONG_PREDICTIONS
    CACHE_HITS, CACHE_SECONDARY_HITS, CACHE_MISSES, CACHE_BYPASSES, CACHE_FILLS, HAZARD_CLOCKS
    N_COUNTERS

cdef enum:  # what a line met, in the order of their counters above
    MET_HIT, MET_SECONDARY_HIT, MET_MISS, MET_BYPASS
    MET_KINDS

# An instruction, its lines and its operands. Lines are counted in the order of the page: parameter lines first. Those
# from `probed` on are unprobed; of the others, those that are wanted are told by a bit each, and the rest is coming,
# waiting or here. An operand is `held` until all lines that it needs are here, then `offered`, then taken. Where each
# line is one operand (`by_line`), an operand is offered when its line is here, and neither is told apart. Entries that
# have wanted lines are chained by bank, those that offer operands by rank; free ones are in a chain too.
cdef struct Entry:
    Instruction instruction
    int64_t age  # order of decoding
    int32_t next  # in its bank's chain or that of the free ones, NONE at its end
    int32_t next_offering  # in its rank's chain of entries that offer operands
    int8_t bank  # bank of the rank, flat
    int8_t probed
    int8_t operands, taken  # numbers of operands
    int8_t read  # whether an RD was issued for it
    int8_t activated
    int8_t precharged
    uint8_t wanted  # a bit a line
    uint8_t here  # likewise
    uint8_t held  # a bit an operand
    uint8_t offered  # likewise
    int8_t by_line
    int8_t parameter_line, parameter_lines  # where they are among the lines in column order, and their number
    int16_t first, last  # elements of the vector in these lines: the first, and the one behind
    uint8_t needs[OPERANDS]  # a bit a line
    int32_t slot[LINES]  # the way that a wanted or coming line is to fill, set * SLOT_WAYS + way; NONE: none

cdef struct Places:
    int64_t decoded  # instructions so far: the age of the next entry
    int32_t free  # first of the chain of free entries
    int32_t entries  # that were not given back
    int32_t release_head, release_count  # of those given back that are not free yet

# Pointers go to arrays that `kept` keeps alive: what a rank does once a clock is inline, over plain state.
cdef class WindowEntries:
    cdef readonly int ranks, size
    cdef Entry* entry  # [rank * size + place]
    cdef Places* places  # [rank]
    cdef int64_t* release  # [rank * size + i]: clocks on which entries become free, visible: a ring
    cdef int64_t[:, ::1] counters
    cdef int64_t[:, :, ::1] met  # by rank and tag group: lines of the group's packet, by what they met
    cdef int64_t* first_counter
    cdef int64_t* first_met
    cdef tuple kept

    cdef void lay_out_parts(self, Entry* entry, const RowForm* form) noexcept nogil


cdef inline int64_t* counters_of(WindowEntries window, int r) noexcept nogil:
    return window.first_counter + r * N_COUNTERS


cdef inline int64_t* met_of(WindowEntries window, int r, int group) noexcept nogil:
    return window.first_met + (r * GROUPS + group) * MET_KINDS


cdef inline Entry* take_entry(WindowEntries window, int r, const Instruction* instruction, int bank) noexcept nogil:
    """A LOOKUP takes a free entry: all lines unprobed, in no chain. The caller has asked for room."""
    cdef Places* places = &window.places[r]
    cdef Entry* entry = &window.entry[r * window.size + places.free]
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
    return entry


cdef inline void lay_out(WindowEntries window, Entry* entry, const RowForm* form) noexcept nogil:
    """Find the operands of an entry whose rows have this form, and the order of its lines."""
    cdef int line = first_line(entry.instruction.opcode), bursts = entry.instruction.bursts
    entry.parameter_line = 0
    entry.parameter_lines = 0
    entry.by_line = is_by_line(form, entry.instruction.byte_offset)
    if entry.by_line:
        entry.first = ELEMENTS * line
        entry.last = min(<int>form.dim, ELEMENTS * (line + bursts))
        entry.operands = bursts
    else:
        window.lay_out_parts(entry, form)


cdef inline void give_back(WindowEntries window, int r, Entry* entry, int64_t free_from) noexcept nogil:
    """Nothing is to be done for an entry any more but wait: it is free, visible on clock free_from."""
    cdef Places* places = &window.places[r]
    cdef int64_t* release = window.release + r * window.size
    cdef int at = places.release_head + places.release_count, before, _
    at = at if at < window.size else at - window.size
    for _ in range(places.release_count):  # those of host reads are known long before
        before = at - 1 if at else window.size - 1
        if release[before] <= free_from:
            break
        release[at] = release[before]
        at = before
    release[at] = free_from
    places.release_count += 1
    places.entries -= 1
    entry.next = places.free
    places.free = entry - (window.entry + r * window.size)


cdef inline int column_of(const Entry* entry, int line) noexcept nogil:
    """Column of a line of an entry, after the instruction's: parameter lines come first, the others follow."""
    if line < entry.parameter_lines:
        return entry.parameter_line + line
    return line - entry.parameter_lines if line - entry.parameter_lines < entry.parameter_line else line


cdef inline bint has_room(WindowEntries window, int r, int64_t clk) noexcept nogil:
    """Whether an entry is free, visible at clk."""
    cdef Places* places = &window.places[r]
    while places.release_count and window.release[r * window.size + places.release_head] <= clk:
        places.release_head = places.release_head + 1 if places.release_head + 1 < window.size else 0
        places.release_count -= 1
    return places.entries + places.release_count < window.size


cdef inline int64_t next_release(WindowEntries window, int r) noexcept nogil:
    """Clock on which the next entry becomes free, as far as it is known."""
    cdef Places* places = &window.places[r]
    return window.release[r * window.size + places.release_head] if places.release_count else NEVER
