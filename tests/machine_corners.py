"""Cases made for corners of the near-memory machine that random ones hardly reach.

Each is worth running on every machine that claims to follow docs/microarchitecture.md. What must happen is
worked out by hand in tests/test_machine_corners.py.
"""

from __future__ import annotations

from dataclasses import replace

from machine_cases import Case, Encoder, Lookup, Packet, Run


def lookup(
    rank: int = 0, bankgroup: int = 0, bank: int = 0, row: int = 5, column: int = 0, bursts: int = 1
) -> Lookup:
    """A vector of one run."""
    return Lookup(rank, (Run(bankgroup, bank, row, column, bursts),))


def config_waits_for_done() -> Case:
    """Rank 3 is slow in packet 0, so in DIMM 1 packet 1, which has nothing there, is not over when the host
    has all its results (from DIMM 0) and gives its tag group to packet 2: rank 2 holds CONFIG back."""
    slow = Packet((tuple(lookup(3, row=i % 2) for i in range(12)),))
    packets = [slow, Packet(((lookup(0),),)), Packet(((lookup(0, row=6), lookup(2)),))]
    return Case({"dimms": 2, "ranks_per_dimm": 2, "window": 1}, (Encoder().encode(packets),))


def tree_is_busy() -> Case:
    """DIMM 1 finishes packet 1 while its tree still takes the 16 bursts of packet 2, and the bus is about to
    become free: the younger packet goes first."""
    packets = [
        Packet(((lookup(0, 0, bursts=6),), (lookup(0, 1, bursts=6),)), 96),
        Packet(((lookup(1, 0, bursts=4), lookup(1, 0, row=6, bursts=4)),), 64),
        Packet(((lookup(1, 1, bursts=8),), (lookup(1, 2, bursts=8),)), 128),
    ]
    return Case(
        {"dimms": 2, "ranks_per_dimm": 1, "poolings_per_packet": 2, "bus_turnaround": 2},
        (Encoder().encode(packets),),
    )


def slow_tree_is_busy() -> Case:
    """On one clock in two, packets 0 and 2 are done at once, and packet 1 when the tree is free again."""
    slow = [
        (lookup(r, row=5, bursts=2), *(lookup(r, row=6, column=2 * i, bursts=2) for i in range(3)))
        for r in (0, 1)
    ]
    packets = [
        Packet((slow[0],), 32),
        Packet((slow[1],), 32),
        Packet(((lookup(2, row=5, bursts=4),), (lookup(2, row=6, bursts=4),)), 64),
    ]
    parameters = {"dimms": 1, "ranks_per_dimm": 4, "poolings_per_packet": 4, "nmp_clock_divider": 2}
    return Case(parameters, (Encoder().encode(packets),))


def full_rank(skip: bool) -> Case:
    """Two LOOKUPs for rank 0, whose FIFO has one entry, before one for rank 1."""
    packet = Packet(((lookup(0), lookup(0, 1), lookup(1)),))
    parameters = {"dimms": 1, "ranks_per_dimm": 2, "fifo": 1, "skip_full_rank": skip}
    return Case(parameters, (Encoder().encode([packet]),))


def shared_local_bus() -> Case:
    """Both ranks of a DIMM could issue ACT in the same clock, and read alternately."""
    packet = Packet(((lookup(0, bursts=2), lookup(1, bursts=2)),), 32)
    return Case(
        {"dimms": 1, "ranks_per_dimm": 2, "local_bus": "per_dimm"},
        (Encoder().encode([packet]),),
    )


def staggered_refresh() -> Case:
    """Nothing happens for 2500 clocks, and then one lookup a rank."""
    batch = Encoder().encode([Packet(((lookup(0), lookup(1)),))])
    parameters = {"dimms": 2, "ranks_per_dimm": 1, "stagger": 100}
    return Case(parameters, (replace(batch, gap=2500),), nREFI=1000)


def refresh_leaves_the_hitchhiker() -> Case:
    """A refresh comes due after ACT and before the RDs of two lookups of one row: the one that ACT was
    issued for reads, the other is refused and needs an ACT of its own, which makes its prediction wrong."""
    batch = Encoder().encode([Packet(((lookup(), lookup(column=1)),))])
    return Case({"dimms": 1, "ranks_per_dimm": 1}, (replace(batch, gap=996),), nREFI=1000)


def nothing_to_send() -> Case:
    """A batch without packets between two others, with a gap, and over a refresh."""
    encoder = Encoder()
    batches = (
        encoder.encode([Packet(((lookup(),),))]),
        encoder.encode([], 1500),
        encoder.encode([Packet(((lookup(),),))], 3),
    )
    return Case({"dimms": 1, "ranks_per_dimm": 1}, batches, nREFI=1000)


def corners() -> dict[str, Case]:
    """All of them, by name."""
    return {
        "config waits for done": config_waits_for_done(),
        "tree is busy": tree_is_busy(),
        "slow tree is busy": slow_tree_is_busy(),
        "full rank stops": full_rank(False),
        "full rank is skipped": full_rank(True),
        "shared local bus": shared_local_bus(),
        "staggered refresh": staggered_refresh(),
        "refresh leaves the hitchhiker": refresh_leaves_the_hitchhiker(),
        "nothing to send": nothing_to_send(),
    }
