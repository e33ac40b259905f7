# Windows and DDR schedulers of the rank-NMPs of one channel (docs/microarchitecture.md, section 4).

from libc.stdint cimport int32_t, int64_t, uint64_t

from .dram cimport Device
from .host_traffic cimport HostTraffic
from .local_bus cimport ISSUED, Gaps
from .operand_path cimport OperandPath
from .vocabulary cimport LoggedCommand
from .window_entries cimport Entry, WindowEntries

cdef enum:
    MAX_BANKS = 64

# What may be done next in a bank follows from its chain and its open row, so there is one candidate a bank.
cdef struct Bank:
    int32_t first, last  # chain of entries with wanted lines, oldest first
    int32_t candidate  # entry that the next command would be for
    int32_t group  # bank group, flat in the device
    int64_t age  # of the candidate
    int32_t owner  # entry for which the open row was activated and that may still want it

cdef struct Window:
    Bank* bank  # of this rank, as all of the next: [bank]
    Entry* entry  # [place]
    int64_t* counters
    int64_t* by_rank  # the device's first legal clocks: [command]
    int64_t* by_bank  # [bank * N_COMMANDS + command]
    int32_t* open_row  # [bank]
    int64_t look  # the scheduler can do nothing before
    int64_t refresh_due
    uint64_t reads, activates, precharges  # a bit a bank: which command its candidate needs
    int64_t read_look, activate_look, precharge_look  # no candidate for that command may go before
    uint64_t owned  # a bit a bank: it has an owner, which wants its row
    int64_t issued[ISSUED]  # by command: clock of the last one
    int32_t fresh  # the first entry that came to want lines since somebody asked last, or NONE

cdef class RankWindow:
    cdef readonly int ranks, ranks_per_dimm
    cdef readonly bint shared_bus
    cdef readonly Device device
    cdef readonly OperandPath operands
    cdef readonly WindowEntries entries
    cdef HostTraffic traffic  # whose host buffers lines of HOST_READs go into; None: there is none
    cdef int64_t n_refi
    cdef int banks  # of a rank
    cdef int64_t* by_group  # the device's, kept alive by it
    cdef Gaps gaps[ISSUED]
    cdef Window* window  # [rank]
    cdef Bank* bank  # [rank * banks + bank]
    cdef tuple kept
    cdef int64_t[::1] bus_taken  # by DIMM: clock of the last command on a shared C/A bus
    cdef int32_t[::1] turn  # by DIMM: the rank that is asked first
    cdef bint logging
    cdef LoggedCommand[::1] commands
    cdef int64_t n_commands

    cdef bint has_room(self) noexcept nogil
    cdef void log(self, int r, int code, const Entry* entry, int line, int64_t clk) noexcept nogil
    cdef void issue_rank(self, int r, int code, int64_t clk) noexcept nogil
    cdef void issue_shared(self, int r, int code, int group, int bank, int row, int64_t clk) noexcept nogil
