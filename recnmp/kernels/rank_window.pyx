"""The window of a rank-NMP and its DDR scheduler, for every rank of one channel.

The page is docs/microarchitecture.md, section 4, "Scheduler" and "Refresh". What it does on a clock is inline
in ddr_scheduler.pxd; here are its state, the logs, and what it does seldom.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t, uint8_t

from .dram cimport ACT, N_COMMANDS, RD, Device, issue
from .local_bus cimport find_gaps
from .operand_path cimport OperandPath
from .vocabulary cimport NEVER, LoggedCommand
from .vocabulary import command_dtype
from .window_entries cimport NONE, Entry, column_of, counters_of

cdef Bank _bank[1]


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
        self.n_refi = n_refi
        self.shared_bus = shared_bus
        self.by_group = &device.by_group[0]
        find_gaps(device, self.gaps)
        cdef uint8_t[::1] window = np.zeros(self.ranks * sizeof(Window), np.uint8)
        cdef Bank[::1] bank = np.full(self.ranks * self.banks, NONE, np.asarray(<Bank[:1]>_bank).dtype)
        self.kept = (window.base, bank.base)
        self.window, self.bank = <Window*>&window[0], &bank[0]
        self.bus_taken = np.full(self.ranks // ranks_per_dimm, -1, np.int64)
        self.turn = np.zeros(self.ranks // ranks_per_dimm, np.int32)
        self.log_to(False, 0, 0)
        for r in range(self.ranks):
            self.window[r].bank = &bank[r * self.banks]
            self.window[r].entry = self.entries.entry + r * self.entries.size
            self.window[r].counters = counters_of(self.entries, r)
            self.window[r].by_rank = &device.by_rank[r * N_COMMANDS]
            self.window[r].by_bank = &device.by_bank[r * self.banks * N_COMMANDS]
            self.window[r].open_row = &device.open_row[r * self.banks]
            self.window[r].refresh_due = n_refi + r * stagger if n_refi else NEVER
            self.window[r].look = self.window[r].refresh_due
            for i in range(ISSUED):
                self.window[r].issued[i] = -NEVER
            self.window[r].read_look = self.window[r].activate_look = self.window[r].precharge_look = NEVER
            for i in range(self.banks):
                bank[r * self.banks + i].group = r * device.bankgroups + i // device.banks

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

    cdef void log(self, int r, int code, const Entry* entry, int line, int64_t clk) noexcept nogil:
        """A command for a line of an entry, or (NULL) for the rank."""
        cdef LoggedCommand* logged = &self.commands[self.n_commands]
        logged.clk = clk
        logged.command = code
        logged.rank = r
        logged.bankgroup = entry.instruction.bankgroup if entry != NULL else -1
        logged.bank = entry.instruction.bank if entry != NULL else -1
        logged.row = entry.instruction.row if code == ACT or code == RD else -1
        logged.column = entry.instruction.column + column_of(entry, line) if code == RD else -1
        self.n_commands += 1

    cdef void issue_rank(self, int r, int code, int64_t clk) noexcept nogil:
        """PREA or REF."""
        cdef int first = r * self.banks
        issue(self.device, code, r, self.bank[first].group, first, -1, clk)

    cdef void issue_shared(self, int r, int code, int group, int bank, int row, int64_t clk) noexcept nogil:
        """A command on the C/A bus of a DIMM: it is taken, and the next rank is asked first."""
        issue(self.device, code, r, group, bank, row, clk)
        self.bus_taken[r // self.ranks_per_dimm] = clk
        self.turn[r // self.ranks_per_dimm] = (r + 1) % self.ranks_per_dimm
