# Reads between acceptance and last datum, of which at most so many may be under way.

from libc.stdint cimport int64_t

cdef class ReadWindow:
    cdef int64_t limit        # 0: none
    cdef int64_t under_way    # accepted, last datum still to come
    cdef int64_t[::1] ends    # ring of the clocks of last data that are known; they come in order
    cdef int64_t head, known


cdef inline bint has_room(ReadWindow w, int64_t clk) noexcept nogil:
    while w.known and w.ends[w.head] <= clk:
        w.head = w.head + 1 if w.head < w.limit else 0
        w.known -= 1
        w.under_way -= 1
    return w.under_way < w.limit


cdef inline void will_end(ReadWindow w, int64_t clk) noexcept nogil:
    cdef int64_t place = w.head + w.known
    w.ends[place if place <= w.limit else place - w.limit - 1] = clk
    w.known += 1
