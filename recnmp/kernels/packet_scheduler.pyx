"""The packet scheduler of the host's memory controller (docs/microarchitecture.md, section 2b).

    port      bits  carries
    arrive       1  in: a packet is offered in this clock
    table       32  in: its table
    thread       8  in: the SLS thread that it comes from
    last         1  in: it is the last packet of its batch
    ask          1  in: the channels ask for a packet
    room         1  out: a packet that is offered in this clock is taken
    offered      1  out: a packet is there to be given
    number      32  out: its number in its batch, in order of arrival; 0 if none is offered

`step` is one clock; `order` arranges a whole batch on the same state.
"""

cimport cython

import numpy as np

cdef enum:
    FCFS, ROUND_ROBIN, TABLE_AWARE

POLICIES = ("fcfs", "round-robin", "table-aware")

cdef enum:
    NO_TABLE = -1


@cython.final
cdef class PacketScheduler:
    """A queue of packets in order of arrival, and the choice among them.

    places: packets that it holds. policy: one of POLICIES. threads: SLS threads. starvation_limit: picks in a row that
    may pass over the oldest packet.
    """

    def __init__(self, int places, str policy, int threads, int starvation_limit):
        self.places = places
        self.policy = POLICIES.index(policy)
        self.threads = threads
        self.starvation_limit = starvation_limit
        self.count = 0
        self.complete = False
        self.passes = 0
        self.passed_over_max = 0
        self.last_table = NO_TABLE
        self.last_thread = threads - 1
        self.arrived = 0
        self.given = 0
        self.table = np.zeros(places, np.int64)
        self.thread = np.zeros(places, np.int64)
        self.number = np.zeros(places, np.int64)

    def room(self):
        """Whether a packet that is offered in this clock is taken."""
        return bool(self.has_room())

    def offered(self):
        """The number of the packet that a pick in this clock would give; -1 if there is none."""
        cdef int place = self.choose()
        return -1 if place < 0 else int(self.number[place])

    def arrive(self, int64_t table, int64_t thread, bint last):
        """A packet takes the next place; packets are numbered from 0 in each batch. Raises ValueError without room."""
        if not 0 <= thread < self.threads:
            raise ValueError(f"thread {thread} is not in 0 to {self.threads - 1}")
        if not self.has_room():
            raise ValueError("no room: the queue is full, or the batch before is not over")
        self.take(table, thread, last)

    def pick(self):
        """Give a packet: its number. Raises ValueError if none is offered."""
        cdef int place = self.choose()
        if place < 0:
            raise ValueError("no packet to be given: the queue is not full, and the batch has more to come")
        return self.give(place)

    def step(self, bint arrive, int64_t table, int64_t thread, bint last, bint ask):
        """One clock, for lockstep: the inputs by their names; returns (room, offered, number)."""
        cdef bint room = self.has_room()
        cdef int place = self.choose()
        cdef int64_t number = 0 if place < 0 else self.number[place]
        if arrive and room:
            self.take(table, thread, last)
        if ask and place >= 0:
            self.give(place)
        return bool(room), place >= 0, number

    def order(self, const int64_t[::1] tables, const int64_t[::1] threads):
        """Arrange a batch: table and thread of each packet in order of arrival -> int64 [packets], numbers as given.

        Raises ValueError for a thread that is not there, or in the middle of another batch.
        """
        cdef int64_t i, arriving = 0, packets = tables.shape[0]
        cdef int64_t[::1] given
        if threads.shape[0] != packets or np.any((np.asarray(threads) < 0) | (np.asarray(threads) >= self.threads)):
            raise ValueError(f"threads: one for each packet, 0 to {self.threads - 1}")
        if self.count or self.complete:
            raise ValueError("the batch before is not over")
        given = np.zeros(packets, np.int64)
        with nogil:
            for i in range(packets):
                while arriving < packets and self.has_room():
                    self.take(tables[arriving], threads[arriving], arriving == packets - 1)
                    arriving += 1
                given[i] = self.give(self.choose())
        return np.asarray(given)

    def reset_counts(self):
        """passed_over_max to zero; the queue stays."""
        self.passed_over_max = 0

    cdef bint has_room(self) noexcept nogil:
        return not self.complete and self.count < self.places

    cdef int choose(self) noexcept nogil:
        """The place of the packet that goes next; -1 while the queue may still be filled: time decides nothing."""
        cdef int place, ahead, best = 0, nearest = self.threads
        if self.count == 0 or not (self.complete or self.count == self.places):
            return -1
        if self.passes == self.starvation_limit:
            return 0
        if self.policy == TABLE_AWARE:
            for place in range(self.count):
                if self.table[place] == self.last_table:
                    return place
        elif self.policy == ROUND_ROBIN:
            for place in range(self.count):
                ahead = <int>self.thread[place] - self.last_thread - 1
                if ahead < 0:
                    ahead += self.threads
                if ahead < nearest:
                    nearest = ahead
                    best = place
        return best

    cdef void take(self, int64_t table, int64_t thread, bint last) noexcept nogil:
        """The packet stands behind all others."""
        self.table[self.count] = table
        self.thread[self.count] = thread
        self.number[self.count] = self.arrived
        self.count += 1
        self.arrived += 1
        self.complete = last

    cdef int64_t give(self, int place) noexcept nogil:
        """The packet leaves, and those behind it move up; its number."""
        cdef int64_t number = self.number[place]
        cdef int i
        # The packet passed over most is always in place 0 when it goes: what passes over a packet passes over those
        # ahead of it too. All packets before it are gone, so that of those given the others came later.
        self.passed_over_max = max(self.passed_over_max, self.given - number)
        self.given += 1
        self.last_table = self.table[place]
        self.last_thread = <int>self.thread[place]
        self.passes = 0 if place == 0 else self.passes + 1
        self.count -= 1
        for i in range(place, self.count):
            self.table[i] = self.table[i + 1]
            self.thread[i] = self.thread[i + 1]
            self.number[i] = self.number[i + 1]
        if self.complete and self.count == 0:
            # the batch is over: all is as at reset
            self.complete = False
            self.passes = 0
            self.last_table = NO_TABLE
            self.last_thread = self.threads - 1
            self.arrived = 0
            self.given = 0
        return number
