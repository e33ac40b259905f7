# Log of issued commands; an observer, it never changes timing.

from libc.stdint cimport int64_t

cdef enum:
    LOG_COLUMNS = 7   # clk, command, rank, bankgroup, bank, row, column; -1 where a command has no such part

cdef class CommandLog:
    cdef bint on
    cdef int64_t[:, ::1] rows
    cdef int64_t count
    cdef list full            # copies of earlier rows


cdef inline bint is_full(CommandLog log) noexcept nogil:
    """Whether `flush` (with the interpreter) must come before the next command."""
    return log.count == log.rows.shape[0]


cdef inline void append(
    CommandLog log, int64_t clk, int command, int rank, int bankgroup, int bank, int row, int column
) noexcept nogil:
    cdef int64_t* line = &log.rows[log.count, 0]
    line[0], line[1], line[2], line[3] = clk, command, rank, bankgroup
    line[4], line[5], line[6] = bank, row, column
    log.count += 1
