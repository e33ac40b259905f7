# DRAM timing and bank state: what every controller (host channel, rank-NMP) shares.
#
# Use from another kernel:
#     from .dram cimport ACT, PRE, PREA, RD, REF, Device, earliest, issue
#     cdef Device d                      # made in Python: Device(TimingTable(rows), ranks, bankgroups, banks)
#     clk >= earliest(d, ACT, rank, group, bank)   # first legal clock by the rules; asks, changes nothing
#     issue(d, ACT, rank, group, bank, row, clk)   # the one mutation; the caller has checked earliest
# Places are flat: group = rank * bankgroups + bankgroup, bank = group * banks + bank in its group.
# PREA and REF look only at the rank: pass any group and bank (0). With one rank and rows of scope "rank"
# it is the device of a rank-NMP: rank = 0, group = bankgroup, bank = bankgroup * banks + bank.
#     d.open_row[bank]      open row, CLOSED (-1) if none
#     d.open_banks[rank]    number of open banks of a rank
# `earliest` is the maximum of two parts, for callers that keep one of them:
#     rank_earliest(d, command, rank)                   channel, rank (ACT window too), other ranks
#     bank_earliest(d, command, group, bank)            bank group and bank
# All of it is timing only: that ACT needs a closed bank and RD an open row is the caller's decision.

from libc.stdint cimport int32_t, int64_t

cpdef enum Command:
    ACT = 0
    PRE = 1
    PREA = 2
    RD = 3
    WR = 4
    RDA = 5
    WRA = 6
    REF = 7

cdef enum:
    N_COMMANDS = 8
    CLOSED = -1

cdef enum:  # levels of a rule; one of the channel holds in its rank and in the others
    RANK = 0
    OTHER_RANKS = 1
    BANKGROUP = 2
    BANK = 3
    N_LEVELS = 4

# one thing to do when a command is issued: `following` may not come before `clocks` later
cdef struct Wait:
    int64_t clocks
    int32_t following

cdef struct Waits:
    int32_t count
    Wait wait[N_COMMANDS]

cdef class TimingTable:
    cdef Waits waits[N_LEVELS][N_COMMANDS]   # by level and preceding command
    cdef int64_t window_clocks               # ACT window of a rank (FAW): clocks, 0 if no row has one
    cdef int32_t window                      # and how many ACT it may hold
    cdef int64_t longest_wait(self)
    cdef void _add_wait(self, int level, int preceding, int following, int64_t clocks)

cdef class Device:
    cdef readonly TimingTable table
    cdef readonly int ranks, bankgroups, banks
    cdef readonly int ranks_per_bus          # consecutive ranks that share command and data pins
    cdef int32_t[::1] bus_start              # by rank: the first rank of its bus
    # first legal clock of each command as each level sees it: [place * N_COMMANDS + command]
    cdef int64_t[::1] by_rank, by_group, by_bank
    cdef int64_t[::1] recent_acts            # ring of the last `window` ACT clocks of each rank
    cdef int32_t[::1] oldest_act             # position of the oldest one in the ring
    cdef int32_t[::1] open_row, open_banks


cdef inline int64_t rank_earliest(Device d, int command, int rank) noexcept nogil:
    return d.by_rank[rank * N_COMMANDS + command]


cdef inline int64_t bank_earliest(Device d, int command, int group, int bank) noexcept nogil:
    cdef int64_t clk = d.by_bank[bank * N_COMMANDS + command]
    cdef int64_t other = d.by_group[group * N_COMMANDS + command]
    return other if other > clk else clk


cdef inline int64_t earliest(Device d, int command, int rank, int group, int bank) noexcept nogil:
    cdef int64_t clk = rank_earliest(d, command, rank)
    cdef int64_t other
    if command == PREA or command == REF:
        return clk
    other = bank_earliest(d, command, group, bank)
    return other if other > clk else clk


cdef inline void put_off(int64_t* first_legal, Waits* waits, int64_t clk) noexcept nogil:
    cdef int i
    cdef int64_t then
    for i in range(waits.count):
        then = clk + waits.wait[i].clocks
        # without a jump, which would often be mispredicted
        first_legal[waits.wait[i].following] = max(first_legal[waits.wait[i].following], then)


cdef inline void remember_act(Device d, int rank, int64_t clk) noexcept nogil:
    cdef int64_t* recent = &d.recent_acts[rank * d.table.window]
    cdef int64_t* first_legal = &d.by_rank[rank * N_COMMANDS + ACT]
    cdef int32_t oldest = d.oldest_act[rank]
    recent[oldest] = clk
    oldest = oldest + 1 if oldest + 1 < d.table.window else 0
    d.oldest_act[rank] = oldest
    first_legal[0] = max(first_legal[0], recent[oldest] + d.table.window_clocks)


cdef inline void issue(
    Device d, int command, int rank, int group, int bank, int row, int64_t clk
) noexcept nogil:
    cdef int other, i, first
    put_off(&d.by_rank[rank * N_COMMANDS], &d.table.waits[RANK][command], clk)
    if d.table.waits[OTHER_RANKS][command].count:
        first = d.bus_start[rank]
        for other in range(first, first + d.ranks_per_bus):
            if other != rank:
                put_off(&d.by_rank[other * N_COMMANDS], &d.table.waits[OTHER_RANKS][command], clk)
    if command != PREA and command != REF:
        put_off(&d.by_group[group * N_COMMANDS], &d.table.waits[BANKGROUP][command], clk)
        put_off(&d.by_bank[bank * N_COMMANDS], &d.table.waits[BANK][command], clk)
    if command == ACT:
        if d.table.window:
            remember_act(d, rank, clk)
        d.open_banks[rank] += d.open_row[bank] == CLOSED
        d.open_row[bank] = row
    elif command == PRE or command == RDA or command == WRA:
        d.open_banks[rank] -= d.open_row[bank] != CLOSED
        d.open_row[bank] = CLOSED
    elif command == PREA:
        first = rank * d.bankgroups * d.banks
        for i in range(first, first + d.bankgroups * d.banks):
            d.open_row[i] = CLOSED
        d.open_banks[rank] = 0
