# What a request or a command changes in what each bank of a host channel can do next.
#
# The controller (host_controller.pyx) decides; the verbs here keep the books: which request waits for which
# bank, which are hits and which conflicts, and what the candidates are after each command.

from libc.stdint cimport int32_t, int64_t, uint64_t

from .candidates cimport ACTIVE, HIT, READ_QUEUE, ROW, WRITE_QUEUE, Candidates, propose, withdraw
from .command_log cimport CommandLog, append
from .dram cimport ACT, CLOSED, Device, N_COMMANDS, PRE, PREA, RD, REF, WR, issue
from .request_queues cimport NONE, RequestQueues, Slot, enqueue, leave, release

cdef enum:  # counters: first the commands by code
    ROW_HITS = N_COMMANDS
    ROW_MISSES
    ROW_CONFLICTS
    READ_REQUESTS
    WRITE_REQUESTS
    READS_FORWARDED
    WRITES_MERGED
    READ_LATENCY
    N_COUNTERS

cdef struct Bank:
    int32_t rank
    int32_t group              # of the channel
    int32_t active             # the request it was opened for, NONE once served
    int32_t hit[2]             # by queue: the oldest waiting for the open row, NONE if there is none
    int32_t conflict[2]        # and for another one

cdef class HostBanks:
    cdef Device device
    cdef Candidates candidates
    cdef RequestQueues queues
    cdef int ranks, rank_banks
    cdef Bank[::1] banks
    cdef int32_t[::1] active_count    # by rank
    cdef int64_t[::1] counters
    cdef CommandLog log


cdef inline void offer(
    HostBanks b, int queue, int kind, int code, int64_t bank, int32_t slot, int64_t clk
) noexcept nogil:
    propose(b.candidates, queue, bank, kind, code, b.queues.slots[slot].age, clk)


cdef inline void wait_in_queue(
    HostBanks b, int queue, int64_t bank, int32_t row, int32_t column, int64_t index, int64_t clk
) noexcept nogil:
    """A request joins its queue: what its bank can do changes only if it is the first of its kind."""
    cdef int32_t s = enqueue(b.queues, queue, <int32_t>bank, row, column, index, clk)
    cdef Bank* at = &b.banks[bank]
    cdef int32_t open_row = b.device.open_row[bank]
    if open_row == CLOSED:
        if b.queues.first[queue * b.queues.n_banks + bank] == s:
            offer(b, queue, ROW, ACT, bank, s, clk)
    elif open_row == row:
        if at.hit[queue] == NONE:
            at.hit[queue] = s
            offer(b, queue, HIT, WR if queue == WRITE_QUEUE else RD, bank, s, clk)
    elif at.conflict[queue] == NONE:
        at.conflict[queue] = s
        if at.active == NONE:
            offer(b, queue, ROW, PRE, bank, s, clk)


cdef inline void command(
    HostBanks b, int code, int64_t bank, int32_t row, int32_t column, int64_t clk
) noexcept nogil:
    """A command to one bank."""
    cdef Bank* at = &b.banks[bank]
    issue(b.device, code, at.rank, at.group, <int>bank, row, clk)
    b.counters[code] += 1
    if b.log.on:
        append(
            b.log, clk, code, at.rank, at.group - at.rank * b.device.bankgroups,
            <int>bank - at.group * b.device.banks, row, column,
        )


cdef inline void rank_command(HostBanks b, int code, int rank, int64_t clk) noexcept nogil:
    """PREA or REF."""
    cdef int64_t bank
    issue(b.device, code, rank, 0, 0, NONE, clk)
    b.counters[code] += 1
    if b.log.on:
        append(b.log, clk, code, rank, NONE, NONE, NONE, NONE)
    if code == PREA:
        for bank in range(rank * b.rank_banks, (rank + 1) * b.rank_banks):
            bank_closed(b, bank, clk)


cdef inline void bank_closed(HostBanks b, int64_t bank, int64_t clk) noexcept nogil:
    """After PRE or PREA: the oldest that waits for the bank wants ACT."""
    cdef Bank* at = &b.banks[bank]
    cdef int queue
    cdef int32_t first
    b.candidates.closed[b.candidates.word_of[bank]] |= <uint64_t>1 << b.candidates.bit_of[bank]
    for queue in range(2):
        if b.queues.waiting[queue]:
            if at.hit[queue] != NONE:
                withdraw(b.candidates, queue, bank, HIT)
            at.hit[queue] = at.conflict[queue] = NONE
            first = b.queues.first[queue * b.queues.n_banks + bank]
            if first != NONE:
                offer(b, queue, ROW, ACT, bank, first, clk)


cdef inline void precharge(HostBanks b, int queue, int64_t bank, int64_t clk) noexcept nogil:
    """PRE for the oldest conflict of an open bank."""
    cdef Slot* request = &b.queues.slots[b.banks[bank].conflict[queue]]
    b.counters[ROW_CONFLICTS] += not request.classed
    request.classed = True
    command(b, PRE, bank, NONE, NONE, clk)
    bank_closed(b, bank, clk)


cdef inline void sort_waiting(HostBanks b, int queue, int64_t bank, int32_t row, int64_t clk) noexcept nogil:
    """After ACT: who waits for the bank is now hit or conflict (PRE waits for the active request)."""
    cdef int32_t s = b.queues.first[queue * b.queues.n_banks + bank], hit = NONE, conflict = NONE
    while s != NONE and (hit == NONE or conflict == NONE):
        if b.queues.slots[s].row == row:
            hit = s if hit == NONE else hit
        else:
            conflict = s if conflict == NONE else conflict
        s = b.queues.slots[s].next
    b.banks[bank].hit[queue], b.banks[bank].conflict[queue] = hit, conflict
    if hit != NONE:
        offer(b, queue, HIT, WR if queue == WRITE_QUEUE else RD, bank, hit, clk)


cdef inline void activate(HostBanks b, int queue, int64_t bank, int64_t clk) noexcept nogil:
    """ACT for the oldest that waits for a closed bank: it leaves its queue and is active."""
    cdef int32_t s = b.queues.first[queue * b.queues.n_banks + bank]
    cdef Slot* request = &b.queues.slots[s]
    cdef Bank* at = &b.banks[bank]
    b.counters[ROW_MISSES] += not request.classed
    request.classed = True
    command(b, ACT, bank, request.row, NONE, clk)
    b.candidates.closed[b.candidates.word_of[bank]] &= ~(<uint64_t>1 << b.candidates.bit_of[bank])
    leave(b.queues, queue, s)
    b.active_count[at.rank] += 1
    at.active = s
    withdraw(b.candidates, queue, bank, ROW)
    offer(b, queue, ACTIVE, WR if queue == WRITE_QUEUE else RD, bank, s, clk)
    sort_waiting(b, queue, bank, request.row, clk)
    if b.queues.waiting[1 - queue]:
        withdraw(b.candidates, 1 - queue, bank, ROW)
        sort_waiting(b, 1 - queue, bank, request.row, clk)


cdef inline void hit_left(HostBanks b, int queue, int64_t bank, int32_t s) noexcept nogil:
    """The next hit of the bank is younger than the one that was served: all older ones are conflicts."""
    cdef int32_t row = b.queues.slots[s].row
    s = b.queues.slots[s].next
    while s != NONE and b.queues.slots[s].row != row:
        s = b.queues.slots[s].next
    b.banks[bank].hit[queue] = s
    if s == NONE:
        withdraw(b.candidates, queue, bank, HIT)


cdef inline void column_moved(HostBanks b, int64_t bank, int64_t clk) noexcept nogil:
    """After RD or WR: the bank's own rules have moved for all that it can do next."""
    cdef Bank* at = &b.banks[bank]
    cdef int queue
    for queue in range(2):
        if b.queues.waiting[queue]:
            if at.hit[queue] != NONE:
                offer(b, queue, HIT, WR if queue == WRITE_QUEUE else RD, bank, at.hit[queue], clk)
            if at.conflict[queue] != NONE and at.active == NONE:
                offer(b, queue, ROW, PRE, bank, at.conflict[queue], clk)


cdef inline Slot* serve_column(HostBanks b, int queue, int kind, int64_t bank, int64_t clk) noexcept nogil:
    """RD or WR for the active request or the oldest hit of a bank. Its slot lasts until the next request."""
    cdef Bank* at = &b.banks[bank]
    cdef int32_t s = at.active if kind == ACTIVE else at.hit[queue]
    cdef Slot* request = &b.queues.slots[s]
    b.counters[ROW_HITS] += not request.classed
    command(b, WR if queue == WRITE_QUEUE else RD, bank, request.row, request.column, clk)
    if kind == ACTIVE:
        withdraw(b.candidates, queue, bank, ACTIVE)
        at.active = NONE
        b.active_count[at.rank] -= 1
    else:
        hit_left(b, queue, bank, s)
        leave(b.queues, queue, s)
    release(b.queues, s)
    column_moved(b, bank, clk)
    return request
