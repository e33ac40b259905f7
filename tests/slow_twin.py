"""The slow twin of the host channel: interprets the rule rows and the clock's story, one clock at a time.

It knows no tables and no shortcuts, shares no code with the kernels, and is for tests only.
The story it follows, with its numbers, is "How a clock goes" of docs/dram.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from recnmp.config.dram import ChannelConfig
from recnmp.timing import COMMANDS, Rule, rules

WHOLE_RANK = ("PREA", "REF")
Place = tuple[int, int, int]  # rank, bank group, bank


class Banks:
    """Timing and open rows by interpreting the rows: same verbs as the kernel's Device."""

    def __init__(self, rows: Iterable[Rule], ranks: int, bankgroups: int, banks: int) -> None:
        self.rows = list(rows)
        self.places = [(r, g, b) for r in range(ranks) for g in range(bankgroups) for b in range(banks)]
        self.open: dict[Place, int] = {}
        # for each row its clocks of preceding commands by the part of the place that its level looks at
        self.past: list[dict[tuple[int, ...], deque[int]]] = [{} for _ in self.rows]

    @staticmethod
    def _part(level: str, place: Place) -> tuple[int, ...]:
        return place[: {"channel": 0, "rank": 1, "other_ranks": 1, "bankgroup": 2, "bank": 3}[level]]

    def earliest(self, command: str, place: Place) -> int:
        first = -(2**62)
        for row, past in zip(self.rows, self.past, strict=True):
            if command not in row.following:
                continue
            here = self._part(row.level, place)
            for there, clocks in past.items():
                if (there != here) == (row.level == "other_ranks") and len(clocks) == row.window:
                    first = max(first, clocks[0] + row.clocks)
        return first

    def issue(self, command: str, place: Place, row: int, clk: int) -> None:
        for rule, past in zip(self.rows, self.past, strict=True):
            if command in rule.preceding:
                past.setdefault(self._part(rule.level, place), deque(maxlen=rule.window)).append(clk)
        if command == "ACT":
            self.open[place] = row
        elif command in ("PRE", "RDA", "WRA"):
            self.open.pop(place, None)
        elif command == "PREA":
            self.open = {p: r for p, r in self.open.items() if p[0] != place[0]}


@dataclass
class Request:
    index: int
    write: bool
    place: Place
    row: int
    column: int
    accepted: int
    classed: bool = False
    merged: list[int] = field(default_factory=list)

    @property
    def address(self) -> tuple[Place, int, int]:
        return self.place, self.row, self.column


class SlowChannel:
    """FR-FCFS host channel; `run` returns completion clocks and leaves commands and counts in itself."""

    def __init__(self, config: ChannelConfig) -> None:
        self.config = config
        t, o = config.timing, config.organisation
        self.timing = t
        self.banks = Banks(rules(t, config.rule_set, "host"), config.ranks, o.bankgroups, o.banks)
        self.clk = 0
        self.active: list[Request] = []
        self.reads: list[Request] = []
        self.writes: list[Request] = []
        self.refreshes: deque[int] = deque()
        self.write_mode = False
        self.in_flight: list[int] = []
        self.commands: list[tuple[int, ...]] = []
        self.count = dict.fromkeys(
            ("row_hits", "row_misses", "row_conflicts", "reads_forwarded", "writes_merged", "read_latency"), 0
        )

    def run(self, requests: Sequence[Sequence[int]], start: int = 0) -> npt.NDArray[np.int64]:
        """Completion clock of each request of rows [offered after start, is_write, rank, ..., column]."""
        while self.clk < start:
            self._act_once()
        self.done = np.full(len(requests), -1, np.int64)
        waiting = deque(enumerate(requests))
        while waiting or self.active or self.reads or self.writes:
            if waiting and start + waiting[0][1][0] <= self.clk and self._offer(*waiting[0]):
                waiting.popleft()
            self._act_once()
        while self.clk < max(self.done, default=0):
            self._act_once()
        return self.done

    def _offer(self, index: int, row: Sequence[int]) -> bool:
        _, is_write, *place, dram_row, column = map(int, row)
        request = Request(index, bool(is_write), (place[0], place[1], place[2]), dram_row, column, self.clk)
        same = next((w for w in self.writes if w.address == request.address), None)
        limit = self.config.outstanding
        if request.write:
            if same is not None:
                same.merged.append(index)
                self.count["writes_merged"] += 1
                return True
            if len(self.writes) == self.config.write_queue:
                return False
            self.writes.append(request)
            return True
        self.in_flight = [done for done in self.in_flight if done > self.clk]
        waiting = len(self.reads) + sum(not a.write for a in self.active)
        if limit is not None and len(self.in_flight) + waiting >= limit:
            return False
        if same is not None:
            self.done[index] = self.clk + 1
            self.count["reads_forwarded"] += 1
            self.count["read_latency"] += 1
            return True
        if len(self.reads) == self.config.read_queue:
            return False
        self.reads.append(request)
        return True

    def _act_once(self) -> None:
        self.clk += 1
        if self.config.refresh and self.clk % self.timing.nREFI == 0:
            self.refreshes.extend(range(self.config.ranks))
        if self._serve_oldest_ready(self.active):
            return
        if self.refreshes:
            self._refresh(self.refreshes[0])
            return
        if not self.write_mode:
            if 5 * len(self.writes) > 4 * self.config.write_queue or not self.reads:
                self.write_mode = True
        elif 5 * len(self.writes) < self.config.write_queue and self.reads:
            self.write_mode = False
        self._serve_oldest_ready(self.writes if self.write_mode else self.reads)

    def _refresh(self, rank: int) -> None:
        is_open = any(place[0] == rank for place in self.banks.open)
        command = "PREA" if is_open else "REF"
        if is_open and any(request.place[0] == rank for request in self.active):
            return
        if self.banks.earliest(command, (rank, 0, 0)) <= self.clk:
            self._issue(command, (rank, 0, 0), -1, -1)
            if command == "REF":
                self.refreshes.popleft()

    def _next_command(self, request: Request) -> str:
        if request.place not in self.banks.open:
            return "ACT"
        if self.banks.open[request.place] != request.row:
            return "PRE"
        return "WR" if request.write else "RD"

    def _ready(self, request: Request) -> bool:
        command = self._next_command(request)
        if command == "PRE" and any(other.place == request.place for other in self.active):
            return False
        return self.banks.earliest(command, request.place) <= self.clk

    def _serve_oldest_ready(self, queue: list[Request]) -> bool:
        """Queues are kept in the order of acceptance."""
        for request in queue:
            if self._ready(request):
                self._serve(request, queue)
                return True
        return False

    def _serve(self, request: Request, queue: list[Request]) -> None:
        command = self._next_command(request)
        if not request.classed:
            kind = {"ACT": "row_misses", "PRE": "row_conflicts"}.get(command, "row_hits")
            self.count[kind] += 1
            request.classed = True
        self._issue(command, request.place, request.row, request.column)
        if command == "ACT":
            queue.remove(request)
            self.active.append(request)
            self.active.sort(key=lambda r: r.accepted)
        elif command in ("RD", "WR"):
            queue.remove(request)
            t = self.timing
            done = self.clk + t.nBL + (t.nCWL if request.write else t.nCL)
            self.done[[request.index, *request.merged]] = done
            if not request.write:
                self.in_flight.append(done)
                self.count["read_latency"] += done - request.accepted

    def _issue(self, command: str, place: Place, row: int, column: int) -> None:
        self.banks.issue(command, place, row, self.clk)
        self.commands.append((self.clk, COMMANDS.index(command), *place, row, column))
