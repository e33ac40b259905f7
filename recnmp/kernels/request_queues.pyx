"""Read and write queue with a list per bank; the verbs are inline in request_queues.pxd."""

from libc.stdint cimport int64_t, uint64_t

import numpy as np

SLOT = np.dtype(
    [("age", "i8"), ("accepted", "i8"), ("index", "i8"), ("row", "i4"), ("column", "i4"), ("bank", "i4"),
     ("next", "i4"), ("previous", "i4"), ("chain", "i4"), ("classed", "i1")],
    align=True,
)


cdef class RequestQueues:
    """Empty queues of `reads` and `writes` entries over `n_banks` banks."""

    def __init__(self, int n_banks, int64_t reads, int64_t writes):
        self.n_banks = n_banks
        self.capacity = [reads, writes]
        # an active request has left its queue, and there is at most one a bank
        slots = np.zeros(reads + writes + n_banks, SLOT)
        slots["next"] = np.arange(1, len(slots) + 1)
        slots["next"][len(slots) - 1] = NONE
        self.slots = slots
        self.first = np.full(2 * n_banks, NONE, np.int32)
        self.last = np.full(2 * n_banks, NONE, np.int32)
        size = 1 << (2 * int(writes) - 1).bit_length()
        self.buckets = np.full(size, NONE, np.int32)
        self.bucket_mask = size - 1


def first_out_of_range(const int64_t[:, ::1] requests, const int64_t[::1] highest):
    """(row, column) of the first value below 0 or above its column's highest; (-1, -1) if none is."""
    cdef int64_t row
    cdef int column
    with nogil:
        for row in range(requests.shape[0]):
            for column in range(REQUEST_COLUMNS):
                if <uint64_t>requests[row, column] > <uint64_t>highest[column]:
                    with gil:
                        return row, column
    return -1, -1
