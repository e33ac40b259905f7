"""rank-NMP: instruction FIFO, decoder and done bits of every rank of one channel.

Its window and scheduler are rank_window.pyx, its RankCache rank_cache.pyx, its datapath operand_path.pyx. The page is
docs/microarchitecture.md, section 4. State is plain arrays by rank; `step_rank` does one clock of one rank and says
in `next_clk` before which clock nothing can happen there. Skipping idle clocks uses that and nothing else, so there is
one behaviour only.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .operand_path cimport Path
from .rank_cache cimport RankCache
from .rank_window cimport RankWindow, Window
from .row_form cimport RowForm, row_form
from .vocabulary cimport CONFIG, GROUPS, HOST_READ, NEVER, Instruction, is_lookup
from .vocabulary import instruction_dtype
from .window_entries cimport CACHE_BYPASSES, MET_BYPASS, NONE, OPERANDS, Entry, has_room, next_release

cdef Rank _rank[1]
cdef RowForm _form[1]


@cython.final
cdef class RankNmp:
    """All rank-NMPs of one channel.

    window: windows and schedulers of its ranks. fifo_depth: instructions that a FIFO holds. tags_per_group: P of D6.
    pipeline: clocks of the datapath. cache: of the same window, or None.
    """

    def __init__(
        self, RankWindow window, int fifo_depth, int tags_per_group, int64_t pipeline, RankCache cache=None,
    ):
        cdef int r, g
        self.window = window
        self.operands = window.operands
        self.cache = cache
        self.cached = cache is not None
        self.ranks = window.ranks
        self.ranks_per_dimm = window.ranks_per_dimm
        self.fifo_depth = fifo_depth
        self.tags_per_group = tags_per_group
        self.pipeline = pipeline * window.operands.divider
        self.rank = np.zeros(self.ranks, np.asarray(<Rank[:1]>_rank).dtype)
        self.form = np.zeros((self.ranks, GROUPS), np.asarray(<RowForm[:1]>_form).dtype)
        self.fifo = np.zeros((self.ranks, fifo_depth), instruction_dtype)
        self.fifo_visible = np.zeros((self.ranks, fifo_depth), np.int64)
        for r in range(self.ranks):
            self.rank[r].next_clk = window.window[r].look
            self.rank[r].news = NEVER
            for g in range(GROUPS):
                self.rank[r].ended[g] = NEVER
                self.rank[r].done[g] = NEVER
                self.rank[r].last_in[g] = -NEVER

    def in_flight(self):
        """Operands of all LOOKUPs in FIFOs and windows, at most."""
        cdef int r, operands = 0
        for r in range(self.ranks):
            operands += OPERANDS * (self.rank[r].fifo_count + self.window.entries.places[r].entries)
        return operands

    def step(self, int r, int64_t clk, Instruction[::1] arriving, int clear=0):
        """One clock of rank r alone, for lockstep.

        arriving: instructions on the bus for this rank in this clock (dtype `instruction_dtype`); clear: a bit a
        group whose done bit the DIMM clears in this clock. Returns (popped, done): whether an instruction left
        the FIFO, and a bit a group whose done bit is visible on the next clock.
        """
        cdef int i, g, done = 0
        cdef bint popped = self.step_rank(r, clk, False)
        for g in range(GROUPS):
            if clear >> g & 1:
                self.clear_done(r, g, clk)
        for i in range(arriving.shape[0]):
            if not self.push(r, &arriving[i], clk + 1):
                raise OverflowError(f"rank {r}: instruction sent to a full FIFO in clock {clk}")
        for g in range(GROUPS):
            done |= (self.rank[r].done[g] <= clk + 1) << g
        return bool(popped), done

    cdef bint push(self, int r, Instruction* instruction, int64_t visible) noexcept nogil:
        """An instruction crosses the bus: it is in the FIFO, visible on that clock. False if there is no room."""
        cdef Rank* rank = &self.rank[r]
        cdef int place
        if rank.fifo_count == self.fifo_depth:
            return False
        place = rank.fifo_head + rank.fifo_count
        if place >= self.fifo_depth:
            place -= self.fifo_depth
        self.fifo[r, place] = instruction[0]
        self.fifo_visible[r, place] = visible
        rank.fifo_count += 1
        rank.next_clk = min(rank.next_clk, visible)
        return True

    cdef void clear_done(self, int r, int group, int64_t clk) noexcept nogil:
        cdef Rank* rank = &self.rank[r]
        rank.done[group] = NEVER
        rank.ended[group] = NEVER
        if clk + 1 < rank.next_clk:  # a CONFIG may wait for it
            rank.next_clk = clk + 1

    cdef bint step_rank(self, int r, int64_t clk, bint skip) noexcept nogil:
        """One clock; True if an instruction left the FIFO.

        Who sees what stood at the clock's start goes first: scheduler, datapath, cache, decoder.
        """
        cdef Rank* rank = &self.rank[r]
        cdef Window* window = &self.window.window[r]
        cdef Path* path = &self.operands.path[r]
        cdef bint popped
        cdef int64_t soonest
        if not skip or window.look <= clk:
            window.look = self.window.schedule(r, clk)
        if not self.operands.foreseen and (not skip or path.look <= clk):
            self.operands.step(r, clk)
        if self.cached and (not skip or self.cache.port[r].look <= clk):
            self.cache.step(r, clk)
        if path.finished != NONE:
            rank.last_in[path.finished] = path.entered
            rank.unfinished[path.finished] -= 1
            self.settle(r, path.finished)
            path.finished = NONE
        popped = self.decode(r, clk)
        if popped:
            soonest = clk + 1 if rank.fifo_count else NEVER
        else:
            soonest = self.decode_next(r, clk)
        soonest = min(soonest, min(window.look, path.look))
        if self.cached:
            self.cache.port[r].look = self.cache.next_clk(r, clk)
            soonest = min(soonest, self.cache.port[r].look)
        rank.next_clk = soonest
        return popped

    cdef void enter(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A LOOKUP takes a place in the window: its lines are unprobed, or wanted without a way."""
        cdef int place = self.window.enter(r, instruction), line
        cdef Entry* entry = &self.window.entry[r, place]
        self.window.entries.lay_out(r, place, &self.form[r, instruction.group])
        if self.cached and instruction.locality:
            self.cache.enter(r, place)
            return
        entry.probed = instruction.bursts
        for line in range(instruction.bursts):
            entry.slot[line] = NONE
        self.window.counters[r, CACHE_BYPASSES] += instruction.bursts
        self.window.entries.met[r, instruction.group, MET_BYPASS] += instruction.bursts
        self.window.want(r, place, (1 << instruction.bursts) - 1, clk)

    cdef bint decode(self, int r, int64_t clk) noexcept nogil:
        """Pop the FIFO's head if it may go in this clock."""
        cdef Rank* rank = &self.rank[r]
        cdef Instruction* head = &self.fifo[r, rank.fifo_head]
        cdef int group = head.group
        if rank.fifo_count == 0 or self.fifo_visible[r, rank.fifo_head] > clk:
            return False
        if is_lookup(head.opcode):
            if not has_room(self.window.entries, r, clk):
                return False
            self.enter(r, head, clk)
            rank.unfinished[group] += 1
            rank.valid |= 1 << (group * self.tags_per_group + head.tag)
        elif head.opcode == HOST_READ:
            if not has_room(self.window.entries, r, clk):
                return False
            self.window.enter_read(r, head, clk)
        elif head.opcode == CONFIG:
            if rank.done[group] <= clk:
                return False
            self.form[r, group] = row_form(head.dtype, head.layout, head.dim)
            rank.valid &= ~(((1 << self.tags_per_group) - 1) << (group * self.tags_per_group))
        else:
            rank.ended[group] = clk
            self.settle(r, group)
        rank.fifo_head = rank.fifo_head + 1 if rank.fifo_head + 1 < self.fifo_depth else 0
        rank.fifo_count -= 1
        return True

    cdef int64_t decode_next(self, int r, int64_t clk) noexcept nogil:
        """Nothing was popped in clk: the next clock on which something could be, as far as this rank knows."""
        cdef Rank* rank = &self.rank[r]
        if rank.fifo_count == 0:
            return NEVER
        if self.fifo_visible[r, rank.fifo_head] > clk:
            return self.fifo_visible[r, rank.fifo_head]
        if self.fifo[r, rank.fifo_head].opcode >= HOST_READ:
            return next_release(self.window.entries, r)
        return NEVER  # a read or the DIMM's clearing of done will wake it

    cdef void settle(self, int r, int group) noexcept nogil:
        """Set the clock of the done bit once END was popped and all operands of every LOOKUP are taken."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t summed = rank.last_in[group] + self.pipeline
        if rank.ended[group] == NEVER or rank.unfinished[group]:
            return
        rank.done[group] = max(summed, rank.ended[group] + 1)
        rank.news = min(rank.news, rank.done[group])
