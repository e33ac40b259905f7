"""A circuit as machine code: state, inputs and outputs of one or several copies, and the loop over clocks.

The machine code is made from a description of hardware elsewhere; here it is called through function pointers, at
about 2 ns a call. Copies stand side by side in all arrays, so that the code can do several at a time.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint64_t

cdef enum:
    CHUNK = 4096  # clocks between two looks for Ctrl-C


def aligned_words(int64_t count):
    """`count` zero words at an address that vectors of any width may use: uint64 [count]."""
    room = np.zeros(count + 8, np.uint64)
    skip = (-room.ctypes.data % 64) // 8
    return room[skip:skip + count]


cdef class Circuit:
    """Copies of one circuit.

    library: whatever holds the machine code in memory. clock, or advance and outputs: addresses of functions (of the
    kinds in circuit.pxd). copies, columns: copies in use, and those for which the code makes room. words, in_words,
    out_words: 64-bit words of one copy's state, inputs and outputs.
    """

    def __init__(self, library, int copies, int columns, int64_t words, int in_words, int out_words,
                 size_t clock=0, size_t advance=0, size_t outputs=0):
        self.library = library
        self.copies = copies
        self.columns = columns
        self.in_words = in_words
        self.out_words = out_words
        self.state_only = clock == 0
        self.clock_function = <ClockFunction>clock
        self.advance_function = <AdvanceFunction>advance
        self.outputs_function = <OutputsFunction>outputs
        self.state = aligned_words(words * columns)
        self.inputs = aligned_words(in_words * columns)
        self.outputs = aligned_words(out_words * columns)

    def state_words(self):
        """The whole state, not a copy: uint64 [words * columns]."""
        return np.asarray(self.state)

    def run(self, const uint64_t[:, :, ::1] inputs, uint64_t[:, :, ::1] outputs, progress=None):
        """One clock a row, at most until an assertion breaks.

        inputs: [clocks, copies, in_words], or [clocks, 1, in_words] for all copies alike. outputs: [clocks, copies,
        out_words], filled. progress: called with the clocks made since the last call. Returns (clocks made, 0 or what
        the last clock's function said: see circuit.pxd).
        Raises ValueError where the arrays do not fit.
        """
        cdef int64_t clocks = inputs.shape[0], made = 0, now, failed = 0
        cdef bint alike = inputs.shape[1] == 1
        if inputs.shape[2] != self.in_words or inputs.shape[1] not in (1, self.copies):
            raise ValueError(f"inputs have the shape {(inputs.shape[0], inputs.shape[1], inputs.shape[2])}")
        if outputs.shape[0] != clocks or outputs.shape[1] != self.copies or outputs.shape[2] != self.out_words:
            raise ValueError(f"outputs have the shape {(outputs.shape[0], outputs.shape[1], outputs.shape[2])}")
        while made < clocks and failed == 0:
            now = min(CHUNK, clocks - made)
            with nogil:
                now = self.run_rows(&inputs[made, 0, 0], &outputs[made, 0, 0], now, alike, &failed)
            made += now
            PyErr_CheckSignals()
            if progress is not None:
                progress(now)
        return made, failed

    cdef void show(self) noexcept nogil:
        self.outputs_function(&self.state[0], &self.outputs[0])

    cdef int64_t advance(self) noexcept nogil:
        return self.advance_function(&self.state[0], &self.inputs[0])

    cdef int64_t clock(self) noexcept nogil:
        if not self.state_only:
            return self.clock_function(&self.state[0], &self.inputs[0], &self.outputs[0])
        self.outputs_function(&self.state[0], &self.outputs[0])
        return self.advance_function(&self.state[0], &self.inputs[0])

    cdef int64_t run_rows(self, const uint64_t* rows, uint64_t* made, int64_t clocks, bint alike,
                          int64_t* failed) noexcept nogil:
        """Clocks made; fewer than asked for after a broken assertion."""
        cdef int64_t t
        cdef int c, k, columns = self.columns
        cdef const uint64_t* row
        cdef uint64_t* state = &self.state[0]
        for t in range(clocks):
            if columns == 1:
                if self.state_only:
                    self.outputs_function(state, made)
                    failed[0] = self.advance_function(state, rows)
                else:
                    failed[0] = self.clock_function(state, rows, made)
                rows += self.in_words
                made += self.out_words
            else:
                for c in range(self.copies):
                    row = rows if alike else rows + c * self.in_words
                    for k in range(self.in_words):
                        self.inputs[k * columns + c] = row[k]
                failed[0] = self.clock()
                for c in range(self.copies):
                    for k in range(self.out_words):
                        made[c * self.out_words + k] = self.outputs[k * columns + c]
                rows += self.in_words * (1 if alike else self.copies)
                made += self.out_words * self.copies
            if failed[0]:
                return t + 1
        return clocks


def first_excess(const uint64_t[:, ::1] rows, const uint64_t[::1] limits):
    """(row, column) of the first value above its column's limit, or (-1, -1). A limit is a mask of low bits."""
    cdef int64_t t
    cdef int k
    cdef uint64_t over = 0
    with nogil:
        for t in range(rows.shape[0]):
            for k in range(rows.shape[1]):
                over |= rows[t, k] & ~limits[k]
            if over:
                break
    if not over:
        return -1, -1
    for k in range(rows.shape[1]):
        if rows[t, k] & ~limits[k]:
            return t, k
