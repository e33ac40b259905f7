"""The packet scheduler against the naive one that was written from the page, and the laws of its policies."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_scheduler import NaiveScheduler, naive_arrivals

from recnmp.kernels.packet_scheduler import POLICIES, PacketScheduler
from recnmp.packet_order import arrivals

Arriving = list[tuple[int, int]]  # (table, thread) of each packet


@st.composite
def schedulers(draw: st.DrawFn) -> tuple[int, str, int, int]:
    """Places, policy, threads, limit: small ones, so that queues fill and limits bind."""
    return (
        draw(st.sampled_from([1, 2, 3, 5, 8, 64])),
        draw(st.sampled_from(POLICIES)),
        draw(st.sampled_from([1, 2, 3, 8])),
        draw(st.sampled_from([0, 1, 2, 3, 7, 64])),
    )


def batches(threads: int) -> st.SearchStrategy[list[Arriving]]:
    """Batches of packets; table t belongs to thread t mod threads."""
    packet = st.integers(0, 9).map(lambda table: (table, table % threads))
    return st.lists(st.lists(packet, max_size=40), min_size=1, max_size=4)


def order(scheduler: PacketScheduler, packets: Arriving) -> list[int]:
    tables, threads = np.array(packets, np.int64).reshape(-1, 2).T.copy()
    return list(scheduler.order(tables, threads))


@settings(max_examples=300, deadline=None)
@given(st.data(), schedulers())
def test_the_kernel_is_the_naive_scheduler(data: st.DataObject, words: tuple[str, ...]) -> None:
    """Batch after batch, with what was passed over; every packet goes once, and the bounds hold."""
    places, policy, threads, limit = words
    kernel, naive = PacketScheduler(*words), NaiveScheduler(*words)
    for packets in data.draw(batches(threads)):
        given_ = order(kernel, packets)
        assert given_ == naive.order(packets)
        assert sorted(given_) == list(range(len(packets)))
        assert kernel.passed_over_max == naive.worst <= places * limit
        assert naive.worst_as_oldest <= limit
        if policy == "fcfs" or limit == 0 or places == 1 or threads == 1 == len({t for t, _ in packets}):
            assert given_ == list(range(len(packets)))
    kernel.reset_counts()
    assert kernel.passed_over_max == 0


@settings(max_examples=200, deadline=None)
@given(st.data(), schedulers(), st.randoms(use_true_random=False))
def test_time_decides_nothing(data: st.DataObject, words: tuple[str, ...], random: object) -> None:
    """Arrivals and questions in any clock: the outputs are the naive block's, the order that of a whole batch."""
    threads = words[2]
    kernel, naive, at_once = PacketScheduler(*words), NaiveScheduler(*words), PacketScheduler(*words)
    busy = data.draw(st.sampled_from([0.1, 0.5, 0.9]))
    for packets in data.draw(batches(threads)):
        coming, number, given_ = deque(packets), 0, []
        while len(given_) < len(packets):
            table, thread = coming[0] if coming else (0, 0)
            arrive = bool(coming) and random.random() < busy
            ask = random.random() < 1 - busy / 2
            last = number == len(packets) - 1
            room, choice = naive.room, naive.offered
            assert (kernel.room(), kernel.offered()) == (room, -1 if choice is None else choice.number)
            out = kernel.step(arrive, table, thread, last, ask)
            assert out == (room, choice is not None, choice.number if choice else 0)
            assert not (room and choice is not None)
            if arrive and room:
                naive.arrive(table, thread, last)
                coming.popleft()
                number += 1
            if ask and choice is not None:
                given_.append(naive.pick())
            assert (kernel.count, kernel.complete) == (len(naive.queue), naive.complete)
        assert given_ == order(at_once, packets)


def test_round_robin_by_hand() -> None:
    """Threads take turns; one that has nothing is left out."""
    scheduler = PacketScheduler(8, "round-robin", 4, 64)
    # threads 0, 0, 0, 2, 2, 3
    packets = [(0, 0), (4, 0), (8, 0), (2, 2), (6, 2), (3, 3)]
    assert order(scheduler, packets) == [0, 3, 5, 1, 4, 2]
    assert scheduler.passed_over_max == 3  # 1 waited for 3 and 5, and 2 for 3, 5 and 4


def test_table_aware_by_hand() -> None:
    """A table's packets stay together, as far as the queue sees them; then the oldest."""
    packets = [(t, 0) for t in (5, 7, 5, 7, 9, 5, 7)]
    assert order(PacketScheduler(64, "table-aware", 1, 64), packets) == [0, 2, 5, 1, 3, 6, 4]
    # four places: 5 7 5 7 -> 0, then 9 enters -> 2, then 5 enters ...
    assert order(PacketScheduler(4, "table-aware", 1, 64), packets) == [0, 2, 5, 1, 3, 6, 4]
    assert order(PacketScheduler(3, "table-aware", 1, 64), packets) == [0, 2, 1, 3, 6, 4, 5]
    # 2 passes over 1, and 6 over 4; after one such pick the oldest goes
    assert order(PacketScheduler(64, "table-aware", 1, 1), packets) == [0, 2, 1, 3, 6, 4, 5]


def test_the_verbs_refuse_what_a_clock_would_not_do() -> None:
    """A packet without room, a pick without packet, a thread that is not there, a batch inside a batch."""
    scheduler = PacketScheduler(2, "fcfs", 2, 64)
    with pytest.raises(ValueError, match="thread 2 is not in 0 to 1"):
        scheduler.arrive(0, 2, False)
    scheduler.arrive(0, 0, False)
    with pytest.raises(ValueError, match="no packet to be given"):
        scheduler.pick()
    scheduler.arrive(1, 1, False)
    with pytest.raises(ValueError, match="no room"):
        scheduler.arrive(2, 0, False)
    with pytest.raises(ValueError, match="the batch before is not over"):
        scheduler.order(np.zeros(1, np.int64), np.zeros(1, np.int64))
    assert [scheduler.pick()] == [0]
    scheduler.arrive(2, 0, True)
    assert [scheduler.pick(), scheduler.pick()] == [1, 2]
    with pytest.raises(ValueError, match="one for each packet"):
        scheduler.order(np.zeros(1, np.int64), np.full(1, 2, np.int64))


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, 5).flatmap(
        lambda packets: st.lists(
            st.lists(st.sampled_from([0, 3, 3, 4, 7]), min_size=packets, max_size=packets), max_size=6
        )
    ),
    st.sampled_from(["table", "sample"]),
    st.sampled_from([1, 2, 3, 8]),
)
def test_arrivals_are_those_of_threads_that_prepare_at_one_pace(
    instructions: list[list[int]], order: str, threads: int
) -> None:
    """Against threads that really count; empty packets, and more threads than tables."""
    packets = len(instructions[0]) if instructions else 0
    counts = np.array(instructions, np.int64).reshape(len(instructions), packets)
    found = [divmod(place, packets) for place in arrivals(counts, order, threads).tolist()]
    assert found == naive_arrivals(instructions, order, threads)
    if threads == 1:
        numbers = np.arange(counts.size).reshape(counts.shape)
        trace = (numbers if order == "table" else numbers.T).reshape(-1)
        assert [t * packets + k for t, k in found] == [p for p in trace.tolist() if counts.reshape(-1)[p]]
