# The host's books and the bus of one channel (docs/microarchitecture.md, section 3).

from libc.stdint cimport int32_t, int64_t, uint8_t

from .dimm_nmp cimport DimmNmp
from .host_traffic cimport HostTraffic
from .packet_log cimport PacketLog
from .rank_nmp cimport RankNmp
from .vocabulary cimport GROUPS, Instruction, ResultBurst, Sent

cdef class HostBus:
    cdef readonly RankNmp ranks
    cdef readonly DimmNmp dimms
    cdef readonly int groups, tags_per_group, instructions_per_clock
    cdef int64_t turnaround, burst_clocks
    cdef bint skip_full_rank
    cdef readonly bint plain_ddr
    cdef readonly HostTraffic traffic  # None: there is none
    cdef bint has_traffic
    # the host's books
    cdef int64_t packet_of[GROUPS]  # packet that holds the group, -1: free
    cdef int64_t offered[GROUPS]  # clock of its CONFIG
    cdef int32_t bursts_due[GROUPS]  # results to come
    cdef int32_t[:, ::1] tags_sent  # by group and DIMM: a bit a tag that got a LOOKUP
    cdef int sending  # group of the packet that is being sent
    # the bus
    cdef int64_t bus_end  # first clock after its last use
    cdef int last_user  # DIMM, or one of the two below
    cdef bint read_was_last  # of the instructions that went
    cdef int64_t next_clk
    cdef int blocked, read_blocked  # whose credit the next instruction and the host's read wait for (credits.pxd)
    cdef int64_t taken  # by the instructions that go in this clock: clocks
    # the run
    cdef Instruction[::1] stream
    cdef uint8_t[::1] sent
    cdef int64_t position, unsent, start_clk, last_crossed
    cdef int64_t progress_clk
    cdef bint logging
    cdef int64_t[::1] counters
    cdef ResultBurst[::1] bursts
    cdef Sent[::1] sends
    cdef PacketLog packets
    cdef int64_t n_bursts, n_sends

    cdef int64_t step_bus(self, int64_t clk) noexcept nogil
    cdef int dimm_to_send(self, int64_t clk, int* group, int64_t* soonest) noexcept nogil
    cdef void send_results(self, int d, int group, int64_t clk) noexcept nogil
    cdef int64_t send_instructions(self, int64_t clk) noexcept nogil
    cdef int64_t credit_comes(self, int64_t clk) noexcept nogil
    cdef bint send_read(self, int64_t clk) noexcept nogil
    cdef bint broadcast_waits(self, int64_t clk) noexcept nogil
    cdef int send_packets(self, int64_t clk, int most) noexcept nogil
    cdef void open_group(self, int group, int64_t packet, int64_t clk) noexcept nogil
    cdef void send(self, int64_t at, int64_t clk) noexcept nogil
