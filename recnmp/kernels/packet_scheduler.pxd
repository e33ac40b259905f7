from libc.stdint cimport int64_t


cdef class PacketScheduler:
    cdef readonly int places
    cdef readonly int policy
    cdef readonly int threads
    cdef readonly int starvation_limit
    cdef readonly int count  # packets in the queue
    cdef readonly bint complete  # the batch's last packet has arrived
    cdef readonly int passes  # picks in a row that passed over the oldest packet
    cdef readonly int64_t passed_over_max
    cdef int64_t last_table
    cdef int last_thread
    cdef int64_t arrived
    cdef int64_t given
    # the queue, oldest first
    cdef int64_t[::1] table
    cdef int64_t[::1] thread
    cdef int64_t[::1] number

    cdef bint has_room(self) noexcept nogil
    cdef int choose(self) noexcept nogil
    cdef void take(self, int64_t table, int64_t thread, bint last) noexcept nogil
    cdef int64_t give(self, int place) noexcept nogil
