# The requests that wait in the read and the write queue: a list per bank and queue, oldest first, and the
# waiting writes by address. A request that left its queue for the active ones keeps its slot until served.

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from .candidates cimport WRITE_QUEUE

cdef enum:
    NONE = -1
    REQUEST_COLUMNS = 7   # offered_clk, is_write, rank, bankgroup, bank, row, column

cdef struct Slot:
    int64_t age        # order of acceptance
    int64_t accepted   # clock
    int64_t index      # position in its batch
    int32_t row, column, bank
    int32_t next, previous   # in the list of its bank and queue
    int32_t chain            # next write in the same hash bucket
    int8_t classed           # counted as hit, miss or conflict

cdef class RequestQueues:
    cdef int n_banks
    cdef Slot[::1] slots
    cdef int32_t free_slot         # free slots are chained by `next`
    cdef int64_t next_age
    cdef int32_t[::1] first, last  # [queue * n_banks + bank]
    cdef int64_t waiting[2]        # by queue
    cdef int64_t capacity[2]
    cdef int32_t[::1] buckets      # hash of waiting writes by address
    cdef uint64_t bucket_mask


cdef inline uint64_t bucket_of(RequestQueues q, int32_t bank, int32_t row, int32_t column) noexcept nogil:
    # it only spreads: equality is always checked on the whole address
    cdef uint64_t key = (<uint64_t>bank << 32 | <uint64_t>row) * <uint64_t>0x9E3779B97F4A7C15
    key = (key ^ (key >> 29) ^ <uint64_t>column) * <uint64_t>0xBF58476D1CE4E5B9
    return (key >> 32) & q.bucket_mask


cdef inline int32_t find_write(RequestQueues q, int32_t bank, int32_t row, int32_t column) noexcept nogil:
    """The waiting write to an address, NONE if there is none."""
    cdef int32_t s = q.buckets[bucket_of(q, bank, row, column)]
    while s != NONE:
        if q.slots[s].row == row and q.slots[s].column == column and q.slots[s].bank == bank:
            break
        s = q.slots[s].chain
    return s


cdef inline int32_t enqueue(
    RequestQueues q, int queue, int32_t bank, int32_t row, int32_t column, int64_t index, int64_t clk
) noexcept nogil:
    """Append a request; the caller has seen that there is room. Returns its slot."""
    cdef int32_t s = q.free_slot
    cdef Slot* slot = &q.slots[s]
    cdef int32_t* last = &q.last[queue * q.n_banks + bank]
    cdef uint64_t bucket
    q.free_slot = slot.next
    slot.age, slot.accepted, slot.index = q.next_age, clk, index
    slot.row, slot.column, slot.bank = row, column, bank
    slot.next, slot.previous = NONE, last[0]
    slot.classed = False
    q.next_age += 1
    q.waiting[queue] += 1
    if last[0] == NONE:
        q.first[queue * q.n_banks + bank] = s
    else:
        q.slots[last[0]].next = s
    last[0] = s
    if queue == WRITE_QUEUE:
        bucket = bucket_of(q, bank, row, column)
        slot.chain = q.buckets[bucket]
        q.buckets[bucket] = s
    return s


cdef inline void forget_write(RequestQueues q, int32_t s) noexcept nogil:
    cdef Slot* gone = &q.slots[s]
    cdef int32_t* link = &q.buckets[bucket_of(q, gone.bank, gone.row, gone.column)]
    while link[0] != s:
        link = &q.slots[link[0]].chain
    link[0] = gone.chain


cdef inline void leave(RequestQueues q, int queue, int32_t s) noexcept nogil:
    """A request leaves its queue (not its slot): nothing is forwarded from it or merged into it any more."""
    cdef Slot* gone = &q.slots[s]
    cdef int32_t place = queue * q.n_banks + gone.bank
    if gone.previous == NONE:
        q.first[place] = gone.next
    else:
        q.slots[gone.previous].next = gone.next
    if gone.next == NONE:
        q.last[place] = gone.previous
    else:
        q.slots[gone.next].previous = gone.previous
    q.waiting[queue] -= 1
    if queue == WRITE_QUEUE:
        forget_write(q, s)


cdef inline void release(RequestQueues q, int32_t s) noexcept nogil:
    q.slots[s].next = q.free_slot
    q.free_slot = s
