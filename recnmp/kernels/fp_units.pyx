"""The FP32 units of a lane, alone: adder, multiplier, fp16 widening and dequantiser (D9, D10).

Free-running pipelines of values: what is put in with clock t is seen LATENCY clocks later, and at the start, for
so many clocks, +0.0. Ports carry bit patterns.
"""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from .clocked cimport Clocked
from .float32 cimport FP16, NEGATIVE_ZERO_BITS, ONE_BITS, add32, element32, multiply32, widen16


cdef class Delay(Clocked):
    """A value a clock goes in, and comes out so many clocks later."""

    cdef uint32_t values[DEQUANTISE_CLOCKS]
    cdef int clocks
    cdef int at

    def reset(self):
        """+0.0 in every stage."""
        self.clocks = self.LATENCY
        self.at = 0
        memset(self.values, 0, sizeof(self.values))

    cdef inline uint64_t passed(self, uint32_t value) noexcept nogil:
        cdef uint32_t out = self.values[self.at]
        self.values[self.at] = value
        self.at = self.at + 1 if self.at + 1 < self.clocks else 0
        return out


cdef class FpAdd(Delay):
    """sum = fl(a + b), 3 clocks."""

    INPUTS = ("a", "b")
    OUTPUTS = ("sum",)
    LATENCY = FP_ADD_CLOCKS

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        outputs[0] = self.passed(add32(<uint32_t>inputs[0], <uint32_t>inputs[1]))

    def step(self, uint64_t a, uint64_t b):
        """One clock; the sum that is visible in it."""
        return self.passed(add32(<uint32_t>a, <uint32_t>b))


cdef class FpMul(Delay):
    """product = fl(a * b), 4 clocks."""

    INPUTS = ("a", "b")
    OUTPUTS = ("product",)
    LATENCY = FP_MUL_CLOCKS

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        outputs[0] = self.passed(multiply32(<uint32_t>inputs[0], <uint32_t>inputs[1]))

    def step(self, uint64_t a, uint64_t b):
        """One clock; the product that is visible in it."""
        return self.passed(multiply32(<uint32_t>a, <uint32_t>b))


cdef class Widen(Clocked):
    """single = half, exact, in the same clock; a NaN becomes 0x7FC00000."""

    INPUTS = ("half",)
    OUTPUTS = ("single",)
    LATENCY = 0

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        outputs[0] = widen16(<uint32_t>inputs[0] & 0xFFFF)

    def step(self, uint64_t half):
        """One clock; the fp32 of its input."""
        return widen16(<uint32_t>half & 0xFFFF)


cdef class Dequantise(Delay):
    """value = fl(fl(scale * element) + bias), 4 + 3 clocks; for fp32 and fp16 scale is 1.0 and bias -0.0."""

    INPUTS = ("element", "dtype", "scale", "bias")
    OUTPUTS = ("value",)
    LATENCY = DEQUANTISE_CLOCKS

    cdef inline uint32_t value(self, uint32_t element, uint32_t dtype, uint32_t scale, uint32_t bias) noexcept nogil:
        cdef uint32_t x = element32(element, dtype)
        if dtype <= FP16:
            scale = ONE_BITS
            bias = NEGATIVE_ZERO_BITS
        return add32(multiply32(scale, x), bias)

    cdef void clock(self, const uint64_t* inputs, uint64_t* outputs) noexcept nogil:
        outputs[0] = self.passed(
            self.value(<uint32_t>inputs[0], <uint32_t>inputs[1] & 3, <uint32_t>inputs[2], <uint32_t>inputs[3])
        )

    def step(self, uint64_t element, uint64_t dtype, uint64_t scale, uint64_t bias):
        """One clock; the value that is visible in it."""
        return self.passed(self.value(<uint32_t>element, <uint32_t>dtype & 3, <uint32_t>scale, <uint32_t>bias))
