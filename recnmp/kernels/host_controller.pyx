"""The host channel's FR-FCFS controller: open page, read and write queue, refresh; one command a clock.

How a clock goes (docs/dram.md), in `tick`:
1. the next request, if its time has come and its queue has room, is accepted; then the clock moves on;
2. refresh falls due for every rank at multiples of the interval;
3. the oldest active request that is ready is served, else the head of the due refreshes, else the oldest
   ready request of the read queue or, in write mode, of the write queue.

`skip` jumps over clocks at which nothing can happen; it decides nothing else, so ticking gives the same.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals

from .candidates cimport (
    FAR_CLOCK, Found, HIT, READ_QUEUE, WRITE_QUEUE, find_active, find_waiting, renew_active_look,
    renew_queue_look,
)
from .command_log cimport is_full
from .dram cimport CLOSED, PREA, REF, rank_earliest
from .host_banks cimport (
    READ_LATENCY, READ_REQUESTS, READS_FORWARDED, WRITES_MERGED, activate, precharge, rank_command,
    serve_column, wait_in_queue,
)
from .read_window cimport has_room, will_end
from .request_queues cimport NONE, REQUEST_COLUMNS, Slot, find_write

import numpy as np

from .host_banks import HostBanks
from .read_window import ReadWindow

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

cdef enum:  # completion clocks before they are known
    UNSERVED = -1
    MERGED = -2           # minus the index of the write

cdef enum:
    CHUNK_TICKS = 1 << 20   # ticks between two looks at Ctrl-C

cdef enum:  # how `loop` ends
    OVER
    PAUSE
    STUCK


@cython.final
cdef class HostController:
    """State of one channel. `device` holds banks and timing; queue depths and latencies are in clocks.

    `outstanding` limits reads between acceptance and last datum (0: no limit); `refresh_interval` 0 turns
    refresh off. With `logging`, `take_log` returns the commands since it was last called.
    """

    def __init__(self, Device device, int64_t read_queue, int64_t write_queue, int64_t outstanding,
                 int64_t refresh_interval, int64_t read_latency, int64_t write_latency, bint logging):
        self.device = device
        self.banks = HostBanks(device, read_queue, write_queue, logging)
        self.candidates, self.queues, self.log = self.banks.candidates, self.banks.queues, self.banks.log
        self.counters = self.banks.counters
        self.write_mode_above, self.write_mode_from = 4 * write_queue // 5, (write_queue + 4) // 5
        self.read_latency, self.write_latency = read_latency, write_latency
        self.window = ReadWindow(outstanding)
        self.refresh_interval = refresh_interval
        self.next_refresh = refresh_interval if refresh_interval else FAR_CLOCK
        self.offer_at = FAR_CLOCK
        self.requests = np.zeros((0, REQUEST_COLUMNS), np.int64)
        self.done = np.zeros(0, np.int64)
        # a round of refresh, PRE, ACT and the column command come before it, of each rank in turn
        self.patience = 16 * device.ranks * (device.table.longest_wait() + 64)

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
            self.refreshes_due += self.device.ranks
        if clk >= self.candidates.active_look_at and self.serve_active(clk):
            return True
        if self.refreshes_due:
            return self.serve_refresh(clk)
        self.decide_write_mode()
        if clk >= self.candidates.queue_look_at[self.write_mode]:
            return self.serve_waiting(self.write_mode, clk)
        return False

    cdef void skip(self, int64_t limit) noexcept nogil:
        """After a clock without a command: jump to just before the next at which anything can happen."""
        cdef int64_t act_at = min(self.next_refresh, self.candidates.active_look_at)
        if self.refreshes_due == 0:
            act_at = min(act_at, self.candidates.queue_look_at[self.write_mode])
        elif self.device.open_banks[self.refresh_rank] == 0:
            act_at = min(act_at, rank_earliest(self.device, REF, self.refresh_rank))
        elif self.banks.active_count[self.refresh_rank] == 0:
            act_at = min(act_at, rank_earliest(self.device, PREA, self.refresh_rank))
        # requests are offered at the clock before the one at which the controller acts
        act_at = min(min(act_at - 1, self.offer_at), limit)
        if act_at > self.clk:
            self.clk = act_at

    cdef inline void decide_write_mode(self) noexcept nogil:
        cdef int64_t reads = self.queues.waiting[READ_QUEUE], writes = self.queues.waiting[WRITE_QUEUE]
        # above 80 % of the queue it starts, below 20 % it ends
        if self.write_mode:
            self.write_mode = writes >= self.write_mode_from or reads == 0
        else:
            self.write_mode = writes > self.write_mode_above or reads == 0

    # --- requests come in ---

    cdef void accept(self) noexcept nogil:
        """Accept, forward or merge the next request if it can be; sets when to offer again."""
        cdef const int64_t* request = &self.requests[self.next_request, 0]
        cdef int queue = request[1] != 0
        cdef bint full = self.queues.waiting[queue] >= self.queues.capacity[queue]
        cdef int32_t bank, row, column, same = NONE
        if queue == READ_QUEUE and self.window.limit and not has_room(self.window, self.clk):
            # if no end is known, the next RD tells
            self.offer_at = self.window.ends[self.window.head] if self.window.known else FAR_CLOCK
            return
        bank = <int32_t>((request[2] * self.device.bankgroups + request[3]) * self.device.banks + request[4])
        row, column = <int32_t>request[5], <int32_t>request[6]
        if self.queues.waiting[WRITE_QUEUE]:
            same = find_write(self.queues, bank, row, column)
        if same != NONE:
            self.answer_from_write(queue, same)
        elif full:
            self.offer_at = FAR_CLOCK   # until a request leaves its queue
            return
        else:
            wait_in_queue(self.banks, queue, bank, row, column, self.next_request, self.clk)
            self.window.under_way += queue == READ_QUEUE
        self.moved_at = self.clk
        self.counters[READ_REQUESTS + queue] += 1
        self.next_request += 1
        self.offer_at = self.offer_from(self.clk + 1)

    cdef inline int64_t offer_from(self, int64_t clk) noexcept nogil:
        """When to offer the next request, not before `clk`."""
        if self.next_request == self.n_requests:
            return FAR_CLOCK
        return max(self.start + self.requests[self.next_request, 0], clk)

    cdef void answer_from_write(self, int queue, int32_t write) noexcept nogil:
        """Forward the data of a waiting write to a read, or merge a write into it."""
        if queue == READ_QUEUE:
            self.done[self.next_request] = self.clk + 1
            self.last_datum = max(self.last_datum, self.clk + 1)
            self.counters[READS_FORWARDED] += 1
            self.counters[READ_LATENCY] += 1
        else:
            # it ends with the waiting write: resolved when the batch has ended
            self.done[self.next_request] = MERGED - self.queues.slots[write].index
            self.counters[WRITES_MERGED] += 1
        self.unfinished -= 1

    # --- whose turn it is ---

    cdef bint serve_active(self, int64_t clk) noexcept nogil:
        """Issue RD or WR for the oldest active request that is ready."""
        cdef Found found
        cdef bint ready = find_active(self.candidates, clk, &found)
        if ready:
            self.serve(&found, clk)
        renew_active_look(self.candidates, clk)
        return ready

    cdef bint serve_refresh(self, int64_t clk) noexcept nogil:
        """Issue PREA or REF for the head of the due refreshes, if it is ready."""
        cdef int rank = self.refresh_rank
        if self.device.open_banks[rank]:
            if self.banks.active_count[rank] or rank_earliest(self.device, PREA, rank) > clk:
                return False
            rank_command(self.banks, PREA, rank, clk)
            return True
        if rank_earliest(self.device, REF, rank) > clk:
            return False
        rank_command(self.banks, REF, rank, clk)
        self.refreshes_due -= 1
        self.refresh_rank = rank + 1 if rank + 1 < self.device.ranks else 0
        return True

    cdef bint serve_waiting(self, int queue, int64_t clk) noexcept nogil:
        """Issue the next command of the oldest ready request of a queue."""
        cdef Found found
        cdef int64_t bank
        cdef bint ready = find_waiting(self.candidates, queue, clk, &found)
        if ready:
            if found.kind == HIT:
                self.serve(&found, clk)
                self.offer_at = self.offer_from(clk)
            else:
                bank = found.bank
                if self.device.open_row[bank] != CLOSED:
                    precharge(self.banks, queue, bank, clk)
                else:
                    activate(self.banks, queue, bank, clk)
                    self.offer_at = self.offer_from(clk)
        renew_queue_look(self.candidates, queue, clk)
        return ready

    cdef void serve(self, Found* found, int64_t clk) noexcept nogil:
        """RD or WR: a request is served."""
        cdef int queue = found.queue
        cdef Slot* request = serve_column(self.banks, queue, found.kind, found.bank, clk)
        cdef int64_t done = clk + (self.write_latency if queue == WRITE_QUEUE else self.read_latency)
        self.done[request.index] = done
        self.last_datum = max(self.last_datum, done)
        self.unfinished -= 1
        self.moved_at = clk
        if queue == READ_QUEUE:
            self.counters[READ_LATENCY] += done - request.accepted
            if self.window.limit:
                will_end(self.window, done)
                self.offer_at = self.offer_from(clk)

    cdef bint stands_still(self) noexcept nogil:
        """Whether a request waits though none was accepted or served for longer than any wait."""
        if self.unfinished > self.n_requests - self.next_request:
            return True
        return self.clk - self.patience > self.start + self.requests[self.next_request, 0]

    cdef int loop(self, int64_t until, bint skipping) noexcept nogil:
        """Go on until the batch is finished and `until` is reached; PAUSE if log or ticks ran out before."""
        cdef int64_t ticks = 0
        while self.unfinished or self.clk < until:
            if ticks == CHUNK_TICKS or is_full(self.log):
                return PAUSE
            ticks += 1
            if self.tick():
                continue
            if self.unfinished:
                if self.clk - self.moved_at > self.patience and self.stands_still():
                    return STUCK
                if skipping:
                    self.skip(FAR_CLOCK)
            elif skipping and self.clk < until:
                self.skip(until)
        return OVER

    # --- public ---

    def _until(self, int64_t until, bint skipping, progress):
        cdef int state = PAUSE
        while state == PAUSE:
            with nogil:
                state = self.loop(until, skipping)
            if state == STUCK:
                raise RuntimeError(
                    f"the channel stands still: clock {self.clk}, "
                    f"{self.unfinished} of {self.n_requests} unfinished"
                )
            self.log.flush()
            PyErr_CheckSignals()
            if progress is not None:
                progress(self.next_request)

    def begin(self, const int64_t[:, ::1] requests, int64_t start):
        """Begin a batch of requests [n, 7] at clock `start` (not before now); the last batch is over.

        Values are taken as they are: the caller has checked them. Until `start` the channel only refreshes.
        """
        cdef int64_t n = requests.shape[0]
        if self.unfinished or start < self.clk:
            raise ValueError(f"{self.unfinished} are unfinished, clock is {self.clk}, start is {start}")
        if requests.shape[1] != REQUEST_COLUMNS:
            raise ValueError(f"requests have {requests.shape[1]} columns, not {REQUEST_COLUMNS}")
        self._until(start, True, None)
        self.done = np.full(n, UNSERVED, np.int64)
        self.requests, self.start = requests, start
        self.n_requests, self.unfinished, self.next_request = n, n, 0
        self.offer_at = self.offer_from(start)
        self.last_datum = start

    def run(self, bint skipping=True, progress=None):
        """Finish the batch and go on to the clock of its last datum; returns its completion clocks int64 [n].

        `progress(accepted requests)` is called now and then. Without `skipping` every clock is ticked, which
        gives the same in every respect and is there to show that. RuntimeError if the channel stands still.
        """
        cdef int64_t i
        self._until(0, skipping, progress)
        self._until(self.last_datum, skipping, progress)
        with nogil:
            for i in range(self.n_requests):
                if self.done[i] <= MERGED:
                    self.done[i] = self.done[MERGED - self.done[i]]
        return np.asarray(self.done)

    def idle(self, int64_t until):
        """Go on to clock `until` with no batch: only refresh happens."""
        if self.unfinished:
            raise ValueError(f"{self.unfinished} requests are unfinished")
        self._until(until, True, None)

    def step(self):
        """One clock, whatever it holds; returns whether a command was issued."""
        if is_full(self.log):
            self.log.flush()
        return self.tick()

    @property
    def finished(self):
        """Whether all requests of the batch have been served."""
        return self.unfinished == 0

    def take_log(self):
        """Commands int64 [m, 7] since the last call, columns as in command_log.pxd."""
        return self.log.take()

    def counts(self):
        """Counters by name (COUNTERS) since the last reset."""
        return dict(zip(COUNTERS, np.asarray(self.counters).tolist(), strict=True))

    def reset_counts(self):
        """All counters to zero; nothing else changes."""
        self.counters[:] = 0
