# Circuits with outputs of state alone, wired together: a clock is `show`, then `advance`. Other kernels may stand
# between the two: what `row_out` says is known before `row_in` is wanted.

from libc.stdint cimport int64_t, uint64_t

from .circuit cimport AdvanceFunction, OutputsFunction

cdef struct Part:
    AdvanceFunction advance
    OutputsFunction outputs
    uint64_t* state
    uint64_t* inputs
    uint64_t* shown
    int64_t first_watched, end_watched  # of `watched`: if all these words are zero, a clock changes nothing that counts
    int64_t skipped  # clocks
    bint changed  # its outputs are not those of its state

cdef struct Move:
    const uint64_t* source
    uint64_t* target
    int64_t count
    bint alike  # one word for all targets

cdef struct Span:
    const uint64_t* words
    int64_t count

cdef class Assembly:
    cdef readonly int in_words, out_words
    cdef list circuits
    cdef uint64_t[::1] part_room, move_room, span_room  # where these three arrays lie
    cdef Part* parts
    cdef Move* moves
    cdef Span* watched
    cdef int64_t from_row, wires  # moves into row_out come first, then those from row_in, then the wires
    cdef int64_t n_parts, n_moves
    cdef uint64_t[::1] row_in, row_out

    cdef void show(self) noexcept nogil
    cdef int64_t advance(self, bint skip, int64_t* broken) noexcept nogil
    cdef bint quiet(self, int64_t part) noexcept nogil
    cdef int64_t run_rows(self, const uint64_t* rows, uint64_t* made, int64_t clocks, bint skip,
                          int64_t* failed, int64_t* broken) noexcept nogil
