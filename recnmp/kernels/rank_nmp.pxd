# The rank-NMPs of one channel: FIFO, decoder, done bits (docs/microarchitecture.md, section 4).

from libc.stdint cimport int32_t, int64_t

from .operand_path cimport OperandPath
from .rank_cache cimport RankCache
from .rank_window cimport RankWindow
from .row_form cimport RowForm
from .stalls cimport Stalls
from .vocabulary cimport GROUPS, Instruction

# A place of a FIFO.
cdef struct Slot:
    Instruction instruction
    int64_t visible  # from this clock on the rank sees it
    int64_t popped  # clock in which it left, NEVER while it is in the FIFO

cdef struct Rank:
    int64_t next_clk  # nothing can happen in this rank before
    int64_t decode_clk  # nothing can be popped before
    int64_t clock  # first clock that it was not stepped for
    int64_t news  # first clock of a done bit that the DIMM does not know of, NEVER if there is none
    int32_t fifo_head, fifo_count
    int32_t fifo_tail  # place of the next instruction
    int32_t valid  # a bit a tag: its partial sum has an operand
    int32_t unfinished[GROUPS]  # LOOKUPs decoded, not all operands taken
    int64_t ended[GROUPS]  # clock on which END was popped, NEVER before
    int64_t last_in[GROUPS]  # clock on which the last operand of a LOOKUP entered the pipeline
    int64_t done[GROUPS]  # first clock on which `done` is visible as set, NEVER if not known

cdef class RankNmp:
    cdef readonly int ranks, ranks_per_dimm, fifo_depth, tags_per_group
    cdef readonly RankWindow window
    cdef readonly RankCache cache  # None: there is none
    cdef OperandPath operands
    cdef bint cached
    cdef readonly Stalls stalls  # None: nobody asks
    cdef bint watched
    cdef bint recount  # clocks are counted from the start of the next batch on
    cdef readonly int64_t pipeline
    cdef Rank* rank  # [rank]
    cdef RowForm* form  # [rank * GROUPS + tag group]: of the rows, from CONFIG
    cdef Slot* fifo  # [rank * fifo_depth + place]
    cdef tuple kept

    cdef bint push(self, int r, Instruction* instruction, int64_t visible) noexcept nogil
    cdef bint run_rank(self, int r, int64_t clk, int64_t horizon, bint skip) noexcept nogil
    cdef void clear_done(self, int r, int group, int64_t clk) noexcept nogil
    cdef void enter(self, int r, Instruction* instruction, int64_t clk) noexcept nogil
    cdef void enter_read(self, int r, Instruction* instruction, int64_t clk) noexcept nogil
    cdef bint decode(self, int r, Rank* rank, Slot* slot, int64_t clk) noexcept nogil
    cdef int64_t next_decode(self, int r, const Rank* rank, bint popped, int64_t clk) noexcept nogil
    cdef void settle(self, Rank* rank, int group) noexcept nogil
    cdef int head(self, int r) noexcept nogil
    cdef int64_t head_visible(self, int r) noexcept nogil
