# A set-associative tag store with replacement: docs/caches.md says what each verb does, bit by bit.
#
# Four verbs: `probe` and `victim` ask, `touch` and `fill` change; `arrive` ends what `fill` left pending. The
# caller checks set and way, and takes the line's set from `set_of` or chooses it by a rule of its own.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef enum:
    NO_WAY = -1
    NO_LINE = -1   # in `lines`: the way is empty
    MOST_WAYS = 16

cdef enum Policy:  # in the order of POLICIES
    LRU
    FIFO
    RANDOM
    TREE_PLRU

cdef class CacheSets:
    cdef readonly int64_t sets
    cdef readonly int ways
    cdef int64_t mask            # sets - 1 if they are a power of two, else -1
    cdef int policy
    cdef int64_t[::1] lines      # [set * ways + way]: the whole line number
    cdef uint8_t[::1] ages       # [set * ways + way], lru and fifo: 0 is the youngest of its set
    cdef uint16_t[::1] trees     # [set], tree-plru: bit n is node n, the root is node 1
    cdef uint16_t[::1] pending   # [set]: bit w is way w
    cdef uint32_t lfsr           # random: the shift register, never 0


cdef inline int64_t set_of(CacheSets c, int64_t line) noexcept nogil:
    """The set of a line, by its remainder: any number of sets."""
    return line & c.mask if c.mask >= 0 else line % c.sets


cdef inline int probe(CacheSets c, int64_t place, int64_t line) noexcept nogil:
    """The way of set `place` that holds a line or awaits it; NO_WAY if none does."""
    cdef const int64_t* held = &c.lines[place * c.ways]
    cdef int way
    for way in range(c.ways):
        if held[way] == line:
            return way
    return NO_WAY


cdef inline bint is_pending(CacheSets c, int64_t place, int way) noexcept nogil:
    return c.pending[place] >> way & 1


cdef inline void make_youngest(CacheSets c, int64_t place, int way) noexcept nogil:
    """Those that were younger grow older by one, so ages stay a permutation of 0 .. ways-1."""
    cdef uint8_t* ages = &c.ages[place * c.ways]
    cdef uint8_t age = ages[way]
    cdef int other
    for other in range(c.ways):
        ages[other] += ages[other] < age
    ages[way] = 0


cdef inline void point_away(CacheSets c, int64_t place, int way) noexcept nogil:
    """Every node on the way from leaf to root points to the half that the leaf is not in."""
    cdef uint16_t tree = c.trees[place]
    cdef int node = c.ways + way
    while node > 1:
        if node & 1:
            tree &= ~(1 << (node >> 1))
        else:
            tree |= 1 << (node >> 1)
        node >>= 1
    c.trees[place] = tree


cdef inline void touch(CacheSets c, int64_t place, int way) noexcept nogil:
    """The way is hit."""
    if c.policy == LRU:
        make_youngest(c, place, way)
    elif c.policy == TREE_PLRU:
        point_away(c, place, way)


cdef inline void fill(CacheSets c, int64_t place, int way, int64_t line, bint pending) noexcept nogil:
    """The way holds `line` from now on, or awaits it."""
    cdef int _
    c.lines[place * c.ways + way] = line
    if pending:
        c.pending[place] |= 1 << way
    else:
        c.pending[place] &= ~(1 << way)
    if c.policy == RANDOM:
        for _ in range(8):
            c.lfsr = c.lfsr >> 1 ^ (<uint32_t>0x80200003 if c.lfsr & 1 else 0)
    elif c.policy == TREE_PLRU:
        point_away(c, place, way)
    else:
        make_youngest(c, place, way)


cdef inline void arrive(CacheSets c, int64_t place, int way) noexcept nogil:
    """The line that the way awaits is there."""
    c.pending[place] &= ~(1 << way)


cdef inline int oldest(CacheSets c, int64_t place, int closed) noexcept nogil:
    cdef const uint8_t* ages = &c.ages[place * c.ways]
    cdef int way, found = NO_WAY
    for way in range(c.ways):
        if not closed >> way & 1 and (found == NO_WAY or ages[way] > ages[found]):
            found = way
    return found


cdef inline int drawn(CacheSets c, int closed) noexcept nogil:
    cdef int way = (c.lfsr & 0xFF) * c.ways >> 8
    while closed >> way & 1:
        way = way + 1 if way + 1 < c.ways else 0
    return way


cdef inline int pointed_at(CacheSets c, int64_t place, int closed) noexcept nogil:
    cdef int node = 1, first = 0, half = c.ways >> 1, left, right
    cdef bint goes_right
    while half:
        left = (1 << half) - 1 << first
        right = left << half
        goes_right = c.trees[place] >> node & 1
        if closed & (right if goes_right else left) == (right if goes_right else left):
            goes_right = not goes_right
        if goes_right:
            first += half
        node = 2 * node + goes_right
        half >>= 1
    return first


cdef inline int victim(CacheSets c, int64_t place) noexcept nogil:
    """The way that the next fill of a set should take: an empty one if there is any, never a pending one."""
    cdef int closed = c.pending[place], way = probe(c, place, NO_LINE)
    if way != NO_WAY:
        return way
    if closed == (1 << c.ways) - 1:
        return NO_WAY
    if c.policy == RANDOM:
        return drawn(c, closed)
    if c.policy == TREE_PLRU:
        return pointed_at(c, place, closed)
    return oldest(c, place, closed)
