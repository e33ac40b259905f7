"""The host's side of one channel: its books (tag groups, credits), and the bus with all that crosses it.

The page is docs/microarchitecture.md, section 3. `step_bus` does one clock; the loop is channel.pyx.
"""

import numpy as np

from libc.stdint cimport int64_t

from .credits cimport ALL, ANY, NOBODYS, credit_from, next_credit
from .dimm_nmp cimport DimmNmp
from .host_traffic cimport HostTraffic
from .packet_log cimport PacketLog
from .rank_nmp cimport RankNmp
from .vocabulary cimport CONFIG, GROUPS, NEVER, Instruction, ResultBurst, is_lookup
from .vocabulary import instruction_dtype

cdef enum:
    NOBODY = -2
    HOST = -1

cdef enum:
    INSTRUCTIONS, PACKETS, INSTRUCTION_CLOCKS, RESULT_BURSTS, TURNAROUNDS
    N_CHANNEL_COUNTERS

CHANNEL_COUNTERS = ("instructions", "packets", "instruction_clocks", "result_bursts", "turnarounds")


cdef class HostBus:
    """The host's books and the bus of one channel.

    ranks, dimms: its blocks, over the same ranks. instructions_per_clock, turnaround (clocks), skip_full_rank: D2, D12.
    burst_clocks: clocks of a 64-byte burst on the bus (BL of the rules, 4). plain_ddr: instructions go as the DDR
    commands that they stand for, one a clock. traffic: what the host reads beside the packets (D17), or None.
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
        self.tags_sent = np.zeros((self.groups, dimms.dimms), np.int32)
        for g in range(GROUPS):
            self.packet_of[g] = -1
        self.bus_end = 0
        self.last_user = NOBODY
        self.blocked = self.read_blocked = NOBODYS
        self.next_clk = traffic.next_arrival if self.has_traffic else NEVER
        self.last_crossed = 0
        self.packets = PacketLog()
        self.stream = np.zeros(0, instruction_dtype)
        self.counters = np.zeros(N_CHANNEL_COUNTERS, np.int64)

    cdef int64_t step_bus(self, int64_t clk) noexcept nogil:
        """Host lines first, then results, then instructions; returns the next clock on which something could go."""
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
        # a credit whose clock is not known yet will wake it; groups and places of host buffers are freed by the bus
        soonest = min(soonest, self.credit_comes(clk))
        if self.start_clk > clk:
            soonest = min(soonest, self.start_clk)
        if self.has_traffic and self.traffic.next_arrival > clk:
            soonest = min(soonest, self.traffic.next_arrival)
        return soonest

    cdef int64_t credit_comes(self, int64_t clk) noexcept nogil:
        """First clock after clk on which the host has a credit that it waited for, as far as known."""
        cdef int64_t first = NEVER
        if self.blocked != NOBODYS:
            first = next_credit(self.ranks, self.blocked, clk)
        if self.read_blocked != NOBODYS:
            first = min(first, next_credit(self.ranks, self.read_blocked, clk))
        return first

    cdef int dimm_to_send(self, int64_t clk, int* group, int64_t* soonest) noexcept nogil:
        """The DIMM whose results go next and the group they belong to, -1 if none is ready in clk."""
        cdef int d, g, best = -1
        cdef bint stays, best_stays = False
        cdef int64_t ready
        if self.dimms.results == 0:
            return -1
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
        self.dimms.results -= 1
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
        """A read of the host and instructions of packets, as many as go in clk; returns the clocks that they take.

        They take turns: the read is asked first, unless the last one that went was a read.
        """
        cdef int count = 0
        cdef bint read_first = self.has_traffic and not self.read_was_last
        self.taken = 0
        self.blocked = self.read_blocked = NOBODYS
        if read_first:
            count = self.send_read(clk)
        if clk >= self.start_clk:
            count += self.send_packets(clk, self.instructions_per_clock - count)
        if self.has_traffic and not read_first and count < self.instructions_per_clock:
            self.send_read(clk)
        return self.taken

    cdef bint send_read(self, int64_t clk) noexcept nogil:
        """The host's oldest read, if it may go."""
        cdef Instruction* read = &self.traffic.instruction
        cdef int64_t clocks = 2 if self.plain_ddr else 1
        if not self.traffic.may_go(clk):
            return False
        if credit_from(self.ranks, read.rank) > clk:
            self.read_blocked = read.rank
            return False
        if self.broadcast_waits(clk):
            return False
        self.ranks.push(read.rank, read, clk + clocks)
        self.traffic.go(clk)
        self.read_was_last = True
        self.taken = max(self.taken, clocks)
        return True

    cdef bint broadcast_waits(self, int64_t clk) noexcept nogil:
        """Whether the packets' next instruction wants nothing but a credit of every rank, which reads would take."""
        cdef int r, g
        cdef bint waits = False, is_free = False
        if self.position == self.stream.shape[0] or clk < self.start_clk:
            return False
        if is_lookup(self.stream[self.position].opcode):
            return False
        for r in range(self.ranks.ranks):
            waits |= credit_from(self.ranks, r) > clk
        for g in range(self.groups):
            is_free |= self.packet_of[g] < 0
        return waits and (is_free or self.stream[self.position].opcode != CONFIG)

    cdef int send_packets(self, int64_t clk, int most) noexcept nogil:
        """At most so many instructions of packets, in stream order; returns their number."""
        cdef int count = 0, r, lowest
        cdef int64_t at = self.position
        cdef Instruction* instruction
        while count < most and at < self.stream.shape[0]:
            instruction = &self.stream[at]
            if self.sent[at]:
                at += 1
                continue
            if is_lookup(instruction.opcode):
                r = instruction.rank
                if credit_from(self.ranks, r) > clk:
                    if not self.skip_full_rank:
                        self.blocked = r
                        return count
                    self.blocked = ANY
                    at += 1
                    continue
            elif at != self.position:
                return count  # END and CONFIG wait until all before them are sent
            else:
                for r in range(self.ranks.ranks):
                    if credit_from(self.ranks, r) > clk:
                        self.blocked = ALL
                        return count
                if instruction.opcode == CONFIG:
                    lowest = 0
                    while lowest < self.groups and self.packet_of[lowest] >= 0:
                        lowest += 1
                    if lowest == self.groups:
                        return count
                    self.open_group(lowest, instruction.packet, clk)
            self.send(at, clk)
            count += 1
            while self.position < self.stream.shape[0] and self.sent[self.position]:
                self.position += 1
            at = max(at + 1, self.position)
        return count

    cdef void open_group(self, int group, int64_t packet, int64_t clk) noexcept nogil:
        cdef int d
        self.sending = group
        self.packet_of[group] = packet
        self.offered[group] = clk
        self.bursts_due[group] = 0
        for d in range(self.dimms.dimms):
            self.tags_sent[group, d] = 0
        self.counters[PACKETS] += 1

    cdef void send(self, int64_t at, int64_t clk) noexcept nogil:
        """One instruction goes to its rank, or to all; the host keeps its books."""
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
            self.ranks.push(r, instruction, clk + clocks)
        else:
            for r in range(self.ranks.ranks):
                self.ranks.push(r, instruction, clk + 1)
        self.taken = max(self.taken, clocks)
        self.read_was_last = False
        self.progress_clk = clk
        self.unsent -= 1
        self.counters[INSTRUCTIONS] += 1
        if self.logging:
            self.sends[self.n_sends].clk = clk
            self.sends[self.n_sends].position = at
            self.n_sends += 1
