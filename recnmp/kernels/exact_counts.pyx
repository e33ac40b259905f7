"""How often each row of an array is in it: a hash table with linear probing, kept from array to array."""

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from libc.stdint cimport int64_t, uint64_t

cdef enum:
    CHUNK = 1 << 18  # rows between two looks at Ctrl-C
    EMPTY = 0        # the count of a slot that holds no row

cdef enum:  # columns of a slot
    ROW, COUNT


cdef class ExactCounts:
    """Counts of one array after another. `distinct`: different rows of the last one."""

    cdef int64_t[:, ::1] slots       # [slot, ROW or COUNT]: side by side, since both are needed at once
    cdef int bits                    # the first 2^bits slots are used: at least twice as many as rows
    cdef readonly int64_t distinct

    def __init__(self):
        self.slots = np.zeros((0, 2), np.int64)

    def of(self, const int64_t[::1] rows):
        """int64 [n] -> int64 [n]: how often the row at each position is in the whole array."""
        cdef int64_t k, first, total = rows.shape[0]
        found = np.empty(total, np.int64)
        cdef int64_t[::1] places = found  # first the slot of each row, then its count
        self.bits = max(1, (2 * int(total) - 1).bit_length())
        if self.slots.shape[0] < 1 << self.bits:
            self.slots = np.empty((1 << self.bits, 2), np.int64)
        np.asarray(self.slots)[: 1 << self.bits] = EMPTY
        self.distinct = 0
        for first in range(0, total, CHUNK):
            PyErr_CheckSignals()
            with nogil:
                for k in range(first, min(first + CHUNK, total)):
                    places[k] = self.enter(rows[k])
        with nogil:
            for k in range(total):
                places[k] = self.slots[places[k], COUNT]
        return found

    cdef inline int64_t enter(self, int64_t row) noexcept nogil:
        """Count one more of a row; its slot."""
        cdef uint64_t mixed = <uint64_t>row
        cdef int64_t slot, last = (<int64_t>1 << self.bits) - 1
        # both halves in, so that rows that differ only far up or only far down are spread alike
        mixed = (mixed ^ mixed >> 32) * <uint64_t>0x9E3779B97F4A7C15
        slot = <int64_t>((mixed ^ mixed >> 29) * <uint64_t>0xBF58476D1CE4E5B9 >> 64 - self.bits)
        while self.slots[slot, COUNT] != EMPTY and self.slots[slot, ROW] != row:
            slot = slot + 1 & last
        if self.slots[slot, COUNT] == EMPTY:
            self.slots[slot, ROW] = row
            self.distinct += 1
        self.slots[slot, COUNT] += 1
        return slot
