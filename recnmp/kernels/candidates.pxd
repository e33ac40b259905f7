# What each bank could do next, and when a look at it is worth while.
#
# A bank has at most one candidate of each kind in each queue: the oldest request of that kind. A candidate is
# `ripe` once the rules of its bank have run out; only ripe ones are compared by age, after the rules of rank
# and bank group have been asked once for all of them. `look_at` is never later than the first clock at which
# a kind in a rank can have something ready: commands only push clocks back, so it stays true until a new
# candidate lowers it.

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint64_t

from .dram cimport ACT, Device, N_COMMANDS, PRE, RD, WR, rank_earliest

cdef enum:
    READ_QUEUE = 0
    WRITE_QUEUE = 1

cdef enum:  # kinds, by the command with which the request goes on
    ACTIVE = 0    # ACT was issued for it: RD or WR
    FIRST = 1     # the oldest of a closed bank: ACT
    CONFLICT = 2  # the oldest for another row than the open one: PRE
    HIT = 3       # the oldest for the open row: RD or WR
    N_KINDS = 4

cdef extern from *:
    """
    #define lowest_bit(mask) __builtin_ctzll(mask)
    #define FAR_CLOCK (INT64_MAX / 2)
    """
    int lowest_bit(uint64_t mask) noexcept nogil
    const int64_t FAR_CLOCK

# candidates of one queue in one rank, by kind; bits are banks of the rank
cdef struct RankCandidates:
    uint64_t ripe[N_KINDS]
    uint64_t unripe[N_KINDS]
    int64_t ripe_at[N_KINDS]   # not later than the first clock at which an unripe one is ripe
    int64_t look_at[N_KINDS]

# the oldest ready candidate so far
cdef struct Found:
    int64_t age
    int64_t rest               # first clock worth a look at the others of its queue, rank and kind
    int32_t queue, rank, kind, bank

cdef class Candidates:
    cdef Device device
    cdef int ranks, rank_banks, n_banks, bankgroups
    cdef int32_t[::1] rank_of          # by bank
    cdef uint64_t[::1] bit_of          # by bank: its bit in its rank
    cdef uint64_t[::1] group_bits      # by bank group of a rank: the bits of its banks
    cdef bint grouped[N_COMMANDS]      # whether a bank group rule can hold the command up
    cdef RankCandidates[::1] by_rank   # [queue * ranks + rank]
    cdef int64_t[::1] age              # [(queue * N_KINDS + kind) * n_banks + bank]
    cdef int64_t[::1] queue_look_at    # by queue: least look_at of FIRST, CONFLICT and HIT
    cdef int64_t[::1] rank_look_at     # [queue * ranks + rank]: likewise
    cdef int64_t active_look_at        # least look_at of ACTIVE
    cdef uint64_t active_ranks[2]      # by queue: ranks with an active candidate


cdef inline int command_of(int queue, int kind) noexcept nogil:
    return ACT if kind == FIRST else PRE if kind == CONFLICT else WR if queue == WRITE_QUEUE else RD


cdef inline void propose(Candidates c, int queue, int32_t bank, int kind, int64_t age, int64_t clk) noexcept nogil:
    """A bank has a (new) candidate of a kind."""
    cdef int rank = c.rank_of[bank]
    cdef uint64_t bit = c.bit_of[bank]
    cdef RankCandidates* here = &c.by_rank[queue * c.ranks + rank]
    cdef int64_t first = c.device.by_bank[bank * N_COMMANDS + command_of(queue, kind)]
    c.age[(queue * N_KINDS + kind) * c.n_banks + bank] = age
    if first <= clk:
        here.ripe[kind] |= bit
        here.unripe[kind] &= ~bit
        first = clk
    else:
        here.unripe[kind] |= bit
        here.ripe[kind] &= ~bit
        here.ripe_at[kind] = min(here.ripe_at[kind], first)
    here.look_at[kind] = min(here.look_at[kind], first)
    if kind == ACTIVE:
        c.active_ranks[queue] |= <uint64_t>1 << rank
        c.active_look_at = min(c.active_look_at, first)
    else:
        c.rank_look_at[queue * c.ranks + rank] = min(c.rank_look_at[queue * c.ranks + rank], first)
        c.queue_look_at[queue] = min(c.queue_look_at[queue], first)


cdef inline void withdraw(Candidates c, int queue, int32_t bank, int kind) noexcept nogil:
    """A bank has no candidate of a kind."""
    cdef int rank = c.rank_of[bank]
    cdef RankCandidates* here = &c.by_rank[queue * c.ranks + rank]
    here.ripe[kind] &= ~c.bit_of[bank]
    here.unripe[kind] &= ~c.bit_of[bank]
    if kind == ACTIVE and here.ripe[kind] == 0 and here.unripe[kind] == 0:
        c.active_ranks[queue] &= ~(<uint64_t>1 << rank)


cdef inline void ripen(Candidates c, RankCandidates* here, int rank, int kind, int command, int64_t clk) noexcept nogil:
    cdef int64_t* by_bank = &c.device.by_bank[rank * c.rank_banks * N_COMMANDS + command]
    cdef uint64_t banks = here.unripe[kind], ripe = 0
    cdef int64_t first, later = FAR_CLOCK
    cdef int bank
    while banks:
        bank = lowest_bit(banks)
        first = by_bank[bank * N_COMMANDS]
        if first <= clk:
            ripe |= banks & -banks
        else:
            later = min(later, first)
        banks &= banks - 1
    here.ripe[kind] |= ripe
    here.unripe[kind] ^= ripe
    here.ripe_at[kind] = later


cdef inline void scan(Candidates c, int queue, int rank, int kind, int64_t clk, Found* found) noexcept nogil:
    """Find a rank's oldest ready candidate of a kind, if it is older than what was found; renew look_at."""
    cdef RankCandidates* here = &c.by_rank[queue * c.ranks + rank]
    cdef int command = command_of(queue, kind), group
    cdef uint64_t banks, group_bits
    cdef int64_t first, later, age, best_age
    cdef int64_t* ages
    cdef int32_t best, bank
    if here.look_at[kind] > clk:
        return
    if here.ripe_at[kind] <= clk:
        ripen(c, here, rank, kind, command, clk)
    banks = here.ripe[kind]
    later = here.ripe_at[kind]
    if banks == 0:
        here.look_at[kind] = later
        return
    first = rank_earliest(c.device, command, rank)
    if first > clk:
        here.look_at[kind] = min(first, later)
        return
    if c.grouped[command]:
        for group in range(c.bankgroups):
            first = c.device.by_group[(rank * c.bankgroups + group) * N_COMMANDS + command]
            group_bits = c.group_bits[group]
            if first > clk and banks & group_bits:
                banks &= ~group_bits
                later = min(later, first)
        if banks == 0:
            here.look_at[kind] = later
            return
    here.look_at[kind] = clk
    ages = &c.age[(queue * N_KINDS + kind) * c.n_banks + rank * c.rank_banks]
    best = lowest_bit(banks)
    best_age = ages[best]
    banks &= banks - 1
    if banks:
        later = clk
    while banks:
        bank = lowest_bit(banks)
        age = ages[bank]
        best = bank if age < best_age else best
        best_age = min(age, best_age)
        banks &= banks - 1
    if best_age < found.age:
        found.age = best_age
        found.rest = later
        found.queue, found.rank, found.kind = queue, rank, kind
        found.bank = rank * c.rank_banks + best


cdef inline bint find_active(Candidates c, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready active candidate, taken out of the looks."""
    cdef int queue
    cdef uint64_t ranks
    found.age = FAR_CLOCK
    for queue in range(2):
        ranks = c.active_ranks[queue]
        while ranks:
            scan(c, queue, lowest_bit(ranks), ACTIVE, clk, found)
            ranks &= ranks - 1
    if found.age == FAR_CLOCK:
        return False
    c.by_rank[found.queue * c.ranks + found.rank].look_at[ACTIVE] = found.rest
    return True


cdef inline bint find_waiting(Candidates c, int queue, int64_t clk, Found* found) noexcept nogil:
    """The oldest ready waiting candidate of a queue, taken out of the looks."""
    cdef int rank
    found.age = FAR_CLOCK
    for rank in range(c.ranks):
        if c.rank_look_at[queue * c.ranks + rank] <= clk:
            scan(c, queue, rank, FIRST, clk, found)
            scan(c, queue, rank, CONFLICT, clk, found)
            scan(c, queue, rank, HIT, clk, found)
    if found.age == FAR_CLOCK:
        return False
    c.by_rank[queue * c.ranks + found.rank].look_at[found.kind] = found.rest
    return True


cdef inline int64_t look_from(Candidates c, int queue, int rank, int kind) noexcept nogil:
    """A rank's look_at of a kind, raised to what the rules of the rank allow."""
    cdef RankCandidates* here = &c.by_rank[queue * c.ranks + rank]
    here.look_at[kind] = max(here.look_at[kind], rank_earliest(c.device, command_of(queue, kind), rank))
    return here.look_at[kind]


cdef inline void renew_active_look(Candidates c) noexcept nogil:
    """After a look at the active candidates and what came of it."""
    cdef int queue
    cdef uint64_t ranks
    cdef int64_t look = FAR_CLOCK
    for queue in range(2):
        ranks = c.active_ranks[queue]
        while ranks:
            look = min(look, look_from(c, queue, lowest_bit(ranks), ACTIVE))
            ranks &= ranks - 1
    c.active_look_at = look


cdef inline void renew_queue_look(Candidates c, int queue, int64_t clk) noexcept nogil:
    """After a look at the waiting candidates of a queue and what came of it."""
    cdef int rank
    cdef int64_t look, least = FAR_CLOCK
    cdef RankCandidates* here
    for rank in range(c.ranks):
        look = c.rank_look_at[queue * c.ranks + rank]
        if look <= clk:
            here = &c.by_rank[queue * c.ranks + rank]
            look = min(min(here.look_at[CONFLICT], here.look_at[HIT]), look_from(c, queue, rank, FIRST))
            c.rank_look_at[queue * c.ranks + rank] = look
        least = min(least, look)
    c.queue_look_at[queue] = least
