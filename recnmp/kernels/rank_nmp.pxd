# The rank-NMPs of one channel: FIFO, window, DDR scheduler, done bits (docs/microarchitecture.md, section 4).

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

from .dram cimport Device
from .vocabulary cimport GROUPS, Instruction, LoggedCommand, Operand

# A window entry: an instruction, how many of its bursts were read, what was issued for it so far.
cdef struct Entry:
    Instruction instruction
    int32_t group_place  # bank group and bank, flat in the device
    int32_t bank_place
    int8_t read
    int8_t activated
    int8_t precharged

cdef enum:  # counters of a rank; names in rank_nmp.pyx
    N_RANK_COUNTERS = 13

cdef struct Rank:
    int64_t next_clk  # nothing can happen in this rank before
    int64_t refresh_due
    int32_t fifo_head, fifo_count
    int32_t entries  # window entries with bursts to read, oldest first
    int32_t release_head, release_count  # entries whose last burst is on its way
    int32_t valid  # a bit a tag: its partial sum has an operand
    int32_t unfinished[GROUPS]  # LOOKUPs decoded, not all bursts read
    int16_t dim[GROUPS]  # elements of a vector, from CONFIG
    int64_t ended[GROUPS]  # clock on which END was popped, NEVER before
    int64_t last_in[GROUPS]  # clock on which the group's last burst entered the datapath
    int64_t done[GROUPS]  # first clock on which `done` is visible as set, NEVER if not known

cdef class RankNmp:
    cdef readonly int ranks, ranks_per_dimm, fifo_depth, window_size, tags_per_group
    cdef readonly int shared_bus
    cdef readonly Device device
    cdef int64_t data_delay, pipeline, n_refi
    cdef Rank[::1] rank
    cdef Instruction[:, ::1] fifo
    cdef int64_t[:, ::1] fifo_visible
    cdef Entry[:, ::1] window
    cdef int64_t[:, ::1] release
    cdef int64_t[::1] bus_taken  # by DIMM: clock of the last command on a shared C/A bus
    cdef int32_t[::1] turn  # by DIMM: the rank that is asked first
    cdef int64_t[:, ::1] counters
    cdef bint logging
    cdef LoggedCommand[::1] commands
    cdef Operand[::1] operands
    cdef int64_t n_commands, n_operands

    cdef bint has_room(self) noexcept nogil
    cdef bint push(self, int r, Instruction* instruction, int64_t clk) noexcept nogil
    cdef bint step_rank(self, int r, int64_t clk) noexcept nogil
    cdef void clear_done(self, int r, int group, int64_t clk) noexcept nogil
    cdef bint decode(self, int r, int64_t clk) noexcept nogil
    cdef int64_t decode_next(self, int r, int64_t clk) noexcept nogil
    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil
    cdef int64_t schedule_refresh(self, int r, int64_t clk) noexcept nogil
    cdef void command(self, int r, int code, Entry* entry, int64_t clk) noexcept nogil
    cdef void read_burst(self, int r, int place, int64_t clk) noexcept nogil
    cdef void settle(self, int r, int group) noexcept nogil
