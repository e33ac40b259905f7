"""One channel: the host's books (tag groups, credits), the bus, and the loop that is the only clock.

The page is docs/microarchitecture.md, section 3. A clock is: bus, ranks, DIMMs; each reads what stood at its
start. `run` with skip=False steps every block on every clock; with skip=True it goes to the next clock on which any
block says that something can happen. Both must give the same logs (tests/test_near_memory.py).
"""

cimport cython

import numpy as np

from cpython.exc cimport PyErr_CheckSignals

from .dimm_nmp cimport Dimm, DimmNmp
from .host_traffic cimport HostTraffic
from .packet_log cimport PacketLog
from .rank_nmp cimport Rank, RankNmp
from .vocabulary cimport CONFIG, GROUPS, NEVER, TAGS, Instruction, ResultBurst, is_lookup
from .packet_stream import check_stream
from .vocabulary import burst_dtype, instruction_dtype, sent_dtype

cdef enum:
    NOBODY = -2
    HOST = -1

cdef enum:
    INSTRUCTIONS, PACKETS, INSTRUCTION_CLOCKS, RESULT_BURSTS, TURNAROUNDS
    N_CHANNEL_COUNTERS

CHANNEL_COUNTERS = ("instructions", "packets", "instruction_clocks", "result_bursts", "turnarounds")

cdef enum:  # why run_clocks ended
    RUNNING, OVER, STUCK, LOG_FULL

cdef enum:
    CHUNK = 200_000  # stepped clocks between two looks at signals and progress
    STUCK_CLOCKS = 1 << 24  # no instruction or result in so many clocks: longer than any wait for a refresh


@cython.final
cdef class Channel:
    """The near-memory side of one channel.

    ranks, dimms: its blocks, over the same ranks. instructions_per_clock, turnaround (clocks), skip_full_rank: D2, D12.
    burst_clocks: clocks of a 64-byte burst on the bus (BL of the rules, 4). plain_ddr: instructions go as the DDR commands
    that they stand for, one a clock. traffic: what the host reads beside the packets (D17), or None.
    """

    def __init__(
        self, RankNmp ranks, DimmNmp dimms, int instructions_per_clock, int64_t turnaround, int64_t burst_clocks,
        bint skip_full_rank, bint plain_ddr=False, HostTraffic traffic=None,
    ):
        cdef int g
        self.ranks = ranks
        self.dimms = dimms
        self.groups = dimms.groups
        self.tags_per_group = dimms.tags_per_group
        self.instructions_per_clock = 1 if plain_ddr else instructions_per_clock
        self.plain_ddr = plain_ddr
        self.traffic = ranks.window.traffic = traffic
        self.has_traffic = traffic is not None
        self.read_was_last = False
        self.turnaround = turnaround
        self.burst_clocks = burst_clocks
        self.skip_full_rank = skip_full_rank
        self.credits = np.full(ranks.ranks, ranks.fifo_depth, np.int32)
        self.tags_sent = np.zeros((self.groups, dimms.dimms), np.int32)
        for g in range(GROUPS):
            self.packet_of[g] = -1
        self.bus_end = 0
        self.last_user = NOBODY
        self.next_clk = NEVER
        self.now = 0
        self.last_crossed = 0
        self.packets = PacketLog()
        self.stream = np.zeros(0, instruction_dtype)
        self.counters = np.zeros(N_CHANNEL_COUNTERS, np.int64)

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
        self.offer(stream, start_clk, logging)
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

    def offer(self, Instruction[::1] stream, int64_t start_clk, bint logging=False):
        """Hand the host the packets of a batch, as `run` does.

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
        self.start_clk = start_clk
        self.last_crossed = max(self.last_crossed, start_clk)
        self.next_clk = min(self.next_clk, start_clk)
        self.progress_clk = max(self.now, start_clk)
        self.logging = logging
        self._make_room(stream, operands)
        if self.ranks.cache is not None:
            self.ranks.cache.start_batch(start_clk)

    def step(self):
        """One clock of the whole channel, for lockstep; returns the clock that was stepped."""
        cdef int64_t clk = self.now
        if self.logging and not self.has_room():
            self._grow_logs()
        self.step_clock(clk, False)
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

    def reset_counts(self):
        """Counters of the channel and its blocks to zero; the machine's state stays."""
        self.counters[:] = 0
        self.ranks.window.entries.reset_counts()
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
        cdef int i
        while steps:
            clk = self.now
            if not drain and self.finished(False):
                return OVER
            if skip:
                clk = max(clk, self.next_clk)
                for i in range(self.ranks.ranks):
                    clk = min(clk, self.ranks.rank[i].next_clk)
                for i in range(self.dimms.dimms):
                    clk = min(clk, self.dimms.dimm[i].next_clk)
            if clk >= self.last_crossed and self.finished(drain):
                self.now = max(self.now, self.last_crossed)
                return OVER
            if clk - self.progress_clk > STUCK_CLOCKS:
                return STUCK
            if self.logging and not self.has_room():
                return LOG_FULL
            self.step_clock(clk, skip)
            self.now = clk + 1
            steps -= 1
        return RUNNING

    cdef void step_clock(self, int64_t clk, bint skip) noexcept nogil:
        """The clock's story: 1 the bus, 2 the ranks, 3 the DIMMs. Each sees what stood at the clock's start."""
        cdef int d, i, r, g, turn, per_dimm = self.ranks.ranks_per_dimm
        cdef Rank* rank
        cdef Dimm* dimm
        if not skip or self.next_clk <= clk:
            self.next_clk = self.step_bus(clk)
        for d in range(self.dimms.dimms):
            dimm = &self.dimms.dimm[d]
            rank = &self.ranks.rank[d * per_dimm]
            turn = self.ranks.window.turn[d]
            for i in range(per_dimm):
                r = turn + i if turn + i < per_dimm else turn + i - per_dimm
                if skip and rank[r].next_clk > clk:
                    continue
                if self.ranks.step_rank(d * per_dimm + r, clk, skip):
                    self.credits[d * per_dimm + r] += 1
                    self.progress_clk = clk
                    self.next_clk = min(self.next_clk, clk + 1)
                dimm.next_clk = min(dimm.next_clk, rank[r].news)
                rank[r].news = NEVER
        if self.has_traffic:
            self.next_clk = min(self.next_clk, self.traffic.news)
            self.traffic.news = NEVER
        for d in range(self.dimms.dimms):
            if not skip or self.dimms.dimm[d].next_clk <= clk:
                g = self.dimms.step_dimm(d, self.packet_of, clk)
                if g >= 0:
                    self.next_clk = min(self.next_clk, self.dimms.dimm[d].ready[g])

    cdef int64_t step_bus(self, int64_t clk) noexcept nogil:
        """Host lines first, then results, then instructions; returns the next clock on which the bus could do something."""
        cdef int64_t soonest = NEVER, turned = self.bus_end + self.turnaround, offered = NEVER, clocks
        cdef int d = -1, group = -1
        if clk < self.bus_end:
            return self.bus_end
        if self.has_traffic:
            d = self.traffic.dimm_to_send(clk, self.last_user, &soonest)
        if d < 0:
            d = self.dimm_to_send(clk, &group, &soonest)
        if d >= 0:
            if self.last_user != d and self.last_user != NOBODY and clk < turned:
                return min(turned, soonest)
            self.counters[TURNAROUNDS] += self.last_user != d and self.last_user != NOBODY
            self.last_user = d
            if group >= 0:
                self.send_results(d, group, clk)
            else:
                self.bus_end = self.traffic.send_lines(d, clk, self.burst_clocks)
            return self.bus_end
        if self.position < self.stream.shape[0]:
            offered = self.start_clk
        if self.has_traffic:
            offered = min(offered, self.traffic.next_arrival)
        if clk < offered:
            return min(offered, soonest)
        if self.last_user >= 0 and clk < turned:
            return min(turned, soonest)
        clocks = self.send_instructions(clk)
        if clocks:
            self.counters[INSTRUCTION_CLOCKS] += clocks
            self.counters[TURNAROUNDS] += self.last_user >= 0
            self.bus_end = clk + clocks
            self.last_user = HOST
            return self.bus_end
        # a returned credit will wake it; a group or a place of a host buffer is freed by the bus itself
        if self.start_clk > clk:
            soonest = min(soonest, self.start_clk)
        if self.has_traffic and self.traffic.next_arrival > clk:
            soonest = min(soonest, self.traffic.next_arrival)
        return soonest

    cdef int dimm_to_send(self, int64_t clk, int* group, int64_t* soonest) noexcept nogil:
        """The DIMM whose results go next and the group they belong to, -1 if none is ready in clk."""
        cdef int d, g, best = -1
        cdef bint stays, best_stays = False
        cdef int64_t ready
        for d in range(self.dimms.dimms):
            stays = d == self.last_user
            for g in range(self.groups):
                ready = self.dimms.dimm[d].ready[g]
                if ready > clk:
                    soonest[0] = min(soonest[0], ready)
                elif (
                    best < 0
                    or (stays and not best_stays)
                    or (stays == best_stays and self.packet_of[g] < self.packet_of[group[0]])
                ):
                    best = d
                    best_stays = stays
                    group[0] = g
        return best

    cdef void send_results(self, int d, int group, int64_t clk) noexcept nogil:
        """All result bursts of a packet in one DIMM, one after another, in order of tag and element group."""
        cdef int tag, element_group, width = self.dimms.width(d, group), present = self.dimms.dimm[d].present[group]
        cdef int64_t sent = 0
        cdef ResultBurst* line
        for tag in range(self.tags_per_group):
            if not present >> tag & 1:
                continue
            for element_group in range(width):
                if self.logging:
                    line = &self.bursts[self.n_bursts]
                    line.clk = clk + sent * self.burst_clocks
                    line.packet = self.packet_of[group]
                    line.dimm = d
                    line.tag = tag
                    line.element_group = element_group
                    self.n_bursts += 1
                sent += 1
        self.dimms.dimm[d].ready[group] = NEVER
        self.counters[RESULT_BURSTS] += sent
        self.bus_end = clk + sent * self.burst_clocks
        self.last_crossed = max(self.last_crossed, self.bus_end)
        self.progress_clk = clk
        self.bursts_due[group] -= sent
        if self.bursts_due[group] == 0:
            self.packets.add(
                self.packet_of[group], self.offered[group], self.bus_end, self.ranks.window.entries.met, group
            )
            self.packet_of[group] = -1
            # the bus is taken until all has crossed, so no CONFIG can take the group before

    cdef int64_t send_instructions(self, int64_t clk) noexcept nogil:
        """A read of the host and instructions of packets, as many as go in clk; returns the clocks that they take."""
        cdef int64_t clocks = 0
        cdef bint alone = self.instructions_per_clock == 1
        if self.has_traffic and not (alone and self.read_was_last):
            clocks = self.send_read(clk)
        if clk >= self.start_clk and not (clocks and alone):
            clocks = max(clocks, self.send_packets(clk, self.instructions_per_clock - (clocks > 0)))
        if self.has_traffic and clocks == 0 and alone and self.read_was_last:
            clocks = self.send_read(clk)
        return clocks

    cdef int64_t send_read(self, int64_t clk) noexcept nogil:
        """The host's oldest read, if it may go; returns the clocks that it takes."""
        cdef Instruction* read = &self.traffic.instruction
        cdef int64_t clocks = 2 if self.plain_ddr else 1
        if self.credits[read.rank] == 0 or not self.traffic.may_go(clk):
            return 0
        self.credits[read.rank] -= 1
        self.ranks.push(read.rank, read, clk + clocks)
        self.traffic.go(clk)
        self.read_was_last = True
        return clocks

    cdef int64_t send_packets(self, int64_t clk, int most) noexcept nogil:
        """At most so many instructions of packets, in stream order; returns the clocks that they take."""
        cdef int count = 0, r, lowest
        cdef int64_t at = self.position, clocks = 0
        cdef Instruction* instruction
        while count < most and at < self.stream.shape[0]:
            instruction = &self.stream[at]
            if self.sent[at]:
                at += 1
                continue
            if is_lookup(instruction.opcode):
                r = instruction.rank
                if self.credits[r] == 0:
                    if not self.skip_full_rank:
                        return clocks
                    at += 1
                    continue
            elif at != self.position:
                return clocks  # END and CONFIG wait until all before them are sent
            else:
                for r in range(self.ranks.ranks):
                    if self.credits[r] == 0:
                        return clocks
                if instruction.opcode == CONFIG:
                    lowest = 0
                    while lowest < self.groups and self.packet_of[lowest] >= 0:
                        lowest += 1
                    if lowest == self.groups:
                        return clocks
                    self.open_group(lowest, instruction.packet, clk)
            clocks = self.send(at, clk)
            count += 1
            while self.position < self.stream.shape[0] and self.sent[self.position]:
                self.position += 1
            at = max(at + 1, self.position)
        return clocks

    cdef void open_group(self, int group, int64_t packet, int64_t clk) noexcept nogil:
        cdef int d
        self.sending = group
        self.packet_of[group] = packet
        self.offered[group] = clk
        self.bursts_due[group] = 0
        for d in range(self.dimms.dimms):
            self.tags_sent[group, d] = 0
        self.counters[PACKETS] += 1

    cdef int64_t send(self, int64_t at, int64_t clk) noexcept nogil:
        """One instruction goes to its rank, or to all; the host keeps its books. Returns the clocks that it takes."""
        cdef Instruction* instruction = &self.stream[at]
        cdef int64_t clocks = 1
        cdef int r, d, bit = 1 << instruction.tag, group = self.sending
        instruction.group = group
        self.sent[at] = 1
        if is_lookup(instruction.opcode):
            r = instruction.rank
            d = r // self.ranks.ranks_per_dimm
            if not self.tags_sent[group, d] & bit:
                self.tags_sent[group, d] |= bit
                self.bursts_due[group] += (instruction.dim + 15) // 16
            if self.plain_ddr:  # the commands that it stands for
                clocks = instruction.bursts + (instruction.ddr_cmd & 1) + (instruction.ddr_cmd >> 2)
            self.credits[r] -= 1
            self.ranks.push(r, instruction, clk + clocks)
        else:
            for r in range(self.ranks.ranks):
                self.credits[r] -= 1
                self.ranks.push(r, instruction, clk + 1)
        self.read_was_last = False
        self.progress_clk = clk
        self.counters[INSTRUCTIONS] += 1
        if self.logging:
            self.sends[self.n_sends].clk = clk
            self.sends[self.n_sends].position = at
            self.n_sends += 1
        return clocks
