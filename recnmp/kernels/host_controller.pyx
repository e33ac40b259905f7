"""The host channel's FR-FCFS controller: open page, read and write queue, refresh; one command a clock.

How a clock goes (golden/README, docs/dram.md), in `tick`:
1. the next request, if its time has come and its queue has room, is accepted; then the clock moves on;
2. refresh falls due for every rank at multiples of the interval;
3. the oldest active request that is ready is served, else the head of the due refreshes, else the oldest
   ready request of the read queue or, in write mode, of the write queue.

All decisions are taken from bank-indexed state. A bank offers at most one request of each kind (ACTIVE,
FIRST, CONFLICT, HIT: the oldest of that kind), kept up to date only when its bank or its queue changes.
`look_at` is never later than the first clock at which a kind in a rank can have something ready: commands
only push clocks back, so it stays true until a new candidate lowers it. `skip` jumps to the earliest of them.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport INT64_MAX

from .dram cimport ACT, CLOSED, N_COMMANDS, PRE, PREA, RD, REF, WR, bank_earliest, issue, rank_earliest

import numpy as np

# Counters: first the commands by code, then what happened to requests.
COUNTERS = (
    "activates",
    "precharges",
    "precharges_all",
    "reads",
    "writes",
    "reads_precharging",
    "writes_precharging",
    "refreshes",
    "row_hits",
    "row_misses",
    "row_conflicts",
    "read_requests",
    "write_requests",
    "reads_forwarded",
    "writes_merged",
    "read_latency",
)

cdef enum:
    ROW_HITS = N_COMMANDS
    ROW_MISSES
    ROW_CONFLICTS
    READ_REQUESTS
    WRITE_REQUESTS
    READS_FORWARDED
    WRITES_MERGED
    READ_LATENCY

cdef enum:
    NONE = -1
    LOG_ROWS = 1 << 14
    COLUMNS = 7

cdef int64_t FAR = INT64_MAX // 2
cdef int64_t CHUNK_CLOCKS = 1 << 22   # clocks between two looks at Ctrl-C

SLOT = np.dtype(
    [("age", "i8"), ("accepted", "i8"), ("index", "i8"), ("row", "i4"), ("column", "i4"), ("bank", "i4"),
     ("next", "i4"), ("previous", "i4"), ("chain", "i4"), ("classed", "i1")], align=True)
BANK_QUEUE = np.dtype([("age", "i8", N_KINDS), ("slot", "i4", N_KINDS), ("last", "i4")], align=True)
RANK_QUEUE = np.dtype([("banks", "u8", N_KINDS), ("look_at", "i8", N_KINDS)], align=True)

cdef extern from *:
    """
    #define lowest_bit(mask) __builtin_ctzll(mask)
    """
    int lowest_bit(uint64_t mask) noexcept nogil


cdef inline uint64_t bucket_of(int32_t bank, int32_t row, int32_t column, uint64_t mask) noexcept nogil:
    # it only spreads: equality is always checked on the whole address
    cdef uint64_t key = (<uint64_t>bank << 32 | <uint64_t>row) * <uint64_t>0x9E3779B97F4A7C15
    key = (key ^ (key >> 29) ^ <uint64_t>column) * <uint64_t>0xBF58476D1CE4E5B9
    return (key >> 32) & mask


@cython.final
cdef class HostController:
    """State of one channel. `device` holds banks and timing; queue depths and latencies are in clocks.

    `outstanding` limits reads between acceptance and last datum (0: no limit); `refresh_interval` 0 turns
    refresh off. With `logging`, `take_log` returns the commands since it was last called.
    """

    def __init__(self, Device device, int64_t read_queue, int64_t write_queue, int64_t outstanding,
                 int64_t refresh_interval, int64_t read_latency, int64_t write_latency, bint logging):
        cdef int32_t i
        self.device = device
        self.ranks = device.ranks
        self.rank_banks = device.bankgroups * device.banks
        self.n_banks = self.ranks * self.rank_banks
        if self.rank_banks > 64:
            raise ValueError(f"{self.rank_banks} banks a rank: at most 64")
        banks = np.arange(self.n_banks, dtype=np.int32)
        self.rank_of, self.group_of = banks // self.rank_banks, banks // device.banks
        self.read_latency, self.write_latency = read_latency, write_latency
        # an active request has left its queue, and there is at most one a bank
        self.slots = np.zeros(read_queue + write_queue + self.n_banks, SLOT)
        for i in range(self.slots.shape[0]):
            self.slots[i].next = i + 1
        self.slots[self.slots.shape[0] - 1].next = NONE
        empty = np.zeros(2 * self.n_banks, BANK_QUEUE)
        empty["slot"], empty["last"] = NONE, NONE
        self.bank_queues = empty
        empty = np.zeros(2 * self.ranks, RANK_QUEUE)
        empty["look_at"] = FAR
        self.rank_queues = empty
        self.rank_look_at = np.full(2 * self.ranks, FAR, np.int64)
        self.active_count = np.zeros(self.ranks, np.int32)
        self.capacity = [read_queue, write_queue]
        self.active_look_at = FAR
        self.offer_at = FAR
        self.queue_look_at = [FAR, FAR]
        size = 1 << (2 * int(write_queue) - 1).bit_length()
        self.buckets = np.full(size, NONE, np.int32)
        self.bucket_mask = size - 1
        self.outstanding = outstanding
        self.arrivals = np.zeros(outstanding + 1, np.int64)
        self.refresh_interval = refresh_interval
        self.next_refresh = refresh_interval if refresh_interval else FAR
        self.counters = np.zeros(len(COUNTERS), np.int64)
        self.logging = logging
        self.log = np.zeros((LOG_ROWS if logging else 1, COLUMNS), np.int64)
        self.log_parts = []
        self.requests = np.zeros((0, COLUMNS), np.int64)
        self.done = np.zeros(0, np.int64)

    # --- the story of a clock ---

    cdef bint tick(self) noexcept nogil:
        """One clock; returns whether a command was issued."""
        cdef int64_t clk
        if self.clk >= self.offer_at:
            self.accept()
        self.clk += 1
        clk = self.clk
        if clk >= self.next_refresh:
            self.next_refresh += self.refresh_interval
            self.refreshes_due += self.ranks
        if clk >= self.active_look_at and self.serve_active(clk):
            return True
        if self.refreshes_due:
            return self.serve_refresh(clk)
        if not self.write_mode:
            self.write_mode = 5 * self.waiting[1] > 4 * self.capacity[1] or self.waiting[0] == 0
        elif 5 * self.waiting[1] < self.capacity[1] and self.waiting[0] != 0:
            self.write_mode = False
        if clk >= self.queue_look_at[self.write_mode]:
            return self.serve_queue(self.write_mode, clk)
        return False

    cdef void skip(self, int64_t limit) noexcept nogil:
        """After a clock without a command: jump to just before the next at which anything can happen."""
        cdef int64_t act_at = min(self.next_refresh, self.active_look_at)
        if self.refreshes_due == 0:
            act_at = min(act_at, self.queue_look_at[self.write_mode])
        elif self.device.open_banks[self.refresh_rank] == 0:
            act_at = min(act_at, rank_earliest(self.device, REF, self.refresh_rank))
        elif self.active_count[self.refresh_rank] == 0:
            act_at = min(act_at, rank_earliest(self.device, PREA, self.refresh_rank))
        # requests are offered at the clock before the one at which the controller acts
        act_at = min(min(act_at - 1, self.offer_at), limit)
        if act_at > self.clk:
            self.clk = act_at

    cdef void accept(self) noexcept nogil:
        """Accept, forward or merge the next request if there is room; sets when to offer again."""
        cdef const int64_t* request = &self.requests[self.next_request, 0]
        cdef BankQueue* bank_queue
        cdef Slot* slot
        cdef int32_t s, bank, row, column, same
        cdef uint64_t bucket = 0
        cdef int queue = request[1] != 0
        if queue == READ_QUEUE and self.outstanding:
            while self.arrivals_count and self.arrivals[self.arrivals_head] <= self.clk:
                self.arrivals_head = self.arrivals_head + 1 if self.arrivals_head < self.outstanding else 0
                self.arrivals_count -= 1
                self.in_flight -= 1
            if self.in_flight >= self.outstanding:
                # with none on its way, the next RD tells
                self.offer_at = self.arrivals[self.arrivals_head] if self.arrivals_count else FAR
                return
        if self.waiting[queue] >= self.capacity[queue] and self.waiting[WRITE_QUEUE] == 0:
            self.offer_at = FAR   # until a request leaves its queue
            return
        bank = <int32_t>((request[2] * self.device.bankgroups + request[3]) * self.device.banks + request[4])
        row = <int32_t>request[5]
        column = <int32_t>request[6]
        if queue == WRITE_QUEUE or self.waiting[WRITE_QUEUE]:
            same = self.find_write(bank, row, column, &bucket)
            if same != NONE and queue == READ_QUEUE:
                self.done[self.next_request] = self.clk + 1
                self.last_datum = max(self.last_datum, self.clk + 1)
                self.counters[READS_FORWARDED] += 1
                self.counters[READ_LATENCY] += 1
                self.counters[READ_REQUESTS] += 1
            elif same != NONE:
                # its completion is that of the waiting write: resolved when the batch has ended
                self.done[self.next_request] = -2 - self.slots[same].index
                self.counters[WRITES_MERGED] += 1
                self.counters[WRITE_REQUESTS] += 1
            if same != NONE:
                self.unfinished -= 1
                self.advance()
                return
            if self.waiting[queue] >= self.capacity[queue]:
                self.offer_at = FAR
                return
        s = self.free_slot
        slot = &self.slots[s]
        self.free_slot = slot.next
        slot.age = self.next_age
        self.next_age += 1
        slot.accepted = self.clk
        slot.index = self.next_request
        slot.row, slot.column, slot.bank = row, column, bank
        slot.classed = False
        slot.next = NONE
        self.waiting[queue] += 1
        self.counters[READ_REQUESTS + queue] += 1
        self.advance()
        if queue == WRITE_QUEUE:
            slot.chain = self.buckets[bucket]
            self.buckets[bucket] = s
        elif self.outstanding:
            self.in_flight += 1
        bank_queue = &self.bank_queues[queue * self.n_banks + bank]
        slot.previous = bank_queue.last
        if bank_queue.last == NONE:
            bank_queue.slot[FIRST] = s
            bank_queue.age[FIRST] = slot.age
        else:
            self.slots[bank_queue.last].next = s
        bank_queue.last = s
        # what the bank can offer changes only if this is the first of its kind
        if self.device.open_row[bank] == CLOSED:
            if slot.previous == NONE:
                self.propose(queue, bank, FIRST)
        elif self.device.open_row[bank] == row:
            if bank_queue.slot[HIT] == NONE:
                bank_queue.slot[HIT], bank_queue.age[HIT] = s, slot.age
                self.propose(queue, bank, HIT)
        elif bank_queue.slot[CONFLICT] == NONE:
            bank_queue.slot[CONFLICT], bank_queue.age[CONFLICT] = s, slot.age
            self.propose(queue, bank, CONFLICT)

    cdef void advance(self) noexcept nogil:
        """To the next request of the batch: it is offered from its time on, one request a clock."""
        self.next_request += 1
        self.offer_at = FAR
        if self.next_request < self.n_requests:
            self.offer_at = max(self.start + self.requests[self.next_request, 0], self.clk + 1)

    cdef int32_t find_write(self, int32_t bank, int32_t row, int32_t column, uint64_t* bucket) noexcept nogil:
        """The waiting write of an address, NONE if there is none; also the address's bucket."""
        cdef int32_t s
        bucket[0] = bucket_of(bank, row, column, self.bucket_mask)
        s = self.buckets[bucket[0]]
        while s != NONE:
            if self.slots[s].row == row and self.slots[s].column == column and self.slots[s].bank == bank:
                return s
            s = self.slots[s].chain
        return NONE

    cdef void forget_write(self, int32_t slot) noexcept nogil:
        """A write has left its queue: nothing is forwarded from it any more."""
        cdef Slot* gone = &self.slots[slot]
        cdef int32_t* link = &self.buckets[bucket_of(gone.bank, gone.row, gone.column, self.bucket_mask)]
        while link[0] != slot:
            link = &self.slots[link[0]].chain
        link[0] = gone.chain

    # --- whose turn it is ---

    cdef bint serve_active(self, int64_t clk) noexcept nogil:
        """Issue RD or WR for the oldest active request that is ready."""
        cdef Found found
        cdef int64_t next_look = FAR
        cdef int queue
        cdef uint64_t ranks
        found.age = FAR
        for queue in range(2):
            ranks = self.active_ranks[queue]
            while ranks:
                scan(self, queue, lowest_bit(ranks), ACTIVE, WR if queue else RD, clk, &found)
                ranks &= ranks - 1
        if found.age < FAR:
            self.rank_queues[found.queue * self.ranks + found.rank].look_at[ACTIVE] = found.rest
            self.column(found.queue, self.bank_queues[found.bank_queue].slot[ACTIVE], True, clk)
        for queue in range(2):
            ranks = self.active_ranks[queue]
            while ranks:
                next_look = min(next_look, look_from(self, queue, lowest_bit(ranks), ACTIVE, WR if queue else RD))
                ranks &= ranks - 1
        self.active_look_at = next_look
        return found.age < FAR

    cdef bint serve_refresh(self, int64_t clk) noexcept nogil:
        """Issue PREA or REF for the head of the due refreshes, if it is ready."""
        cdef int rank = self.refresh_rank
        cdef int32_t bank
        if self.device.open_banks[rank]:
            if self.active_count[rank] or rank_earliest(self.device, PREA, rank) > clk:
                return False
            self.command(PREA, rank, NONE, NONE, NONE, clk)
            for bank in range(rank * self.rank_banks, (rank + 1) * self.rank_banks):
                self.bank_closed(READ_QUEUE, bank)
                self.bank_closed(WRITE_QUEUE, bank)
            return True
        if rank_earliest(self.device, REF, rank) > clk:
            return False
        self.command(REF, rank, NONE, NONE, NONE, clk)
        self.refreshes_due -= 1
        self.refresh_rank = rank + 1 if rank + 1 < self.ranks else 0
        return True

    cdef bint serve_queue(self, int queue, int64_t clk) noexcept nogil:
        """Issue the next command of the oldest ready request of a queue."""
        cdef Found found
        cdef int64_t next_look = FAR, look
        cdef int rank
        cdef int32_t slot
        cdef RankQueue* candidates
        found.age = FAR
        for rank in range(self.ranks):
            if self.rank_look_at[queue * self.ranks + rank] <= clk:
                scan(self, queue, rank, FIRST, ACT, clk, &found)
                scan(self, queue, rank, CONFLICT, PRE, clk, &found)
                scan(self, queue, rank, HIT, WR if queue else RD, clk, &found)
        if found.age < FAR:
            self.rank_queues[queue * self.ranks + found.rank].look_at[found.kind] = found.rest
            slot = self.bank_queues[found.bank_queue].slot[found.kind]
            if found.kind == FIRST:
                self.activate(queue, slot, clk)
            elif found.kind == CONFLICT:
                self.precharge(slot, clk)
            else:
                self.column(queue, slot, False, clk)
        for rank in range(self.ranks):
            look = self.rank_look_at[queue * self.ranks + rank]
            if look <= clk:
                candidates = &self.rank_queues[queue * self.ranks + rank]
                look = min(candidates.look_at[CONFLICT], candidates.look_at[HIT])
                look = min(look, look_from(self, queue, rank, FIRST, ACT))
                self.rank_look_at[queue * self.ranks + rank] = look
            next_look = min(next_look, look)
        self.queue_look_at[queue] = next_look
        return found.age < FAR

    # --- what a command changes ---

    cdef void propose(self, int queue, int32_t bank, int kind) noexcept nogil:
        """A bank has a candidate of a kind: look for it from its first legal clock on."""
        cdef int rank = self.rank_of[bank]
        cdef RankQueue* candidates = &self.rank_queues[queue * self.ranks + rank]
        cdef int command = ACT if kind == FIRST else PRE if kind == CONFLICT else WR if queue else RD
        cdef int64_t first = bank_earliest(self.device, command, self.group_of[bank], bank)
        if kind == CONFLICT and (
            self.bank_queues[bank].slot[ACTIVE] != NONE
            or self.bank_queues[self.n_banks + bank].slot[ACTIVE] != NONE
        ):
            return   # no PRE before the active request has had its turn
        candidates.banks[kind] |= <uint64_t>1 << (bank - rank * self.rank_banks)
        candidates.look_at[kind] = min(candidates.look_at[kind], first)
        if kind == ACTIVE:
            self.active_look_at = min(self.active_look_at, first)
        else:
            self.rank_look_at[queue * self.ranks + rank] = min(
                self.rank_look_at[queue * self.ranks + rank], first
            )
            self.queue_look_at[queue] = min(self.queue_look_at[queue], first)

    cdef void bank_opened(self, int queue, int32_t bank, int32_t row) noexcept nogil:
        """After ACT: the waiting requests of the bank are now hits or conflicts."""
        cdef BankQueue* bank_queue = &self.bank_queues[queue * self.n_banks + bank]
        cdef int rank = self.rank_of[bank]
        cdef RankQueue* candidates = &self.rank_queues[queue * self.ranks + rank]
        cdef int32_t s = bank_queue.slot[FIRST]
        cdef int kind
        candidates.banks[FIRST] &= ~(<uint64_t>1 << (bank - rank * self.rank_banks))
        while s != NONE and (bank_queue.slot[HIT] == NONE or bank_queue.slot[CONFLICT] == NONE):
            kind = HIT if self.slots[s].row == row else CONFLICT
            if bank_queue.slot[kind] == NONE:
                bank_queue.slot[kind], bank_queue.age[kind] = s, self.slots[s].age
                self.propose(queue, bank, kind)
            s = self.slots[s].next

    cdef void bank_closed(self, int queue, int32_t bank) noexcept nogil:
        """After PRE or PREA: the oldest waiting request of the bank wants ACT."""
        cdef BankQueue* bank_queue = &self.bank_queues[queue * self.n_banks + bank]
        cdef int rank = self.rank_of[bank]
        cdef RankQueue* candidates = &self.rank_queues[queue * self.ranks + rank]
        cdef uint64_t others = ~(<uint64_t>1 << (bank - rank * self.rank_banks))
        candidates.banks[HIT] &= others
        candidates.banks[CONFLICT] &= others
        bank_queue.slot[HIT] = NONE
        bank_queue.slot[CONFLICT] = NONE
        if bank_queue.slot[FIRST] != NONE:
            self.propose(queue, bank, FIRST)

    cdef void unlink(self, int queue, int32_t slot) noexcept nogil:
        """A request leaves its queue."""
        cdef Slot* gone = &self.slots[slot]
        cdef BankQueue* bank_queue = &self.bank_queues[queue * self.n_banks + gone.bank]
        if gone.previous == NONE:
            bank_queue.slot[FIRST] = gone.next
            if gone.next != NONE:
                bank_queue.age[FIRST] = self.slots[gone.next].age
        else:
            self.slots[gone.previous].next = gone.next
        if gone.next == NONE:
            bank_queue.last = gone.previous
        else:
            self.slots[gone.next].previous = gone.previous
        self.waiting[queue] -= 1
        self.offer_at = self.offer_now()
        if queue == WRITE_QUEUE:
            self.forget_write(slot)

    cdef inline int64_t offer_now(self) noexcept nogil:
        """When to offer the next request, now that there may be room for it."""
        if self.next_request == self.n_requests:
            return FAR
        return max(self.start + self.requests[self.next_request, 0], self.clk)

    cdef void activate(self, int queue, int32_t slot, int64_t clk) noexcept nogil:
        cdef Slot* request = &self.slots[slot]
        cdef int32_t bank = request.bank
        cdef BankQueue* bank_queue = &self.bank_queues[queue * self.n_banks + bank]
        self.counters[ROW_MISSES] += not request.classed
        request.classed = True
        self.command(ACT, self.rank_of[bank], bank, request.row, NONE, clk)
        self.unlink(queue, slot)
        self.active_count[self.rank_of[bank]] += 1
        self.active_ranks[queue] |= <uint64_t>1 << self.rank_of[bank]
        bank_queue.slot[ACTIVE], bank_queue.age[ACTIVE] = slot, request.age
        self.propose(queue, bank, ACTIVE)
        self.bank_opened(READ_QUEUE, bank, request.row)
        self.bank_opened(WRITE_QUEUE, bank, request.row)

    cdef void precharge(self, int32_t slot, int64_t clk) noexcept nogil:
        cdef Slot* request = &self.slots[slot]
        self.counters[ROW_CONFLICTS] += not request.classed
        request.classed = True
        self.command(PRE, self.rank_of[request.bank], request.bank, NONE, NONE, clk)
        self.bank_closed(READ_QUEUE, request.bank)
        self.bank_closed(WRITE_QUEUE, request.bank)

    cdef void column(self, int queue, int32_t slot, bint active, int64_t clk) noexcept nogil:
        cdef Slot* request = &self.slots[slot]
        cdef int32_t bank = request.bank, s
        cdef int rank = self.rank_of[bank]
        cdef uint64_t others = ~(<uint64_t>1 << (bank - rank * self.rank_banks))
        cdef BankQueue* bank_queue = &self.bank_queues[queue * self.n_banks + bank]
        cdef int64_t done = clk + (self.write_latency if queue else self.read_latency)
        self.counters[ROW_HITS] += not request.classed
        self.command(WR if queue else RD, rank, bank, request.row, request.column, clk)
        self.done[request.index] = done
        self.last_datum = max(self.last_datum, done)
        self.unfinished -= 1
        if queue == READ_QUEUE:
            self.counters[READ_LATENCY] += done - request.accepted
            if self.outstanding:
                s = <int32_t>(self.arrivals_head + self.arrivals_count)
                self.arrivals[s if s <= self.outstanding else s - self.outstanding - 1] = done
                self.arrivals_count += 1
                self.offer_at = self.offer_now()
        if active:
            self.rank_queues[queue * self.ranks + rank].banks[ACTIVE] &= others
            if self.rank_queues[queue * self.ranks + rank].banks[ACTIVE] == 0:
                self.active_ranks[queue] &= ~(<uint64_t>1 << rank)
            bank_queue.slot[ACTIVE] = NONE
            self.active_count[rank] -= 1
            if self.bank_queues[bank].slot[CONFLICT] != NONE:
                self.propose(READ_QUEUE, bank, CONFLICT)
            if self.bank_queues[self.n_banks + bank].slot[CONFLICT] != NONE:
                self.propose(WRITE_QUEUE, bank, CONFLICT)
        else:
            self.unlink(queue, slot)
            # all older ones are for other rows
            s = request.next
            while s != NONE and self.slots[s].row != request.row:
                s = self.slots[s].next
            bank_queue.slot[HIT] = s
            if s == NONE:
                self.rank_queues[queue * self.ranks + rank].banks[HIT] &= others
            else:
                bank_queue.age[HIT] = self.slots[s].age
                self.propose(queue, bank, HIT)
        request.next = self.free_slot
        self.free_slot = slot

    cdef void command(
        self, int command, int32_t rank, int32_t bank, int32_t row, int32_t column, int64_t clk
    ) noexcept nogil:
        cdef int64_t* line
        issue(self.device, command, rank, self.group_of[bank] if bank >= 0 else 0, bank, row, clk)
        self.counters[command] += 1
        if self.logging:
            line = &self.log[self.logged, 0]
            self.logged += 1
            line[0], line[1], line[2], line[5], line[6] = clk, command, rank, row, column
            line[3] = line[4] = NONE
            if bank >= 0:
                line[3] = (bank - rank * self.rank_banks) // self.device.banks
                line[4] = bank % self.device.banks

    cdef bint loop(self, int64_t until, int64_t clocks, bint skipping) noexcept nogil:
        """Go on until the batch is finished and `until` is reached; False if log or `clocks` ran out before."""
        cdef int64_t limit = self.clk + clocks
        while self.unfinished or self.clk < until:
            if self.clk >= limit or self.logged == self.log.shape[0]:
                return False
            if not self.tick() and skipping:
                if self.unfinished:
                    self.skip(limit)
                elif self.clk < until:
                    self.skip(min(limit, until))
        return True

    # --- public ---

    def _until(self, int64_t until, bint skipping, progress):
        cdef bint ended = False
        while not ended:
            with nogil:
                ended = self.loop(until, CHUNK_CLOCKS, skipping)
            if self.logging and self.logged:
                self.log_parts.append(np.array(self.log[:self.logged]))
                self.logged = 0
            PyErr_CheckSignals()
            if progress is not None:
                progress(self.next_request)

    def offer(self, const int64_t[:, ::1] requests, int64_t start):
        """Begin a batch of requests [n, 7], offered from clock `start` (not before now); the last one is over.

        Values are taken as they are: the caller has checked them. Until `start` the channel only refreshes.
        """
        cdef int64_t n = requests.shape[0]
        if self.unfinished or start < self.clk:
            raise ValueError(f"{self.unfinished} requests are unfinished, clock is {self.clk}, start is {start}")
        if requests.shape[1] != COLUMNS:
            raise ValueError(f"requests have {requests.shape[1]} columns, not {COLUMNS}")
        self._until(start, True, None)
        self.done = np.full(n, NONE, np.int64)
        self.requests, self.start = requests, start
        self.n_requests, self.unfinished, self.next_request = n, n, 0
        self.offer_at = self.offer_now()
        self.last_datum = start

    def run(self, bint skipping=True, progress=None):
        """Finish the batch and go on to the clock of its last datum; returns its completion clocks int64 [n].

        `progress(accepted requests)` is called now and then. Without `skipping` every clock is ticked, which
        gives the same in every respect and is there to show that.
        """
        cdef int64_t i
        self._until(0, skipping, progress)
        self._until(self.last_datum, skipping, progress)
        with nogil:
            for i in range(self.n_requests):
                if self.done[i] < NONE:   # merged: ends with the write it was merged with
                    self.done[i] = self.done[-2 - self.done[i]]
        return np.asarray(self.done)

    def idle(self, int64_t until):
        """Go on to clock `until` with no batch: only refresh happens."""
        if self.unfinished:
            raise ValueError(f"{self.unfinished} requests are unfinished")
        self._until(until, True, None)

    def step(self):
        """One clock, whatever it holds; returns whether a command was issued."""
        if self.logging and self.logged == self.log.shape[0]:
            self.log_parts.append(np.array(self.log[:self.logged]))
            self.logged = 0
        return self.tick()

    @property
    def finished(self):
        """Whether all requests of the batch have been served."""
        return self.unfinished == 0

    def take_log(self):
        """Commands int64 [m, 7] since the last call: clk, code, rank, bankgroup, bank, row, column (-1: none)."""
        parts = [*self.log_parts, np.array(self.log[:self.logged])]
        self.log_parts, self.logged = [], 0
        return np.concatenate(parts)

    def counts(self):
        """Counters by name (COUNTERS) since the last reset."""
        return dict(zip(COUNTERS, np.asarray(self.counters).tolist(), strict=True))

    def reset_counts(self):
        """All counters to zero; nothing else changes."""
        self.counters[:] = 0


cdef inline void scan(
    HostController c, int queue, int rank, int kind, int command, int64_t clk, Found* found
) noexcept nogil:
    """Look for a rank's oldest ready candidate of a kind, if it is older than what was found; renew look_at."""
    cdef RankQueue* candidates = &c.rank_queues[queue * c.ranks + rank]
    cdef uint64_t banks = candidates.banks[kind]
    cdef int64_t first, age, later = FAR, best_age = FAR
    cdef int32_t bank, best = 0, ready = 0
    cdef BankQueue* bank_queue
    cdef int64_t* by_bank
    cdef int64_t* by_group
    cdef int32_t* group_of
    if candidates.look_at[kind] > clk:
        return
    first = rank_earliest(c.device, command, rank) if banks else FAR
    if first > clk:
        candidates.look_at[kind] = first
        return
    bank_queue = &c.bank_queues[queue * c.n_banks + rank * c.rank_banks]
    by_bank = &c.device.by_bank[rank * c.rank_banks * N_COMMANDS]
    by_group = &c.device.by_group[0]
    group_of = &c.group_of[rank * c.rank_banks]
    while banks:
        bank = lowest_bit(banks)
        banks &= banks - 1
        first = max(by_bank[bank * N_COMMANDS + command], by_group[group_of[bank] * N_COMMANDS + command])
        if first <= clk:
            ready += 1
            age = bank_queue[bank].age[kind]
            best = bank if age < best_age else best
            best_age = min(age, best_age)
        else:
            later = min(later, first)
    candidates.look_at[kind] = clk if ready else later
    if best_age < found.age:
        found.age = best_age
        found.queue, found.rank, found.kind = queue, rank, kind
        found.bank_queue = queue * c.n_banks + rank * c.rank_banks + best
        found.rest = clk if ready > 1 else later


cdef inline int64_t look_from(HostController c, int queue, int rank, int kind, int command) noexcept nogil:
    """A rank's look_at of a kind, raised to what the rank allows."""
    cdef RankQueue* candidates = &c.rank_queues[queue * c.ranks + rank]
    cdef int64_t first = rank_earliest(c.device, command, rank)
    if candidates.look_at[kind] < first:
        candidates.look_at[kind] = first
    return candidates.look_at[kind]
