"""Threads and packet scheduler, plain and slow: section 2b of docs/microarchitecture.md told once more with lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Waiting:
    """A packet in the queue."""

    number: int
    table: int
    thread: int
    passed: int = 0  # picks of later packets since it came
    passed_as_oldest: int = 0


@dataclass
class NaiveScheduler:
    """The block: `arrive` and `pick` may be called in any clock in which `room` and `offered` say so."""

    places: int
    policy: str
    threads: int
    limit: int
    queue: list[Waiting] = field(default_factory=list)
    complete: bool = False
    arrived: int = 0
    last: Waiting | None = None  # the packet given last in this batch
    worst: int = 0
    worst_as_oldest: int = 0

    @property
    def room(self) -> bool:
        return not self.complete and len(self.queue) < self.places

    @property
    def offered(self) -> Waiting | None:
        if not self.queue or not (self.complete or len(self.queue) == self.places):
            return None
        oldest = self.queue[0]
        if oldest.passed_as_oldest == self.limit or self.policy == "fcfs":
            return oldest
        if self.policy == "table-aware":
            same = [one for one in self.queue if self.last is not None and one.table == self.last.table]
            return same[0] if same else oldest
        before = self.last.thread if self.last is not None else self.threads - 1
        for thread in [*range(before + 1, self.threads), *range(before + 1)]:
            for one in self.queue:
                if one.thread == thread:
                    return one
        raise AssertionError("every packet has a thread")

    def arrive(self, table: int, thread: int, last: bool) -> None:
        assert self.room
        self.queue.append(Waiting(self.arrived, table, thread))
        self.arrived += 1
        self.complete = last

    def pick(self) -> int:
        given = self.offered
        assert given is not None
        for one in self.queue:
            if one.number < given.number:
                one.passed += 1
        if given is not self.queue[0]:
            self.queue[0].passed_as_oldest += 1
        self.worst = max([self.worst, *(one.passed for one in self.queue)])
        self.worst_as_oldest = max([self.worst_as_oldest, *(one.passed_as_oldest for one in self.queue)])
        self.queue.remove(given)
        self.last = given
        if self.complete and not self.queue:
            self.complete, self.arrived, self.last = False, 0, None
        return given.number

    def order(self, packets: Sequence[tuple[int, int]]) -> list[int]:
        """A batch of (table, thread), as they arrive: their numbers as they are given."""
        given: list[int] = []
        coming = list(enumerate(packets))
        while len(given) < len(packets):
            if self.room and coming:
                place, (table, thread) = coming.pop(0)
                self.arrive(table, thread, place == len(packets) - 1)
            else:
                given.append(self.pick())
        return given


def naive_arrivals(instructions: Sequence[Sequence[int]], order: str, threads: int) -> list[tuple[int, int]]:
    """(table, packet) as they arrive, by letting all threads prepare one instruction after another."""
    tables, packets = len(instructions), len(instructions[0]) if instructions else 0
    trace = [(t, k) for t in range(tables) for k in range(packets)]
    if order == "sample":
        trace.sort(key=lambda packet: packet[::-1])
    work = {
        thread: [p for p in trace if p[0] % threads == thread and instructions[p[0]][p[1]]]
        for thread in range(threads)
    }
    left = {thread: instructions[w[0][0]][w[0][1]] if w else 0 for thread, w in work.items()}
    arrived: list[tuple[int, int]] = []
    while any(work.values()):
        for thread in range(threads):
            if not work[thread]:
                continue
            left[thread] -= 1
            if left[thread] == 0:
                arrived.append(work[thread].pop(0))
                if work[thread]:
                    table, packet = work[thread][0]
                    left[thread] = instructions[table][packet]
    return arrived
