"""The plain twin of recnmp.kernels.cache_sets, written from docs/caches.md: dictionaries and lists, a set at a time."""

from __future__ import annotations

from collections.abc import Iterable


class NaiveSet:
    """One set: what its ways hold and await, and what its policy remembers."""

    def __init__(self, ways: int) -> None:
        self.held: dict[int, int] = {}  # way -> line
        self.awaited: set[int] = set()
        self.order = list(range(ways))  # lru, fifo: oldest first
        self.right: dict[tuple[int, int], bool] = {}  # tree-plru: [first, end) -> points to its upper half


class NaiveCache:
    """Sets of ways, with a policy by name."""

    def __init__(self, sets: int, ways: int, policy: str, seed: int = 0x2545F491) -> None:
        self.ways, self.policy = ways, policy
        self.sets = [NaiveSet(ways) for _ in range(sets)]
        self.bits = [seed >> bit & 1 for bit in range(32)]

    def probe(self, place: int, line: int) -> int | None:
        found = [way for way, held in self.sets[place].held.items() if held == line]
        return found[0] if found else None

    def touch(self, place: int, way: int) -> None:
        if self.policy == "lru":
            self._renew(place, way)
        elif self.policy == "tree-plru":
            self._point_away(place, way)

    def fill(self, place: int, way: int, line: int, pending: bool = False) -> None:
        here = self.sets[place]
        here.held[way] = line
        here.awaited.discard(way)
        if pending:
            here.awaited.add(way)
        if self.policy in ("lru", "fifo"):
            self._renew(place, way)
        elif self.policy == "tree-plru":
            self._point_away(place, way)
        else:
            self._step_register()

    def arrive(self, place: int, way: int) -> None:
        self.sets[place].awaited.discard(way)

    def victim(self, place: int) -> int | None:
        here = self.sets[place]
        empty = [way for way in range(self.ways) if way not in here.held]
        if empty:
            return empty[0]
        open_ways = [way for way in range(self.ways) if way not in here.awaited]
        if not open_ways:
            return None
        if self.policy in ("lru", "fifo"):
            return next(way for way in here.order if way in open_ways)
        if self.policy == "random":
            number = sum(bit << place for place, bit in enumerate(self.bits[:8]))
            start = number * self.ways // 256
            return next(way % self.ways for way in range(start, 99) if way % self.ways in open_ways)
        return self._follow(place, 0, self.ways, open_ways)

    def access(self, lines: Iterable[int]) -> list[bool]:
        """Which of the lines hit, one after another, each in the set of its remainder."""
        hits = []
        for line in lines:
            place = line % len(self.sets)
            way = self.probe(place, line)
            hits.append(way is not None)
            if way is not None:
                self.touch(place, way)
            elif (victim := self.victim(place)) is not None:
                self.fill(place, victim, line)
        return hits

    def _renew(self, place: int, way: int) -> None:
        self.sets[place].order.remove(way)
        self.sets[place].order.append(way)

    def _point_away(self, place: int, way: int) -> None:
        first, end = 0, self.ways
        while end - first > 1:
            middle = (first + end) // 2
            self.sets[place].right[first, end] = way < middle
            first, end = (first, middle) if way < middle else (middle, end)

    def _follow(self, place: int, first: int, end: int, open_ways: list[int]) -> int:
        if end - first == 1:
            return first
        middle = (first + end) // 2
        halves = [(first, middle), (middle, end)]
        if self.sets[place].right.get((first, end), False):
            halves.reverse()
        half = next(half for half in halves if any(way in open_ways for way in range(*half)))
        return self._follow(place, *half, open_ways)

    def _step_register(self) -> None:
        for _ in range(8):
            out, shifted = self.bits[0], [*self.bits[1:], 0]
            self.bits = [bit ^ (out if place in (0, 1, 21, 31) else 0) for place, bit in enumerate(shifted)]
