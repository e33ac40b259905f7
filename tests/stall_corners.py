"""Streams that show every cause of a stall, with the clocks of each, worked out by hand from docs/microarchitecture.md.

DDR4-2400R: CL = RCD = RP = 16, BL 4, RAS 39, RC 55, RRD 4/6, FAW 26, CCD 4/6, RTP 9, RFC 433 clocks. A burst is taken
CL + BL - 1 = 19 clocks after its RD, and where it is the last of its packet and there is no tree to climb, the result
has crossed in RD + 39: it enters at RD + 20, is in its sum 14 later, ready 1 later, and takes 4. So after the last RD
38 clocks are left, RD + 1 to RD + 38.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from machine_cases import Case, Encoder, Packet
from machine_corners import lookup


@dataclass(frozen=True)
class Corner:
    """A case, and for each rank the clocks of each cause that it has."""

    case: Case
    clocks: tuple[dict[str, int], ...]


def one_lookup() -> Corner:
    """CONFIG popped in 1, LOOKUP in 2, ACT 3 (END popped too), RD 19, end 58. Another rank of the DIMM pops CONFIG and
    END in 1 and 2; the tree's level makes it 61."""
    case = Case({"dimms": 1, "ranks_per_dimm": 2}, (Encoder().encode([Packet(((lookup(),),))]),))
    busy = {"no_instruction": 1, "working": 4, "bank_timing": 15, "drained": 41}
    return Corner(case, (busy, {"no_instruction": 1, "working": 2, "drained": 58}))


def same_row() -> Corner:
    """One lookup of two lines: RD 19 and, after CCD_L, 25; its two bursts have crossed in 25 + 39 + 4."""
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (Encoder().encode([Packet(((lookup(bursts=2),),), 32)]),))
    return Corner(case, ({"no_instruction": 1, "working": 5, "bank_timing": 15, "ccd": 5, "drained": 42},))


def conflict() -> Corner:
    """ACT 3, RD 19, PRE 42, ACT 58, RD 74: tRCD 15 clocks, for PRE 22, tRP 15, tRCD 15."""
    lookups = (lookup(), lookup(row=6))
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (Encoder().encode([Packet((lookups,))]),))
    return Corner(case, ({"no_instruction": 1, "working": 7, "bank_timing": 67, "drained": 38},))


def four_activations() -> Corner:
    """The second lookup is a conflict: PRE 42, tRP ends at 58, but ACTs in 33, 37, 41 and 55 hold its ACT to 59.

    ACT 3, 7, 11, 15, 29, 33, 37, 41, 55, 59; RD 19, 23, 27, 31, 45, 49, 53, 57, 71, 75; PRE 42: with the two clocks
    of decoding before them 23 clocks of work. The oldest waits for tRCD in 4 to 18 (12 clocks without work); then the
    conflict is the oldest: for PRE up to 41 (15); 43 to 54 tFAW (9), 56 and 58 tFAW and tRRD (2); 60 to 74 tRCD (14).
    """
    places = [(1, 0), (2, 0), (3, 0), (0, 1), (1, 1), (2, 1), (3, 1), (1, 2)]
    lookups = (lookup(), lookup(row=6), *(lookup(0, bankgroup, bank) for bankgroup, bank in places))
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (Encoder().encode([Packet((lookups,))]),))
    clocks = {"no_instruction": 1, "working": 23, "bank_timing": 41, "faw_rrd": 11, "drained": 38}
    return Corner(case, (clocks,))


def full_window() -> Corner:
    """The first lookup's place is free in 39: 20 to 38 the second one stands at the head of the FIFO. Decoded 39,
    ACT 40 (END popped too), RD 56."""
    lookups = (lookup(), lookup(bankgroup=1))
    case = Case({"dimms": 1, "ranks_per_dimm": 1, "window": 1}, (Encoder().encode([Packet((lookups,))]),))
    clocks = {"no_instruction": 1, "working": 7, "bank_timing": 30, "datapath_full": 19, "drained": 38}
    return Corner(case, (clocks,))


def config_waits() -> Corner:
    """Packet 1 has nothing in DIMM 1, where rank 3 is slow in packet 0: it pops END of packet 1 in 84, while packet 2
    waits for the tag group in rank 2 from 67 on, and in rank 3 in 85; CONFIG is popped in 86.

    Sent: 0 CONFIG, b1; 1 b2, b3; 2 b4, END; 3 CONFIG, a; 4 END; when packet 1 has crossed in 64 and the bus turned,
    66 CONFIG, c; 67 END. Rank 3: b1 2, 3, 19; b2 to b4 in the same row decoded in 39, 60 and 81, read a clock later;
    each then keeps the window for 19 clocks. Its sums go in 120, end 124. Rank 0: a is decoded in 5, ACT 6, RD 22;
    c, the same line, decoded in 68, RD 69. Ranks 1 and 2 pop in 1, 3, 4, 5; rank 1 in 67 and 68 as well, rank 2 in
    86 and 87.
    """
    packets = [
        Packet((tuple(lookup(3) for _ in range(4)),)),
        Packet(((lookup(0),),)),
        Packet(((lookup(0),),)),
    ]
    case = Case({"dimms": 2, "ranks_per_dimm": 2, "window": 1}, (Encoder().encode(packets),))
    return Corner(
        case,
        (
            {"no_instruction": 46, "working": 9, "bank_timing": 15, "drained": 54},
            {"no_instruction": 63, "working": 6, "drained": 55},
            {"no_instruction": 63, "working": 6, "result_full": 19, "drained": 36},
            {
                "no_instruction": 1, "working": 14, "bank_timing": 15, "datapath_full": 57, "result_full": 1,
                "drained": 36,
            },
        ),
    )  # fmt: skip


def refresh() -> Corner:
    """The batch starts in 996, ACT 999; the refresh is due in 1000. In 1015 the row's owner reads; PREA 1038, after
    tRAS, REFab 1054, after tRP. The other lookup gets ACT in 1487, RD 1503."""
    batch = Encoder().encode([Packet(((lookup(), lookup(column=1)),))])
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (replace(batch, gap=996),), nREFI=1000)
    # 0 to 996; 997, 998, 999, 1015, 1487, 1503; 1000 to 1486 without 1015; 1488 to 1502
    clocks = {"no_instruction": 997, "working": 6, "refresh": 486, "bank_timing": 15, "drained": 38}
    return Corner(case, (clocks,))


def idle_refresh() -> Corner:
    """REFab 1000 with all banks closed, over before 1433; the batch starts in 1600, as without it but for the clock."""
    batch = Encoder().encode([Packet(((lookup(),),))])
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (replace(batch, gap=1600),), nREFI=1000)
    # 0 to 999 and 1433 to 1600
    clocks = {"no_instruction": 1168, "working": 4, "refresh": 433, "bank_timing": 15, "drained": 38}
    return Corner(case, (clocks,))


def two_batches() -> Corner:
    """The first ends in 58, the second, a row hit, starts in 68: popped in 69 and 70, RD 71. Between, and until its
    first instruction is visible, the rank is drained: 20 to 68, and 72 to 109."""
    encoder = Encoder()
    batches = (encoder.encode([Packet(((lookup(),),))]), encoder.encode([Packet(((lookup(),),))], 10))
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, batches)
    return Corner(case, ({"no_instruction": 1, "working": 7, "bank_timing": 15, "drained": 87},))


def nothing_popped() -> Corner:
    """A batch without packets ends no rank's work: as long as nothing was popped, no instruction is there."""
    encoder = Encoder()
    batches = (encoder.encode([], 5), encoder.encode([Packet(((lookup(),),))], 10))
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, batches)
    return Corner(case, ({"no_instruction": 16, "working": 4, "bank_timing": 15, "drained": 38},))


def shared_bus() -> Corner:
    """Both ranks want ACT in 3: rank 0 gets the bus, and no rule ever bound rank 1, so that the first cause in the
    table that may precede ACT is taken. ACT 3 and 4, RD 19, and, after BL + 2 for another rank, 25; end 67."""
    packet = Packet(((lookup(0), lookup(1)),))
    case = Case(
        {"dimms": 1, "ranks_per_dimm": 2, "local_bus": "per_dimm"},
        (Encoder().encode([packet]),),
    )
    second = {"no_instruction": 1, "working": 4, "faw_rrd": 1, "bank_timing": 15, "ccd": 5, "drained": 41}
    return Corner(case, ({"no_instruction": 1, "working": 4, "bank_timing": 15, "drained": 47}, second))


def shared_bus_for_read() -> Corner:
    """With BL + nCS = 6 between ranks, rank 0 reads in 19 and rank 1 in 25; then rank 0 may read its second line from
    25 + 6 on, long after CCD_L, and rank 1 its own in 37: rules of the other rank count as CCD."""
    packet = Packet(((lookup(0, bursts=2), lookup(1, bursts=2)),), 32)
    case = Case(
        {"dimms": 1, "ranks_per_dimm": 2, "local_bus": "per_dimm"},
        (Encoder().encode([packet]),),
    )
    # rank 0: 20 to 30 ccd, 31 RD; rank 1: 20 to 24 and 26 to 36 ccd, 37 RD
    # a level of the tree and two bursts of result: end 37 + 39 + 3 + 4 = 83
    first = {"no_instruction": 1, "working": 5, "bank_timing": 15, "ccd": 11, "drained": 51}
    second = {"no_instruction": 1, "working": 5, "faw_rrd": 1, "bank_timing": 15, "ccd": 16, "drained": 45}
    return Corner(case, (first, second))


def bus_lost() -> Corner:
    """Rank 0 loses the bus twice to rank 1, whose lookups come 16 clocks behind those of rank 0, since 31 for rank 2,
    in the other DIMM, are sent between: before RD, which is ccd, and before ACT, where tRP and tRC ended last.

    Rank 0, a conflict: ACT 3; in 19 its RD gives way to rank 1; RD 20, PRE 42; in 58 its ACT gives way; ACT 59, RD 75.
    Rank 1, a conflict: decoded 18, ACT 19, RD 35, PRE 58, ACT 74, RD 90. Rank 2: ACT 3, RD 19, 25, ..., 199, end 241.
    END is popped in 19 at the earliest.
    """
    conflict = lookup(0), lookup(0, row=6)
    pooling = (*conflict, *(lookup(2) for _ in range(31)), lookup(1), lookup(1, row=6))
    case = Case(
        {"dimms": 2, "ranks_per_dimm": 2, "local_bus": "per_dimm"},
        (Encoder().encode([Packet((pooling,))]),),
    )
    return Corner(
        case,
        (
            # bank timing in 4 to 18, 21 to 41, 43 to 57, 58, 60 to 74
            {"no_instruction": 1, "working": 7, "bank_timing": 67, "ccd": 1, "drained": 165},
            # nothing visible in 0 and 2 to 17; bank timing in 20 to 34, 36 to 57, 59 to 73, 75 to 89
            {"no_instruction": 17, "working": 7, "bank_timing": 67, "drained": 150},
            {"no_instruction": 1, "working": 34, "bank_timing": 15, "ccd": 150, "drained": 41},
            {"no_instruction": 18, "working": 2, "drained": 221},
        ),
    )


def probing() -> Corner:
    """Eight lines that are all in the cache: with no line wanted, probing is work.

    First batch, a RankCache: a row of eight lines, decoded in 2, probed in 3 to 10; wanted from 4 on. ACT 4, RD 20, 26,
    ..., 62; result of eight bursts, end 62 + 39 + 28 = 129. Second batch, at 129: CONFIG and LOOKUP sent in 131, after
    the turnaround, popped in 132 and 133, END in 134; eight hits, probed in 134 to 141. Operands are taken in 135 to
    142, the last one enters in 143 and is in its sum in 157; ready 158, eight bursts, end 190.
    """
    encoder = Encoder()
    packet = Packet(((lookup(bursts=8),),), 128)
    batches = (encoder.encode([packet]), encoder.encode([packet]))
    for batch in batches:
        batch.stream["locality"] = batch.stream["opcode"] >= 4
    case = Case({"dimms": 1, "ranks_per_dimm": 1, "rank_cache_bytes": 4096}, batches)
    # work: 1, 2, 3 (a probe), ACT 4, eight RDs; then 132, 133, 134 to 141. tRCD 5 to 19. CCD: 7 x 5
    clocks = {"no_instruction": 1, "working": 22, "bank_timing": 15, "ccd": 35, "drained": 117}
    return Corner(case, (clocks,))


def stall_corners() -> dict[str, Corner]:
    """All of them, by name."""
    corners = (
        one_lookup,
        same_row,
        conflict,
        four_activations,
        full_window,
        config_waits,
        refresh,
        idle_refresh,
        two_batches,
        nothing_popped,
        shared_bus,
        shared_bus_for_read,
        bus_lost,
        probing,
    )
    return {corner.__name__: corner() for corner in corners}
