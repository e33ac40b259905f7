# The host channel's controller; how a clock goes is told in host_controller.pyx and docs/dram.md.

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from .dram cimport Device

cdef enum:  # the two queues
    READ_QUEUE = 0
    WRITE_QUEUE = 1

cdef enum:  # what a bank can offer: by which command its oldest request of that kind goes on
    ACTIVE = 0    # a request for which ACT was issued: RD or WR
    FIRST = 1     # the oldest request of a closed bank: ACT
    CONFLICT = 2  # the oldest request for another row than the open one: PRE
    HIT = 3       # the oldest request for the open row: RD or WR
    N_KINDS = 4

cdef struct Slot:
    int64_t age        # order of acceptance
    int64_t accepted   # clock
    int64_t index      # position in its batch
    int32_t row, column, bank
    int32_t next, previous   # in the waiting list of its bank and queue
    int32_t chain            # next write in the same hash bucket
    int8_t classed           # counted as hit, miss or conflict

# requests of one queue for one bank
cdef struct BankQueue:
    int64_t age[N_KINDS]
    int32_t slot[N_KINDS]   # FIRST is the head of the waiting list, whether the bank is open or not
    int32_t last            # its tail

# candidates of one queue in one rank: which banks have one of a kind, and the first clock worth a look
cdef struct RankQueue:
    uint64_t banks[N_KINDS]
    int64_t look_at[N_KINDS]

# the oldest ready candidate so far
cdef struct Found:
    int64_t age
    int64_t rest         # first clock worth a look at the others of its rank and kind
    int32_t queue, rank, kind, bank_queue

cdef class HostController:
    cdef readonly Device device
    cdef readonly int64_t clk
    cdef int ranks, rank_banks, n_banks
    cdef int32_t[::1] rank_of, group_of
    cdef int64_t read_latency, write_latency
    # queues
    cdef Slot[::1] slots
    cdef BankQueue[::1] bank_queues   # [queue * n_banks + bank]
    cdef RankQueue[::1] rank_queues   # [queue * ranks + rank]
    cdef int64_t[::1] rank_look_at    # [queue * ranks + rank]: least look_at but that of ACTIVE
    cdef int32_t[::1] active_count    # by rank
    cdef uint64_t active_ranks[2]     # by queue: ranks with an active request
    cdef int32_t free_slot            # free slots are chained by `next`
    cdef int64_t next_age
    cdef int64_t waiting[2]
    cdef int64_t capacity[2]
    cdef bint write_mode
    cdef int64_t active_look_at
    cdef int64_t queue_look_at[2]
    cdef int32_t[::1] buckets         # hash of waiting writes by address
    cdef uint64_t bucket_mask
    # reads between acceptance and last datum, when limited
    cdef int64_t outstanding, in_flight
    cdef int64_t[::1] arrivals        # ring of clocks of last data, in order
    cdef int64_t arrivals_head, arrivals_count
    # refresh
    cdef int64_t refresh_interval, next_refresh, refreshes_due
    cdef int refresh_rank
    # batch
    cdef const int64_t[:, ::1] requests
    cdef int64_t[::1] done
    cdef int64_t offer_at             # clock at which to offer the next request
    cdef int64_t start, n_requests, next_request, unfinished, last_datum
    # observation
    cdef int64_t[::1] counters
    cdef int64_t[:, ::1] log
    cdef int64_t logged
    cdef bint logging
    cdef list log_parts

    cdef bint tick(self) noexcept nogil
    cdef void skip(self, int64_t limit) noexcept nogil
    cdef void accept(self) noexcept nogil
    cdef void advance(self) noexcept nogil
    cdef int64_t offer_now(self) noexcept nogil
    cdef int32_t find_write(self, int32_t bank, int32_t row, int32_t column, uint64_t* bucket) noexcept nogil
    cdef void forget_write(self, int32_t slot) noexcept nogil
    cdef bint serve_active(self, int64_t clk) noexcept nogil
    cdef bint serve_refresh(self, int64_t clk) noexcept nogil
    cdef bint serve_queue(self, int queue, int64_t clk) noexcept nogil
    cdef void propose(self, int queue, int32_t bank, int kind) noexcept nogil
    cdef void bank_opened(self, int queue, int32_t bank, int32_t row) noexcept nogil
    cdef void bank_closed(self, int queue, int32_t bank) noexcept nogil
    cdef void unlink(self, int queue, int32_t slot) noexcept nogil
    cdef void activate(self, int queue, int32_t slot, int64_t clk) noexcept nogil
    cdef void precharge(self, int32_t slot, int64_t clk) noexcept nogil
    cdef void column(self, int queue, int32_t slot, bint active, int64_t clk) noexcept nogil
    cdef void command(
        self, int command, int32_t rank, int32_t bank, int32_t row, int32_t column, int64_t clk
    ) noexcept nogil
    cdef bint loop(self, int64_t until, int64_t clocks, bint skipping) noexcept nogil
