"""rank-NMP: instruction FIFO, window, DDR scheduler and done bits of every rank of one channel.

The page is docs/microarchitecture.md, section 4. State is plain arrays by rank; `step_rank` does one clock of one
rank and says in `next_clk` before which clock nothing can happen there. Skipping idle clocks uses that and
nothing else, so there is one behaviour only.

The scheduler never scans the window. An open row that an entry wants is not closed, so each bank has one
possible next command: RD for its oldest entry of the open row; PRE for its oldest entry if none wants the open row;
ACT for its oldest entry if it is closed. That candidate changes only when the bank or its entries do.
"""

import numpy as np

from .dram cimport ACT, CLOSED, N_COMMANDS, PRE, PREA, RD, REF, Device, earliest, issue, rank_earliest
from libc.stdint cimport uint64_t

from .vocabulary cimport (
    CONFIG, END, GROUPS, LOOKUP, NEVER, PREDICT_ACT, PREDICT_PRE, PREDICT_RD, Instruction, LoggedCommand, Operand,
)
from .vocabulary import command_dtype, instruction_dtype, operand_dtype

cdef enum:
    ACTIVATES, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES, LOOKUPS, CONFIGS, ENDS
    ROW_HITS, ROW_MISSES, ROW_CONFLICTS, WRONG_PREDICTIONS

RANK_COUNTERS = (
    "activates", "precharges", "precharges_all", "reads", "refreshes", "lookups", "configs", "ends",
    "row_hits", "row_misses", "row_conflicts", "wrong_predictions",
)

cdef Entry _entry[1]
cdef Bank _bank[1]
cdef Rank _rank[1]

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctzll(x)
    """
    int lowest_bit(uint64_t x) nogil


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
        cdef int r, g, i
        self.device = device
        self.ranks = device.ranks
        self.banks = device.bankgroups * device.banks
        if self.banks > MAX_BANKS:
            raise ValueError(f"{self.banks} banks in a rank, at most {MAX_BANKS} are possible")
        self.ranks_per_dimm = ranks_per_dimm
        self.fifo_depth = fifo_depth
        self.window_size = window_size
        self.tags_per_group = tags_per_group
        self.data_delay = data_delay
        self.pipeline = pipeline
        self.n_refi = n_refi
        self.shared_bus = shared_bus
        self.rank = np.zeros(self.ranks, np.asarray(<Rank[:1]>_rank).dtype)
        self.bank = np.full((self.ranks, self.banks), NONE, np.asarray(<Bank[:1]>_bank).dtype)
        self.by_bank = &device.by_bank[0]
        self.by_group = &device.by_group[0]
        for r in range(self.ranks):
            for i in range(self.banks):
                self.bank[r, i].group = r * device.bankgroups + i // device.banks
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
            self.rank[r].read_look = self.rank[r].activate_look = self.rank[r].precharge_look = NEVER
            self.rank[r].look = self.rank[r].next_clk = self.rank[r].refresh_due
            for i in range(window_size):
                self.window[r, i].next = i + 1 if i + 1 < window_size else NONE
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
        cdef bint popped = self.step_rank(r, clk, False)
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

    cdef bint step_rank(self, int r, int64_t clk, bint skip) noexcept nogil:
        """One clock; True if an instruction left the FIFO. Scheduler first: it sees the window as it stood."""
        cdef Rank* rank = &self.rank[r]
        cdef bint popped
        cdef int64_t decoder
        if not skip or rank.look <= clk:
            rank.look = self.schedule(r, clk)
        popped = self.decode(r, clk)
        decoder = clk + 1 if popped else self.decode_next(r, clk)
        rank.next_clk = rank.look if rank.look < decoder else decoder
        return popped

    cdef bint decode(self, int r, int64_t clk) noexcept nogil:
        """Pop the FIFO's head if it may go in this clock."""
        cdef Rank* rank = &self.rank[r]
        cdef Instruction* head = &self.fifo[r, rank.fifo_head]
        cdef int group = head.group
        if rank.fifo_count == 0 or self.fifo_visible[r, rank.fifo_head] > clk:
            return False
        if head.opcode >= LOOKUP:
            while rank.release_count and self.release[r, rank.release_head] <= clk:
                rank.release_head = rank.release_head + 1 if rank.release_head + 1 < self.window_size else 0
                rank.release_count -= 1
            if rank.entries + rank.release_count == self.window_size:
                return False
            self.enter_window(r, head, clk)
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

    cdef void enter_window(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A LOOKUP takes a free entry at the end of its bank's chain; the scheduler sees it from the next clock on."""
        cdef Rank* rank = &self.rank[r]
        cdef int place = rank.free, b = instruction.bankgroup * self.device.banks + instruction.bank
        cdef Entry* entry = &self.window[r, place]
        cdef Bank* bank = &self.bank[r, b]
        cdef int64_t soon
        rank.free = entry.next
        rank.entries += 1
        entry.instruction = instruction[0]
        entry.age = rank.decoded
        rank.decoded += 1
        entry.next = NONE
        entry.bank = b
        entry.read = 0
        entry.activated = 0
        entry.precharged = 0
        if bank.first == NONE:
            bank.first = place
        else:
            self.window[r, bank.last].next = place
        bank.last = place
        self.set_candidate(r, b)
        soon = min(rank.read_look, min(rank.activate_look, rank.precharge_look))
        rank.look = min(rank.look, max(soon, clk + 1))

    cdef void set_candidate(self, int r, int b) noexcept nogil:
        """Find what bank b needs next, and for which entry."""
        cdef Rank* rank = &self.rank[r]
        cdef Bank* bank = &self.bank[r, b]
        cdef int open_row = self.device.open_row[r * self.banks + b]
        cdef int place = bank.first
        cdef uint64_t bit = <uint64_t>1 << b
        rank.reads &= ~bit
        rank.activates &= ~bit
        rank.precharges &= ~bit
        bank.candidate = place
        if place == NONE:
            return
        bank.age = self.window[r, place].age
        if open_row == CLOSED:
            rank.activates |= bit
            rank.activate_look = min(rank.activate_look, self.legal(r, b, ACT))
            return
        while place != NONE and self.window[r, place].instruction.row != open_row:
            place = self.window[r, place].next
        if place == NONE:
            rank.precharges |= bit
            rank.precharge_look = min(rank.precharge_look, self.legal(r, b, PRE))
        else:
            rank.reads |= bit
            rank.read_look = min(rank.read_look, self.legal(r, b, RD))
            bank.candidate = place
            bank.age = self.window[r, place].age

    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil:
        """Issue at most one DDR command; returns the next clock on which one could be issued."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t soonest
        cdef bint issued = False
        cdef int b
        if self.shared_bus and self.bus_taken[r // self.ranks_per_dimm] == clk:
            return clk + 1
        if clk >= rank.refresh_due:
            soonest = self.refresh(r, clk, &issued)
            return clk + 1 if issued else soonest
        b = self.choose(r, clk, &soonest)
        if b == NONE:
            return soonest
        self.serve(r, b, clk)
        return clk + 1 if self.choose(r, clk, &soonest) != NONE else soonest

    cdef int choose(self, int r, int64_t clk, int64_t* soonest) noexcept nogil:
        """The bank whose candidate goes in clk, or NONE and the soonest clock on which one could. Issues nothing."""
        cdef Rank* rank = &self.rank[r]
        cdef int b, other
        b = self.oldest(r, rank.reads, RD, clk, &rank.read_look)
        if b != NONE:
            return b
        b = self.oldest(r, rank.activates, ACT, clk, &rank.activate_look)
        other = self.oldest(r, rank.precharges, PRE, clk, &rank.precharge_look)
        if b == NONE or (other != NONE and self.bank[r, other].age < self.bank[r, b].age):
            b = other
        soonest[0] = min(rank.refresh_due, min(rank.read_look, min(rank.activate_look, rank.precharge_look)))
        return b

    cdef int oldest(self, int r, uint64_t banks, int command, int64_t clk, int64_t* look) noexcept nogil:
        """Of these banks, which all need `command`, the one with the oldest candidate that may go in clk.

        look: no candidate may go before; kept here, and lowered where a candidate joins. Rules only put clocks off, so
        it stays true whatever is issued meanwhile.
        """
        cdef int64_t first, soonest = NEVER, age = NEVER
        cdef int64_t* by_bank
        cdef Bank* bank
        cdef int b, best = NONE
        if look[0] > clk:
            return NONE
        first = rank_earliest(self.device, command, r)
        if first > clk:  # no bank may go before: no need to look at each
            look[0] = first if banks else NEVER
            return NONE
        bank = &self.bank[r, 0]
        by_bank = self.by_bank + r * self.banks * N_COMMANDS + command
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            first = max(by_bank[b * N_COMMANDS], self.by_group[bank[b].group * N_COMMANDS + command])
            if first > clk:
                soonest = min(soonest, first)
            elif bank[b].age < age:
                age = bank[b].age
                best = b
        if best == NONE:
            look[0] = soonest
        return best

    cdef int64_t legal(self, int r, int b, int command) noexcept nogil:
        """First clock on which the rules allow a command in bank b of rank r."""
        return earliest(self.device, command, r, self.bank[r, b].group, r * self.banks + b)

    cdef int64_t refresh(self, int r, int64_t clk, bint* issued) noexcept nogil:
        """Refresh is due: entries that got an ACT are read out, then PREA, then REF (D13)."""
        cdef Rank* rank = &self.rank[r]
        cdef int64_t legal, soonest = NEVER, age = NEVER
        cdef uint64_t banks = rank.owned
        cdef int b, best = NONE
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            legal = self.legal(r, b, RD)
            if legal > clk:
                soonest = min(soonest, legal)
            elif self.window[r, self.bank[r, b].owner].age < age:
                age = self.window[r, self.bank[r, b].owner].age
                best = b
        if rank.owned == 0:
            soonest = earliest(self.device, PREA if self.device.open_banks[r] else REF, r, 0, 0)
        issued[0] = best != NONE or soonest <= clk
        if best != NONE:
            self.read_burst(r, best, self.bank[r, best].owner, clk)
        elif soonest <= clk and self.device.open_banks[r]:
            self.command(r, PREA, NULL, clk)
            for b in range(self.banks):
                self.set_candidate(r, b)
        elif soonest <= clk:
            self.command(r, REF, NULL, clk)
            rank.refresh_due += self.n_refi
        return soonest

    cdef void serve(self, int r, int b, int64_t clk) noexcept nogil:
        """Issue what bank b's candidate needs."""
        cdef Rank* rank = &self.rank[r]
        cdef int place = self.bank[r, b].candidate
        cdef Entry* entry = &self.window[r, place]
        if rank.reads >> b & 1:
            self.read_burst(r, b, place, clk)
            return
        if rank.activates >> b & 1:
            self.command(r, ACT, entry, clk)
            entry.activated = 1
            self.bank[r, b].owner = place
            rank.owned |= <uint64_t>1 << b
        else:
            self.command(r, PRE, entry, clk)
            entry.precharged = 1
        self.set_candidate(r, b)

    cdef void read_burst(self, int r, int b, int place, int64_t clk) noexcept nogil:
        """RD of the entry's next column; with its last one the entry leaves its chain, and its release is set."""
        cdef Rank* rank = &self.rank[r]
        cdef Entry* entry = &self.window[r, place]
        cdef int64_t enters = clk + self.data_delay
        cdef int group = entry.instruction.group, last
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
        entry.read += 1
        rank.last_in[group] = enters
        if entry.read < entry.instruction.bursts:
            return
        self.account(r, entry)
        last = rank.release_head + rank.release_count
        self.release[r, last if last < self.window_size else last - self.window_size] = enters + 1
        rank.release_count += 1
        self.leave_chain(r, b, place)
        rank.unfinished[group] -= 1
        self.settle(r, group)

    cdef void leave_chain(self, int r, int b, int place) noexcept nogil:
        """Unlink an entry that has all its bursts; its place may be written again once it is released."""
        cdef Rank* rank = &self.rank[r]
        cdef Bank* bank = &self.bank[r, b]
        cdef int before = bank.first
        if before == place:
            bank.first = self.window[r, place].next
            before = NONE
        else:
            while self.window[r, before].next != place:
                before = self.window[r, before].next
            self.window[r, before].next = self.window[r, place].next
        if bank.last == place:
            bank.last = before
        if bank.owner == place:
            bank.owner = NONE
            rank.owned &= ~(<uint64_t>1 << b)
        self.window[r, place].next = rank.free
        rank.free = place
        rank.entries -= 1
        self.set_candidate(r, b)

    cdef void account(self, int r, Entry* entry) noexcept nogil:
        """Class an entry by what was issued for it, and see whether the host had predicted that (D3)."""
        cdef int needed = PREDICT_RD
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

    cdef void command(self, int r, int code, Entry* entry, int64_t clk) noexcept nogil:
        """Issue a command for an entry (NULL: for the rank), count and log it."""
        cdef LoggedCommand* line
        cdef int row = entry.instruction.row if entry != NULL else -1
        cdef int b = entry.bank if entry != NULL else 0
        issue(self.device, code, r, self.bank[r, b].group, r * self.banks + b, row, clk)
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
