"""A set-associative tag store with replacement: whole caches over arrays of lines, and its verbs from Python.

What each policy keeps, and when it changes, is docs/caches.md. The verbs are inline in cache_sets.pxd, for
other kernels; the methods here are the same ones, checked, for tests and tools.
"""

from cpython.exc cimport PyErr_CheckSignals

import numpy as np

# the names that configurations use, in the order of the codes in cache_sets.pxd
POLICIES = ("lru", "fifo", "random", "tree-plru")
SEED = 0x2545F491  # any number but 0 would do

cdef enum:
    CHUNK = 1 << 18   # lines between two looks at Ctrl-C


cdef void access(
    CacheSets c, const int64_t[::1] lines, uint8_t[::1] flags, int64_t first, int64_t end
) noexcept nogil:
    """Access lines[first:end]; raises the flags of those that hit."""
    cdef int64_t at, place
    cdef int way
    for at in range(first, end):
        place = set_of(c, lines[at])
        way = probe(c, place, lines[at])
        if way != NO_WAY:
            touch(c, place, way)
            flags[at] = True
            continue
        way = victim(c, place)
        if way != NO_WAY:
            fill(c, place, way, lines[at], False)


cdef class CacheSets:
    """A cache of `sets` sets of `ways` lines, empty at first.

    policy: one of POLICIES; tree-plru needs a power of two of ways. seed: 1 .. 2^32-1, of `random`.
    Lines are numbers from 0 to 2^63-1 and are kept whole. ValueError for anything else.
    """

    def __init__(self, int64_t sets, int ways, str policy, int64_t seed=SEED):
        if policy not in POLICIES:
            raise ValueError(f"policy {policy!r} is none of {', '.join(POLICIES)}")
        if sets < 1 or not 1 <= ways <= MOST_WAYS:
            raise ValueError(f"{sets} sets of {ways} ways: at least 1 set, and 1 to {MOST_WAYS} ways")
        if not 1 <= seed < 1 << 32:
            raise ValueError(f"seed {seed}: 1 to {(1 << 32) - 1}")
        self.policy = POLICIES.index(policy)
        if self.policy == TREE_PLRU and ways & (ways - 1):
            raise ValueError(f"{ways} ways: a tree has a power of two of them")
        self.sets, self.ways = sets, ways
        self.mask = sets - 1 if sets & (sets - 1) == 0 else -1
        self.lines = np.full(sets * ways, NO_LINE, np.int64)
        self.pending = np.zeros(sets, np.uint16)
        aged = self.policy in (LRU, FIFO)
        # any permutation would do: each way is filled before its age counts
        self.ages = np.tile(np.arange(ways, dtype=np.uint8), sets) if aged else np.zeros(0, np.uint8)
        self.trees = np.zeros(sets if self.policy == TREE_PLRU else 0, np.uint16)
        self.lfsr = <uint32_t>seed

    def access(self, const int64_t[::1] lines):
        """Access lines int64 [n] one after another: which of them hit, bool [n]. A miss fills its line.

        Lets go of the interpreter and looks for Ctrl-C now and then; what was accessed by then has been.
        ValueError for a negative line, before anything is accessed.
        """
        cdef int64_t first, count = lines.shape[0]
        if count and np.min(lines) < 0:
            raise ValueError(f"line {np.min(lines)}: 0 to {(1 << 63) - 1}")
        hits = np.zeros(count, np.bool_)
        cdef uint8_t[::1] flags = hits.view(np.uint8)
        for first in range(0, count, CHUNK):
            PyErr_CheckSignals()
            with nogil:
                access(self, lines, flags, first, min(first + CHUNK, count))
        return hits

    def empty(self):
        """All ways that hold a line are empty; those that await one go on, and the policy does not notice."""
        awaits = np.asarray(self.pending)[:, None] >> np.arange(self.ways, dtype=np.uint16) & 1
        np.asarray(self.lines)[awaits.reshape(-1) == 0] = NO_LINE

    # --- the verbs, checked ---

    def set_of(self, int64_t line):
        """The set of a line: its remainder."""
        self._check(0, 0, line)
        return set_of(self, line)

    def probe(self, int64_t place, int64_t line):
        """The way of set `place` that holds a line or awaits it, or None."""
        self._check(place, 0, line)
        cdef int way = probe(self, place, line)
        return None if way == NO_WAY else way

    def is_pending(self, int64_t place, int way):
        """Whether a way awaits its line."""
        self._check(place, way, 0)
        return bool(is_pending(self, place, way))

    def touch(self, int64_t place, int way):
        """A way is hit."""
        self._check(place, way, 0)
        touch(self, place, way)

    def victim(self, int64_t place):
        """The way that the next fill of a set should take, or None if all are pending."""
        self._check(place, 0, 0)
        cdef int way = victim(self, place)
        return None if way == NO_WAY else way

    def fill(self, int64_t place, int way, int64_t line, bint pending=False):
        """A way holds `line` from now on, or awaits it."""
        self._check(place, way, line)
        fill(self, place, way, line, pending)

    def arrive(self, int64_t place, int way):
        """The line that a way awaits is there."""
        self._check(place, way, 0)
        arrive(self, place, way)

    def _check(self, int64_t place, int way, int64_t line):
        if not (0 <= place < self.sets and 0 <= way < self.ways and line >= 0):
            raise ValueError(
                f"set {place}, way {way}, line {line}: there are {self.sets} sets of {self.ways} ways, and "
                "lines are not negative"
            )
