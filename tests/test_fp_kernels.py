"""The kernels of the FP32 units against NumPy, and the clocks in which they answer."""

from __future__ import annotations

import inspect
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recnmp.kernels.clocked import Clocked
from recnmp.kernels.fp_units import Dequantise, FpAdd, FpMul, Widen

CANONICAL = 0x7FC00000
# zeros, subnormals, their borders, one and its neighbours, powers that tie with it, the largest, infinity, NaNs
SPECIAL = [
    *(0x00000000, 0x00000001, 0x00000002, 0x00400000, 0x007FFFFE, 0x007FFFFF, 0x00800000, 0x00800001),
    *(0x33000000, 0x33800000, 0x34000000, 0x3F7FFFFF, 0x3F800000, 0x3F800001, 0x3F000000, 0x4B7FFFFF),
    *(0x7F000000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF),
]
PATTERNS = [sign << 31 | bits for sign in (0, 1) for bits in SPECIAL]
any_bits = st.one_of(st.integers(0, 2**32 - 1), st.sampled_from(PATTERNS))


def singles(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


def canonical(values: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(values), np.uint32(CANONICAL), values.view(np.uint32)).astype(np.uint64)


def results(unit: Clocked, latency: int, inputs: np.ndarray) -> np.ndarray:
    """What comes out for each row; before the first, +0.0."""
    fed = np.concatenate([inputs, np.zeros((latency, inputs.shape[1]), np.uint64)])
    outputs = unit.run(fed)[:, 0]
    assert not outputs[:latency].any()
    return outputs[latency:]


def expected_of(kind: type[Clocked], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        x, y = singles(a), singles(b)
        return canonical(x + y if kind is FpAdd else x * y)


PAIRS = [(FpAdd, 3), (FpMul, 4)]


@pytest.mark.parametrize(("kind", "latency"), PAIRS)
def test_special_values_with_each_other(kind: type[Clocked], latency: int) -> None:
    pairs = np.array(list(product(PATTERNS, PATTERNS)), np.uint64)
    assert np.array_equal(results(kind(), latency, pairs), expected_of(kind, pairs[:, 0], pairs[:, 1]))


@pytest.mark.parametrize(("kind", "latency"), PAIRS)
def test_many_random_patterns(kind: type[Clocked], latency: int) -> None:
    words = np.random.PCG64(1).random_raw(2 * 300_000).reshape(-1, 2) >> np.uint64(32)
    near = words[:, 0] + (words[:, 1] % 64 << np.uint64(20))  # exponents at most 8 apart
    words[::2, 1] = (near ^ words[:, 1] << np.uint64(31))[::2] & np.uint64(0xFFFFFFFF)
    assert np.array_equal(results(kind(), latency, words), expected_of(kind, words[:, 0], words[:, 1]))


@pytest.mark.parametrize("kind", [FpAdd, FpMul])
@given(st.lists(st.tuples(any_bits, any_bits), min_size=1, max_size=12))
def test_steps_are_runs(kind: type[FpAdd] | type[FpMul], pairs: list[tuple[int, int]]) -> None:
    stepped, ran = kind(), kind()
    rows = np.array(pairs + [(0, 0)] * 5, np.uint64)
    for _ in range(2):
        assert [stepped.step(*map(int, row)) for row in rows] == ran.run(rows)[:, 0].tolist()
        stepped.reset()
        ran.reset()


def test_subnormals_are_kept() -> None:
    """Nothing here sets or needs a mode of the processor: whatever this process runs in, they must not be flushed."""
    smallest, half, least_normal = 1, 0x3F000000, 0x00800000
    assert results(FpAdd(), 3, np.array([[smallest, smallest]], np.uint64)).tolist() == [2]
    assert results(FpAdd(), 3, np.array([[least_normal, 1 << 31 | 1]], np.uint64)).tolist() == [0x007FFFFF]
    assert results(FpMul(), 4, np.array([[least_normal, half]], np.uint64)).tolist() == [0x00400000]
    # 0.75 of the smallest is rounded to it, half of it to the even zero
    assert results(FpMul(), 4, np.array([[smallest, 0x3F400000]], np.uint64)).tolist() == [1]
    assert results(FpMul(), 4, np.array([[smallest, half]], np.uint64)).tolist() == [0]


def test_every_half() -> None:
    halves = np.arange(1 << 16, dtype=np.uint64)
    expected = canonical(halves.astype(np.uint16).view(np.float16).astype(np.float32))
    assert np.array_equal(Widen().run(halves[:, None])[:, 0], expected)
    assert Widen().step(0xFC01) == CANONICAL
    assert Widen().step(0x0001) == 0x33800000  # 2^-24


@given(any_bits, any_bits, any_bits)
def test_every_integer_is_dequantised(element: int, scale: int, bias: int) -> None:
    element &= 0xFFFFFF00  # what lies above an integer is ignored
    for dtype, levels in ((2, 256), (3, 16)):
        q = np.arange(levels, dtype=np.uint64)
        rows = np.column_stack([q | np.uint64(element), *(np.full(levels, x) for x in (dtype, scale, bias))])
        with np.errstate(all="ignore"):
            value = singles(np.array(scale)) * q.astype(np.float32)
            value = (value + singles(np.array(bias))).astype(np.float32)
        assert np.array_equal(results(Dequantise(), 7, rows.astype(np.uint64)), canonical(value))


@given(any_bits, any_bits, any_bits)
def test_fp32_and_fp16_pass_the_dequantiser(element: int, scale: int, bias: int) -> None:
    rows = np.array([[element, 0, scale, bias], [element, 1, scale, bias]], np.uint64)
    wide = np.array([element & 0xFFFF], np.uint16).view(np.float16).astype(np.float32)
    expected = [*canonical(singles(np.array([element]))), *canonical(wide)]
    assert results(Dequantise(), 7, rows).tolist() == [int(x) for x in expected]


@pytest.mark.parametrize(("kind", "latency"), [*PAIRS, (Widen, 0), (Dequantise, 7)])
def test_words(kind: type[Clocked], latency: int) -> None:
    assert latency == kind.LATENCY  # type: ignore[attr-defined]
    assert tuple(inspect.signature(kind.step).parameters)[1:] == kind.INPUTS  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="inputs have 9 columns"):
        kind().run(np.zeros((1, 9), np.uint64))
