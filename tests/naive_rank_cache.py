"""RankCache of one rank of the naive machine, and its port (docs/microarchitecture.md, section 4, RankCache).

The tag store is that of tests/naive_caches.py. One access a clock: a fill, or else a probe.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from naive_caches import NaiveCache
from naive_window import Entry, Line

LINE_BYTES = 64


class RankCache:
    """Tags, the lines on their way to them, and the lines that wait for those."""

    def __init__(self, options, counters: Counter) -> None:
        self.options = options
        self.counters = counters
        self.sets = options.rank_cache_bytes // (LINE_BYTES * options.rank_cache_ways)
        self.tags = NaiveCache(self.sets, options.rank_cache_ways, options.rank_cache_policy)
        self.fetched: list[Line] = []  # lines with a way, from the clock of their RD to that of their fill
        self.waiting: list[Line] = []

    def number(self, line: Line) -> int:
        """The line's place in the rank."""
        where, options = line.entry.instruction, self.options
        bank = where.bankgroup * options.banks + where.bank
        return (bank * options.rows + where.row) * options.bursts_a_row + line.column

    def use_port(self, window: Sequence[Entry], t: int) -> Line | None:
        """One clock; the line that was probed, if any."""
        for line in self.fetched:
            # the first clock of the unit that is not before
            if t - self.options.divider < line.read + self.options.nCL + self.options.nBL <= t:
                self.fill(line, t)
                return None
        for entry in window:
            for line in entry.lines:
                if line.unprobed(t):
                    self.probe(line, t)
                    return line
        return None

    def fill(self, line: Line, t: int) -> None:
        assert line.way is not None
        place, way = line.way
        assert self.tags.sets[place].held[way] == self.number(line)
        assert way in self.tags.sets[place].awaited
        self.tags.arrive(place, way)
        self.counters["cache_fills"] += 1
        self.fetched.remove(line)
        for other in self.waiting:
            if other.waits_for == line.way:
                other.present_from = t + 1
        self.waiting = [other for other in self.waiting if other.waits_for != line.way]

    def probe(self, line: Line, t: int) -> None:
        number = self.number(line)
        place = number % self.sets
        way = self.tags.probe(place, number)
        line.probed = t
        packet = line.entry.instruction.packet.number
        if way is not None:
            self.tags.touch(place, way)
            if way in self.tags.sets[place].awaited:
                self.counters["cache_secondary_hits"] += 1
                self.counters["secondary_hits", packet] += 1
                line.waits_for = place, way
                self.waiting.append(line)
            else:
                self.counters["cache_hits"] += 1
                self.counters["hits", packet] += 1
                line.present_from = t + 1
            return
        line.wanted_from = t + 1
        victim = self.tags.victim(place)
        if victim is None:
            self.counters["cache_bypasses"] += 1
            self.counters["bypasses", packet] += 1
            return
        self.counters["cache_misses"] += 1
        self.counters["misses", packet] += 1
        self.tags.fill(place, victim, number, pending=True)
        line.way = place, victim

    def read(self, line: Line) -> None:
        """Its RD is issued."""
        if line.way is not None:
            self.fetched.append(line)

    def flush(self) -> None:
        """All ways are empty; what the policy remembers stays."""
        assert not self.fetched
        assert not self.waiting
        for place in self.tags.sets:
            assert not place.awaited
            place.held.clear()
