from libc.stdint cimport uint64_t


cdef class Clocked:
    cdef readonly int n_inputs
    cdef readonly int n_outputs
    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil
