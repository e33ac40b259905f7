"""The hot-entry profiler's sketch: how often each key came since the last clear, never too little.

The page is docs/microarchitecture.md, section 8. `clock` goes on by one clock; `count` and `ask` take whole arrays of
keys, one after another on the same counters, and end as the block would once its pipeline is empty.
"""

cimport cython

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

from libc.string cimport memset

cdef enum:  # columns of the inputs
    CLEAR, VALID, ASK, KEY

cdef enum:  # columns of the outputs
    READY, ANSWERED, ESTIMATE

cdef enum:
    CHUNK = 1 << 18  # keys between two looks at Ctrl-C


cdef uint64_t splitmix(uint64_t number) noexcept nogil:
    """Word `number` of splitmix64 from seed 0."""
    cdef uint64_t z = (number + 1) * <uint64_t>0x9E3779B97F4A7C15
    z = (z ^ z >> 30) * <uint64_t>0xBF58476D1CE4E5B9
    z = (z ^ z >> 27) * <uint64_t>0x94D049BB133111EB
    return z ^ z >> 31


@cython.final
cdef class HotProfiler(Clocked):
    """A sketch of `rows` rows of `size` counters of `bits` bits, cleared.

    rows: 1 to 8. size: a power of two, 2 to 2^20. bits: 1 to 16. ValueError for anything else.
    """

    INPUTS = ("clear", "valid", "ask", "key")
    OUTPUTS = ("ready", "answered", "estimate")

    def __init__(self, int rows, int64_t size, int bits):
        if not 1 <= rows <= MOST_ROWS or not 2 <= size <= 1 << 20 or size & (size - 1) or not 1 <= bits <= 16:
            raise ValueError(
                f"{rows} rows of {size} counters of {bits} bits: 1 to {MOST_ROWS} rows of a power of two of counters, "
                "2 to 2^20, of 1 to 16 bits"
            )
        self.rows, self.size, self.top = rows, size, <uint16_t>((1 << bits) - 1)
        self.counters = np.zeros((rows, size), np.uint16)
        self.hashed = np.zeros((KEY_BYTES, 256, MOST_ROWS), np.uint32)
        self.fill_hashed()
        super().__init__()

    cdef void fill_hashed(self) noexcept nogil:
        """H3 a byte at a time: the matrix's words of each value of each byte, added up once."""
        cdef int row, byte, bit, value
        cdef uint32_t word
        for row in range(self.rows):
            for byte in range(KEY_BYTES):
                for bit in range(8):
                    word = <uint32_t>(splitmix(64 * row + 8 * byte + bit) & <uint64_t>(self.size - 1))
                    for value in range(256):
                        if value >> bit & 1:
                            self.hashed[byte, value, row] ^= word

    def reset(self):
        """All bits 0."""
        np.asarray(self.counters)[...] = 0
        memset(&self.addressed, 0, sizeof(Flying))
        memset(&self.read, 0, sizeof(Flying))
        self.estimate, self.answered, self.sweep = 0, False, 0

    def step(self, uint64_t clear=0, uint64_t valid=0, uint64_t ask=0, uint64_t key=0):
        """One clock. Returns (ready, answered, estimate), those visible in it."""
        cdef uint64_t inputs[4]
        cdef uint64_t outputs[3]
        inputs[:] = [clear, valid, ask, key]
        self.clock(inputs, outputs)
        return outputs[READY], outputs[ANSWERED], outputs[ESTIMATE]

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        """One clock, in the page's numbers: outputs from state, then the edge."""
        cdef Flying* moved = &self.read
        cdef uint16_t least
        cdef int64_t swept
        cdef int row
        # 1. what is seen
        outputs[READY] = self.sweep == 0
        outputs[ANSWERED] = self.answered
        outputs[ESTIMATE] = self.estimate
        # 4. update; the sweep has the write port
        self.answered, self.estimate = False, 0
        if moved.full:
            least = self.top
            for row in range(self.rows):
                least = min(least, moved.held[row])
            if moved.asked:
                self.answered, self.estimate = True, least
            elif self.sweep == 0 and least < self.top:
                for row in range(self.rows):
                    if moved.held[row] == least:
                        self.counters[row, moved.at[row]] = least + 1
        # 5. sweep
        if self.sweep:
            swept = self.size - self.sweep
            for row in range(self.rows):
                self.counters[row, swept] = 0
            self.sweep -= 1
        # 3. read, after the writes of this clock: write first
        moved[0] = self.addressed
        if moved.full:
            for row in range(self.rows):
                moved.held[row] = self.counters[row, moved.at[row]]
        # 2. hash
        self.addressed.full = outputs[READY] and inputs[VALID] & 1 and not inputs[CLEAR] & 1
        if self.addressed.full:
            self.addressed.asked = inputs[ASK] & 1
            self.place(inputs[KEY], self.addressed.at)
        # 6. clear
        if inputs[CLEAR] & 1:
            self.sweep = self.size

    cdef inline void place(self, uint64_t key, uint32_t* at) noexcept nogil:
        """Where the key's counters are, one a row; all rows that there could be, as a vector."""
        cdef const uint32_t* part
        cdef int byte, row
        memset(at, 0, MOST_ROWS * sizeof(uint32_t))
        for byte in range(KEY_BYTES):
            part = &self.hashed[byte, key >> 8 * byte & 0xFF, 0]
            for row in range(MOST_ROWS):
                at[row] ^= part[row]

    cdef inline uint16_t least(self, const uint32_t* at) noexcept nogil:
        cdef uint16_t least = self.top
        cdef int row
        for row in range(self.rows):
            least = min(least, self.counters[row, at[row]])
        return least

    cdef inline void update(self, const uint32_t* at, uint16_t least) noexcept nogil:
        """One more of a key whose least counter is that."""
        cdef int row
        if least == self.top:
            return
        for row in range(self.rows):
            if self.counters[row, at[row]] == least:
                self.counters[row, at[row]] = least + 1

    def clear(self):
        """All counters are 0, as after a sweep."""
        self._check_idle()
        np.asarray(self.counters)[...] = 0

    def count(self, const uint64_t[::1] keys):
        """Count keys uint64 [n], one after another. RuntimeError while keys of `step` are on their way."""
        cdef uint32_t at[MOST_ROWS]
        cdef int64_t k, first, total = keys.shape[0]
        self._check_idle()
        for first in range(0, total, CHUNK):
            PyErr_CheckSignals()
            with nogil:
                for k in range(first, min(first + CHUNK, total)):
                    self.place(keys[k], at)
                    self.update(at, self.least(at))

    def ask(self, const uint64_t[::1] keys):
        """Estimates int64 [n] of keys uint64 [n]. RuntimeError while keys of `step` are on their way."""
        cdef uint32_t at[MOST_ROWS]
        cdef int64_t k, first, total = keys.shape[0]
        self._check_idle()
        estimates = np.empty(total, np.int64)
        cdef int64_t[::1] found = estimates
        for first in range(0, total, CHUNK):
            PyErr_CheckSignals()
            with nogil:
                for k in range(first, min(first + CHUNK, total)):
                    self.place(keys[k], at)
                    found[k] = self.least(at)
        return estimates

    def _check_idle(self):
        if self.addressed.full or self.read.full or self.answered or self.sweep:
            raise RuntimeError("keys are on their way, or counters being cleared: step on until all is over")
