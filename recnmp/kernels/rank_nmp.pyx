"""rank-NMP: instruction FIFO, window, DDR scheduler and done bits of every rank of one channel.

The page is docs/microarchitecture.md, section 4. State is plain arrays by rank; `step_rank` does one clock of one
rank and says in `next_clk` before which clock nothing can happen there. Skipping idle clocks uses that and
nothing else, so there is one behaviour only.
"""

import numpy as np

from .dram cimport ACT, CLOSED, PRE, PREA, RD, REF, Device, earliest, issue
from .vocabulary cimport (
    CONFIG, END, GROUPS, LOOKUP, NEVER, PREDICT_ACT, PREDICT_PRE, PREDICT_RD, Instruction, LoggedCommand, Operand,
)
from .vocabulary import command_dtype, instruction_dtype, operand_dtype

cdef enum:
    ACTIVATES, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES, LOOKUPS, CONFIGS, ENDS
    ROW_HITS, ROW_MISSES, ROW_CONFLICTS, WRONG_PREDICTIONS, WEIGHTED_BURSTS

RANK_COUNTERS = (
    "activates", "precharges", "precharges_all", "reads", "refreshes", "lookups", "configs", "ends",
    "row_hits", "row_misses", "row_conflicts", "wrong_predictions", "weighted_bursts",
)

cdef Entry _entry[1]
cdef Rank _rank[1]


cdef class RankNmp:
    """All rank-NMPs of one channel.

    device: `Device` over ranks * bankgroups * banks, made from rules of scope "rank", or of scope "host"
    with `ranks_per_dimm` ranks a bus where the ranks of a DIMM share one (`shared_bus`).
    data_delay: clocks from RD to the burst's entering the datapath (CL + BL).
    pipeline: clocks of the datapath. n_refi: clocks between refreshes, 0 for none. stagger: clocks between
    the refreshes of one rank and the next (D13).
    """

    def __init__(
        self, Device device, int ranks_per_dimm, int fifo_depth, int window_size, int tags_per_group,
        int64_t data_delay, int64_t pipeline, int64_t n_refi, int64_t stagger, bint shared_bus,
    ):
        cdef int r, g
        self.device = device
        self.ranks = device.ranks
        self.ranks_per_dimm = ranks_per_dimm
        self.fifo_depth = fifo_depth
        self.window_size = window_size
        self.tags_per_group = tags_per_group
        self.data_delay = data_delay
        self.pipeline = pipeline
        self.n_refi = n_refi
        self.shared_bus = shared_bus
        self.rank = np.zeros(self.ranks, np.asarray(<Rank[:1]>_rank).dtype)
        self.fifo = np.zeros((self.ranks, fifo_depth), instruction_dtype)
        self.fifo_visible = np.zeros((self.ranks, fifo_depth), np.int64)
        self.window = np.zeros((self.ranks, window_size), np.asarray(<Entry[:1]>_entry).dtype)
        self.release = np.zeros((self.ranks, window_size), np.int64)
        self.bus_taken = np.full(self.ranks // ranks_per_dimm, -1, np.int64)
        self.turn = np.zeros(self.ranks // ranks_per_dimm, np.int32)
        self.counters = np.zeros((self.ranks, N_RANK_COUNTERS), np.int64)
        self.log_to(False, 0, 0)
        for r in range(self.ranks):
            self.rank[r].refresh_due = n_refi + r * stagger if n_refi else NEVER
            self.rank[r].next_clk = self.rank[r].refresh_due
            for g in range(GROUPS):
                self.rank[r].ended[g] = NEVER
                self.rank[r].done[g] = NEVER
                self.rank[r].last_in[g] = -NEVER

    def log_to(self, bint logging, Py_ssize_t commands, Py_ssize_t operands):
        """Empty the logs and make room in them."""
        self.logging = logging
        self.commands = np.zeros(commands if logging else 0, command_dtype)
        self.operands = np.zeros(operands if logging else 0, operand_dtype)
        self.n_commands = 0
        self.n_operands = 0

    def grow_log(self):
        """Twice the room for commands: refreshes are not bounded by the stream."""
        self.commands = np.concatenate([self.commands, np.zeros_like(self.commands)])

    def in_flight(self):
        """Bursts of all LOOKUPs in FIFOs and windows, at most."""
        cdef int r, bursts = 0
        for r in range(self.ranks):
            bursts += 8 * (self.rank[r].fifo_count + self.rank[r].entries)
        return bursts

    cdef bint has_room(self) noexcept nogil:
        """Whether the log takes a command of every rank."""
        return self.n_commands + self.ranks <= self.commands.shape[0]

    def take_logs(self):
        """Commands and operands since the last call, in order of clock; the logs are emptied."""
        commands = np.asarray(self.commands)[: self.n_commands].copy()
        operands = np.asarray(self.operands)[: self.n_operands].copy()
        self.n_commands = 0
        self.n_operands = 0
        return commands, operands

    def counts(self):
        """int64 [ranks, len(RANK_COUNTERS)], a copy."""
        return np.asarray(self.counters).copy()

    def reset_counts(self):
        """Counters to zero; the machine's state stays."""
        self.counters[:, :] = 0

    def step(self, int r, int64_t clk, Instruction[::1] arriving, int clear=0):
        """One clock of rank r alone, for lockstep.

        arriving: instructions on the bus for this rank in this clock (dtype `instruction_dtype`); clear: a bit a
        group whose done bit the DIMM clears in this clock. Returns (popped, done): whether an instruction left
        the FIFO, and a bit a group whose done bit is visible on the next clock.
        """
        cdef int i, g, done = 0
        cdef bint popped = self.step_rank(r, clk)
        for g in range(GROUPS):
            if clear >> g & 1:
                self.clear_done(r, g, clk)
        for i in range(arriving.shape[0]):
            if not self.push(r, &arriving[i], clk):
                raise OverflowError(f"rank {r}: instruction sent to a full FIFO in clock {clk}")
        for g in range(GROUPS):
            done |= (self.rank[r].done[g] <= clk + 1) << g
        return bool(popped), done

    cdef bint push(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """An instruction on the bus in clock clk: visible in the FIFO on the next. False if it is full."""
        cdef Rank* rank = &self.rank[r]
        cdef int place
        if rank.fifo_count == self.fifo_depth:
            return False
        place = rank.fifo_head + rank.fifo_count
        if place >= self.fifo_depth:
            place -= self.fifo_depth
        self.fifo[r, place] = instruction[0]
        self.fifo_visible[r, place] = clk + 1
        rank.fifo_count += 1
        if clk + 1 < rank.next_clk:
            rank.next_clk = clk + 1
        return True

    cdef void clear_done(self, int r, int group, int64_t clk) noexcept nogil:
        cdef Rank* rank = &self.rank[r]
        rank.done[group] = NEVER
        rank.ended[group] = NEVER
        if clk + 1 < rank.next_clk:  # a CONFIG may wait for it
            rank.next_clk = clk + 1

    cdef bint step_rank(self, int r, int64_t clk) noexcept nogil:
        """One clock; True if an instruction left the FIFO. Scheduler first: it sees the window as it stood."""
        cdef int64_t scheduler = self.schedule(r, clk)
        cdef bint popped = self.decode(r, clk)
        cdef int64_t decoder = clk + 1 if popped else self.decode_next(r, clk)
        self.rank[r].next_clk = scheduler if scheduler < decoder else decoder
        return popped

    cdef bint decode(self, int r, int64_t clk) noexcept nogil:
        """Pop the FIFO's head if it may go in this clock."""
        cdef Rank* rank = &self.rank[r]
        cdef Instruction* head = &self.fifo[r, rank.fifo_head]
        cdef Entry* entry
        cdef int group = head.group
        if rank.fifo_count == 0 or self.fifo_visible[r, rank.fifo_head] > clk:
            return False
        if head.opcode >= LOOKUP:
            while rank.release_count and self.release[r, rank.release_head] <= clk:
                rank.release_head = rank.release_head + 1 if rank.release_head + 1 < self.window_size else 0
                rank.release_count -= 1
            if rank.entries + rank.release_count == self.window_size:
                return False
            entry = &self.window[r, rank.entries]
            entry.instruction = head[0]
            entry.group_place = r * self.device.bankgroups + head.bankgroup
            entry.bank_place = entry.group_place * self.device.banks + head.bank
            entry.read = 0
            entry.activated = 0
            entry.precharged = 0
            rank.entries += 1
            rank.unfinished[group] += 1
            rank.valid |= 1 << (group * self.tags_per_group + head.tag)
            self.counters[r, LOOKUPS] += 1
        elif head.opcode == CONFIG:
            if rank.done[group] <= clk:
                return False
            rank.dim[group] = head.dim
            rank.valid &= ~(((1 << self.tags_per_group) - 1) << (group * self.tags_per_group))
            self.counters[r, CONFIGS] += 1
        else:
            rank.ended[group] = clk
            self.settle(r, group)
            self.counters[r, ENDS] += 1
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
        if self.fifo[r, rank.fifo_head].opcode >= LOOKUP and rank.release_count:
            return self.release[r, rank.release_head]
        return NEVER  # a read or the DIMM's clearing of done will wake it

    cdef void settle(self, int r, int group) noexcept nogil:
        """Set the clock of the done bit once END was popped and every LOOKUP is read."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t summed = rank.last_in[group] + self.pipeline
        if rank.ended[group] == NEVER or rank.unfinished[group]:
            return
        rank.done[group] = summed if summed > rank.ended[group] + 1 else rank.ended[group] + 1

    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil:
        """Issue at most one DDR command; returns the next clock on which one could be issued."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t legal, soonest = rank.refresh_due
        cdef int first_bank = r * self.device.bankgroups * self.device.banks
        cdef int i, open_row
        cdef unsigned int wanted = 0, asked = 0, bit
        cdef Entry* entry
        if clk >= rank.refresh_due:
            return self.schedule_refresh(r, clk)
        if rank.entries == 0:
            return soonest
        if self.shared_bus and self.bus_taken[r // self.ranks_per_dimm] == clk:
            return clk + 1
        for i in range(rank.entries):
            entry = &self.window[r, i]
            if self.device.open_row[entry.bank_place] == entry.instruction.row:
                bit = 1u << (entry.bank_place - first_bank)
                if wanted & bit:
                    continue  # an older entry of this row would have gone first
                wanted |= bit
                legal = earliest(self.device, RD, r, entry.group_place, entry.bank_place)
                if legal <= clk:
                    self.read_burst(r, i, clk)
                    return clk + 1
                soonest = legal if legal < soonest else soonest
        for i in range(rank.entries):
            entry = &self.window[r, i]
            bit = 1u << (entry.bank_place - first_bank)
            if (wanted | asked) & bit:
                continue
            asked |= bit
            open_row = self.device.open_row[entry.bank_place]
            if open_row == CLOSED:
                legal = earliest(self.device, ACT, r, entry.group_place, entry.bank_place)
            else:
                legal = earliest(self.device, PRE, r, entry.group_place, entry.bank_place)
            if legal <= clk:
                if open_row == CLOSED:
                    self.command(r, ACT, entry, clk)
                    entry.activated = 1
                else:
                    self.command(r, PRE, entry, clk)
                    entry.precharged = 1
                return clk + 1
            soonest = legal if legal < soonest else soonest
        return soonest

    cdef int64_t schedule_refresh(self, int r, int64_t clk) noexcept nogil:
        """Refresh is due: entries that got an ACT are read out, then PREA, then REF (D13)."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t legal, soonest = NEVER
        cdef int i
        cdef Entry* entry
        if self.shared_bus and self.bus_taken[r // self.ranks_per_dimm] == clk:
            return clk + 1
        for i in range(rank.entries):
            entry = &self.window[r, i]
            if entry.activated:
                legal = earliest(self.device, RD, r, entry.group_place, entry.bank_place)
                if legal <= clk:
                    self.read_burst(r, i, clk)
                    return clk + 1
                soonest = legal if legal < soonest else soonest
        if soonest < NEVER:
            return soonest
        if self.device.open_banks[r]:
            legal = earliest(self.device, PREA, r, 0, 0)
            if legal <= clk:
                self.command(r, PREA, NULL, clk)
                return clk + 1
            return legal
        legal = earliest(self.device, REF, r, 0, 0)
        if legal <= clk:
            self.command(r, REF, NULL, clk)
            rank.refresh_due += self.n_refi
            return clk + 1
        return legal

    cdef void read_burst(self, int r, int place, int64_t clk) noexcept nogil:
        """RD of the entry's next column; with its last one the entry leaves the scan, and its release is set."""
        cdef Rank* rank = &self.rank[r]
        cdef Entry* entry = &self.window[r, place]
        cdef int64_t enters = clk + self.data_delay
        cdef int group = entry.instruction.group
        cdef int needed, i, last
        cdef Operand* operand
        self.command(r, RD, entry, clk)
        if self.logging:
            operand = &self.operands[self.n_operands]
            operand.clk = enters
            operand.lookup = entry.instruction.lookup
            operand.packet = entry.instruction.packet
            operand.rank = r
            operand.tag = entry.instruction.tag
            operand.element_group = entry.instruction.opcode - LOOKUP + entry.read
            self.n_operands += 1
        self.counters[r, WEIGHTED_BURSTS] += entry.instruction.weighted
        entry.read += 1
        rank.last_in[group] = enters
        if entry.read < entry.instruction.bursts:
            return
        needed = PREDICT_RD
        if entry.activated:
            needed |= PREDICT_ACT
        if entry.precharged:
            needed |= PREDICT_PRE
        self.counters[r, WRONG_PREDICTIONS] += needed != entry.instruction.ddr_cmd
        if entry.precharged:
            self.counters[r, ROW_CONFLICTS] += 1
        elif entry.activated:
            self.counters[r, ROW_MISSES] += 1
        else:
            self.counters[r, ROW_HITS] += 1
        last = rank.release_head + rank.release_count
        self.release[r, last if last < self.window_size else last - self.window_size] = enters + 1
        rank.release_count += 1
        rank.entries -= 1
        for i in range(place, rank.entries):
            self.window[r, i] = self.window[r, i + 1]
        rank.unfinished[group] -= 1
        self.settle(r, group)

    cdef void command(self, int r, int code, Entry* entry, int64_t clk) noexcept nogil:
        """Issue a command for an entry (NULL: for the rank), count and log it."""
        cdef LoggedCommand* line
        cdef int row = entry.instruction.row if entry != NULL else -1
        if entry != NULL:
            issue(self.device, code, r, entry.group_place, entry.bank_place, row, clk)
        else:
            issue(self.device, code, r, 0, 0, row, clk)
        if code == ACT:
            self.counters[r, ACTIVATES] += 1
        elif code == PRE:
            self.counters[r, PRECHARGES] += 1
        elif code == PREA:
            self.counters[r, PRECHARGES_ALL] += 1
        elif code == RD:
            self.counters[r, READS] += 1
        else:
            self.counters[r, REFRESHES] += 1
        if self.shared_bus:
            self.bus_taken[r // self.ranks_per_dimm] = clk
            self.turn[r // self.ranks_per_dimm] = (r + 1) % self.ranks_per_dimm
        if self.logging:
            line = &self.commands[self.n_commands]
            line.clk = clk
            line.command = code
            line.rank = r
            line.bankgroup = entry.instruction.bankgroup if entry != NULL else -1
            line.bank = entry.instruction.bank if entry != NULL else -1
            line.row = row if code == ACT or code == RD else -1
            line.column = entry.instruction.column + entry.read if code == RD else -1
            self.n_commands += 1
