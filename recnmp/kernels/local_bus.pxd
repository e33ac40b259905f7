# `issue` of dram.pxd for a rank that has its bus for itself: no loop over levels, and only what a rank-NMP asks for.

from libc.stdint cimport int32_t, int64_t

from .dram cimport ACT, BANK, BANKGROUP, CLOSED, N_COMMANDS, PRE, PREA, RANK, RD, REF, Device, remember_act
from .vocabulary cimport NEVER

cdef enum:
    ISSUED = RD + 1  # ACT, PRE, PREA, RD: what is kept by its code

# A command puts off `following` in its rank, bank group or bank for so many clocks.
cdef struct Gap:
    int64_t clocks
    int32_t level  # 0 rank, 1 bank group, 2 bank
    int32_t following

# What a command puts off: ACT, PRE and RD at once; PREA and REF, which few clocks ask for, where they are asked for.
cdef struct Gaps:
    int32_t count
    Gap gap[3 * ISSUED]
    int64_t prea, ref


cdef inline void find_gaps(Device d, Gaps* gaps) noexcept nogil:
    """What each command puts off, by its code."""
    cdef int[3] levels = [RANK, BANKGROUP, BANK]
    cdef int code, level, i, following
    cdef int64_t clocks
    for code in range(ISSUED):
        gaps[code].count = 0
        gaps[code].prea = gaps[code].ref = -NEVER
        for level in range(3):
            for i in range(d.table.waits[levels[level]][code].count):
                following = d.table.waits[levels[level]][code].wait[i].following
                clocks = d.table.waits[levels[level]][code].wait[i].clocks
                if following == PREA:
                    gaps[code].prea = clocks
                elif following == REF:
                    gaps[code].ref = clocks
                elif following == ACT or following == PRE or following == RD:
                    gaps[code].gap[gaps[code].count] = Gap(clocks, level, following)
                    gaps[code].count += 1


cdef inline void issue_alone(
    Device d, const Gaps* gaps, int command, int rank, int group, int bank, int row, int64_t clk
) noexcept nogil:
    """ACT of a closed bank, PRE of an open one, or RD; gaps: of this command. PREA and REF: see `put_off_rank`."""
    cdef int64_t* clocks[3]
    cdef int64_t* first
    cdef int i
    clocks[0] = &d.by_rank[0] + rank * N_COMMANDS
    clocks[1] = &d.by_group[0] + group * N_COMMANDS
    clocks[2] = &d.by_bank[0] + bank * N_COMMANDS
    for i in range(gaps.count):
        first = clocks[gaps.gap[i].level] + gaps.gap[i].following
        first[0] = max(first[0], clk + gaps.gap[i].clocks)
    if command == ACT:
        if d.table.window:
            remember_act(d, rank, clk)
        d.open_banks[rank] += 1
        d.open_row[bank] = row
    elif command == PRE:
        d.open_banks[rank] -= 1
        d.open_row[bank] = CLOSED


cdef inline void put_off_rank(Device d, const Gaps* gaps, const int64_t* issued, int rank) noexcept nogil:
    """What the last ACT, PRE and RD of a rank, in these clocks, put off: PREA and REF."""
    cdef int prea = PREA, ref = REF, code
    cdef int64_t* first = &d.by_rank[rank * N_COMMANDS]
    for code in range(ISSUED):
        first[prea] = max(first[prea], issued[code] + gaps[code].prea)
        first[ref] = max(first[ref], issued[code] + gaps[code].ref)
