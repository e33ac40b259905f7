"""Brute-force referee of DRAM command logs: reads only the rule rows and the log.

It shares no code with the kernels. `check` raises AssertionError with the first fault it finds, saying which
command broke which rule. For each row and place it keeps the clocks of the last w preceding commands only,
so a million commands take seconds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from recnmp.timing import COMMANDS, Rule

ACT, PRE, PREA, RD, WR, RDA, WRA, REF = range(8)
PLACE = ("clk", "command", "rank", "bankgroup", "bank", "row", "column")


class Layout(Protocol):
    """What the referee must know of an organisation."""

    bankgroups: int
    banks: int
    rows: int
    columns: int


class Bus(Protocol):
    """Latencies of data on the bus."""

    nCL: int
    nCWL: int
    nBL: int
    nCS: int


def say(command: Sequence[int]) -> str:
    clk, code, *place = command
    return f"clk {clk} {COMMANDS[code]} " + " ".join(
        f"{name} {value}" for name, value in zip(PLACE[2:], place, strict=True) if value >= 0
    )


def check(
    commands: Any,
    rows: Iterable[Rule],
    layout: Layout,
    nREFI: int | None,
    timing: Bus | None = None,
    ranks: int = 1,
    end: int | None = None,
    stagger: int = 0,
    shared_bus: bool = True,
) -> None:
    """Accept a log [m, 7] in issue order, or raise AssertionError.

    `rows`: the rules in force (scope "host", or "rank" for a log of ranks behind a DIMM's buffer). `nREFI`
    None: no REF may occur; else the k-th REF of a rank falls in [k*nREFI + s, (k+1)*nREFI + s) with
    s = rank*stagger (D13), and none is missing that had to come before `end` (default: the last command).
    `timing`: latencies for the overlap of bursts; None leaves that out (rule set ramulator-2.1 has overlaps,
    D-1). `shared_bus`: one data bus and one command a clock for all ranks (the host), else each rank its own.
    """
    log = commands.tolist() if hasattr(commands, "tolist") else [list(map(int, c)) for c in commands]
    timings = [_RowState(row) for row in rows]
    asks = [[t for t in timings if name in t.rule.following] for name in COMMANDS]
    notes = [[t for t in timings if name in t.rule.preceding] for name in COMMANDS]
    banks = _Banks(layout, ranks)
    bus = _DataBus(timing, shared_bus) if timing is not None else None
    refresh = _Refreshes(nREFI, ranks, stagger)
    last_clk: dict[int, int] = {}
    previous = None
    for command in log:
        clk, code, rank = command[0], command[1], command[2]
        assert 0 <= code < len(COMMANDS), f"no such command code: {command}"
        assert previous is None or clk >= previous, f"{say(command)}: log goes back from clk {previous}"
        previous = clk
        key = 0 if shared_bus else rank
        assert last_clk.get(key, -1) < clk, f"{say(command)}: second command on one clock"
        last_clk[key] = clk
        banks.place(command)
        place = command[2:5]
        parts = ((), (rank,), tuple(place[:2]), tuple(place))
        for row in asks[code]:
            row.ask(command, parts[row.parts])
        for row in notes[code]:
            row.note(clk, parts[row.parts])
        banks.follow(command)
        if bus is not None:
            bus.follow(command)
        refresh.follow(command)
    refresh.close(end if end is not None else (previous or 0))


_PARTS = {"channel": 0, "rank": 1, "other_ranks": 1, "bankgroup": 2, "bank": 3}


class _RowState:
    """Clocks of the last `window` preceding commands of one row, by place."""

    def __init__(self, rule: Rule) -> None:
        self.rule, self.clocks, self.window = rule, rule.clocks, rule.window
        self.parts = _PARTS[rule.level]
        self.elsewhere = rule.level == "other_ranks"
        # the w-th last clock by place, and with a window above 1 the ones after it
        self.counts: dict[tuple[int, ...], int] = {}
        self.later: dict[tuple[int, ...], deque[int]] = {}

    def ask(self, command: Sequence[int], here: tuple[int, ...]) -> None:
        if not self.elsewhere:
            clk = self.counts.get(here)
            if clk is not None and command[0] < clk + self.clocks:
                self._reject(command, clk)
            return
        for there, clk in self.counts.items():
            if there != here and command[0] < clk + self.clocks:
                self._reject(command, clk)

    def _reject(self, command: Sequence[int], clk: int) -> None:
        rule = self.rule
        raise AssertionError(
            f"{say(command)}: too early by rule {rule.name!r} ({rule.level}, {rule.clocks} clocks, "
            f"window {rule.window}) after clk {clk}, legal from {clk + rule.clocks}"
        )

    def note(self, clk: int, here: tuple[int, ...]) -> None:
        if self.window == 1:
            self.counts[here] = clk
            return
        later = self.later.setdefault(here, deque())
        later.append(clk)
        if len(later) == self.window:
            self.counts[here] = later.popleft()


class _Banks:
    """Open rows, and whether a command makes sense in them."""

    def __init__(self, layout: Layout, ranks: int) -> None:
        self.layout, self.ranks = layout, ranks
        self.open: dict[tuple[int, int, int], int] = {}
        self.open_in_rank = [0] * ranks

    def place(self, command: Sequence[int]) -> None:
        _, code, rank, group, bank, row, column = command
        assert 0 <= rank < self.ranks, f"{say(command)}: no such rank"
        if code in (PREA, REF):
            return
        assert 0 <= group < self.layout.bankgroups, f"{say(command)}: no such bank group"
        assert 0 <= bank < self.layout.banks, f"{say(command)}: no such bank"
        if code == ACT:
            assert 0 <= row < self.layout.rows, f"{say(command)}: no such row {row}"
        elif code != PRE:
            assert 0 <= column < self.layout.columns, f"{say(command)}: no such column {column}"

    def follow(self, command: Sequence[int]) -> None:
        _, code, rank, group, bank, row, _ = command
        place = (rank, group, bank)
        if code == ACT:
            assert place not in self.open, f"{say(command)}: bank is open at row {self.open[place]}"
            self.open[place] = row
            self.open_in_rank[rank] += 1
        elif code == PRE:
            # JEDEC allows PRE of a closed bank (no operation); no controller here has a reason for one
            assert place in self.open, f"{say(command)}: bank is closed"
            self._close(place)
        elif code == PREA:
            for other in [p for p in self.open if p[0] == rank]:
                self._close(other)
        elif code == REF:
            assert self.open_in_rank[rank] == 0, f"{say(command)}: {self.open_in_rank[rank]} banks are open"
        else:
            assert place in self.open, f"{say(command)}: bank is closed"
            assert row in (-1, self.open[place]), f"{say(command)}: open row is {self.open[place]}"
            if code in (RDA, WRA):
                self._close(place)

    def _close(self, place: tuple[int, int, int]) -> None:
        del self.open[place]
        self.open_in_rank[place[0]] -= 1


class _DataBus:
    """Bursts on one bus must not overlap."""

    def __init__(self, timing: Bus, shared: bool) -> None:
        self.timing, self.shared = timing, shared
        self.bursts: dict[int, deque[tuple[int, Sequence[int]]]] = {}

    def follow(self, command: Sequence[int]) -> None:
        code = command[1]
        if code not in (RD, WR, RDA, WRA):
            return
        begin = command[0] + (self.timing.nCL if code in (RD, RDA) else self.timing.nCWL)
        bursts = self.bursts.setdefault(0 if self.shared else command[2], deque(maxlen=8))
        # a WR's data may begin before those of an earlier RD, by CL - CWL at most: few bursts back suffice
        for other, before in bursts:
            if -self.timing.nBL < other - begin < self.timing.nBL:
                raise AssertionError(
                    f"{say(command)}: data from clk {begin} overlap those from clk {other} of {say(before)}"
                )
        bursts.append((begin, command))


class _Refreshes:
    """The k-th REF of each rank in its interval."""

    def __init__(self, nREFI: int | None, ranks: int, stagger: int) -> None:
        self.nREFI, self.stagger = nREFI, stagger
        self.seen = [0] * ranks

    def follow(self, command: Sequence[int]) -> None:
        if command[1] != REF:
            return
        assert self.nREFI is not None, f"{say(command)}: refresh is off"
        clk, _, rank = command[:3]
        k = self.seen[rank] = self.seen[rank] + 1
        first = k * self.nREFI + rank * self.stagger
        assert clk >= first, f"{say(command)}: REF number {k} of the rank before it is due at {first}"
        assert clk < first + self.nREFI, (
            f"{say(command)}: REF number {k} of the rank was due from {first} to {first + self.nREFI - 1}"
        )

    def close(self, end: int) -> None:
        if self.nREFI is None:
            return
        for rank, seen in enumerate(self.seen):
            needed = max((end - rank * self.stagger) // self.nREFI - 1, 0)
            assert seen >= needed, f"rank {rank}: {seen} REF until clk {end}, at least {needed} were due"
