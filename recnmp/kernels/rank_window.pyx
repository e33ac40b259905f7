"""The window of a rank-NMP and its DDR scheduler, for every rank of one channel.

The page is docs/microarchitecture.md, section 4, "Scheduler" and "Refresh". An open row that an entry wants is not
closed, so each bank has one possible next command: RD for its oldest entry of the open row; PRE for its oldest entry if
none wants the open row; ACT for its oldest entry if it is closed. It changes only when the bank or its entries do.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from .dram cimport ACT, CLOSED, N_COMMANDS, PRE, PREA, RD, REF, Device, earliest, issue, rank_earliest
from .local_bus cimport find_gaps, issue_alone
from .operand_path cimport OperandPath, on_clock
from .vocabulary cimport HOST_READ, NEVER, PREDICT_ACT, PREDICT_PRE, PREDICT_RD, Instruction, LoggedCommand
from .vocabulary import command_dtype
from .window_entries cimport (
    ACTIVATES, NONE, PRECHARGES, PRECHARGES_ALL, READS, REFRESHES, ROW_CONFLICTS, ROW_HITS, ROW_MISSES,
    WRONG_PREDICTIONS, Entry, column_of,
)

cdef Bank _bank[1]
cdef Window _window[1]

cdef extern from *:
    """
    #define lowest_bit(x) __builtin_ctzll(x)
    """
    int lowest_bit(uint64_t x) nogil


@cython.final
cdef class RankWindow:
    """Windows and schedulers of all ranks of one channel.

    device: `Device` over ranks * bankgroups * banks, made from rules of scope "rank"; or of scope "host", with
    `ranks_per_dimm` ranks a bus, where the ranks of a DIMM share one (`shared_bus`). operands: where lines that were
    read go, over the windows' entries. n_refi: clocks between refreshes, 0 for none. stagger: clocks between the
    refreshes of one rank and the next (D13).
    Raises ValueError for more than 64 banks in a rank.
    """

    def __init__(
        self, Device device, int ranks_per_dimm, OperandPath operands, int64_t n_refi, int64_t stagger, bint shared_bus,
    ):
        cdef int r, i
        self.device = device
        self.ranks = device.ranks
        self.ranks_per_dimm = ranks_per_dimm
        self.banks = device.bankgroups * device.banks
        if self.banks > MAX_BANKS:
            raise ValueError(f"{self.banks} banks in a rank, at most {MAX_BANKS} are possible")
        self.operands = operands
        self.entries = operands.entries
        self.entry = self.entries.entry
        self.counters = self.entries.counters
        self.n_refi = n_refi
        self.shared_bus = shared_bus
        self.by_bank = &device.by_bank[0]
        self.by_group = &device.by_group[0]
        find_gaps(device, self.gaps)
        self.window = np.zeros(self.ranks, np.asarray(<Window[:1]>_window).dtype)
        self.bank = np.full((self.ranks, self.banks), NONE, np.asarray(<Bank[:1]>_bank).dtype)
        self.bus_taken = np.full(self.ranks // ranks_per_dimm, -1, np.int64)
        self.turn = np.zeros(self.ranks // ranks_per_dimm, np.int32)
        self.log_to(False, 0, 0)
        for r in range(self.ranks):
            self.window[r].refresh_due = n_refi + r * stagger if n_refi else NEVER
            self.window[r].look = self.window[r].refresh_due
            self.window[r].read_look = self.window[r].activate_look = self.window[r].precharge_look = NEVER
            for i in range(self.banks):
                self.bank[r, i].group = r * device.bankgroups + i // device.banks

    def log_to(self, bint logging, Py_ssize_t commands, Py_ssize_t operands):
        """Empty the logs and make room in them."""
        self.logging = logging
        self.commands = np.zeros(commands if logging else 0, command_dtype)
        self.n_commands = 0
        self.operands.log_to(logging, operands)

    def grow_log(self):
        """Twice the room for commands: refreshes are not bounded by the stream."""
        self.commands = np.concatenate([self.commands, np.zeros_like(self.commands)])

    cdef bint has_room(self) noexcept nogil:
        """Whether the log takes a command of every rank."""
        return self.n_commands + self.ranks <= self.commands.shape[0]

    def take_logs(self):
        """Commands and operands since the last call, in order of clock and rank; the logs are emptied."""
        commands = np.asarray(self.commands)[: self.n_commands]
        self.n_commands = 0
        # ranks go ahead of each other
        return commands[np.lexsort((commands["rank"], commands["clk"]))], self.operands.take_log()

    cdef int enter(self, int r, Instruction* instruction) noexcept nogil:
        """A LOOKUP takes a free entry; what its lines are, the caller says next."""
        return self.entries.enter(r, instruction, instruction.bankgroup * self.device.banks + instruction.bank)

    cdef void enter_read(self, int r, Instruction* instruction, int64_t clk) noexcept nogil:
        """A HOST_READ takes a free entry, and its line is wanted."""
        cdef int place = self.enter(r, instruction)
        self.entry[r, place].probed = 1
        self.entry[r, place].parameter_line = self.entry[r, place].parameter_lines = 0
        self.want(r, place, 1, clk)

    cdef void want(self, int r, int place, int lines, int64_t clk) noexcept nogil:
        """Lines of an entry (a bit each) become wanted: the scheduler sees them from the next clock on."""
        cdef Window* window = &self.window[r]
        cdef Entry* entry = &self.entry[r, place]
        entry.wanted |= lines
        if entry.wanted != lines:
            return
        window.fresh = place if window.fresh == NONE else window.fresh
        self.join_chain(r, place)
        if self.bank[r, entry.bank].owner == place:
            window.owned |= <uint64_t>1 << entry.bank
        window.look = min(window.look, max(self.soonest(r), clk + 1))

    cdef void settle(self, int r, Entry* entry, int place) noexcept nogil:
        """No line of an entry is unprobed or wanted any more: class it by what was issued for it, if there was an RD,
        and see whether the host had predicted that (D3)."""
        cdef int needed = PREDICT_RD
        if self.bank[r, entry.bank].owner == place:
            self.bank[r, entry.bank].owner = NONE
        if not entry.read or entry.instruction.opcode == HOST_READ:
            return
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

    cdef void set_candidate(self, int r, int b) noexcept nogil:
        """Find what bank b needs next, and for which entry."""
        cdef Window* window = &self.window[r]
        cdef Bank* bank = &self.bank[r, b]
        cdef Entry* entry = &self.entry[r, 0]
        cdef int open_row = self.device.open_row[r * self.banks + b]
        cdef int place = bank.first
        cdef uint64_t bit = <uint64_t>1 << b
        window.reads &= ~bit
        window.activates &= ~bit
        window.precharges &= ~bit
        if window.reads == 0:
            window.read_look = NEVER
        if window.activates == 0:
            window.activate_look = NEVER
        if window.precharges == 0:
            window.precharge_look = NEVER
        bank.candidate = place
        if place == NONE:
            return
        bank.age = entry[place].age
        if open_row == CLOSED:
            window.activates |= bit
            window.activate_look = min(window.activate_look, self.legal(r, b, ACT))
            return
        while place != NONE and entry[place].instruction.row != open_row:
            place = entry[place].next
        if place == NONE:
            window.precharges |= bit
            window.precharge_look = min(window.precharge_look, self.legal(r, b, PRE))
        else:
            window.reads |= bit
            window.read_look = min(window.read_look, self.legal(r, b, RD))
            bank.candidate = place
            bank.age = entry[place].age

    cdef int64_t schedule(self, int r, int64_t clk) noexcept nogil:
        """Issue at most one DDR command; returns the next clock on which one could be issued."""
        cdef Window* window = &self.window[r]
        cdef int64_t soonest
        cdef bint issued = False
        cdef int b
        if self.shared_bus and self.bus_taken[r // self.ranks_per_dimm] == clk:
            return clk + 1
        if clk >= window.refresh_due:
            soonest = self.refresh(r, clk, &issued)
            return clk + 1 if issued else soonest
        b = self.choose(r, clk, &soonest)
        if b == NONE:
            return soonest
        self.serve(r, b, clk)
        return max(clk + 1, self.soonest(r))

    cdef int64_t soonest(self, int r) noexcept nogil:
        """A clock before which no command can go, from what holds for the whole rank."""
        cdef Window* window = &self.window[r]
        cdef int64_t read = max(window.read_look, rank_earliest(self.device, RD, r))
        cdef int64_t activate = max(window.activate_look, rank_earliest(self.device, ACT, r))
        cdef int64_t precharge = max(window.precharge_look, rank_earliest(self.device, PRE, r))
        return min(window.refresh_due, min(read, min(activate, precharge)))

    cdef int choose(self, int r, int64_t clk, int64_t* soonest) noexcept nogil:
        """The bank whose candidate goes in clk, or NONE and the soonest clock on which one could. Issues nothing."""
        cdef Window* window = &self.window[r]
        cdef int b = NONE, other = NONE
        if max(window.read_look, rank_earliest(self.device, RD, r)) <= clk:
            b = self.oldest(r, window.reads, RD, clk, &window.read_look)
            if b != NONE:
                return b
        if max(window.activate_look, rank_earliest(self.device, ACT, r)) <= clk:
            b = self.oldest(r, window.activates, ACT, clk, &window.activate_look)
        if max(window.precharge_look, rank_earliest(self.device, PRE, r)) <= clk:
            other = self.oldest(r, window.precharges, PRE, clk, &window.precharge_look)
        if b == NONE or (other != NONE and self.bank[r, other].age < self.bank[r, b].age):
            b = other
        if b == NONE:
            soonest[0] = self.soonest(r)
        return b

    cdef int oldest(self, int r, uint64_t banks, int command, int64_t clk, int64_t* look) noexcept nogil:
        """Of these banks, which all need `command`, the one with the oldest candidate that may go in clk, if any may;
        the rank's own rules let one go.

        look: no candidate may go before; kept here, and lowered where a candidate joins. Rules only put clocks off, so
        it stays true whatever is issued meanwhile.
        """
        cdef int64_t first, soonest = NEVER, age = NEVER
        cdef const Bank* bank = &self.bank[r, 0]
        cdef const int64_t* by_bank = self.by_bank + r * self.banks * N_COMMANDS + command
        cdef const int64_t* by_group = self.by_group + command
        cdef int b, best = NONE
        while banks:
            b = lowest_bit(banks)
            banks &= banks - 1
            first = max(by_bank[b * N_COMMANDS], by_group[bank[b].group * N_COMMANDS])
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
            self.read_line(r, best, self.bank[r, best].owner, clk)
        elif soonest <= clk and self.device.open_banks[r]:
            self.command(r, PREA, NULL, 0, clk)
            for b in range(self.banks):
                self.bank[r, b].owner = NONE
                self.set_candidate(r, b)
        elif soonest <= clk:
            self.command(r, REF, NULL, 0, clk)
            window.refresh_due += self.n_refi
        return soonest

    cdef void serve(self, int r, int b, int64_t clk) noexcept nogil:
        """Issue what bank b's candidate needs."""
        cdef Window* window = &self.window[r]
        cdef int place = self.bank[r, b].candidate
        cdef Entry* entry = &self.entry[r, place]
        if window.reads >> b & 1:
            self.read_line(r, b, place, clk)
            return
        if window.activates >> b & 1:
            self.command(r, ACT, entry, 0, clk)
            entry.activated = 1
            self.bank[r, b].owner = place
            window.owned |= <uint64_t>1 << b
        else:
            self.command(r, PRE, entry, 0, clk)
            entry.precharged = 1
            self.bank[r, b].owner = NONE
        self.set_candidate(r, b)

    cdef void read_line(self, int r, int b, int place, int64_t clk) noexcept nogil:
        """RD of the entry's first wanted line, which is then coming; with its last one the entry leaves its chain."""
        cdef Entry* entry = &self.entry[r, place]
        cdef int line = lowest_bit(entry.wanted)
        cdef int64_t landed
        self.command(r, RD, entry, line, clk)
        entry.read = 1
        entry.wanted &= entry.wanted - 1
        if entry.wanted == 0:
            self.leave_chain(r, b, place)
            if entry.probed == entry.instruction.bursts:
                self.settle(r, entry, place)
        if entry.instruction.opcode == HOST_READ:
            # past the entry in the last clock of its transfer
            landed = on_clock(self.operands, clk + self.operands.data_delay - 1) + self.operands.divider
            self.traffic.land(r, entry.instruction.lookup, landed)
            self.entries.give_back(r, place, landed)
        else:
            self.operands.come(r, place, line, clk)

    cdef void join_chain(self, int r, int place) noexcept nogil:
        """An entry has wanted lines now: it goes behind the older ones of its bank."""
        cdef Entry* entry = &self.entry[r, place]
        cdef Bank* bank = &self.bank[r, entry.bank]
        cdef int before = bank.last
        if before != NONE and self.entry[r, before].age > entry.age:
            before = NONE
            if self.entry[r, bank.first].age < entry.age:
                before = bank.first
                while self.entry[r, self.entry[r, before].next].age < entry.age:
                    before = self.entry[r, before].next
        if before == NONE:
            entry.next = bank.first
            bank.first = place
        else:
            entry.next = self.entry[r, before].next
            self.entry[r, before].next = place
        if entry.next == NONE:
            bank.last = place
        if before == NONE or not self.comes_after(r, place):
            self.set_candidate(r, entry.bank)

    cdef bint comes_after(self, int r, int place) noexcept nogil:
        """Whether an entry that has joined a bank's chain leaves its candidate as it was."""
        cdef Window* window = &self.window[r]
        cdef Entry* entry = &self.entry[r, place]
        if self.bank[r, entry.bank].age > entry.age:
            return False
        return not window.precharges >> entry.bank & 1 or (
            self.device.open_row[r * self.banks + entry.bank] != entry.instruction.row
        )

    cdef void leave_chain(self, int r, int b, int place) noexcept nogil:
        """Unlink an entry that has no wanted line any more."""
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
            window.owned &= ~(<uint64_t>1 << b)
        self.set_candidate(r, b)

    cdef void command(self, int r, int code, Entry* entry, int line, int64_t clk) noexcept nogil:
        """Issue a command for a line of an entry (NULL: for the rank), count and log it."""
        cdef LoggedCommand* logged
        cdef int row = entry.instruction.row if entry != NULL else -1
        cdef int b = entry.bank if entry != NULL else 0
        if self.shared_bus or code == PREA or code == REF:
            issue(self.device, code, r, self.bank[r, b].group, r * self.banks + b, row, clk)
        else:
            issue_alone(self.device, self.gaps, code, r, self.bank[r, b].group, r * self.banks + b, row, clk)
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
            logged = &self.commands[self.n_commands]
            logged.clk = clk
            logged.command = code
            logged.rank = r
            logged.bankgroup = entry.instruction.bankgroup if entry != NULL else -1
            logged.bank = entry.instruction.bank if entry != NULL else -1
            logged.row = row if code == ACT or code == RD else -1
            logged.column = entry.instruction.column + column_of(entry, line) if code == RD else -1
            self.n_commands += 1
