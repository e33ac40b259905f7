"""The plain twins of hot-entry profiling, written from docs/microarchitecture.md (section 8) and docs/caches.md."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from copy import deepcopy

WORD = (1 << 64) - 1
Key = tuple[int, bool]  # and whether it is asked for


def matrix(row: int, bit: int) -> int:
    """The 64-bit word of which M(row, bit) is the lowest bits."""
    z = (64 * row + bit + 1) * 0x9E3779B97F4A7C15 & WORD
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB & WORD
    return z ^ z >> 31


class NaiveSketch:
    """Whole keys one after another (`count`, `ask`), or clock by clock (`step`)."""

    def __init__(self, rows: int, size: int, bits: int) -> None:
        self.rows, self.size, self.top = rows, size, 2**bits - 1
        self.counts = [Counter[int]() for _ in range(rows)]
        self.now, self.cleared = 0, -(10**9)
        self.taken: dict[int, Key] = {}
        self.seen: dict[int, list[int]] = {}  # what a key that was taken in a clock has read
        self.answers: dict[int, int] = {}

    def places(self, key: int) -> list[int]:
        found = []
        for row in range(self.rows):
            at = 0
            for bit in range(64):
                if key >> bit & 1:
                    at ^= matrix(row, bit)
            found.append(at % self.size)
        return found

    def ask(self, key: int) -> int:
        return min(counts[at] for counts, at in zip(self.counts, self.places(key), strict=True))

    def count(self, key: int) -> None:
        self.raise_those(key, [counts[at] for counts, at in zip(self.counts, self.places(key), strict=True)])

    def raise_those(self, key: int, held: list[int]) -> None:
        for counts, at, value in zip(self.counts, self.places(key), held, strict=True):
            if value == min(held):
                counts[at] = min(value + 1, self.top)

    def step(self, clear: int, valid: int, ask: int, key: int) -> tuple[int, int, int]:
        """A key taken in t is read in t+1, updated in t+2 and answered in t+3."""
        t = self.now
        since = t - self.cleared  # 1 .. size: the sweep has the write port
        ready = not 1 <= since <= self.size
        answer = self.answers.pop(t, None)
        if t - 2 in self.taken:
            older, asked = self.taken.pop(t - 2)
            held = self.seen.pop(t - 2)
            if asked:
                self.answers[t + 1] = min(held)
            elif ready:
                self.raise_those(older, held)
        if not ready:
            for counts in self.counts:
                counts[since - 1] = 0
        if t - 1 in self.taken:
            places = self.places(self.taken[t - 1][0])
            self.seen[t - 1] = [counts[at] for counts, at in zip(self.counts, places, strict=True)]
        if ready and valid and not clear:
            self.taken[t] = key, bool(ask)
        if clear:
            self.cleared = t
        self.now += 1
        return int(ready), int(answer is not None), answer or 0


class NaiveLru:
    """An LRU cache of sets, a dictionary each; nothing is ever on its way."""

    def __init__(self, sets: int, ways: int) -> None:
        self.ways = ways
        self.sets = [OrderedDict[int, None]() for _ in range(sets)]

    def access(self, line: int) -> bool:
        held = self.sets[line % len(self.sets)]
        hit = line in held
        held[line] = None
        held.move_to_end(line)
        if len(held) > self.ways:
            held.popitem(last=False)
        return hit


def best_threshold(
    batches: Sequence[Sequence[tuple[int, Sequence[tuple[int, int]]]]],
    sets: int,
    ways: int,
    tried: Sequence[int],
    before: dict[int, NaiveLru] | None = None,
) -> tuple[int, dict[int, NaiveLru]]:
    """Of batches of one table's lookups, each a row and its lines as (rank, line in the rank): most hits, smallest.

    before: the caches, by rank, that all start with. Returns the threshold and the caches that it leaves.
    """
    hits, left = [], []
    for threshold in tried:
        caches = deepcopy(before or {})
        found = 0
        for batch in batches:
            counts = Counter(row for row, _ in batch)
            for row, lines in batch:
                for rank, line in lines if counts[row] >= threshold else ():
                    found += caches.setdefault(rank, NaiveLru(sets, ways)).access(line)
        hits.append(found)
        left.append(caches)
    best = hits.index(max(hits))
    return tried[best], left[best]
