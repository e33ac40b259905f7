"""Host traffic of one channel (D17): reads of other programs, and the host buffers of the DIMMs.

The page is docs/microarchitecture.md, section 3, "Host traffic". When read i arrives and which line it is of follows
from i alone, so the host's queue is two numbers and never full. What the bus does with reads and lines is in
host_bus.pyx.
"""

cimport cython

import numpy as np

from libc.stdint cimport int64_t, uint64_t

from .vocabulary cimport HOST_READ, NEVER, PREDICT_ACT, PREDICT_RD

cdef extern from *:
    """
    #define highest_bit(x) (63 - __builtin_clzll(x))
    """
    int highest_bit(uint64_t x) nogil

cdef enum:
    READS_SENT, LINES_CROSSED, LATENCY_CLOCKS, LONGEST_LATENCY, LONGEST_QUEUE
    N_TRAFFIC_COUNTERS

TRAFFIC_COUNTERS = ("reads_sent", "lines_crossed", "latency_clocks", "longest_latency", "longest_queue")

cdef enum:
    EXACT_BITS = 14  # of a latency; of longer ones the leading so many
    HALF = 1 << (EXACT_BITS - 1)
    LONGEST_BITS = 47
    BUCKETS = (LONGEST_BITS - EXACT_BITS + 2) * HALF
    LOG_ROWS = 4096
    LOG_COLUMNS = 3

cdef HostLine _line[1]


cdef inline uint64_t splitmix(uint64_t state, int64_t i) noexcept nogil:
    """Output i of splitmix64 (Steele, Lea, Flood 2014) from a state."""
    cdef uint64_t word = state + (<uint64_t>i + 1) * <uint64_t>0x9E3779B97F4A7C15
    word = (word ^ (word >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t>0x94D049BB133111EB
    return word ^ (word >> 31)


cdef inline int bucket_of(int64_t latency) noexcept nogil:
    """Buckets hold a latency each up to 2^EXACT_BITS, and then all that begin with the same EXACT_BITS bits."""
    cdef int shift
    if latency < 2 * HALF:
        return <int>latency
    shift = highest_bit(<uint64_t>latency) + 1 - EXACT_BITS
    return shift * HALF + <int>(latency >> shift)


@cython.final
cdef class HostTraffic:
    """The reads that arrive on a channel, from clock 0 on for ever.

    rate: reads in 1000 clocks, 1 to 250. seed: 64 bits; each channel has its own. dimms, ranks_per_dimm, bankgroups,
    banks (of a group), rows, columns (bursts of a row): what there is to read.
    """

    def __init__(
        self, int rate, seed, int dimms, int ranks_per_dimm, int bankgroups, int banks, int64_t rows, int64_t columns,
    ):
        if not 1 <= rate <= 250:
            raise ValueError(f"{rate} reads in 1000 clocks, 1 to 250 are possible")
        self.rate = rate
        self.clock_state = seed % 2**64
        self.place_state = (seed + 2**63) % 2**64
        self.dimms = dimms
        self.ranks_per_dimm = ranks_per_dimm
        self.bankgroups = bankgroups
        self.banks = banks
        self.columns = columns
        self.lines = dimms * ranks_per_dimm * bankgroups * banks * rows * columns
        self.free_places = np.full(dimms, HOST_BUFFER, np.int32)
        self.line = np.zeros((dimms, HOST_BUFFER), np.asarray(<HostLine[:1]>_line).dtype)
        self.held = np.zeros(dimms, np.int32)
        self.news = NEVER
        self.counters = np.zeros(N_TRAFFIC_COUNTERS, np.int64)
        self.histogram = np.zeros(BUCKETS, np.int64)
        self.next_arrival = self.arrival(0)
        self.make_instruction()
        self.log_to(False)

    def counts(self, int64_t now):
        """int64 [len(TRAFFIC_COUNTERS)] since the last reset, a copy; `now`: the first clock that was not run yet."""
        self.look_ahead(now - 1)
        return np.asarray(self.counters).copy()

    def latencies(self):
        """int64 [k, 2]: latencies since the last reset, upwards, and how many reads had them.

        Exact below 2^14 clocks; longer ones are rounded down to their 14 leading bits.
        """
        counts = np.asarray(self.histogram)
        used = np.flatnonzero(counts)
        shift = np.maximum(used // HALF - 1, 0)
        return np.stack([(used - shift * HALF) << shift, counts[used]], axis=1)

    def reset_counts(self, int64_t now):
        """Counters to zero before clock `now` is run; reads and lines stay, and so does who waits."""
        self.look_ahead(now - 1)
        self.counters[:] = 0
        self.counters[LONGEST_QUEUE] = self.seen - self.next_read
        self.histogram[:] = 0

    def log_to(self, bint logging):
        """Empty the log, and log from now on, or do not."""
        self.logging = logging
        self.log = np.zeros((LOG_ROWS if logging else 0, LOG_COLUMNS), np.int64)
        self.n_log = 0

    def grow_log(self):
        """Twice the room."""
        self.log = np.concatenate([self.log, np.zeros_like(self.log)])

    def take_log(self):
        """int64 [n, 3] since the last call: clock, number of the read, 0: it was sent, 1: its line began to cross."""
        log = np.asarray(self.log)[: self.n_log].copy()
        self.n_log = 0
        return log

    cdef bint has_room(self) noexcept nogil:
        """Whether the log takes what a clock can bring."""
        return self.n_log + HOST_BUFFER + 1 <= self.log.shape[0]

    cdef int64_t arrival(self, int64_t read) noexcept nogil:
        """Clock in which a read arrives; never before that of the read before it."""
        cdef int64_t when = read * 65536 + <int64_t>(splitmix(self.clock_state, read) >> 48)
        return (when * 1000 // self.rate) >> 16

    cdef void look_ahead(self, int64_t clk) noexcept nogil:
        """See all reads that have arrived by clk, for the length of the queue."""
        while self.arrival(self.seen) <= clk:
            self.seen += 1
        self.counters[LONGEST_QUEUE] = max(self.counters[LONGEST_QUEUE], self.seen - self.next_read)

    cdef void make_instruction(self) noexcept nogil:
        """The HOST_READ of the oldest read."""
        cdef Instruction* instruction = &self.instruction
        cdef int64_t ranks = self.dimms * self.ranks_per_dimm
        cdef int64_t line = <int64_t>(splitmix(self.place_state, self.next_read) % <uint64_t>self.lines)
        instruction.opcode = HOST_READ
        instruction.lookup = self.next_read
        instruction.packet = -1
        instruction.ddr_cmd = PREDICT_ACT | PREDICT_RD
        instruction.bursts = 1
        instruction.column = line % self.columns
        line //= self.columns
        instruction.bankgroup = line % self.bankgroups
        line //= self.bankgroups
        instruction.bank = line % self.banks
        line //= self.banks
        instruction.rank = line % ranks
        instruction.row = line // ranks

    cdef bint may_go(self, int64_t clk) noexcept nogil:
        """Whether the oldest read has arrived by clk, and its DIMM's buffer has a place for it."""
        return self.next_arrival <= clk and self.free_places[self.instruction.rank // self.ranks_per_dimm] > 0

    cdef void go(self, int64_t clk) noexcept nogil:
        """The oldest read is sent in clk."""
        self.look_ahead(clk)
        self.note(clk, self.next_read, False)
        self.free_places[self.instruction.rank // self.ranks_per_dimm] -= 1
        self.counters[READS_SENT] += 1
        self.next_read += 1
        self.next_arrival = self.arrival(self.next_read)
        self.make_instruction()

    cdef void land(self, int rank, int64_t read, int64_t ready) noexcept nogil:
        """The line of a read goes into its DIMM's host buffer, visible as ready on that clock."""
        cdef int d = rank // self.ranks_per_dimm
        cdef HostLine* line = &self.line[d, self.held[d]]
        line.read = read
        line.ready = ready
        self.held[d] += 1
        self.news = min(self.news, ready)

    cdef int dimm_to_send(self, int64_t clk, int last_user, int64_t* soonest) noexcept nogil:
        """The DIMM whose host lines go next, -1 if none is ready in clk; lines that are ready later lower `soonest`."""
        cdef int d, i, best = -1
        cdef int64_t oldest = NEVER, read
        self.news = NEVER
        for d in range(self.dimms):
            for i in range(self.held[d]):
                if self.line[d, i].ready > clk:
                    soonest[0] = min(soonest[0], self.line[d, i].ready)
                    continue
                read = self.line[d, i].read if d != last_user else -1
                if read < oldest:
                    oldest = read
                    best = d
        return best

    cdef int64_t send_lines(self, int d, int64_t clk, int64_t burst_clocks) noexcept nogil:
        """All ready lines of a DIMM go from clk on, oldest first; returns the clock at which the last has crossed."""
        cdef int i, first = 0
        cdef int64_t crossed = clk
        while first >= 0:
            first = -1
            for i in range(self.held[d]):
                if self.line[d, i].ready <= clk and (first < 0 or self.line[d, i].read < self.line[d, first].read):
                    first = i
            if first >= 0:
                self.note(crossed, self.line[d, first].read, True)
                crossed += burst_clocks
                self.count(self.line[d, first].read, crossed)
                self.held[d] -= 1
                self.line[d, first] = self.line[d, self.held[d]]
                # the bus is taken until all have crossed, so no read can take the place before
                self.free_places[d] += 1
        return crossed

    cdef void count(self, int64_t read, int64_t crossed) noexcept nogil:
        cdef int64_t latency = crossed - self.arrival(read)
        self.counters[LINES_CROSSED] += 1
        self.counters[LATENCY_CLOCKS] += latency
        self.counters[LONGEST_LATENCY] = max(self.counters[LONGEST_LATENCY], latency)
        self.histogram[bucket_of(latency)] += 1

    cdef void note(self, int64_t clk, int64_t read, bint crossing) noexcept nogil:
        if self.logging:
            self.log[self.n_log, 0] = clk
            self.log[self.n_log, 1] = read
            self.log[self.n_log, 2] = crossing
            self.n_log += 1
