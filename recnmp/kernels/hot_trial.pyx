"""What a cache would hit if only lines with a count of at least t used it: to choose a threshold by trying it."""

from libc.stdint cimport int64_t

from .cache_sets cimport NO_WAY, CacheSets, fill, probe, set_of, touch, victim


def trial_hits(
    CacheSets cache not None, const int64_t[::1] lines, const int64_t[::1] counts, int64_t threshold,
    int64_t first, int64_t end,
):
    """Access those of lines[first:end] whose count reaches the threshold, in order; how many hit.

    Nothing is ever pending: a second access to a line is simply a hit. ValueError for a range that is none of both
    arrays, or for negative lines.
    """
    cdef int64_t at, place, hits = 0
    cdef int way
    if not 0 <= first <= end <= min(lines.shape[0], counts.shape[0]):
        raise ValueError(f"{first} to {end}: there are {lines.shape[0]} lines and {counts.shape[0]} counts")
    with nogil:
        for at in range(first, end):
            if counts[at] < threshold:
                continue
            if lines[at] < 0:
                hits = -1
                break
            place = set_of(cache, lines[at])
            way = probe(cache, place, lines[at])
            if way != NO_WAY:
                touch(cache, place, way)
                hits += 1
            else:
                fill(cache, place, victim(cache, place), lines[at], False)
    if hits < 0:
        raise ValueError(f"line {lines[at]}: lines are not negative")
    return hits


def assume(CacheSets cache not None, CacheSets other not None):
    """Make a cache hold and remember what another one does. ValueError if they are not of one shape and policy."""
    if (cache.sets, cache.ways, cache.policy) != (other.sets, other.ways, other.policy):
        raise ValueError("only between caches of as many sets and ways, and the same policy")
    cache.lines[:] = other.lines
    cache.pending[:] = other.pending
    cache.ages[:] = other.ages
    cache.trees[:] = other.trees
    cache.lfsr = other.lfsr
