"""The tag store against its plain twin, policies by hand, and what it refuses."""

from __future__ import annotations

import signal
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_caches import NaiveCache

from recnmp.config.cache import MOST_WAYS, CachePolicy
from recnmp.kernels.cache_sets import POLICIES, CacheSets
from recnmp.kernels.locality import LruStack

FAR = (0, 1 << 26, 1 << 32, 1 << 57, (1 << 63) - 512)  # lines 4 GiB apart, and further


@st.composite
def shapes(draw: st.DrawFn) -> tuple[int, int, str, int]:
    policy = draw(st.sampled_from(POLICIES))
    ways = draw(st.sampled_from([1, 2, 4, 8, 16]) if policy == "tree-plru" else st.integers(1, 16))
    return draw(st.integers(1, 9)), ways, policy, draw(st.integers(1, (1 << 32) - 1))


@given(shapes(), st.integers(0, 2**32), st.integers(0, 500), st.integers(1, 4))
def test_accesses_equal_the_twin(shape: tuple[int, int, str, int], seed: int, count: int, parts: int) -> None:
    sets, ways, *_ = shape
    random = np.random.default_rng(seed)
    lines = random.integers(0, 3 * sets * ways // 2 + 2, count) + random.choice(FAR[: seed % 5 + 1], count)
    cache, twin = CacheSets(*shape), NaiveCache(*shape)
    # state is kept from call to call
    hits = [cache.access(part).tolist() for part in np.array_split(lines, parts)]
    assert [hit for part in hits for hit in part] == twin.access(lines.tolist())


@given(shapes(), st.data())
def test_verbs_equal_the_twin_with_pending_lines(
    shape: tuple[int, int, str, int], data: st.DataObject
) -> None:
    sets, ways, policy, seed = min(2, shape[0]), *shape[1:]
    cache, twin = CacheSets(sets, ways, policy, seed), NaiveCache(sets, ways, policy, seed)
    steps = st.tuples(st.integers(0, sets - 1), st.integers(0, 2 * ways), st.integers(0, 3))
    for place, line, then in data.draw(st.lists(steps, max_size=120)):
        way = cache.probe(place, line)
        victim = cache.victim(place)
        assert (way, victim) == (twin.probe(place, line), twin.victim(place))
        assert victim is None or not cache.is_pending(place, victim)
        if way is not None:
            assert cache.is_pending(place, way) == (way in twin.sets[place].awaited)
            for each in (cache, twin):
                each.arrive(place, way) if then == 0 else each.touch(place, way)
        elif victim is not None:
            for each in (cache, twin):
                each.fill(place, victim, line, then > 1)


def test_all_ways_pending_leave_no_victim() -> None:
    for policy in POLICIES:
        cache = CacheSets(2, 4, policy)
        for way in range(4):
            assert cache.victim(1) == way  # the lowest empty one
            cache.fill(1, way, way, True)
        assert cache.victim(1) is None
        assert cache.victim(0) == 0
        assert not cache.access(np.array([9, 9])).any()  # a miss without a way leaves things as they are
        cache.arrive(1, 2)
        assert cache.victim(1) == 2
        cache.fill(1, 2, 99, True)
        assert cache.victim(1) is None
        cache.fill(1, 3, 98)  # not awaited any more
        assert cache.victim(1) == 3


@given(st.integers(1, 16), st.integers(0, 2**32), st.integers(1, 300))
def test_one_set_of_lru_is_the_exact_lru_stack(ways: int, seed: int, count: int) -> None:
    lines = np.random.default_rng(seed).integers(0, 24, count)
    hits = np.zeros(1, np.int64)
    LruStack(np.ones(24, np.int64)).access(lines, np.array([ways]), hits)
    assert CacheSets(1, ways, "lru").access(lines).sum() == hits[0]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("sets", [1, 3, 64, 100])
def test_distinct_lines_never_hit_and_as_many_as_fit_stay(policy: str, sets: int) -> None:
    everything = np.concatenate([np.arange(sets * 4) + far // sets * sets for far in FAR[:4]])
    assert not CacheSets(sets, 16, policy).access(everything).any()
    cache = CacheSets(sets, 16, policy)
    fitting = np.arange(sets * 16)
    assert not cache.access(fitting).any()
    assert cache.access(fitting[::-1].copy()).all()
    assert not cache.access(fitting + (sets << 40)).any()


# -- policies by hand, on one set of four ways that hold lines 0 to 3: the example of docs/caches.md


def four(policy: str, *touched: int) -> CacheSets:
    cache = CacheSets(1, 4, policy)
    cache.access(np.arange(4))
    cache.access(np.array(touched, np.int64))
    return cache


@pytest.mark.parametrize(
    ("policy", "ways"), [("lru", [0, 1, 1, 3]), ("fifo", [0, 0, 0, 0]), ("tree-plru", [0, 2, 1, 3])]
)
def test_the_example_of_the_page(policy: str, ways: list[int]) -> None:
    pending = four(policy, 0)
    for way in (2, 1):
        pending.fill(0, way, 10 + way, True)
    caches = [four(policy), four(policy, 0), four(policy, 0, 2), pending]
    assert [cache.victim(0) for cache in caches] == ways


def test_lru_and_fifo_by_hand() -> None:
    assert four("lru").victim(0) == 0
    assert four("lru", 0, 1).victim(0) == 2
    assert four("lru", 2, 0, 3).victim(0) == 1
    assert four("fifo", 0, 1).victim(0) == 0
    cache = four("fifo", 0)
    cache.access(np.array([7]))  # takes way 0, which is now the youngest
    assert [cache.probe(0, line) for line in (0, 7)] == [None, 0]
    assert cache.victim(0) == 1


def test_tree_plru_by_hand() -> None:
    """After filling ways 0 to 3 the root points left, the left node to way 0, the right node to way 2."""
    assert four("tree-plru").victim(0) == 0
    assert four("tree-plru", 0).victim(0) == 2  # the root points right
    assert four("tree-plru", 0, 2).victim(0) == 1  # root left, left node to way 1
    assert four("tree-plru", 0, 2, 1).victim(0) == 3  # and lru would take 3 as well
    assert four("tree-plru", 3, 0, 3).victim(0) == 1
    # a pending way is gone round at its own node, two of them at the root
    cache = four("tree-plru", 0)
    cache.fill(0, 2, 8, True)
    cache.fill(0, 1, 9, True)  # root right, right node to way 3
    assert cache.victim(0) == 3
    cache.fill(0, 3, 10, True)
    assert cache.victim(0) == 0


def test_random_follows_its_register() -> None:
    """Eight steps of the register a fill; its low byte, scaled to the ways, is the victim."""

    def after(fills: int) -> int:
        register = 1
        for _ in range(8 * fills):
            register = register >> 1 ^ (0x80200003 if register & 1 else 0)
        return register

    cache = CacheSets(1, 5, "random", 1)
    for fills in range(300):
        expected = fills if fills < 5 else (after(fills) & 255) * 5 // 256
        assert cache.victim(0) == expected
        cache.access(np.array([fills]))
    assert (after(40) & 255) != (after(41) & 255)


def test_the_register_takes_every_value_but_0() -> None:
    """Its step has order 2^32 - 1, and eight steps at a time have it as well."""

    def apply(columns: list[int], value: int) -> int:
        result = 0
        for bit, column in enumerate(columns):
            result ^= column if value >> bit & 1 else 0
        return result

    def power(exponent: int) -> list[int]:
        result, base = [1 << bit for bit in range(32)], [0x80200003, *(1 << bit for bit in range(31))]
        while exponent:
            if exponent & 1:
                result = [apply(base, column) for column in result]
            base = [apply(base, column) for column in base]
            exponent >>= 1
        return result

    everything = (1 << 32) - 1
    identity = power(0)
    assert power(everything) == identity
    factors = (3, 5, 17, 257, 65537)  # of 2^32 - 1
    assert everything == np.prod(factors)
    assert all(power(8 * everything // factor) != identity for factor in factors)


@pytest.mark.parametrize("ways", [1, 2, 3, 5, 12, 16])
def test_random_is_fair_enough(ways: int) -> None:
    cache = CacheSets(1, ways, "random")
    taken = np.zeros(ways)
    for line in range(4000):
        taken[cache.victim(0)] += 1
        cache.access(np.array([line]))
    # the byte is scaled: a way has floor or ceil(256 / ways) of its values
    assert np.abs(taken - 4000 / ways).max() < 6 * np.sqrt(4000 / ways) + 4000 / 256


# -- the door


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0, 4, "lru"), "at least 1 set"),
        ((4, 0, "lru"), "1 to 16 ways"),
        ((4, 17, "lru"), "1 to 16 ways"),
        ((4, 4, "mru"), "'mru' is none of lru, fifo, random, tree-plru"),
        ((4, 6, "tree-plru"), "a power of two"),
        ((4, 4, "random", 0), "seed 0: 1 to"),
        ((4, 4, "random", 1 << 32), "seed 4294967296: 1 to"),
    ],
)
def test_caches_that_there_are_not(arguments: tuple[int, int, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        CacheSets(*arguments)


def test_places_and_lines_out_of_range_are_refused() -> None:
    cache = CacheSets(3, 2, "lru")
    calls = [
        lambda: cache.set_of(-1),
        lambda: cache.probe(3, 0),
        lambda: cache.probe(-1, 0),
        lambda: cache.probe(0, -1),
        lambda: cache.is_pending(0, 2),
        lambda: cache.touch(0, 2),
        lambda: cache.victim(3),
        lambda: cache.fill(0, -1, 0),
        lambda: cache.fill(0, 0, -1),
        lambda: cache.arrive(3, 0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="there are 3 sets of 2 ways"):
            call()
    with pytest.raises(ValueError, match="line -4: 0 to 9223372036854775807"):
        cache.access(np.array([0, -4]))
    assert cache.probe(0, 0) is None  # nothing was accessed
    assert cache.access(np.zeros(0, np.int64)).shape == (0,)


def test_policies_of_configurations_are_those_of_the_kernel() -> None:
    assert get_args(CachePolicy) == POLICIES
    CacheSets(1, MOST_WAYS, "lru")
    with pytest.raises(ValueError, match=f"1 to {MOST_WAYS} ways"):
        CacheSets(1, MOST_WAYS + 1, "lru")


def test_ctrl_c_is_answered_within_a_call() -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    cache, lines = CacheSets(1, 16, "lru"), np.arange(30_000_000)
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        with pytest.raises(KeyboardInterrupt):
            cache.access(lines)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert cache.probe(0, len(lines) - 1) is None  # it had not come to the end
