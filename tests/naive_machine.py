"""The near-memory machine, plain and slow: docs/microarchitecture.md told once more, one call a clock.

It is the twin against which the kernels are compared, so it was written from the page alone, never from a
kernel. The DIMM-NMPs are here (section 5); the host and the bus are in tests/naive_host.py, a rank in naive_rank.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from naive_host import Host
from naive_packets import Packet, read_packets
from naive_rank import Rank, Rules
from naive_stalls import Stalls
from naive_traffic import Traffic

TAGS = 16
PATIENCE = 100_000  # clocks without any event after which a run is called stuck


@dataclass(frozen=True)
class Options:
    """Everything that the page gives a number to."""

    nCL: int
    nBL: int
    nREFI: int | None
    dimms: int
    ranks_per_dimm: int
    fifo: int
    window: int
    groups: int
    instructions_per_clock: int
    bus_turnaround: int
    stagger: int
    local_bus: str
    skip_full_rank: bool
    pipeline: int
    accumulate: int
    adder: int
    banks: int  # of a bank group
    rows: int  # of a bank
    bursts_a_row: int
    rank_cache_bytes: int
    rank_cache_ways: int
    rank_cache_policy: str
    command_mode: str
    divider: int
    bankgroups: int


@dataclass
class Log:
    """What happened. Columns of each list are in the comment."""

    ranks: int
    commands: list = field(default_factory=list)  # clk, code, rank, bankgroup, bank, row, column (in bursts)
    sends: list = field(default_factory=list)  # clk, stream index
    bursts: list = field(default_factory=list)  # first clk on the channel, dimm, packet, tag, element group
    # of each rank: clk, lookup, packet, rank, tag, element group, its first element, elements
    operands: list = field(default_factory=list)
    ends: list = field(default_factory=list)  # of each batch
    counters: list = field(default_factory=list)  # of each rank: name -> count

    def __post_init__(self) -> None:
        self.operands = [[] for _ in range(self.ranks)]
        self.counters = [Counter() for _ in range(self.ranks)]

    def total(self, name: str) -> int:
        """The counter's sum over the ranks."""
        return sum(counters[name] for counters in self.counters)

    @property
    def wrong_predictions(self) -> int:
        return self.total("wrong_predictions")


@dataclass
class Result:
    """A packet's sum in a DIMM's result buffer."""

    packet: Packet
    ready: int  # the clock from which it is visible as ready
    bursts: list  # (tag, element group)


class Dimm:
    """Adder tree, result buffer, and the local bus of the ranks."""

    def __init__(self, number: int, ranks: Sequence[Rank], options: Options) -> None:
        self.number = number
        self.ranks = ranks
        self.options = options
        self.packets: dict[int, Packet] = {}  # tag group -> packet whose END was sent
        self.results: list[Result] = []
        self.tree_free = 0
        self.first_asked = 0
        self.levels = 0
        while 1 << self.levels < len(ranks):
            self.levels += 1

    def add_ranks(self, t: int) -> None:
        present: dict[int, set[int]] = {}
        for group in range(self.options.groups):
            if all(rank.done(group, t) for rank in self.ranks):
                present[group] = set().union(*(rank.valid[group] for rank in self.ranks))
        for group, tags in present.items():
            if not tags:
                self.clear(group, t)
        waiting = [self.packets[group] for group, tags in present.items() if tags]
        if not waiting or t < self.tree_free:
            return
        packet = min(waiting, key=lambda packet: packet.age)
        bursts = [
            (tag, element_group)
            for tag in sorted(present[packet.group])
            for element_group in range(packet.bursts_a_tag)
        ]
        self.clear(packet.group, t)
        n = self.options.divider
        self.tree_free = t + n * len(bursts)
        self.results.append(Result(packet, t + n * (self.options.adder * self.levels + 1), bursts))

    def clear(self, group: int, t: int) -> None:
        for rank in self.ranks:
            rank.clear_done(group, t)

    def oldest_ready(self, t: int) -> Result | None:
        ready = [result for result in self.results if result.ready <= t]
        return min(ready, key=lambda result: result.packet.age) if ready else None

    def schedule(self, t: int) -> None:
        if self.options.local_bus == "none":
            for rank in self.ranks:
                choice = rank.choose(t)
                if choice:
                    rank.issue(*choice, t)
            return
        n = len(self.ranks)
        for place in [(self.first_asked + i) % n for i in range(n)]:
            choice = self.ranks[place].choose(t)
            if choice:
                self.ranks[place].issue(*choice, t)
                self.first_asked = (place + 1) % n
                return


class Machine:
    """All blocks of one channel. State lives on from batch to batch."""

    def __init__(
        self,
        rules_rank_scope,
        rules_host_scope,
        *,
        nCL: int,
        nBL: int,
        nREFI: int | None,
        dimms: int,
        ranks_per_dimm: int,
        fifo: int = 64,
        window: int = 16,
        poolings_per_packet: int = 8,
        packets_in_flight: int | None = None,
        instructions_per_clock: int = 2,
        bus_turnaround: int = 2,
        stagger: int = 0,
        local_bus: str = "none",
        skip_full_rank: bool = False,
        dequantise: int = 4 + 3,
        multiply: int = 4,
        accumulate: int = 3,
        adder: int | None = None,  # a stage of the tree; as accumulate
        banks: int = 4,
        rows: int = 65536,
        bursts_a_row: int = 128,
        rank_cache_bytes: int = 0,
        rank_cache_ways: int = 4,
        rank_cache_policy: str = "lru",
        rank_cache_flush: str = "never",
        command_mode: str = "compressed",
        nmp_clock_divider: int = 1,
        bankgroups: int = 4,
        reads_per_1000_clocks: int = 0,
        traffic_seed: int = 1,
    ) -> None:
        groups = TAGS // poolings_per_packet
        if packets_in_flight is not None:
            groups = min(groups, packets_in_flight)
        n = nmp_clock_divider
        pipeline = dequantise + multiply + accumulate
        self.poolings_per_packet = poolings_per_packet
        self.flush_batches = rank_cache_flush == "batch"
        self.options = Options(
            nCL, nBL, nREFI, dimms, ranks_per_dimm, fifo, window, groups, instructions_per_clock,
            bus_turnaround, stagger, local_bus, skip_full_rank, n * pipeline, n * accumulate,
            accumulate if adder is None else adder,
            banks, rows, bursts_a_row, rank_cache_bytes, rank_cache_ways, rank_cache_policy,
            command_mode, nmp_clock_divider, bankgroups,
        )  # fmt: skip
        self.log = Log(dimms * ranks_per_dimm)
        self.traffic = Traffic(self.options, reads_per_1000_clocks, traffic_seed)
        self.ranks: list[Rank] = []
        self.dimms: list[Dimm] = []
        for number in range(dimms):
            rules = Rules(rules_host_scope if local_bus == "per_dimm" else rules_rank_scope)
            ranks = [
                Rank(number * ranks_per_dimm + place, rules, self.options, self.log, self.traffic)
                for place in range(ranks_per_dimm)
            ]
            self.ranks += ranks
            self.dimms.append(Dimm(number, ranks, self.options))
        self.host = Host(self.dimms, self.ranks, self.options, self.log, self.traffic)
        self.stalls = [Stalls(rank) for rank in self.ranks]
        self.clock = 0  # the next one to be ticked
        self.blocks = [self.host.drive_bus]
        for dimm in self.dimms:
            self.blocks += [self.slow(dimm.schedule), self.slow(dimm.add_ranks)]
        for rank in self.ranks:
            self.blocks += [self.slow(rank.decode), self.slow(rank.use_cache), self.slow(rank.take_data)]

    def slow(self, block):
        """A block of a unit, which works on one clock in `divider`.

        What others of its kind see from t+1 on they look at in t + divider.
        """

        def step(t: int) -> None:
            if t % self.options.divider == 0:
                block(t)

        return step

    def tick(self) -> None:
        """One clock. The order of blocks does not matter: tests shuffle `blocks`."""
        for stalls in self.stalls:
            stalls.judge(self.clock)
        for block in self.blocks:
            block(self.clock)
        for stalls in self.stalls:
            stalls.count(self.clock)
        self.clock += 1

    def run(self, stream: np.ndarray, bounds: np.ndarray, start_clock: int) -> int:
        """Runs a batch whose first instruction may go at `start_clock`; returns its end."""
        assert start_clock >= self.clock, "a batch starts after the one before has ended"
        while self.clock < start_clock:
            self.tick()
        for stalls in self.stalls:
            stalls.counting = True
        for rank in self.ranks:
            if self.flush_batches and rank.cache is not None:
                rank.cache.flush()
        self.host.start = start_clock
        for packet, instructions in read_packets(stream, bounds, self.poolings_per_packet):
            self.host.unfinished.append(packet)
            self.host.unsent += instructions
        end, seen, seen_at = start_clock, self.events(), self.clock
        if self.host.unfinished:
            while self.host.unfinished:
                self.tick()
                if self.events() != seen:
                    seen, seen_at = self.events(), self.clock
                assert self.clock - seen_at < PATIENCE, f"stuck since clock {seen_at}"
            end = self.host.crossed
        while self.clock < end:
            self.tick()
        self.log.ends.append(end)
        return end

    def reset_stalls(self) -> None:
        """Clocks are counted anew, from the start of the next batch on."""
        for stalls in self.stalls:
            stalls.reset()

    def drain_until(self, clk: int) -> None:
        """Other channels run on until then; after the last batch of this one."""
        for stalls in self.stalls:
            stalls.drain(clk - self.clock)

    def events(self) -> int:
        refreshes = sum(rank.refreshes for rank in self.ranks)
        return len(self.log.sends) + len(self.log.commands) - refreshes + len(self.log.bursts)
