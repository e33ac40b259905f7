"""Exact LRU stack distances (Mattson) with a Fenwick tree, and a shuffle that is the same on every machine.

Memory is a few words a row whatever the length of the trace: time slots are renumbered when they run
out, each renumbering paid for by as many accesses.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t


cdef extern from *:
    """
    static inline uint64_t recnmp_high_word(uint64_t a, uint64_t b) {
        return (uint64_t)(((unsigned __int128)a * b) >> 64);
    }
    """
    uint64_t high_word "recnmp_high_word"(uint64_t a, uint64_t b) noexcept nogil

cdef enum:
    CHUNK = 1 << 20  # accesses between two looks at Ctrl-C


cdef class LruStack:
    """The stack of one fully associative LRU cache of any size, cold at first.

    lines: int64 [U], the 64-byte lines that each row fills, below 2^63 together. Rows are numbered 0..U-1.
    """

    cdef const int64_t[::1] lines
    cdef int64_t[::1] tree        # Fenwick tree over slots of time, 1..slots: lines of the row last there
    cdef int64_t[::1] last        # row -> its slot, 0 if never accessed
    cdef int64_t[::1] owner       # slot -> row
    cdef int64_t slots, now, held

    def __init__(self, const int64_t[::1] lines):
        cdef int64_t rows = lines.shape[0]
        self.lines = lines
        self.slots = 2 * rows + 1
        self.tree = np.zeros(self.slots + 1, dtype=np.int64)
        self.last = np.zeros(rows, dtype=np.int64)
        self.owner = np.zeros(self.slots + 1, dtype=np.int64)
        self.now = 0
        self.held = 0

    def access(self, const int64_t[::1] rows, const int64_t[::1] capacities, int64_t[::1] hits):
        """Access rows in order; `hits[k]` grows by those that hit in `capacities[k]` lines but not in [k-1].

        rows: int64 [n] in 0..U-1. capacities: int64 [K] rising. hits: int64 [K]. Releases the GIL.
        Raises ValueError for a row that is not in 0..U-1 and for arrays of different lengths.
        """
        cdef int64_t first, last
        if capacities.shape[0] != hits.shape[0]:
            raise ValueError("capacities and hits differ in length")
        for first in range(0, rows.shape[0], CHUNK):
            last = min(first + CHUNK, rows.shape[0])
            PyErr_CheckSignals()
            with nogil:
                last = self._access(rows, first, last, capacities, hits)
            if last >= 0:
                raise ValueError(f"row {rows[last]} at position {last} is not in 0..{self.last.shape[0] - 1}")

    cdef int64_t _access(
        self, const int64_t[::1] rows, int64_t first, int64_t end,
        const int64_t[::1] capacities, int64_t[::1] hits,
    ) noexcept nogil:
        """Returns -1, or the position of a row that does not exist."""
        cdef int64_t position, row, slot, need, low, high, middle
        cdef int64_t count = self.last.shape[0], sizes = capacities.shape[0]
        cdef int64_t weight
        for position in range(first, end):
            row = rows[position]
            if row < 0 or row >= count:
                return position
            if self.now == self.slots:
                self._renumber()
            weight = self.lines[row]
            slot = self.last[row]
            if slot:
                # lines of the rows accessed since, and its own: they must all fit
                need = self.held - self._before(slot) + weight
                low, high = 0, sizes
                while low < high:
                    middle = (low + high) >> 1
                    if capacities[middle] < need:
                        low = middle + 1
                    else:
                        high = middle
                if low < sizes:
                    hits[low] += 1
                self._add(slot, -weight)
                self.owner[slot] = -1
            else:
                self.held += weight
            self.now += 1
            self._add(self.now, weight)
            self.last[row] = self.now
            self.owner[self.now] = row
        return -1

    cdef inline int64_t _before(self, int64_t slot) noexcept nogil:
        """Lines of rows last accessed in slots 1..slot."""
        cdef int64_t total = 0
        while slot > 0:
            total += self.tree[slot]
            slot &= slot - 1
        return total

    cdef inline void _add(self, int64_t slot, int64_t weight) noexcept nogil:
        while slot <= self.slots:
            self.tree[slot] += weight
            slot += slot & -slot

    cdef void _renumber(self) noexcept nogil:
        """Move the live slots together, in order of time, and rebuild the tree."""
        cdef int64_t slot, row, parent, kept = 0
        for slot in range(1, self.now + 1):
            row = self.owner[slot]
            if row >= 0:
                kept += 1
                self.owner[kept] = row
                self.last[row] = kept
        for slot in range(1, self.slots + 1):
            self.tree[slot] = self.lines[self.owner[slot]] if slot <= kept else 0
        for slot in range(1, self.slots + 1):
            parent = slot + (slot & -slot)
            if parent <= self.slots:
                self.tree[parent] += self.tree[slot]
        self.now = kept


def shuffle(int64_t[::1] items, const uint64_t[::1] words, int64_t done):
    """One stretch of a Fisher-Yates shuffle, in place: place `done` + k gets its final item from words[k].

    items: int64 [n], shared by all stretches. words: uint64, raw random words, one a place. Releases the GIL.
    """
    cdef int64_t k, place, other, count = items.shape[0], held
    with nogil:
        for k in range(min(words.shape[0], count - done)):
            place = done + k
            other = place + <int64_t>high_word(words[k], <uint64_t>(count - place))
            held = items[place]
            items[place] = items[other]
            items[other] = held
