from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from .clocked cimport Clocked
from .fp_units cimport FP_ADD_CLOCKS, FP_MUL_CLOCKS

# the datapath's stages (D9): scale, bias, weight, partial sum
cdef enum:
    SCALE_CLOCKS = FP_MUL_CLOCKS
    BIAS_CLOCKS = FP_ADD_CLOCKS
    WEIGHT_CLOCKS = FP_MUL_CLOCKS
    SUM_CLOCKS = FP_ADD_CLOCKS
    BEFORE_SUM = SCALE_CLOCKS + BIAS_CLOCKS + WEIGHT_CLOCKS
    PIPELINE = BEFORE_SUM + SUM_CLOCKS
    PARTIAL_SUMS = 128  # 16 tags x 8 element groups

# An operand in the operand register, converted.
cdef struct Held:
    uint32_t element
    uint32_t scale
    uint32_t bias
    uint32_t weight
    uint8_t full
    uint8_t first
    uint8_t place  # of its partial sum: tag * 8 + group

# An operand in the pipeline.
cdef struct Flying:
    uint32_t value  # to be added; from e+11 on, the new partial sum
    uint8_t there
    uint8_t first
    uint8_t place

cdef struct LaneState:
    Held held
    Flying pipeline[PIPELINE]  # by the clock of entry, modulo PIPELINE
    uint32_t partial[PARTIAL_SUMS]
    uint32_t read_out
    int now  # this clock, modulo PIPELINE
    int in_flight  # operands in the pipeline whose sum is not visible

cdef class Lane(Clocked):
    cdef LaneState state
    cdef int64_t counters[2]
    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil
    cdef void take(self, const uint64_t* inputs) noexcept nogil
