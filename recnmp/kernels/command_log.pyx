"""Growing log of commands, filled without the interpreter between two flushes."""

import numpy as np

cdef enum:
    ROWS = 1 << 14


cdef class CommandLog:
    """Empty log; if not `on`, nothing may be appended and it is never full."""

    def __init__(self, bint on):
        self.on = on
        self.rows = np.zeros((ROWS if on else 1, LOG_COLUMNS), np.int64)
        self.full = []

    def flush(self):
        """Make room."""
        if self.count:
            self.full.append(np.array(self.rows[:self.count]))
            self.count = 0

    def take(self):
        """All commands int64 [m, 7] since the last call."""
        self.flush()
        parts, self.full = self.full, []
        return np.concatenate([np.zeros((0, LOG_COLUMNS), np.int64), *parts])
