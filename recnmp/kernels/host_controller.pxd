# The host channel's controller; how a clock goes is told in host_controller.pyx and docs/dram.md.

from libc.stdint cimport int32_t, int64_t

from .candidates cimport Candidates
from .command_log cimport CommandLog
from .dram cimport Device
from .read_window cimport ReadWindow
from .request_queues cimport RequestQueues

cdef class HostController:
    cdef readonly Device device
    cdef readonly int64_t clk
    cdef Candidates candidates
    cdef RequestQueues queues
    cdef int ranks, rank_banks, n_banks
    cdef int32_t[::1] active          # by bank: the request it was opened for, NONE once served
    cdef int32_t[::1] hit, conflict   # [queue * n_banks + bank]: oldest waiting for the open row, for another
    cdef int32_t[::1] active_count    # by rank
    cdef bint write_mode
    cdef int64_t read_latency, write_latency
    cdef ReadWindow window            # outstanding reads
    # refresh
    cdef int64_t refresh_interval, next_refresh, refreshes_due
    cdef int refresh_rank
    # batch
    cdef const int64_t[:, ::1] requests
    cdef int64_t[::1] done
    cdef int64_t start, n_requests, next_request, unfinished, last_datum
    cdef int64_t offer_at             # clock at which to offer the next request
    # observation
    cdef int64_t[::1] counters
    cdef CommandLog log

    cdef bint tick(self) noexcept nogil
    cdef void skip(self, int64_t limit) noexcept nogil
    cdef void decide_write_mode(self) noexcept nogil
    cdef void accept(self) noexcept nogil
    cdef int64_t offer_from(self, int64_t clk) noexcept nogil
    cdef void answer_from_write(self, int queue, int32_t write) noexcept nogil
    cdef void wait_in_queue(self, int queue, int32_t bank, int32_t row, int32_t column) noexcept nogil
    cdef bint serve_active(self, int64_t clk) noexcept nogil
    cdef bint serve_refresh(self, int64_t clk) noexcept nogil
    cdef bint serve_waiting(self, int queue, int64_t clk) noexcept nogil
    cdef void offer(
        self, int queue, int32_t bank, int kind, int command, int32_t slot, int64_t clk
    ) noexcept nogil
    cdef void activate(self, int queue, int32_t bank, int64_t clk) noexcept nogil
    cdef void sort_waiting(self, int queue, int32_t bank, int32_t row, int64_t clk) noexcept nogil
    cdef void precharge(self, int queue, int32_t bank, int64_t clk) noexcept nogil
    cdef void bank_closed(self, int32_t bank, int64_t clk) noexcept nogil
    cdef void serve_column(self, int queue, int32_t bank, int kind, int32_t s, int64_t clk) noexcept nogil
    cdef void hit_left(self, int queue, int32_t bank, int32_t s) noexcept nogil
    cdef void column_moved(self, int32_t bank, int64_t clk) noexcept nogil
    cdef void command(
        self, int command, int32_t rank, int32_t bank, int32_t row, int32_t column, int64_t clk
    ) noexcept nogil
    cdef bint loop(self, int64_t until, bint skipping) noexcept nogil
