"""One channel: its blocks together, and the loop that is the only clock.

The page is docs/microarchitecture.md; the host's books and the bus are host_bus.pyx. A clock is: bus, ranks, DIMMs;
each reads what stood at its start. `run` with skip=False steps every block on every clock; with skip=True it goes to
the next clock on which any block says that something can happen, and lets ranks go ahead (rank_nmp). Both must give
the same logs (tests/test_near_memory.py).
"""

cimport cython

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from .dimm_nmp cimport Dimm, next_event
from .host_bus cimport HostBus
from .rank_nmp cimport Rank
from .vocabulary cimport CONFIG, GROUPS, NEVER, TAGS, Instruction
from .packet_stream import check_stream
from .vocabulary import burst_dtype, sent_dtype

cdef enum:  # why run_clocks ended
    RUNNING, OVER, STUCK, LOG_FULL

cdef enum:
    CHUNK = 200_000  # stepped clocks between two looks at signals and progress
    STUCK_CLOCKS = 1 << 24  # no packet's instruction or result in so many clocks (host reads go on for ever)


@cython.final
cdef class Channel(HostBus):
    """The near-memory side of one channel; what it is made of is said in `HostBus`."""

    def run(
        self, Instruction[::1] stream, int64_t start_clk, bint skip=True, bint logging=False, bint drain=True,
        progress=None,
    ):
        """Send one batch of packets, and run until its last result has crossed and the clocks before are stepped.

        stream: dtype `instruction_dtype`; packets one after another, each CONFIG, LOOKUPs, END, numbered upwards by
        one over the life of the channel. start_clk: first clock on which an instruction may go, not before `now`.
        drain=False returns as soon as the last instruction is sent: the next batch then follows back to back.
        progress: called with the number of instructions sent so far, now and then.
        Returns the end clock (drain=False: the clock after the last instruction).
        Raises ValueError for a stream that is no sequence of packets, RuntimeError if nothing moves any more.
        """
        cdef int64_t state
        self.offer(stream, start_clk, logging, drain)
        while True:
            with nogil:
                state = self.run_clocks(skip, drain, CHUNK)
            PyErr_CheckSignals()
            if progress is not None:
                progress(self.position)
            if state == OVER:
                return self.last_crossed if drain else self.now
            if state == LOG_FULL:
                self._grow_logs()
            if state == STUCK:
                raise RuntimeError(
                    f"the machine stands still: clock {self.now}, {self.position} of {len(stream)} instructions sent"
                )

    def offer(self, Instruction[::1] stream, int64_t start_clk, bint logging=False, bint closing=True):
        """Hand the host the packets of a batch, as `run` does; closing: none follows before its results have crossed.

        Raises ValueError for a stream that is no sequence of packets, or if the batch before is not all sent.
        """
        if self.position < self.stream.shape[0]:
            left = self.stream.shape[0] - self.position
            raise ValueError(f"{left} instructions of the batch before are not sent yet")
        device = self.ranks.window.device
        operands = check_stream(
            stream, self.ranks.ranks, device.bankgroups, device.banks, self.tags_per_group,
            self.ranks.window.operands.foreseen,
        )
        self.stream = stream
        self.sent = np.zeros(stream.shape[0], np.uint8)
        self.position = 0
        self.unsent = stream.shape[0]
        self.start_clk = start_clk
        self.last_crossed = max(self.last_crossed, start_clk)
        self.next_clk = min(self.next_clk, start_clk)
        self.progress_clk = max(self.now, start_clk)
        self.logging = logging
        self._make_room(stream, operands)
        self.ranks.start_batch(stream, start_clk, closing)

    def step(self):
        """One clock of the whole channel, for lockstep; returns the clock that was stepped."""
        cdef int64_t clk = self.now
        if self.logging and not self.has_room():
            self._grow_logs()
        self.step_clock(clk, False, True)
        self.now = clk + 1
        return clk

    def take_logs(self):
        """(commands, operands, result bursts, sends) since the last call; the logs are emptied."""
        commands, operands = self.ranks.window.take_logs()
        bursts = np.asarray(self.bursts)[: self.n_bursts].copy()
        sends = np.asarray(self.sends)[: self.n_sends].copy()
        self.n_bursts = 0
        self.n_sends = 0
        return commands, operands, bursts, sends

    def take_packets(self):
        """int64 [n, len(PACKET_COLUMNS)]: the packets that ended since the last call (kernels/packet_log)."""
        return self.packets.take()

    def take_traffic(self):
        """Of the host's reads since the last call: int64 [n, 3] as of kernels/host_traffic; none without logs."""
        return np.zeros((0, 3), np.int64) if self.traffic is None else self.traffic.take_log()

    def counts(self):
        """int64 [len(CHANNEL_COUNTERS)], a copy."""
        return np.asarray(self.counters).copy()

    def count_stalls(self, int64_t end):
        return self.ranks.count_stalls(self.last_crossed, end)

    def reset_counts(self):
        """Counters of the channel and its blocks to zero; the machine's state stays."""
        self.counters[:] = 0
        self.ranks.reset_counts()
        self.dimms.reset_counts()
        if self.traffic is not None:
            self.traffic.reset_counts(self.now)

    def _make_room(self, Instruction[::1] stream, int64_t operands):
        bursts = int(np.asarray(stream)["bursts"].sum())
        packets = int(np.count_nonzero(np.asarray(stream)["opcode"] == CONFIG)) + GROUPS
        self.ranks.window.log_to(self.logging, bursts + 2 * stream.shape[0] + 64, operands + self.ranks.in_flight())
        # a result needs a LOOKUP of its DIMM and tag; of packets sent before, all tags may still come
        results = self.dimms.dimms * TAGS * 8
        if self.logging:
            results += int(((np.asarray(stream)["dim"] + 15) // 16).sum())
        self.bursts = np.zeros(results if self.logging else 0, burst_dtype)
        self.sends = np.zeros(stream.shape[0] if self.logging else 0, sent_dtype)
        self.n_bursts = 0
        self.n_sends = 0
        if self.traffic is not None:
            self.traffic.log_to(self.logging)
        self.packets.make_room(packets)

    def _grow_logs(self):
        if not self.ranks.window.has_room():
            self.ranks.window.grow_log()
        if self.has_traffic and not self.traffic.has_room():
            self.traffic.grow_log()

    cdef bint has_room(self) noexcept nogil:
        """Whether the logs take what a clock can bring; those of operands, sends and results do."""
        return self.ranks.window.has_room() and not (self.has_traffic and not self.traffic.has_room())

    cdef bint finished(self, bint drain) noexcept nogil:
        cdef int g
        if self.position < self.stream.shape[0]:
            return False
        for g in range(self.groups):
            if drain and self.packet_of[g] >= 0:
                return False
        return True

    cdef int64_t run_clocks(self, bint skip, bint drain, int64_t steps) noexcept nogil:
        """Run for so many stepped clocks at most, and say why it ended."""
        cdef int64_t clk
        while steps:
            clk = self.now
            if not drain and self.finished(False):
                return OVER
            if skip:
                clk = max(clk, min(self.next_clk, next_event(self.dimms)))
            if clk >= self.last_crossed and self.finished(drain):
                self.now = max(self.now, self.last_crossed)
                return OVER
            if clk - self.progress_clk > STUCK_CLOCKS:
                return STUCK
            if self.logging and not self.has_room():
                return LOG_FULL
            self.step_clock(clk, skip, drain)
            self.now = clk + 1
            steps -= 1
        return RUNNING

    cdef void step_clock(self, int64_t clk, bint skip, bint drain) noexcept nogil:
        """The clock's story: 1 the bus, 2 the ranks, 3 the DIMMs. Each sees what stood at the clock's start.

        Ranks and DIMMs work on one clock in `divider`.
        """
        cdef int d, i, r, g, turn, per_dimm = self.ranks.ranks_per_dimm
        cdef int64_t horizon
        cdef bint popped = False
        cdef Rank* rank
        cdef Dimm* dimm
        if not skip or self.next_clk <= clk:
            self.next_clk = self.step_bus(clk)
        if clk & (self.ranks.operands.divider - 1):
            return
        # where ranks share a local bus, or each clock is stepped, none goes ahead; else none goes behind the run's end,
        # which is not before the last instruction is sent
        horizon = clk
        if skip and not self.ranks.window.shared_bus:
            horizon = NEVER if drain else clk + self.unsent // self.instructions_per_clock
        for d in range(self.dimms.dimms):
            dimm = &self.dimms.dimm[d]
            rank = &self.ranks.rank[d * per_dimm]
            turn = self.ranks.window.turn[d]
            for i in range(per_dimm):
                r = turn + i if turn + i < per_dimm else turn + i - per_dimm
                if skip and rank[r].next_clk > clk:
                    continue
                popped |= self.ranks.run_rank(d * per_dimm + r, clk, horizon, skip)
                dimm.next_clk = min(dimm.next_clk, rank[r].news)
                rank[r].news = NEVER
        if self.has_traffic:
            self.next_clk = min(self.next_clk, self.traffic.news)
            self.traffic.news = NEVER
        if popped:
            self.next_clk = min(self.next_clk, self.credit_comes(clk))
        for d in range(self.dimms.dimms):
            if not skip or self.dimms.dimm[d].next_clk <= clk:
                g = self.dimms.step_dimm(d, self.packet_of, clk)
                if g >= 0:
                    self.next_clk = min(self.next_clk, self.dimms.dimm[d].ready[g])
