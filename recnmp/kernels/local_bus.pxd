# `issue` of dram.pxd for a rank that has its bus for itself: no loop over rules, as it is known what a rank-NMP issues.

from libc.stdint cimport int64_t

from .dram cimport ACT, BANK, BANKGROUP, CLOSED, N_COMMANDS, PRE, RANK, RD, REF, Device, Waits, remember_act
from .vocabulary cimport NEVER

cdef enum:
    FIRST_FEW = RD + 1  # ACT, PRE, PREA, RD

# How long a command puts off others in its rank, bank group and bank; -NEVER: not at all.
cdef struct Gaps:
    int64_t rank[N_COMMANDS]
    int64_t group[FIRST_FEW]
    int64_t bank[FIRST_FEW]


cdef inline void spread(const Waits* waits, int64_t* gaps, int commands) noexcept nogil:
    """The waits for the commands below `commands`, by their code."""
    cdef int i
    for i in range(commands):
        gaps[i] = -NEVER
    for i in range(waits.count):
        if waits.wait[i].following < commands:
            gaps[waits.wait[i].following] = waits.wait[i].clocks


cdef inline void find_gaps(Device d, Gaps* gaps) noexcept nogil:
    """The gaps of all commands, by their code."""
    cdef int code
    for code in range(N_COMMANDS):
        spread(&d.table.waits[RANK][code], gaps[code].rank, N_COMMANDS)
        spread(&d.table.waits[BANKGROUP][code], gaps[code].group, FIRST_FEW)
        spread(&d.table.waits[BANK][code], gaps[code].bank, FIRST_FEW)


cdef inline void put_off_few(int64_t* first, const int64_t* gaps, int64_t clk) noexcept nogil:
    cdef int i
    for i in range(FIRST_FEW):
        first[i] = max(first[i], clk + gaps[i])


cdef inline void issue_alone(
    Device d, const Gaps* gaps, int command, int rank, int group, int bank, int row, int64_t clk
) noexcept nogil:
    """ACT of a closed bank, PRE of an open one, or RD."""
    cdef int refresh = REF
    cdef int64_t* by_rank = &d.by_rank[rank * N_COMMANDS]
    put_off_few(by_rank, gaps[command].rank, clk)
    by_rank[refresh] = max(by_rank[refresh], clk + gaps[command].rank[refresh])
    put_off_few(&d.by_group[group * N_COMMANDS], gaps[command].group, clk)
    put_off_few(&d.by_bank[bank * N_COMMANDS], gaps[command].bank, clk)
    if command == ACT:
        if d.table.window:
            remember_act(d, rank, clk)
        d.open_banks[rank] += 1
        d.open_row[bank] = row
    elif command == PRE:
        d.open_banks[rank] -= 1
        d.open_row[bank] = CLOSED
