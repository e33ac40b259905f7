"""rank-NMP: instruction FIFO, decoder and done bits of every rank of one channel.

Its window and scheduler are rank_window.pyx, its RankCache rank_cache.pyx, its datapath operand_path.pyx. The page is
docs/microarchitecture.md, section 4. State is plain arrays by rank; `step_rank` does one clock of one rank and says
in `next_clk` before which clock nothing can happen there. Skipping idle clocks uses that and nothing else, so there is
one behaviour only.

`run_rank` steps a rank ahead of the channel's clock, as long as nothing can come in between: a rank is touched from
outside only by instructions, which go behind what its FIFO holds, and by the clearing of a `done` bit, for which only
CONFIG waits. So while the FIFO's head is a LOOKUP, the rank may go on until that is popped. What the outside sees of
the rank tells its clock: `popped` of a place in the FIFO, which is the host's credit, and `done`. And the batch cannot
end before, since the sum of that LOOKUP must cross.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t

from .ddr_scheduler cimport schedule, want
from .operand_path cimport Path, on_clock, take_oldest
from .rank_cache cimport Port, RankCache, await_probe, next_access, use_port
from .rank_window cimport RankWindow, Window
from .row_form cimport RowForm, row_form
from .stalls cimport A_LOOKUP, ANOTHER, N_CAUSES, NOTHING, Stalls
from .vocabulary cimport CONFIG, GROUPS, HOST_READ, NEVER, Instruction, is_lookup
from .window_entries cimport (
    CACHE_BYPASSES, MET_BYPASS, NONE, OPERANDS, Entry, counters_of, has_room, lay_out, met_of, next_release, take_entry,
)

cdef Rank _rank[1]
cdef Slot _slot[1]
cdef RowForm _form[1]


@cython.final
cdef class RankNmp:
    """All rank-NMPs of one channel.

    window: windows and schedulers of its ranks. fifo_depth: instructions that a FIFO holds. tags_per_group: P of D6.
    pipeline: clocks of the datapath. cache, stalls: of the same window, or None.
    """

    def __init__(
        self, RankWindow window, int fifo_depth, int tags_per_group, int64_t pipeline, RankCache cache=None,
        Stalls stalls=None,
    ):
        cdef int r, g
        self.window = window
        self.operands = window.operands
        self.cache = cache
        self.cached = cache is not None
        self.stalls = stalls
        self.watched = stalls is not None
        self.recount = False
        self.ranks = window.ranks
        self.ranks_per_dimm = window.ranks_per_dimm
        self.fifo_depth = fifo_depth
        self.tags_per_group = tags_per_group
        self.pipeline = pipeline * window.operands.divider
        cdef Rank[::1] rank = np.zeros(self.ranks, np.asarray(<Rank[:1]>_rank).dtype)
        cdef RowForm[::1] form = np.zeros(self.ranks * GROUPS, np.asarray(<RowForm[:1]>_form).dtype)
        cdef Slot[::1] fifo = np.zeros(self.ranks * fifo_depth, np.asarray(<Slot[:1]>_slot).dtype)
        self.kept = (rank.base, form.base, fifo.base)
        self.rank, self.form, self.fifo = &rank[0], &form[0], &fifo[0]
        for r in range(self.ranks):
            for g in range(fifo_depth):
                fifo[r * fifo_depth + g].popped = -1
            self.rank[r].next_clk = window.window[r].look
            self.rank[r].decode_clk = NEVER
            self.rank[r].news = NEVER
            for g in range(GROUPS):
                self.rank[r].ended[g] = NEVER
                self.rank[r].done[g] = NEVER
                self.rank[r].last_in[g] = -NEVER

    def start_batch(self, Instruction[::1] stream, int64_t clk, bint closing):
        """A batch may begin in clk; closing: no other one follows before its results have crossed."""
        if stream.shape[0]:
            stream[stream.shape[0] - 1].closing = closing
        if self.cached:
            self.cache.start_batch(clk)
        if self.watched and self.recount:
            self.stalls.start(clk)
        self.recount = False

    def count_stalls(self, int64_t over, int64_t end):
        """Clocks of each rank by cause, int64 [ranks, len(CAUSES)], up to clock `end`.

        No batch is under way: the last one ended at `over`, from where on all are drained. Counted from clock 0, or the
        start of the first batch after `reset_counts`; all 0 if there was none, or nobody asks.
        """
        cdef int r
        if not self.watched or self.recount:
            return np.zeros((self.ranks, N_CAUSES), np.int64)
        for r in range(self.ranks):
            self.stalls.until(r, over, self.head(r), self.head_visible(r))
            self.stalls.drain(r, end)
        return self.stalls.counts()

    def reset_counts(self):
        """Counters of all ranks to zero; the machine's state stays."""
        self.window.entries.reset_counts()
        self.recount = True

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
        cdef bint popped = self.run_rank(r, clk, clk, False)
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
        cdef Slot* slot = &self.fifo[r * self.fifo_depth + rank.fifo_tail]
        if rank.fifo_count == self.fifo_depth:
            return False
        slot.instruction = instruction[0]
        slot.visible = visible
        slot.popped = NEVER
        rank.fifo_tail = rank.fifo_tail + 1 if rank.fifo_tail + 1 < self.fifo_depth else 0
        rank.fifo_count += 1
        if rank.fifo_count == 1:  # else it is the head that the rank looks at
            rank.decode_clk = on_clock(self.operands, max(rank.clock, visible))
            rank.next_clk = min(rank.next_clk, rank.decode_clk)
        return True

    cdef void clear_done(self, int r, int group, int64_t clk) noexcept nogil:
        cdef Rank* rank = &self.rank[r]
        rank.done[group] = NEVER
        rank.ended[group] = NEVER
        # a CONFIG may wait for it
        rank.decode_clk = min(rank.decode_clk, on_clock(self.operands, max(rank.clock, clk + 1)))
        rank.next_clk = min(rank.next_clk, rank.decode_clk)

    cdef bint run_rank(self, int r, int64_t clk, int64_t horizon, bint skip) noexcept nogil:
        """Step a rank in clk, and on all its clocks up to `horizon` that nobody else can bear on; True if an
        instruction left the FIFO."""
        cdef Rank* rank = &self.rank[r]
        cdef Window* window = &self.window.window[r]
        cdef Path* path = &self.operands.path[r]
        cdef Port* port = &self.cache.port[r] if self.cached else NULL
        cdef Slot* fifo = self.fifo + r * self.fifo_depth
        cdef bint popped = False
        while True:
            popped |= step_rank(self, r, rank, window, path, port, &fifo[rank.fifo_head], clk, skip)
            clk = rank.next_clk
            if clk > horizon or rank.fifo_count == 0 or not is_lookup(fifo[rank.fifo_head].instruction.opcode):
                return popped
            if self.window.logging and not self.window.has_room():
                return popped

    cdef void enter(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A LOOKUP takes a place in the window: its lines are unprobed, or wanted without a way."""
        cdef int line, bank = instruction.bankgroup * self.window.device.banks + instruction.bank
        cdef Entry* entry = take_entry(self.window.entries, r, instruction, bank)
        lay_out(self.window.entries, entry, &self.form[r * GROUPS + instruction.group])
        if self.cached and instruction.locality:
            await_probe(self.cache, r, entry - (self.window.entries.entry + r * self.window.entries.size))
            return
        entry.probed = instruction.bursts
        for line in range(instruction.bursts):
            entry.slot[line] = NONE
        counters_of(self.window.entries, r)[CACHE_BYPASSES] += instruction.bursts
        met_of(self.window.entries, r, instruction.group)[MET_BYPASS] += instruction.bursts
        want(self.window, r, entry, (1 << instruction.bursts) - 1, clk)

    cdef void enter_read(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A HOST_READ takes a place in the window, and its line is wanted."""
        cdef int bank = instruction.bankgroup * self.window.device.banks + instruction.bank
        cdef Entry* entry = take_entry(self.window.entries, r, instruction, bank)
        entry.probed = 1
        entry.parameter_line = entry.parameter_lines = 0
        want(self.window, r, entry, 1, clk)

    cdef bint decode(self, int r, Rank* rank, Slot* slot, int64_t clk) noexcept nogil:
        """Pop the FIFO's head, visible in clk, if it may go in this clock."""
        cdef Instruction* head = &slot.instruction
        cdef int group = head.group
        if is_lookup(head.opcode):
            if not has_room(self.window.entries, r, clk):
                return False
            self.enter(r, head, clk)
            rank.unfinished[group] += 1
            rank.valid |= 1 << (group * self.tags_per_group + head.tag)
        elif head.opcode == HOST_READ:
            if not has_room(self.window.entries, r, clk):
                return False
            self.enter_read(r, head, clk)
        elif head.opcode == CONFIG:
            if rank.done[group] <= clk:
                return False
            self.form[r * GROUPS + group] = row_form(head.dtype, head.layout, head.dim)
            rank.valid &= ~(((1 << self.tags_per_group) - 1) << (group * self.tags_per_group))
        else:
            rank.ended[group] = clk
            self.settle(rank, group)
        if self.watched and head.opcode != HOST_READ:
            self.stalls.account[r].over = head.closing
        slot.popped = clk
        rank.fifo_head = rank.fifo_head + 1 if rank.fifo_head + 1 < self.fifo_depth else 0
        rank.fifo_count -= 1
        return True

    cdef int head(self, int r) noexcept nogil:
        """What the FIFO begins with, visible or not yet."""
        cdef Rank* rank = &self.rank[r]
        if rank.fifo_count == 0:
            return NOTHING
        return A_LOOKUP if self.fifo[r * self.fifo_depth + rank.fifo_head].instruction.opcode >= HOST_READ else ANOTHER

    cdef int64_t head_visible(self, int r) noexcept nogil:
        cdef Rank* rank = &self.rank[r]
        return self.fifo[r * self.fifo_depth + rank.fifo_head].visible if rank.fifo_count else NEVER

    cdef int64_t next_decode(self, int r, const Rank* rank, bint popped, int64_t clk) noexcept nogil:
        """The next clock on which something could be popped, as far as this rank knows; popped: one was in clk."""
        cdef Slot* slot = &self.fifo[r * self.fifo_depth + rank.fifo_head]
        if rank.fifo_count == 0:
            return NEVER
        if slot.instruction.opcode >= HOST_READ and not has_room(self.window.entries, r, clk + 1):
            return next_release(self.window.entries, r)  # NEVER: a read will wake it
        if slot.visible > clk:
            return slot.visible
        if popped or slot.instruction.opcode >= HOST_READ:
            return clk + 1
        return NEVER  # a CONFIG that was not popped: the DIMM's clearing of done will wake it

    cdef void settle(self, Rank* rank, int group) noexcept nogil:
        """Set the clock of the done bit once END was popped and all operands of every LOOKUP are taken."""
        cdef int64_t summed = rank.last_in[group] + self.pipeline
        if rank.ended[group] == NEVER or rank.unfinished[group]:
            return
        rank.done[group] = max(summed, rank.ended[group] + 1)
        rank.news = min(rank.news, rank.done[group])


cdef inline bint step_rank(
    RankNmp ranks, int r, Rank* rank, Window* window, Path* path, Port* port, Slot* head, int64_t clk, bint skip
) noexcept nogil:
    """One clock; True if an instruction left the FIFO. port: NULL if there is no cache.

    Who sees what stood at the clock's start goes first: scheduler, datapath, cache, decoder.
    """
    cdef bint popped = False, unprobed = False, finished
    cdef int64_t soonest
    if ranks.watched:
        unprobed = port != NULL and port.unprobed_count > 0
        ranks.stalls.begin(r, clk, ranks.head(r), ranks.head_visible(r))
    if not skip or window.look <= clk:
        window.look = schedule(ranks.window, r, window, clk)
    if not ranks.operands.foreseen and (not skip or path.look <= clk):
        take_oldest(ranks.operands, r, path, clk)
    if port != NULL and (not skip or port.look <= clk):
        use_port(ranks.cache, r, port, path, clk)
    finished = path.finished != NONE
    if finished:
        rank.last_in[path.finished] = path.entered
        rank.unfinished[path.finished] -= 1
        ranks.settle(rank, path.finished)
        path.finished = NONE
    if rank.fifo_count and head.visible <= clk and (not skip or rank.decode_clk <= clk):
        popped = ranks.decode(r, rank, head, clk)
    # a known clock stays, unless something was decoded or an entry given back
    if finished or rank.decode_clk <= clk or rank.decode_clk == NEVER:
        rank.decode_clk = ranks.next_decode(r, rank, popped, clk)
    soonest = min(rank.decode_clk, min(window.look, path.look))
    if port != NULL:
        port.look = next_access(ranks.cache, r, port, path, clk)
        soonest = min(soonest, port.look)
    rank.next_clk = on_clock(ranks.operands, soonest)
    rank.clock = clk + 1
    if ranks.watched:
        ranks.stalls.end(r, clk, popped or unprobed)
    return popped
