# What each bank could do next, and when a look at it is worth while.
#
# A bank has at most one candidate of each kind in each queue: the oldest request of that kind. When it is
# proposed, the clock at which the rules of its bank have run out is known. A look compares the banks whose
# rank allows the command by age, and asks the bank group about the oldest ready one only. `look_at` is never
# later than the first clock at which a field can have something ready: commands only push clocks back, so it
# stays true until a new candidate lowers it.
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
    #define FAR_CLOCK (INT64_MAX / 2)   /* 2^62 - 1: all ones */
    """
    int lowest_bit(uint64_t mask) noexcept nogil
    const int64_t FAR_CLOCK

# what one bank could do in one kind of one queue
cdef struct Candidate:
    int64_t key         # age of its request * 64 + bit of the bank: the oldest has the least
    int64_t ripe_clk    # when the rules of the bank have run out

# candidates of one kind of one queue in one word of banks
cdef struct Field:
    uint64_t banks
    int64_t look_at

# the oldest ready candidate so far
cdef struct Found:
    int64_t key         # FAR_CLOCK: nothing
    int64_t rest        # first clock worth a look at the others of its field
    int32_t queue, kind, word, bank

cdef class Candidates:
    cdef Device device
    cdef int word_banks, words
    cdef int32_t[::1] first_rank       # by word, and the number of ranks at the end
    cdef uint64_t[::1] rank_bits       # by rank: its banks in its word
    cdef int32_t[::1] word_of, bit_of, rank_of, group_of   # by bank
    cdef uint64_t[::1] group_bits      # by bank: the banks of its bank group in its word
    cdef uint64_t[::1] closed          # by word: closed banks
    cdef Field[::1] fields             # [word * N_FIELDS + queue * 4 + kind]
    cdef Candidate[::1] candidates     # [(word * N_FIELDS + queue * 4 + kind) * 64 + bit]
    cdef int64_t queue_look_at[2]      # by queue: least look_at of ROW and HIT
    cdef int64_t active_look_at        # least look_at of ACTIVE


cdef inline Field* field_of(Candidates c, int queue, int kind, int word) noexcept nogil:
    return &c.fields[word * N_FIELDS + queue * 4 + kind]


cdef inline void propose(
    Candidates c, int queue, int64_t bank, int kind, int command, int64_t age, int64_t clk
) noexcept nogil:
    """A bank has a (new) candidate of a kind, which goes on with `command`."""
    cdef int64_t place = c.word_of[bank] * N_FIELDS + queue * 4 + kind, bit = c.bit_of[bank]
    cdef Field* field = &c.fields[place]
    cdef Candidate* candidate = &c.candidates[place << 6 | bit]
    cdef int64_t first = max(c.device.by_bank[bank * N_COMMANDS + command], clk)
    candidate.key, candidate.ripe_clk = age << 6 | bit, first
    field.banks |= <uint64_t>1 << bit
    field.look_at = min(field.look_at, first)
    if kind == ACTIVE:
        c.active_look_at = min(c.active_look_at, first)
    else:
        c.queue_look_at[queue] = min(c.queue_look_at[queue], first)


cdef inline void withdraw(Candidates c, int queue, int64_t bank, int kind) noexcept nogil:
    """A bank has no candidate of a kind."""
    field_of(c, queue, kind, c.word_of[bank]).banks &= ~(<uint64_t>1 << c.bit_of[bank])


cdef inline int column_command(int queue) noexcept nogil:
    return WR if queue == WRITE_QUEUE else RD


cdef inline void find(Candidates c, int queue, int kind, int word, int64_t clk, Found* found) noexcept nogil:
    """Find a word's oldest ready candidate of a kind, if it is older than what was found; renew look_at."""
    cdef Field* field = field_of(c, queue, kind, word)
    cdef int command = ACT if kind == ROW else column_command(queue)
    cdef const Candidate* candidates = &c.candidates[(word * N_FIELDS + queue * 4 + kind) << 6]
    # PRE obeys its bank alone
    cdef uint64_t free = ~c.closed[word] if kind == ROW else 0
    cdef uint64_t bound = field.banks & ~free, allowed = 0, rest
    cdef int64_t first, key, late, ripe, best, look = FAR_CLOCK, bit, bank
    cdef int64_t rank
    cdef int ready
    for rank in range(c.first_rank[word], c.first_rank[word + 1]):
        first = rank_earliest(c.device, command, rank)
        rest = bound & c.rank_bits[rank]
        # masks of all ones or none where a jump would often be mispredicted
        late = -<int64_t>(first > clk)
        allowed |= rest & ~late
        late &= -<int64_t>(rest != 0)
        look = min(look, (first & late) | (FAR_CLOCK & ~late))
    allowed |= field.banks & free
    while True:
        ready = 0
        best = FAR_CLOCK
        rest = allowed
        while rest:
            bit = lowest_bit(rest)
            rest &= rest - 1
            first, key = candidates[bit].ripe_clk, candidates[bit].key
            ripe = -<int64_t>(first <= clk)
            ready -= <int>ripe
            look = min(look, first | (ripe & FAR_CLOCK))
            best = min(best, key | (~ripe & FAR_CLOCK))
        if ready == 0:
            field.look_at = look
            return
        bank = word * c.word_banks + (best & 63)
        if free >> (best & 63) & 1:
            break
        first = c.device.by_group[c.group_of[bank] * N_COMMANDS + command]
        if first <= clk:
            break
        look = min(look, first)
        allowed &= ~c.group_bits[bank] | free
    field.look_at = clk
    if best < found.key:
        found.key = best
        found.rest = clk if ready > 1 else look
        found.queue, found.kind, found.word, found.bank = queue, kind, word, <int32_t>bank


cdef inline void take(Candidates c, Found* found) noexcept nogil:
    """What was found is going to be served: the others of its field count for the next look."""
    field_of(c, found.queue, found.kind, found.word).look_at = found.rest


cdef inline void wait_for_rank(Candidates c, int queue, int kind, int word) noexcept nogil:
    """After a look: none of a field's column commands comes before the first rank allows it."""
    cdef Field* field = field_of(c, queue, kind, word)
    cdef int64_t first = FAR_CLOCK
    cdef int rank
    for rank in range(c.first_rank[word], c.first_rank[word + 1]):
        first = min(first, rank_earliest(c.device, column_command(queue), rank))
    field.look_at = max(field.look_at, first)


cdef inline bint find_active(Candidates c, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready active candidate, to be served."""
    cdef int queue, word
    found.key = FAR_CLOCK
    for word in range(c.words):
        for queue in range(2):
            if field_of(c, queue, ACTIVE, word).look_at <= clk:
                find(c, queue, ACTIVE, word, clk, found)
    if found.key == FAR_CLOCK:
        return False
    take(c, found)
    return True


cdef inline void renew_active_look(Candidates c, int64_t clk) noexcept nogil:
    """After a look at the active candidates and what came of it."""
    cdef int queue, word
    cdef int64_t look = FAR_CLOCK
    for word in range(c.words):
        for queue in range(2):
            if field_of(c, queue, ACTIVE, word).look_at <= clk:
                wait_for_rank(c, queue, ACTIVE, word)
            look = min(look, field_of(c, queue, ACTIVE, word).look_at)
    c.active_look_at = look


cdef inline bint find_waiting(Candidates c, int queue, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready waiting candidate of a queue, to be served."""
    cdef int word
    found.key = FAR_CLOCK
    for word in range(c.words):
        if field_of(c, queue, ROW, word).look_at <= clk:
            find(c, queue, ROW, word, clk, found)
        if field_of(c, queue, HIT, word).look_at <= clk:
            find(c, queue, HIT, word, clk, found)
    if found.key == FAR_CLOCK:
        return False
    take(c, found)
    return True


cdef inline void renew_queue_look(Candidates c, int queue, int64_t clk) noexcept nogil:
    """After a look at the waiting candidates of a queue and what came of it."""
    cdef int word
    cdef int64_t look = FAR_CLOCK
    for word in range(c.words):
        if field_of(c, queue, HIT, word).look_at <= clk:
            wait_for_rank(c, queue, HIT, word)
        look = min(look, field_of(c, queue, ROW, word).look_at)
        look = min(look, field_of(c, queue, HIT, word).look_at)
    c.queue_look_at[queue] = look
