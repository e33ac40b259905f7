# Windows and DDR schedulers of the rank-NMPs of one channel (docs/microarchitecture.md, section 4).

from libc.stdint cimport int8_t, int32_t, int64_t, uint64_t

from .dram cimport Device
from .vocabulary cimport Instruction, LoggedCommand, Operand

# A window entry: an instruction, how many of its bursts were read, what was issued for it so far. Entries that
# have bursts to read are chained by bank, oldest first.
cdef struct Entry:
    Instruction instruction
    int64_t age  # order of decoding
    int32_t next  # in its bank's chain, NONE at its end
    int8_t bank  # bank of the rank, flat
    int8_t read
    int8_t activated
    int8_t precharged

cdef enum:
    NONE = -1
    MAX_BANKS = 64

# What may be done next in a bank follows from its chain and its open row, so there is one candidate a bank.
cdef struct Bank:
    int32_t first, last  # chain of entries
    int32_t candidate  # entry that the next command would be for
    int32_t group  # bank group, flat in the device
    int64_t age  # of the candidate
    int32_t owner  # entry for which the open row was activated and that still wants it

cdef struct Window:
    int64_t look  # the scheduler can do nothing before
    int64_t refresh_due
    int64_t decoded  # instructions so far: the age of the next entry
    uint64_t reads, activates, precharges  # a bit a bank: which command its candidate needs
    int64_t read_look, activate_look, precharge_look  # no candidate for that command may go before
    uint64_t owned  # a bit a bank: it has an owner
    int32_t free  # first of the chain of free entries
    int32_t entries  # entries with bursts to read
    int32_t release_head, release_count  # entries whose last burst is on its way
    int32_t finished  # tag group of the entry that was finished by the last step, or NONE

cdef class RankWindow:
    cdef readonly int ranks, ranks_per_dimm, size
    cdef readonly bint shared_bus
    cdef readonly Device device
    cdef int64_t data_delay, n_refi
    cdef int banks  # of a rank
    cdef int64_t* by_bank  # the device's clocks, kept alive by it
    cdef int64_t* by_group
    cdef Window[::1] window
    cdef Bank[:, ::1] bank
    cdef Entry[:, ::1] entry
    cdef int64_t[:, ::1] release
    cdef int64_t[::1] bus_taken  # by DIMM: clock of the last command on a shared C/A bus
    cdef int32_t[::1] turn  # by DIMM: the rank that is asked first
    cdef int64_t[:, ::1] counters
    cdef bint logging
    cdef LoggedCommand[::1] commands
    cdef Operand[::1] operands
    cdef int64_t n_commands, n_operands

    cdef bint has_room(self) noexcept nogil
    cdef bint has_entry(self, int r, int64_t clk) noexcept nogil
    cdef int64_t next_release(self, int r) noexcept nogil
    cdef void enter(self, int r, Instruction* instruction, int64_t clk) noexcept nogil
    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil
    cdef int choose(self, int r, int64_t clk, int64_t* soonest) noexcept nogil
    cdef int oldest(self, int r, uint64_t banks, int command, int64_t clk, int64_t* look) noexcept nogil
    cdef int64_t legal(self, int r, int b, int command) noexcept nogil
    cdef int64_t refresh(self, int r, int64_t clk, bint* issued) noexcept nogil
    cdef void serve(self, int r, int b, int64_t clk) noexcept nogil
    cdef void set_candidate(self, int r, int b) noexcept nogil
    cdef void read_burst(self, int r, int b, int place, int64_t clk) noexcept nogil
    cdef void leave_chain(self, int r, int b, int place) noexcept nogil
    cdef void account(self, int r, Entry* entry) noexcept nogil
    cdef void command(self, int r, int code, Entry* entry, int64_t clk) noexcept nogil
