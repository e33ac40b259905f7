"""The window of a rank-NMP and its DDR scheduler, for every rank of one channel.

The page is docs/microarchitecture.md, section 4, "Scheduler" and "Refresh". The window is never scanned. An open row
that an entry wants is not closed, so each bank has one possible next command: RD for its oldest entry of the open row;
PRE for its oldest entry if none wants the open row; ACT for its oldest entry if it is closed. That candidate changes
only when the bank or its entries do.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from .dram cimport ACT, CLOSED, N_COMMANDS, PRE, PREA, RD, REF, Device, earliest, issue, rank_earliest
from .vocabulary cimport (
    LOOKUP, NEVER, PREDICT_ACT, PREDICT_PRE, PREDICT_RD, Instruction, LoggedCommand, Operand,
)
from .vocabulary import command_dtype, operand_dtype

cdef enum:
    ACTIVATES, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES
    ROW_HITS, ROW_MISSES, ROW_CONFLICTS, WRONG_PREDICTIONS
    N_COUNTERS

RANK_COUNTERS = (
    "activates", "precharges", "precharges_all", "reads", "refreshes",
    "row_hits", "row_misses", "row_conflicts", "wrong_predictions",
)

cdef Entry _entry[1]
cdef Bank _bank[1]
cdef Window _window[1]

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctzll(x)
    """
    int lowest_bit(uint64_t x) nogil


cdef class RankWindow:
    """Windows and schedulers of all ranks of one channel.

    device: `Device` over ranks * bankgroups * banks, made from rules of scope "rank"; or of scope "host", with
    `ranks_per_dimm` ranks a bus, where the ranks of a DIMM share one (`shared_bus`). size: entries of a window.
    data_delay: clocks from RD to the burst's entering the datapath (CL + BL). n_refi: clocks between refreshes, 0 for
    none. stagger: clocks between the refreshes of one rank and the next (D13).
    Raises ValueError for more than 64 banks in a rank.
    """

    def __init__(
        self, Device device, int ranks_per_dimm, int size, int64_t data_delay, int64_t n_refi, int64_t stagger,
        bint shared_bus,
    ):
        cdef int r, i
        self.device = device
        self.ranks = device.ranks
        self.ranks_per_dimm = ranks_per_dimm
        self.banks = device.bankgroups * device.banks
        if self.banks > MAX_BANKS:
            raise ValueError(f"{self.banks} banks in a rank, at most {MAX_BANKS} are possible")
        self.size = size
        self.data_delay = data_delay
        self.n_refi = n_refi
        self.shared_bus = shared_bus
        self.by_bank = &device.by_bank[0]
        self.by_group = &device.by_group[0]
        self.window = np.zeros(self.ranks, np.asarray(<Window[:1]>_window).dtype)
        self.bank = np.full((self.ranks, self.banks), NONE, np.asarray(<Bank[:1]>_bank).dtype)
        self.entry = np.zeros((self.ranks, size), np.asarray(<Entry[:1]>_entry).dtype)
        self.release = np.zeros((self.ranks, size), np.int64)
        self.bus_taken = np.full(self.ranks // ranks_per_dimm, -1, np.int64)
        self.turn = np.zeros(self.ranks // ranks_per_dimm, np.int32)
        self.counters = np.zeros((self.ranks, N_COUNTERS), np.int64)
        self.log_to(False, 0, 0)
        for r in range(self.ranks):
            self.window[r].refresh_due = n_refi + r * stagger if n_refi else NEVER
            self.window[r].look = self.window[r].refresh_due
            self.window[r].read_look = self.window[r].activate_look = self.window[r].precharge_look = NEVER
            for i in range(self.banks):
                self.bank[r, i].group = r * device.bankgroups + i // device.banks
            for i in range(size):
                self.entry[r, i].next = i + 1 if i + 1 < size else NONE

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

    cdef bint has_entry(self, int r, int64_t clk) noexcept nogil:
        """Whether an entry is free, visible at clk: those whose last burst has entered the datapath are."""
        cdef Window* window = &self.window[r]
        while window.release_count and self.release[r, window.release_head] <= clk:
            window.release_head = window.release_head + 1 if window.release_head + 1 < self.size else 0
            window.release_count -= 1
        return window.entries + window.release_count < self.size

    cdef int64_t next_release(self, int r) noexcept nogil:
        """Clock on which the next entry becomes free, as far as the reads that were issued tell."""
        return self.release[r, self.window[r].release_head] if self.window[r].release_count else NEVER

    cdef void enter(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A LOOKUP takes a free entry at the end of its bank's chain; the scheduler sees it from the next clock on."""
        cdef Window* window = &self.window[r]
        cdef int place = window.free, b = instruction.bankgroup * self.device.banks + instruction.bank
        cdef Entry* entry = &self.entry[r, place]
        cdef Bank* bank = &self.bank[r, b]
        cdef int64_t soon
        window.free = entry.next
        window.entries += 1
        entry.instruction = instruction[0]
        entry.age = window.decoded
        window.decoded += 1
        entry.next = NONE
        entry.bank = b
        entry.read = 0
        entry.activated = 0
        entry.precharged = 0
        if bank.first == NONE:
            bank.first = place
        else:
            self.entry[r, bank.last].next = place
        bank.last = place
        self.set_candidate(r, b)
        soon = min(window.read_look, min(window.activate_look, window.precharge_look))
        window.look = min(window.look, max(soon, clk + 1))

    cdef void set_candidate(self, int r, int b) noexcept nogil:
        """Find what bank b needs next, and for which entry."""
        cdef Window* window = &self.window[r]
        cdef Bank* bank = &self.bank[r, b]
        cdef int open_row = self.device.open_row[r * self.banks + b]
        cdef int place = bank.first
        cdef uint64_t bit = <uint64_t>1 << b
        window.reads &= ~bit
        window.activates &= ~bit
        window.precharges &= ~bit
        bank.candidate = place
        if place == NONE:
            return
        bank.age = self.entry[r, place].age
        if open_row == CLOSED:
            window.activates |= bit
            window.activate_look = min(window.activate_look, self.legal(r, b, ACT))
            return
        while place != NONE and self.entry[r, place].instruction.row != open_row:
            place = self.entry[r, place].next
        if place == NONE:
            window.precharges |= bit
            window.precharge_look = min(window.precharge_look, self.legal(r, b, PRE))
        else:
            window.reads |= bit
            window.read_look = min(window.read_look, self.legal(r, b, RD))
            bank.candidate = place
            bank.age = self.entry[r, place].age

    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil:
        """Issue at most one DDR command; returns the next clock on which one could be issued.

        `finished` of the rank is then the tag group of the entry that got its last RD, or NONE.
        """
        cdef Window* window = &self.window[r]
        cdef int64_t soonest
        cdef bint issued = False
        cdef int b
        window.finished = NONE
        if self.shared_bus and self.bus_taken[r // self.ranks_per_dimm] == clk:
            return clk + 1
        if clk >= window.refresh_due:
            soonest = self.refresh(r, clk, &issued)
            return clk + 1 if issued else soonest
        b = self.choose(r, clk, &soonest)
        if b == NONE:
            return soonest
        self.serve(r, b, clk)
        return clk + 1 if self.choose(r, clk, &soonest) != NONE else soonest

    cdef int choose(self, int r, int64_t clk, int64_t* soonest) noexcept nogil:
        """The bank whose candidate goes in clk, or NONE and the soonest clock on which one could. Issues nothing."""
        cdef Window* window = &self.window[r]
        cdef int b, other
        b = self.oldest(r, window.reads, RD, clk, &window.read_look)
        if b != NONE:
            return b
        b = self.oldest(r, window.activates, ACT, clk, &window.activate_look)
        other = self.oldest(r, window.precharges, PRE, clk, &window.precharge_look)
        if b == NONE or (other != NONE and self.bank[r, other].age < self.bank[r, b].age):
            b = other
        soonest[0] = min(window.refresh_due, min(window.read_look, min(window.activate_look, window.precharge_look)))
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
        cdef Window* window = &self.window[r]
        cdef int64_t legal, soonest = NEVER, age = NEVER
        cdef uint64_t banks = window.owned
        cdef int b, best = NONE
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            legal = self.legal(r, b, RD)
            if legal > clk:
                soonest = min(soonest, legal)
            elif self.entry[r, self.bank[r, b].owner].age < age:
                age = self.entry[r, self.bank[r, b].owner].age
                best = b
        if window.owned == 0:
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
            window.refresh_due += self.n_refi
        return soonest

    cdef void serve(self, int r, int b, int64_t clk) noexcept nogil:
        """Issue what bank b's candidate needs."""
        cdef Window* window = &self.window[r]
        cdef int place = self.bank[r, b].candidate
        cdef Entry* entry = &self.entry[r, place]
        if window.reads >> b & 1:
            self.read_burst(r, b, place, clk)
            return
        if window.activates >> b & 1:
            self.command(r, ACT, entry, clk)
            entry.activated = 1
            self.bank[r, b].owner = place
            window.owned |= <uint64_t>1 << b
        else:
            self.command(r, PRE, entry, clk)
            entry.precharged = 1
        self.set_candidate(r, b)

    cdef void read_burst(self, int r, int b, int place, int64_t clk) noexcept nogil:
        """RD of the entry's next column; with its last one the entry leaves its chain, and its release is set."""
        cdef Window* window = &self.window[r]
        cdef Entry* entry = &self.entry[r, place]
        cdef int64_t enters = clk + self.data_delay
        cdef int last
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
        if entry.read < entry.instruction.bursts:
            return
        self.account(r, entry)
        last = window.release_head + window.release_count
        self.release[r, last if last < self.size else last - self.size] = enters + 1
        window.release_count += 1
        self.leave_chain(r, b, place)
        window.finished = entry.instruction.group

    cdef void leave_chain(self, int r, int b, int place) noexcept nogil:
        """Unlink an entry that has all its bursts; its place may be written again once it is released."""
        cdef Window* window = &self.window[r]
        cdef Bank* bank = &self.bank[r, b]
        cdef int before = bank.first
        if before == place:
            bank.first = self.entry[r, place].next
            before = NONE
        else:
            while self.entry[r, before].next != place:
                before = self.entry[r, before].next
            self.entry[r, before].next = self.entry[r, place].next
        if bank.last == place:
            bank.last = before
        if bank.owner == place:
            bank.owner = NONE
            window.owned &= ~(<uint64_t>1 << b)
        self.entry[r, place].next = window.free
        window.free = place
        window.entries -= 1
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
