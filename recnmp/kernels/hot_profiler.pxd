from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from .clocked cimport Clocked

cdef enum:
    MOST_ROWS = 8
    KEY_BYTES = 8

# What a key in flight has: where its counters are, and from the read on what they hold.
cdef struct Flying:
    uint32_t at[MOST_ROWS]
    uint16_t held[MOST_ROWS]
    uint8_t full
    uint8_t asked

cdef class HotProfiler(Clocked):
    cdef readonly int rows
    cdef readonly int64_t size              # counters of a row
    cdef readonly uint16_t top              # where a counter saturates
    cdef uint32_t[:, :, ::1] hashed         # [byte of the key, its value, row]: their share of the hash
    cdef uint16_t[:, ::1] counters          # [row, counter]
    cdef Flying addressed, read             # address register, counter register
    cdef uint16_t estimate                  # answer register
    cdef bint answered
    cdef int64_t sweep                      # counters of a row that are still to be cleared
    cdef void fill_hashed(self) noexcept nogil
    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil
    cdef inline void place(self, uint64_t key, uint32_t* at) noexcept nogil
    cdef inline uint16_t least(self, const uint32_t* at) noexcept nogil
    cdef inline void update(self, const uint32_t* at, uint16_t least) noexcept nogil
