# From the DRAM and the RankCache into the datapath of each rank (docs/microarchitecture.md, section 4, "Datapath").

from libc.stdint cimport int32_t, int64_t, uint32_t

from .row_form cimport ELEMENTS
from .vocabulary cimport NEVER, TAGS, Operand
from .window_entries cimport (
    CACHE_FILLS, HAZARD_CLOCKS, NONE, OPERANDS, Entry, WindowEntries, counters_of, give_back,
)

cdef extern from *:
    """
    #define lowest_line(x) __builtin_ctz(x)
    """
    int lowest_line(unsigned int x) nogil

# A line that an RD brings: in `clk` its transfer ends.
cdef struct Coming:
    int64_t clk
    int32_t place
    int32_t line

# A line that goes into the cache in `clk`.
cdef struct Fill:
    int64_t clk
    uint32_t slot

cdef struct Path:
    int64_t look  # no operand can be taken before
    int64_t register_free  # from this clock on the operand register takes an operand
    int64_t entered  # clock in which the last operand of the entry below entered the pipeline
    int32_t finished  # tag group of an entry whose last operand was taken and that nobody has noticed yet, or NONE
    int32_t first_offering  # chain of entries that offer operands, oldest first
    int32_t coming_head, coming_count
    int32_t fill_head, fill_count

cdef class OperandPath:
    cdef readonly WindowEntries entries
    cdef readonly bint foreseen
    cdef int64_t data_delay, accumulate
    cdef readonly int divider  # the units work on one clock in so many: 1, 2 or 4
    cdef int tags_per_group, ring
    cdef Path* path  # [rank]
    cdef Coming* coming  # [rank * ring + i], as the next
    cdef Fill* fill
    cdef int64_t* last  # [(rank * TAGS + tag) * OPERANDS + element group]: clock in which the last operand entered
    cdef tuple kept
    cdef bint logging
    cdef Operand[::1] operands
    cdef int64_t n_operands

    cdef void log(self, int r, const Entry* entry, int element_group, int64_t enters) noexcept nogil


cdef inline int64_t on_clock(OperandPath operands, int64_t clk) noexcept nogil:
    """The first clock not before clk on which the units work."""
    return clk + operands.divider - 1 & ~<int64_t>(operands.divider - 1)


cdef inline int complete(Entry* entry, int line) noexcept nogil:
    """A line of an entry is here: the held operands, a bit each, that need no other any more."""
    cdef int i, offered = 0, held = entry.held
    entry.here |= 1 << line
    while held:
        i = lowest_line(held)
        held &= held - 1
        if entry.needs[i] & ~entry.here == 0:
            offered |= 1 << i
    entry.held &= ~offered
    return offered


cdef inline void take(OperandPath operands, int r, Path* path, Entry* entry, int i, int64_t clk) noexcept nogil:
    """The register takes operand i of an entry in clk; with its last one, its place is free on the next clock."""
    cdef int element_group = entry.first // ELEMENTS + i
    cdef int64_t enters = clk + operands.divider
    cdef int64_t* last
    if not operands.foreseen:
        last = operands.last + (
            r * TAGS + entry.instruction.group * operands.tags_per_group + entry.instruction.tag
        ) * OPERANDS + element_group
        enters = max(enters, last[0] + operands.accumulate)
        last[0] = enters
        path.register_free = enters
        counters_of(operands.entries, r)[HAZARD_CLOCKS] += enters - clk - operands.divider
    if operands.logging:
        operands.log(r, entry, element_group, enters)
    entry.taken += 1
    if entry.taken == entry.operands:
        give_back(operands.entries, r, entry, clk + 1)
        path.finished = entry.instruction.group
        path.entered = enters


cdef inline void come(OperandPath operands, int r, Entry* entry, int line, int64_t clk) noexcept nogil:
    """The RD of a line was issued in clk."""
    cdef Path* path = &operands.path[r]
    cdef int at
    cdef int slot
    if operands.foreseen:
        take(operands, r, path, entry, line, on_clock(operands, clk + operands.data_delay - 1))
        return
    at = path.coming_head + path.coming_count
    at = r * operands.ring + (at if at < operands.ring else at - operands.ring)
    operands.coming[at].clk = clk + operands.data_delay - 1
    operands.coming[at].place = entry - (operands.entries.entry + r * operands.entries.size)
    operands.coming[at].line = line
    path.coming_count += 1
    path.look = min(path.look, max(path.register_free, clk + operands.data_delay - 1))
    slot = entry.slot[line]
    if slot != NONE:
        at = path.fill_head + path.fill_count
        at = r * operands.ring + (at if at < operands.ring else at - operands.ring)
        operands.fill[at].clk = on_clock(operands, clk + operands.data_delay)
        operands.fill[at].slot = slot
        path.fill_count += 1
        counters_of(operands.entries, r)[CACHE_FILLS] += 1


cdef inline void lay(OperandPath operands, int r, int place, int line, int64_t visible) noexcept nogil:
    """A line is here, visible on a clock that is the next one at most: operands may be offered from then on."""
    cdef Path* path = &operands.path[r]
    cdef Entry* entries = operands.entries.entry + r * operands.entries.size
    cdef Entry* entry = entries + place
    cdef int before = NONE, after = path.first_offering
    cdef int offered = 1 << line if entry.by_line else complete(entry, line)
    if offered == 0:
        return
    path.look = min(path.look, max(path.register_free, visible))
    entry.offered |= offered
    if entry.offered != offered:
        return
    while after != NONE and entries[after].age < entry.age:
        before = after
        after = entries[after].next_offering
    entry.next_offering = after
    if before == NONE:
        path.first_offering = place
    else:
        entries[before].next_offering = place


cdef inline void take_oldest(OperandPath operands, int r, Path* path, int64_t clk) noexcept nogil:
    """Take the oldest offered operand, if the register takes one in clk."""
    cdef Coming* coming = operands.coming + r * operands.ring
    cdef Coming* first
    cdef Entry* entry
    cdef int i
    if path.register_free > clk:
        return
    while path.coming_count and coming[path.coming_head].clk <= clk:
        first = &coming[path.coming_head]
        path.coming_head = path.coming_head + 1 if path.coming_head + 1 < operands.ring else 0
        path.coming_count -= 1
        lay(operands, r, first.place, first.line, clk)
    if path.first_offering != NONE:
        entry = operands.entries.entry + r * operands.entries.size + path.first_offering
        i = lowest_line(entry.offered)
        entry.offered &= entry.offered - 1
        if entry.offered == 0:
            path.first_offering = entry.next_offering
        take(operands, r, path, entry, i, clk)
    if path.first_offering != NONE:
        path.look = max(path.register_free, clk + 1)
    elif path.coming_count:
        path.look = max(path.register_free, coming[path.coming_head].clk)
    else:
        path.look = NEVER
