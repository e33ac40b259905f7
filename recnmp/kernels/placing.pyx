"""Where the rows of one table lie (docs/placement.md), for kernels that place a row at a time.

`recnmp.placement.Placement.locate` says the same in NumPy, and makes what is needed here from its rules.
"""

import numpy as np

from libc.stdint cimport int64_t

NAMES = ("channel", "rank", "bankgroup", "bank", "row", "column")


cdef class Placer:
    """The places of a table's rows.

    rows, row_bytes, stride, slots: of the table; slots are rows of a page. first_page: its first logical page.
    digits: (part, size), lowest first, of a physical line; a part is one of NAMES, and none is said twice.
    fixed: part -> its value, for what no digit says; else 0. channels, ranks: how many there are.
    permutation: (pages, bits of the low half, bits of the high half, four keys) of the pages; None if they stay.
    hashing: (group mask, -1 for no groups; rank shift, rank mask, bank shift, bank mask); None for plain orders.
    """

    def __init__(
        self, int64_t rows, int64_t row_bytes, int64_t stride, int64_t slots, int64_t first_page, digits, fixed,
        int channels, int ranks, permutation=None, hashing=None,
    ):
        cdef Places* t = &self.places
        if rows < 1 or row_bytes < 1 or slots < 1 or not row_bytes <= stride <= LINE_BYTES * PAGE_LINES // slots:
            raise ValueError(f"{slots} rows of {row_bytes} bytes, {stride} apart, are no page")
        names = [digit[0] for digit in digits]
        if len(set(names)) != len(names) or not set(names) | set(fixed) <= set(NAMES):
            raise ValueError(f"{names} and {list(fixed)}: each is one of {', '.join(NAMES)}, once")
        self.channels, self.ranks = channels, ranks
        t.rows, t.row_bytes, t.stride, t.slots, t.first_page = rows, row_bytes, stride, slots, first_page
        t.slot_shift = shift_of(slots)
        t.n_digits = len(names)
        for i, (part, size) in enumerate(digits):
            t.digits[i].part, t.digits[i].shift, t.digits[i].size = NAMES.index(part), shift_of(size), size
        for i, part in enumerate(NAMES):
            t.fixed.part[i] = fixed.get(part, 0)
        t.pages = 0
        if permutation is not None:
            t.pages, t.low_bits, t.high_bits, keys = permutation
            for i in range(ROUNDS):
                t.keys[i] = keys[i]
        t.hashed = hashing is not None
        if t.hashed:
            t.group_mask, t.rank_shift, t.rank_mask, t.bank_shift, t.bank_mask = hashing

    def lines(self, const int64_t[::1] rows):
        """All lines of rows: int64 [m, 7], which of the rows and then NAMES; and int64 [n], byte offsets of the rows.

        ValueError for a row that there is not.
        """
        cdef Places* t = &self.places
        cdef Place place
        cdef int64_t i, line, at = 0
        cdef int offset, k, n, part
        if len(rows) and not 0 <= np.min(rows) <= np.max(rows) < t.rows:
            raise ValueError(f"rows are 0 to {t.rows - 1}")
        offsets = np.empty(len(rows), np.int64)
        cdef int64_t[::1] byte_offset = offsets
        for i in range(rows.shape[0]):
            first_line(t, rows[i], &offset)
            at += lines_of_row(t, offset)
        found = np.empty((at, 1 + N_PARTS), np.int64)
        cdef int64_t[:, ::1] columns = found
        at = 0
        with nogil:
            for i in range(rows.shape[0]):
                line = first_line(t, rows[i], &offset)
                byte_offset[i] = offset
                n = lines_of_row(t, offset)
                for k in range(n):
                    locate(t, line + k, &place)
                    columns[at, 0] = i
                    for part in range(N_PARTS):
                        columns[at, 1 + part] = place.part[part]
                    at += 1
        return found, offsets


def shift_of(size):
    """log2 of a size that is a power of two; -1 of others."""
    return -1 if size & (size - 1) else size.bit_length() - 1
