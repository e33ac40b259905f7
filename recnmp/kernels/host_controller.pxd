# The host channel's controller; how a clock goes is told in host_controller.pyx and docs/dram.md.

from libc.stdint cimport int32_t, int64_t

from .candidates cimport Candidates, Found
from .command_log cimport CommandLog
from .dram cimport Device
from .host_banks cimport HostBanks
from .read_window cimport ReadWindow
from .request_queues cimport RequestQueues

cdef class HostController:
    cdef readonly Device device
    cdef readonly int64_t clk
    cdef Candidates candidates
    cdef RequestQueues queues
    cdef HostBanks banks
    cdef CommandLog log               # of the banks, as are the counters
    cdef int64_t[::1] counters
    cdef bint write_mode
    cdef int64_t write_mode_above, write_mode_from   # waiting writes that start it, and that keep it
    cdef int64_t read_latency, write_latency
    cdef ReadWindow window            # outstanding reads
    # refresh
    cdef int64_t refresh_interval, next_refresh, refreshes_due
    cdef int refresh_rank
    # batch
    cdef const int64_t[:, ::1] requests
    cdef int64_t[::1] done
    cdef int64_t start, n_requests, next_request, unfinished, last_datum
    cdef int64_t moved_at, patience   # last clock of progress, and how long there may be none
    cdef int64_t offer_at             # clock at which to offer the next request

    cdef bint tick(self) noexcept nogil
    cdef void skip(self, int64_t limit) noexcept nogil
    cdef void decide_write_mode(self) noexcept nogil
    cdef void accept(self) noexcept nogil
    cdef int64_t offer_from(self, int64_t clk) noexcept nogil
    cdef void answer_from_write(self, int queue, int32_t write) noexcept nogil
    cdef bint serve_active(self, int64_t clk) noexcept nogil
    cdef bint serve_refresh(self, int64_t clk) noexcept nogil
    cdef bint serve_waiting(self, int queue, int64_t clk) noexcept nogil
    cdef void serve(self, Found* found, int64_t clk) noexcept nogil
    cdef bint stands_still(self) noexcept nogil
    cdef int loop(self, int64_t until, bint skipping) noexcept nogil
