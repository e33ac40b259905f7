"""The arithmetic of the rank-NMPs: operands into partial sums, in the order in which they enter the adder (D10)."""

from libc.stdint cimport int64_t

from .vocabulary cimport Operand


def accumulate(
    const Operand[::1] operands, const int64_t[::1] first_sample, int64_t first_packet, int64_t first_lookup,
    const float[:, ::1] vectors, const float[::1] weights, float[:, :, ::1] partial,
):
    """Add operands into partial [ranks, samples, dim], which starts at +0.0: acc = fl(acc + y), y = fl(weight * x).

    operands: of one table, in order (dtype `operand_dtype`); first_sample: of each packet from first_packet on;
    vectors: float32 [lookups, dim], the row of each lookup from first_lookup on; weights: float32 [lookups] likewise,
    or None for plain sums. Releases the GIL.
    """
    cdef Py_ssize_t i, e, first, last
    cdef int64_t lookup, sample
    cdef bint weighted = weights is not None
    cdef float y
    with nogil:
        for i in range(operands.shape[0]):
            lookup = operands[i].lookup - first_lookup
            sample = first_sample[operands[i].packet - first_packet] + operands[i].tag
            first = operands[i].first
            last = first + operands[i].count
            for e in range(first, last):
                y = vectors[lookup, e]
                if weighted:
                    y = weights[lookup] * y
                partial[operands[i].rank, sample, e] = partial[operands[i].rank, sample, e] + y
