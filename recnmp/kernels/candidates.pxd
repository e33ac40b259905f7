# What each bank could do next, and when a look at it is worth while.
#
# A bank has at most one candidate of each kind in each queue: the oldest request of that kind. A candidate is
# ripe once the rules of its bank have run out, at a clock that is known when it is proposed; only ripe ones
# whose rank allows the command are compared by age, and the bank group is asked only about the oldest.
# `look_at` is never later than the first clock at which a kind can have something ready: commands only push
# clocks back, so it stays true until a new candidate lowers it.
#
# Sets of banks are bits of a word. A word holds as many whole ranks as fit in 64 bits.

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

from .dram cimport ACT, Device, N_COMMANDS, PRE, RD, WR, rank_earliest

cdef enum:
    READ_QUEUE = 0
    WRITE_QUEUE = 1

cdef enum:
    ACTIVE = 0   # the request for which ACT was issued: RD or WR
    ROW = 1      # of a closed bank the oldest: ACT; of an open one the oldest for another row: PRE
    HIT = 2      # the oldest for the open row: RD or WR

cdef enum:
    N_FIELDS = 8  # queue * 4 + kind, so that places are found by shifts

cdef extern from *:
    """
    #define lowest_bit(mask) __builtin_ctzll(mask)
    #define FAR_CLOCK (INT64_MAX / 2)
    """
    int lowest_bit(uint64_t mask) noexcept nogil
    const int64_t FAR_CLOCK

# candidates of one kind of one queue in one word of banks
cdef struct Field:
    uint64_t ripe, unripe
    int64_t ripe_at     # not later than the first clock at which an unripe one is ripe
    int64_t look_at

# the oldest ready candidate so far
cdef struct Found:
    int64_t age
    int32_t queue, kind, bank

cdef class Candidates:
    cdef Device device
    cdef int word_banks, words
    cdef int32_t[::1] first_rank       # by word, and the number of ranks at the end
    cdef uint64_t[::1] rank_bits       # by rank: its banks in its word
    cdef int32_t[::1] word_of          # by bank
    cdef uint64_t[::1] bit_of          # by bank
    cdef int32_t[::1] rank_of, group_of   # by bank
    cdef uint64_t[::1] group_bits      # by bank: the banks of its bank group in its word
    cdef uint64_t[::1] closed          # by word: closed banks
    cdef Field[::1] fields             # [word * N_FIELDS + queue * 4 + kind]
    cdef int64_t[::1] age, ripe_clk    # [bank * N_FIELDS + queue * 4 + kind]
    cdef int64_t queue_look_at[2]      # by queue: least look_at of ROW and HIT
    cdef int64_t active_look_at        # least look_at of ACTIVE


cdef inline Field* field_of(Candidates c, int queue, int kind, int word) noexcept nogil:
    return &c.fields[word * N_FIELDS + queue * 4 + kind]


cdef inline void propose(
    Candidates c, int queue, int32_t bank, int kind, int command, int64_t age, int64_t clk
) noexcept nogil:
    """A bank has a (new) candidate of a kind, which goes on with `command`."""
    cdef uint64_t bit = c.bit_of[bank]
    cdef Field* field = field_of(c, queue, kind, c.word_of[bank])
    cdef int entry = bank * N_FIELDS + queue * 4 + kind
    cdef int64_t first = c.device.by_bank[bank * N_COMMANDS + command]
    c.age[entry] = age
    c.ripe_clk[entry] = first
    if first <= clk:
        field.ripe |= bit
        field.unripe &= ~bit
        first = clk
    else:
        field.unripe |= bit
        field.ripe &= ~bit
        field.ripe_at = min(field.ripe_at, first)
    field.look_at = min(field.look_at, first)
    if kind == ACTIVE:
        c.active_look_at = min(c.active_look_at, first)
    else:
        c.queue_look_at[queue] = min(c.queue_look_at[queue], first)


cdef inline void withdraw(Candidates c, int queue, int32_t bank, int kind) noexcept nogil:
    """A bank has no candidate of a kind."""
    cdef Field* field = field_of(c, queue, kind, c.word_of[bank])
    field.ripe &= ~c.bit_of[bank]
    field.unripe &= ~c.bit_of[bank]


cdef inline void ripen(Field* field, const int64_t* ripe_clk, int64_t clk) noexcept nogil:
    cdef uint64_t banks = field.unripe, ripe = 0
    cdef int64_t first, later = FAR_CLOCK
    while banks:
        first = ripe_clk[lowest_bit(banks) * N_FIELDS]
        ripe |= banks & -banks if first <= clk else 0
        later = min(later, first if first > clk else FAR_CLOCK)
        banks &= banks - 1
    field.ripe |= ripe
    field.unripe ^= ripe
    field.ripe_at = later


cdef inline uint64_t allowed_by_rank(Candidates c, int word, uint64_t banks, int command, int64_t clk) noexcept nogil:
    """Those of the banks of a word whose rank allows a command."""
    cdef int rank
    cdef uint64_t allowed = 0
    for rank in range(c.first_rank[word], c.first_rank[word + 1]):
        allowed |= c.rank_bits[rank] if rank_earliest(c.device, command, rank) <= clk else 0
    return banks & allowed


cdef inline void find(Candidates c, int queue, int kind, int word, int64_t clk, Found* found) noexcept nogil:
    """Find the oldest ready candidate of a kind in a word of banks, if it is older than what was found."""
    cdef Field* field = field_of(c, queue, kind, word)
    cdef int entry = word * c.word_banks * N_FIELDS + queue * 4 + kind
    cdef int command = ACT if kind == ROW else WR if queue == WRITE_QUEUE else RD
    cdef const int64_t* ages = &c.age[entry]
    cdef uint64_t ready, free, rest
    cdef int64_t age, best_age
    cdef int32_t best, bank
    if field.ripe_at <= clk:
        ripen(field, &c.ripe_clk[entry], clk)
    # PRE obeys its bank alone
    free = field.ripe & ~c.closed[word] if kind == ROW else 0
    ready = free | allowed_by_rank(c, word, field.ripe ^ free, command, clk)
    while ready:
        best = 0
        best_age = FAR_CLOCK
        rest = ready
        while rest:
            bank = lowest_bit(rest)
            age = ages[bank * N_FIELDS]
            best = bank if age < best_age else best
            best_age = min(age, best_age)
            rest &= rest - 1
        if best_age >= found.age:
            return
        bank = word * c.word_banks + best
        if free >> best & 1 or c.device.by_group[c.group_of[bank] * N_COMMANDS + command] <= clk:
            found.age = best_age
            found.queue, found.kind, found.bank = queue, kind, bank
            return
        ready &= ~c.group_bits[bank] | free


cdef inline int64_t renew_look(Candidates c, int queue, int kind, int word, int64_t clk) noexcept nogil:
    """After a look at a word and what came of it: the next one worth while."""
    cdef Field* field = field_of(c, queue, kind, word)
    cdef int command = ACT if kind == ROW else WR if queue == WRITE_QUEUE else RD
    cdef int64_t first, any_rank = FAR_CLOCK, look = FAR_CLOCK
    cdef int rank
    if kind == ROW and field.ripe & ~c.closed[word]:
        field.look_at = clk
        return clk
    for rank in range(c.first_rank[word], c.first_rank[word + 1]):
        first = rank_earliest(c.device, command, rank)
        any_rank = min(any_rank, first)
        look = min(look, first if field.ripe & c.rank_bits[rank] else FAR_CLOCK)
    # an unripe one waits for its rank too, unless it wants PRE
    look = min(look, field.ripe_at if kind == ROW else max(field.ripe_at, any_rank))
    field.look_at = look
    return look


cdef inline bint find_active(Candidates c, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready active candidate."""
    cdef int queue, word
    found.age = FAR_CLOCK
    for queue in range(2):
        for word in range(c.words):
            if field_of(c, queue, ACTIVE, word).look_at <= clk:
                find(c, queue, ACTIVE, word, clk, found)
    return found.age < FAR_CLOCK


cdef inline void renew_active_look(Candidates c, int64_t clk) noexcept nogil:
    cdef int queue, word
    cdef int64_t look = FAR_CLOCK
    for queue in range(2):
        for word in range(c.words):
            if field_of(c, queue, ACTIVE, word).look_at <= clk:
                renew_look(c, queue, ACTIVE, word, clk)
            look = min(look, field_of(c, queue, ACTIVE, word).look_at)
    c.active_look_at = look


cdef inline bint find_waiting(Candidates c, int queue, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready waiting candidate of a queue."""
    cdef int word
    found.age = FAR_CLOCK
    for word in range(c.words):
        if field_of(c, queue, ROW, word).look_at <= clk:
            find(c, queue, ROW, word, clk, found)
        if field_of(c, queue, HIT, word).look_at <= clk:
            find(c, queue, HIT, word, clk, found)
    return found.age < FAR_CLOCK


cdef inline void renew_queue_look(Candidates c, int queue, int64_t clk) noexcept nogil:
    cdef int word
    cdef int64_t look = FAR_CLOCK
    for word in range(c.words):
        if field_of(c, queue, ROW, word).look_at <= clk:
            renew_look(c, queue, ROW, word, clk)
        if field_of(c, queue, HIT, word).look_at <= clk:
            renew_look(c, queue, HIT, word, clk)
        look = min(look, field_of(c, queue, ROW, word).look_at)
        look = min(look, field_of(c, queue, HIT, word).look_at)
    c.queue_look_at[queue] = look
