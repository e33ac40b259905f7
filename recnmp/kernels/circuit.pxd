# A compiled circuit: functions of machine code and the state of its copies. Other kernels may step it without Python.

from libc.stdint cimport int64_t, uint64_t

# One clock of all copies; 0, or the number of a broken assertion (from 1) with, from bit 32 on, the copy.
ctypedef int64_t (*ClockFunction)(uint64_t* state, const uint64_t* inputs, uint64_t* outputs) noexcept nogil
ctypedef int64_t (*AdvanceFunction)(uint64_t* state, const uint64_t* inputs) noexcept nogil
ctypedef void (*OutputsFunction)(const uint64_t* state, uint64_t* outputs) noexcept nogil

cdef class Circuit:
    cdef readonly int copies  # of which the state is somebody's
    cdef readonly int columns  # copies for which there is room: word k of copy c is state[k*columns + c]
    cdef readonly int in_words, out_words
    cdef readonly bint state_only  # outputs depend on state alone
    cdef object library  # holds the machine code
    cdef ClockFunction clock_function
    cdef AdvanceFunction advance_function
    cdef OutputsFunction outputs_function
    cdef uint64_t[::1] state, inputs, outputs  # inputs and outputs of one clock: word k of copy c as above

    cdef void show(self) noexcept nogil  # `outputs` from the state; state_only circuits
    cdef int64_t advance(self) noexcept nogil  # to the next clock, from `inputs`; state_only circuits
    cdef int64_t clock(self) noexcept nogil  # both, for every circuit
    cdef int64_t run_rows(self, const uint64_t* rows, uint64_t* made, int64_t clocks, bint alike,
                          int64_t* failed) noexcept nogil
