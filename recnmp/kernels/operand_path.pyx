"""Lines, and operands on their way into the datapath of a rank: which is taken, when it enters, what it waits for.

The page is docs/microarchitecture.md: section 4, "Datapath", and section 7 for the operand register and its hazard. A
line is present in the last clock of its transfer, or while it is here, and stays so. So an operand is offered from the
clock in which the last line that it needs is laid until it is taken; entries that offer operands are one chain, the
oldest first. With one register it is known when an operand is taken in which clock it will enter.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .row_form cimport ELEMENTS
from .vocabulary cimport NEVER, TAGS, Operand
from .vocabulary import operand_dtype
from .window_entries cimport LINES, NONE, OPERANDS, Entry, WindowEntries

cdef Path _path[1]
cdef Coming _coming[1]
cdef Fill _fill[1]


@cython.final
cdef class OperandPath:
    """The way of the lines and operands of `entries` into the datapaths of their ranks.

    data_delay: clocks from RD to the clock after its burst (CL + BL). accumulate: clocks of the adder of the partial
    sums. tags_per_group: P of D6. foreseen: no operand of this machine can ever wait, since there is no cache, each
    line is one operand (`is_by_line`), and bursts are at least `accumulate` clocks apart; then a line is taken, with
    the clock in which that will be, as soon as its RD is issued. divider: the units work on one clock in so many.
    """

    def __init__(self, WindowEntries entries, int64_t data_delay, int64_t accumulate, int tags_per_group,
                 bint foreseen, int divider=1):
        cdef int r
        self.entries = entries
        self.data_delay = data_delay
        self.accumulate = accumulate * divider
        self.divider = divider
        self.tags_per_group = tags_per_group
        self.foreseen = foreseen
        # lines of a window; a fill may still stand when its entry is free already
        self.ring = LINES * entries.size + 1
        cdef Path[::1] path = np.zeros(entries.ranks, np.asarray(<Path[:1]>_path).dtype)
        cdef Coming[::1] coming = np.zeros(entries.ranks * self.ring, np.asarray(<Coming[:1]>_coming).dtype)
        cdef Fill[::1] fill = np.zeros(entries.ranks * self.ring, np.asarray(<Fill[:1]>_fill).dtype)
        cdef int64_t[::1] last = np.full(entries.ranks * TAGS * OPERANDS, -NEVER, np.int64)
        self.kept = (path.base, coming.base, fill.base, last.base)
        self.path, self.coming, self.fill, self.last = &path[0], &coming[0], &fill[0], &last[0]
        for r in range(entries.ranks):
            self.path[r].look = NEVER
            self.path[r].finished = NONE
            self.path[r].first_offering = NONE
        self.log_to(False, 0)

    def log_to(self, bint logging, Py_ssize_t operands):
        """Empty the log and make room in it."""
        self.logging = logging
        self.operands = np.zeros(operands if logging else 0, operand_dtype)
        self.n_operands = 0

    def take_log(self):
        """Operands since the last call, in order of the clock in which they entered and of rank; the log is emptied."""
        operands = np.asarray(self.operands)[: self.n_operands]
        self.n_operands = 0
        # they were logged when they were taken, by ranks that go ahead of each other
        return operands[np.lexsort((operands["rank"], operands["clk"]))]

    cdef void log(self, int r, const Entry* entry, int element_group, int64_t enters) noexcept nogil:
        cdef Operand* operand = &self.operands[self.n_operands]
        operand.clk = enters
        operand.lookup = entry.instruction.lookup
        operand.packet = entry.instruction.packet
        operand.rank = r
        operand.tag = entry.instruction.tag
        operand.element_group = element_group
        operand.first = max(<int>entry.first, ELEMENTS * element_group)
        operand.count = min(<int>entry.last, ELEMENTS * (element_group + 1)) - operand.first
        self.n_operands += 1
