# IEEE 754 binary32 on bit patterns (D10): round to nearest even, subnormals kept, every NaN made is 0x7FC00000.
# One C operation each, rounded once: nothing here sets a rounding mode or a flush-to-zero bit, and -ffp-contract=off
# (setup.py) keeps gcc from fusing two of them.

from libc.stdint cimport uint32_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline float recnmp_float(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
    static inline uint32_t recnmp_bits(float x)
    {
        uint32_t bits;
        memcpy(&bits, &x, 4);
        return x != x ? UINT32_C(0x7FC00000) : bits;
    }
    """
    float as_float "recnmp_float" (uint32_t bits) noexcept nogil
    uint32_t as_bits "recnmp_bits" (float x) noexcept nogil

cdef enum:
    NAN_BITS = 0x7FC00000
    INFINITY_BITS = 0x7F800000
    ONE_BITS = 0x3F800000
    NEGATIVE_ZERO_BITS = 0x80000000

# codes of CONFIG's dtype
cdef enum:
    FP32, FP16, INT8, INT4


cdef inline uint32_t add32(uint32_t a, uint32_t b) noexcept nogil:
    return as_bits(as_float(a) + as_float(b))


cdef inline uint32_t multiply32(uint32_t a, uint32_t b) noexcept nogil:
    return as_bits(as_float(a) * as_float(b))


cdef inline uint32_t widen16(uint32_t half) noexcept nogil:
    """fp16 to fp32, exact."""
    cdef uint32_t sign = (half & 0x8000) << 16
    cdef uint32_t exponent = half >> 10 & 31
    cdef uint32_t fraction = half & 1023
    if exponent == 31:
        return NAN_BITS if fraction else sign | INFINITY_BITS
    if exponent == 0:  # zeros and subnormals: fraction * 2^-24
        return sign | as_bits(<float>fraction * <float>5.9604644775390625e-08)
    return sign | exponent + 112 << 23 | fraction << 13


cdef inline uint32_t element32(uint32_t element, uint32_t dtype) noexcept nogil:
    """An element as it is stored, right-aligned, in fp32; exact. Integers are unsigned."""
    if dtype == FP32:
        return element
    if dtype == FP16:
        return widen16(element & 0xFFFF)
    return as_bits(<float>(element & (0xFF if dtype == INT8 else 0xF)))
