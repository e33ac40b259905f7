# The RankCaches of one channel: prober and fill (docs/microarchitecture.md, section 4).

from libc.stdint cimport int32_t, int64_t, uint32_t

from .cache_sets cimport NO_WAY, CacheSets, arrive, fill, is_pending, probe, set_of, touch, victim
from .ddr_scheduler cimport settle, want
from .operand_path cimport Fill, OperandPath, Path, lay
from .rank_window cimport RankWindow
from .vocabulary cimport NEVER
from .window_entries cimport (
    CACHE_BYPASSES, CACHE_HITS, CACHE_MISSES, CACHE_SECONDARY_HITS, LINES, MET_BYPASS, MET_HIT, MET_MISS,
    MET_SECONDARY_HIT, NONE, SLOT_WAYS, Entry, column_of, counters_of, met_of,
)

cdef enum:
    RANKS = 64

# A line that waits for a way.
cdef struct Waiting:
    int32_t slot
    int32_t place
    int32_t line

cdef struct Port:
    int32_t unprobed_head, unprobed_count  # of the ring of entries with unprobed lines, in order of decoding
    int32_t waiting  # number of lines
    int64_t look  # the port has nothing to do before that anyone could see

# Pointers go to arrays that `kept` and `caches` keep alive.
cdef class RankCache:
    cdef readonly RankWindow window
    cdef readonly OperandPath operands
    cdef readonly bint flushed  # before each batch
    cdef int64_t rows, columns
    cdef readonly tuple caches  # a CacheSets a rank
    cdef void* cache[RANKS]  # the same
    cdef Port* port  # [rank]
    cdef int32_t* unprobed  # [rank * entries.size + i]
    cdef Waiting* waiting  # [rank * LINES * entries.size + i]
    cdef tuple kept


cdef inline void await_probe(RankCache cache, int r, int place) noexcept nogil:
    """An entry that was decoded in this clock has unprobed lines, visible on the next."""
    cdef Port* port = &cache.port[r]
    cdef int last = port.unprobed_head + port.unprobed_count
    cdef int size = cache.window.entries.size
    cache.unprobed[r * size + (last if last < size else last - size)] = place
    port.unprobed_count += 1


cdef inline void fill_before(RankCache cache, int r, int64_t clk) noexcept nogil:
    """The fills of all clocks before clk that were not made yet."""
    cdef Path* path = &cache.operands.path[r]
    cdef Fill* fills = cache.operands.fill + r * cache.operands.ring
    cdef uint32_t slot
    while path.fill_count and fills[path.fill_head].clk < clk:
        slot = fills[path.fill_head].slot
        path.fill_head = path.fill_head + 1 if path.fill_head + 1 < cache.operands.ring else 0
        path.fill_count -= 1
        arrive(<CacheSets>cache.cache[r], slot // <uint32_t>SLOT_WAYS, slot % <uint32_t>SLOT_WAYS)


cdef inline void bring(RankCache cache, int r, int slot, int64_t clk) noexcept nogil:
    """A way is filled in clk: the lines that wait for it are here, visible on the next clock."""
    cdef Port* port = &cache.port[r]
    cdef Waiting* waiting = cache.waiting + r * LINES * cache.window.entries.size
    cdef int i, kept = 0
    for i in range(port.waiting):
        if waiting[i].slot == slot:
            lay(cache.operands, r, waiting[i].place, waiting[i].line, clk + 1)
        else:
            waiting[kept] = waiting[i]
            kept += 1
    port.waiting = kept


cdef inline void look_up(RankCache cache, CacheSets sets, int r, Port* port, int64_t clk) noexcept nogil:
    """Probe the first unprobed line of the oldest entry that has one; others see its state on the next clock."""
    cdef int size = cache.window.entries.size
    cdef int place = cache.unprobed[r * size + port.unprobed_head]
    cdef Entry* entry = cache.window.entries.entry + r * size + place
    cdef Waiting* waiting
    cdef int line = entry.probed, way
    cdef int64_t number = (entry.bank * cache.rows + entry.instruction.row) * cache.columns
    cdef int64_t at
    cdef int64_t* counters = counters_of(cache.window.entries, r)
    cdef int64_t* met = met_of(cache.window.entries, r, entry.instruction.group)
    number += entry.instruction.column + column_of(entry, line)
    at = set_of(sets, number)
    way = probe(sets, at, number)
    entry.probed += 1
    if way != NO_WAY:
        touch(sets, at, way)
        if is_pending(sets, at, way):
            counters[CACHE_SECONDARY_HITS] += 1
            met[MET_SECONDARY_HIT] += 1
            waiting = &cache.waiting[r * LINES * size + port.waiting]
            waiting.slot = at * SLOT_WAYS + way
            waiting.place = place
            waiting.line = line
            port.waiting += 1
        else:
            counters[CACHE_HITS] += 1
            met[MET_HIT] += 1
            lay(cache.operands, r, place, line, clk + 1)
    else:
        way = victim(sets, at)
        if way != NO_WAY:
            counters[CACHE_MISSES] += 1
            met[MET_MISS] += 1
            fill(sets, at, way, number, True)
            entry.slot[line] = at * SLOT_WAYS + way
        else:
            counters[CACHE_BYPASSES] += 1
            met[MET_BYPASS] += 1
            entry.slot[line] = NONE
        want(cache.window, r, entry, 1 << line, clk)
    if entry.probed == entry.instruction.bursts:
        port.unprobed_head = port.unprobed_head + 1 if port.unprobed_head + 1 < size else 0
        port.unprobed_count -= 1
        if entry.wanted == 0:
            settle(&cache.window.window[r], entry)


cdef inline void use_port(RankCache cache, int r, Port* port, Path* path, int64_t clk) noexcept nogil:
    """The port's access in clk: a fill, else a probe."""
    cdef Fill* first
    fill_before(cache, r, clk)
    first = cache.operands.fill + r * cache.operands.ring + path.fill_head
    if path.fill_count and first.clk == clk:
        fill_before(cache, r, clk + 1)
        if port.waiting:
            bring(cache, r, first.slot, clk)
    elif port.unprobed_count:
        look_up(cache, <CacheSets>cache.cache[r], r, port, clk)


cdef inline int64_t next_access(
    RankCache cache, int r, const Port* port, const Path* path, int64_t clk
) noexcept nogil:
    """The next clock after clk on which the port has something to do that anyone could see.

    A fill for which no line waits is none: it is made up for before the next probe, which finds it in time.
    """
    if port.unprobed_count:
        return clk + 1
    if port.waiting and path.fill_count:
        return cache.operands.fill[r * cache.operands.ring + path.fill_head].clk
    return NEVER
