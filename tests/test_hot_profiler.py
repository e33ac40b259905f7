"""The counting kernels of hot-entry profiling: exact ones against a Counter, the sketch against its plain twin."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_hot import NaiveSketch

from recnmp.kernels.exact_counts import ExactCounts
from recnmp.kernels.hot_profiler import HotProfiler

SHAPES = st.tuples(st.integers(1, 8), st.sampled_from([2, 4, 16, 64]), st.integers(1, 16))
few = st.integers(0, 6)
wide = st.integers(0, 2**64 - 1)
keys_strategy = st.lists(
    st.one_of(few, few, st.sampled_from([1 << 44, 3 << 44, (1 << 44) + 1, 2**64 - 1]), wide)
)


def uint64s(keys: list[int]) -> np.ndarray:
    return np.array(keys, np.uint64)


@settings(max_examples=150)
@given(st.lists(st.lists(st.one_of(few, few, st.integers(-(2**63), 2**63 - 1)), max_size=80), max_size=4))
def test_exact_counts_are_those_of_a_counter(arrays: list[list[int]]) -> None:
    """One array after another through the same slots, larger and smaller ones."""
    kernel = ExactCounts()
    for rows in arrays:
        counts = Counter(rows)
        assert kernel.of(np.array(rows, np.int64)).tolist() == [counts[row] for row in rows]
        assert kernel.distinct == len(counts)


def test_rows_beyond_32_bits_are_told_apart() -> None:
    rows = [5, 5 + 2**32, 5 + 2**33, 5 + 2**62, 5, 5 + 2**62]
    assert ExactCounts().of(np.array(rows, np.int64)).tolist() == [2, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("step", [1, 64, 4096, 2**32, 2**40 + 1])
def test_many_rows_at_any_distance(step: int) -> None:
    """Hundreds of thousands of rows that differ in few bits only; the same answer from sorting."""
    rows = np.random.default_rng(2).integers(0, 150_000, 400_000) * step
    _, place, counts = np.unique(rows, return_inverse=True, return_counts=True)
    assert np.array_equal(ExactCounts().of(rows), counts[place])


@settings(max_examples=150)
@given(SHAPES, keys_strategy, keys_strategy)
def test_the_sketch_is_its_twin(shape: tuple[int, int, int], first: list[int], second: list[int]) -> None:
    kernel, twin = HotProfiler(*shape), NaiveSketch(*shape)
    for keys in (first, second):
        kernel.count(uint64s(keys))
        for key in keys:
            twin.count(key)
        asked = first + second
        assert kernel.ask(uint64s(asked)).tolist() == [twin.ask(key) for key in asked]
    kernel.clear()
    assert not kernel.ask(uint64s(first + second)).any()


@settings(max_examples=100)
@given(SHAPES, keys_strategy)
def test_estimates_are_never_too_small(shape: tuple[int, int, int], keys: list[int]) -> None:
    """At least the true count, or saturated; and no more than all keys."""
    kernel, counts, top = HotProfiler(*shape), Counter(keys), 2 ** shape[2] - 1
    kernel.count(uint64s(keys))
    for key, estimate in zip(keys, kernel.ask(uint64s(keys)), strict=True):
        assert min(counts[key], top) <= estimate <= min(len(keys), top)


@settings(max_examples=100)
@given(
    st.tuples(st.integers(1, 8), st.sampled_from([2, 4, 8]), st.integers(1, 6)),
    st.integers(0, 9999),
    st.integers(1, 300),
    st.sampled_from([0.0, 0.02, 0.2]),
)
def test_every_output_on_every_clock(
    shape: tuple[int, int, int], seed: int, clocks: int, clears: float
) -> None:
    """`step` and `run` against the twin; few counters, so that keys in flight meet, and clears among them."""
    rng = np.random.default_rng(seed)
    rows = [
        (
            int(rng.random() < clears),
            int(rng.random() < 0.8),
            int(rng.random() < 0.4),
            int(rng.integers(0, 12)),
        )
        for _ in range(clocks)
    ]
    twin, stepped, ran = NaiveSketch(*shape), HotProfiler(*shape), HotProfiler(*shape)
    expected = [twin.step(*row) for row in rows]
    assert [stepped.step(*row) for row in rows] == expected
    assert [tuple(row) for row in ran.run(np.array(rows, np.uint64)).tolist()] == expected


def drive(kernel: HotProfiler, keys: list[int]) -> tuple[list[int], int]:
    """The two passes over keys as section 8 tells them: answers, and the clocks until the last key was taken."""
    answers: list[int] = []
    clocks = 0

    def step(*inputs: int) -> int:
        nonlocal clocks
        ready, answered, estimate = kernel.step(*inputs)
        answers.extend([estimate] * answered)
        clocks += 1
        return ready

    step(1)
    for ask in (0, 1):
        for key in keys:
            while not step(0, 1, ask, key):
                pass
    taken = clocks
    for _ in range(3):
        assert len(answers) < len(keys)
        step()
    step()
    return answers, taken


@settings(max_examples=40)
@given(st.lists(st.one_of(few, wide), min_size=1, max_size=60), st.sampled_from([2, 64]))
def test_a_pass_clock_by_clock_is_one_over_arrays(keys: list[int], size: int) -> None:
    """The same estimates, in 1 + C + 2n clocks and 3 more; what was counted before is gone."""
    stepped, whole = HotProfiler(4, size, 8), HotProfiler(4, size, 8)
    drive(stepped, [7, 8, 9] * 5)
    whole.count(uint64s(keys))
    answers, taken = drive(stepped, keys)
    assert answers == whole.ask(uint64s(keys)).tolist()
    assert taken == 1 + size + 2 * len(keys)


def test_arrays_wait_for_keys_on_their_way() -> None:
    kernel = HotProfiler(4, 64, 8)
    kernel.step(valid=1, key=3)
    with pytest.raises(RuntimeError, match="step on until all is over"):
        kernel.ask(uint64s([3]))
    kernel.step()
    kernel.step()
    assert kernel.ask(uint64s([3])).tolist() == [1]
    kernel.step(clear=1)
    with pytest.raises(RuntimeError, match="step on until all is over"):
        kernel.count(uint64s([3]))


@pytest.mark.parametrize(
    "shape", [(0, 64, 8), (9, 64, 8), (4, 65, 8), (4, 1, 8), (4, 2**21, 8), (4, 64, 0), (4, 64, 17)]
)
def test_what_is_no_sketch_is_refused(shape: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="1 to 8 rows of a power of two"):
        HotProfiler(*shape)
