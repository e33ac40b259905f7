"""Limit on outstanding reads; the verbs are inline in read_window.pxd."""

import numpy as np


cdef class ReadWindow:
    """At most `limit` reads between acceptance and last datum; 0 means no limit, and then it is not asked."""

    def __init__(self, int64_t limit):
        self.limit = limit
        self.ends = np.zeros(limit + 1, np.int64)
