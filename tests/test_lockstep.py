"""The harness itself: a difference is found where it was planted, told as it is, and made short."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st
from lockstep_toys import COUNTER, CounterKernel, Planted, counter
from recnmp.rtl.lockstep.difference import SHOWN, Difference
from recnmp.rtl.lockstep.pair import PIECE, Pair
from recnmp.rtl.lockstep.shorten import Shortener
from recnmp.rtl.lockstep.verify import Bench

LENGTH = 2 * PIECE + 100
BORDERS = [0, 1, SHOWN - 1, SHOWN, PIECE - 1, PIECE, PIECE + 1, PIECE + 7, 2 * PIECE - 1, LENGTH - 1]


@pytest.mark.parametrize("clock", BORDERS)
@pytest.mark.parametrize("column", [0, 1])
def test_a_planted_difference_is_found_just_there(clock: int, column: int) -> None:
    """At piece borders and in the last clock too; a later one of the same run changes nothing."""
    bits = {(clock, column): 1, (clock + 1, 0): 4, (clock + PIECE, 1): 1}
    bench = Bench(COUNTER, side=Planted(CounterKernel(), bits))
    for _ in range(2):  # a second run begins from reset again
        found = bench.verify(LENGTH, 1)
        assert found is not None
        assert (found.block, found.clock) == ("counter", clock)
        assert found.signal == ("total_out", "zero")[column]
        assert found.kernel ^ found.circuit == 1
        whole = COUNTER.rows(0, LENGTH, 1)
        right = CounterKernel().run(whole)
        begin = max(0, clock + 1 - SHOWN)
        assert np.array_equal(found.inputs, whole[begin : clock + 1])
        assert np.array_equal(found.kernel_outputs, right[begin : clock + 1])
        wrong = np.argwhere(found.kernel_outputs != found.circuit_outputs).tolist()
        assert wrong == [[clock - begin, column]]
        assert found.kernel == right[clock, column]


def test_what_is_equal_is_equal() -> None:
    """Circuit and kernel; and a difference after the last clock is none."""
    assert Bench(COUNTER).verify(2000, 3) is None
    late = Planted(CounterKernel(), {(LENGTH, 0): 1})
    told: list[int] = []
    assert Bench(COUNTER, side=late).verify(LENGTH, 3, told.append) is None
    assert told == [PIECE, PIECE, 100]
    assert Bench(COUNTER, side=late).verify(LENGTH + 1, 3) is not None
    assert Bench(COUNTER, side=late).verify(0, 3) is None


def test_the_first_signal_of_a_clock_is_named() -> None:
    found = Bench(COUNTER, side=Planted(CounterKernel(), {(9, 1): 1, (9, 0): 2})).verify(100, 1)
    assert found is not None
    assert (found.clock, found.signal, found.kernel ^ found.circuit) == (9, "total_out", 2)


def test_a_stimulus_is_one_stream() -> None:
    """Fewer clocks are the beginning of more; any part can be had alone; another seed is another stream."""
    whole = np.concatenate(list(COUNTER.pieces(LENGTH, 5)))
    assert len(whole) == LENGTH
    assert np.array_equal(np.concatenate(list(COUNTER.pieces(PIECE + 3, 5))), whole[: PIECE + 3])
    for first, end in ((0, 1), (PIECE - 1, PIECE + 1), (PIECE, 2 * PIECE), (5, LENGTH)):
        assert np.array_equal(COUNTER.rows(first, end, 5), whole[first:end])
    assert not np.array_equal(COUNTER.rows(0, 100, 6), whole[:100])
    assert not np.array_equal(whole[:100], whole[PIECE : PIECE + 100])


def test_ports_of_both_must_be_the_same() -> None:
    class Other(CounterKernel):
        INPUTS = ("step", "go")

    with pytest.raises(ValueError, match=r"counter: the kernel has \('step', 'go'\)"):
        Pair(counter(), Other, COUNTER.stimulus)


def test_a_difference_is_told_with_its_clocks() -> None:
    pair = Pair(counter(), CounterKernel, COUNTER.stimulus)
    inputs = np.array([[1, 0x10], [1, 0x0F], [1, 0x01]], np.uint64)
    right = np.array([[0, 1], [0x10, 0], [0x1F, 0]], np.uint64)
    other = np.array([[0, 1], [0x10, 0], [0x20, 0]], np.uint64)
    told = Difference(pair, 1234, "total_out", 0x1F, 0x20, inputs, right, other).lines()
    assert told == [
        "counter, clock 1,234, total_out: kernel 0x001f, circuit 0x0020",
        "         in     kernel          circuit",
        "clock  step  total_out  zero  total_out  zero",
        "1,232    10       0000     1       0000     1",
        "1,233    0f       0010     0       0010     0",
        "1,234    01      *001f     0      *0020     0",
        "in all these clocks: go 1",
    ]


def test_a_number_is_told_as_one() -> None:
    pair = Pair(counter(), CounterKernel, COUNTER.stimulus, frozenset({"total_out"}))
    one = np.zeros((1, 2), np.uint64)
    head = Difference(pair, 0, "total_out", 0x3FC00000, 0xFFC00000, one, one, one).lines()[0]
    assert head == "counter, clock 0, total_out: kernel 0x3fc00000 (1.5), circuit 0xffc00000 (nan)"


STEPS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 7)), max_size=12)


def shows(bench: Bench, rows: list[tuple[int, int]]) -> bool:
    return bench.compare([np.array(rows, np.uint64).reshape(-1, 2)], SHOWN) is not None


def test_hypothesis_finds_and_shrinks_a_fault() -> None:
    """Wrong after a step of 2 and one of 1: two rows, and a third clock to see it in."""
    bench = Bench(COUNTER, side=CounterKernel((2, 1)))
    rows = find(
        STEPS, lambda rows: shows(bench, rows), settings=settings(max_examples=2000, derandomize=True)
    )
    assert rows == [(1, 2), (1, 1), (0, 0)]


@pytest.mark.parametrize("after", [(2, 1), (0x35, 0x1C), (0, 7)])
def test_a_difference_is_made_short(after: tuple[int, int]) -> None:
    """The product's own shrinking ends with the same rows, from thousands of random ones."""
    bench = Bench(COUNTER, side=CounterKernel(after))
    found = bench.verify(4 * PIECE, 1)
    assert found is not None
    short = bench.shortened(found, 1)
    shortest = [[1, after[0]], [1, after[1]], [0, 0]]
    assert short.inputs.tolist() == shortest[1 if after[0] == 0 else 0 :]
    assert (short.clock, short.signal) == (len(short.inputs) - 1, "total_out")
    assert short.circuit == short.kernel + 1


@given(st.lists(st.integers(0, 3), min_size=1, max_size=300), st.integers(1, 12))
def test_shortening_ends_with_what_is_needed(values: list[int], need: int) -> None:
    """A law of its own: the needed sum of ones and twos is reached, nothing can be left out."""
    column = np.array(values, np.uint64)[:, None]

    def differs(rows: np.ndarray) -> int | None:
        reached = np.flatnonzero(np.cumsum(rows[:, 0]) >= need)
        return int(reached[0]) if len(reached) else None

    clock = differs(column)
    if clock is None:
        return
    rows = Shortener(differs).shorten(lambda length: column[clock + 1 - length : clock + 1], clock + 1)
    assert differs(rows) == len(rows) - 1
    for row in range(len(rows)):
        assert differs(np.delete(rows, row, axis=0)) is None


@pytest.mark.parametrize("bit", [0, 7, 63])
def test_shortening_leaves_single_bits(bit: int) -> None:
    """Of 2,000 clocks of any words, the one bit that matters, in a clock of its own."""
    words = np.random.PCG64(bit).random_raw(2000 * 3).reshape(-1, 3)

    def differs(rows: np.ndarray) -> int | None:
        hits = np.flatnonzero(rows[:, 1] >> np.uint64(bit) & np.uint64(1))
        return int(hits[0]) if len(hits) else None

    assert differs(words) is not None
    rows = Shortener(differs).shorten(lambda length: words[-length:], len(words))
    assert rows.tolist() == [[0, 1 << bit, 0]]


def test_shortening_ends_when_its_work_is_done() -> None:
    """The whole stimulus is a valid answer where nothing may be tried."""
    column = np.ones((5000, 1), np.uint64)
    rows = Shortener(lambda rows: len(rows) - 1, work=0).shorten(lambda length: column[-length:], 5000)
    assert len(rows) == 5000
