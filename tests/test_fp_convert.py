"""Conversions of stored elements, and their dequantisation, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from circuit_runs import Circuit
from fp_words import QUIET_NAN, SPECIAL, applied, difference
from hypothesis import given
from hypothesis import strategies as st
from recnmp.rtl.fp.convert import WIDEN
from recnmp.rtl.fp.dequantise import DEQUANTISE, LATENCY

Words = np.ndarray
FP32, FP16, INT8, INT4 = range(4)


@pytest.fixture(scope="module")
def circuit() -> Circuit:
    return Circuit(DEQUANTISE)


def run(circuit: Circuit, element: Words, dtype: Words, scale: Words, bias: Words) -> Words:
    wires = {"element": element, "dtype": dtype, "scale": scale, "bias": bias}
    flushed = {
        name: np.concatenate([np.asarray(values, np.uint64), [0] * LATENCY]) for name, values in wires.items()
    }
    return circuit.run(flushed)["value"][LATENCY:].astype(np.uint32)


def expected(element: Words, dtype: Words, scale: Words, bias: Words) -> Words:
    integer = np.where(dtype == INT4, element & 0xF, element & 0xFF).astype(np.float32)
    quantised = applied(lambda s, b: s * integer + b, scale, bias)
    half = widened(element.astype(np.uint16))
    plain = applied(lambda x: x, np.where(dtype == FP16, half, element))
    return np.where(dtype >= INT8, quantised, plain)


def widened(half: Words) -> Words:
    with np.errstate(all="ignore"):
        single = half.view(np.float16).astype(np.float32)
    return np.where(np.isnan(single), QUIET_NAN, single.view(np.uint32))


def test_every_fp16_word_is_widened() -> None:
    half = np.arange(1 << 16, dtype=np.uint16)
    assert difference(Circuit(WIDEN).run({"half": half})["single"], widened(half), half) is None


@pytest.mark.parametrize(("dtype", "codes"), [(INT8, 256), (INT4, 16)])
def test_every_code_is_exact(circuit: Circuit, dtype: int, codes: int) -> None:
    """Scale 1 and bias -0 show the conversion alone; what stands above the code is ignored."""
    element = np.arange(codes, dtype=np.uint32) | np.uint32(0xA5A5A500 if dtype == INT8 else 0xA5A5A5A0)
    ones, minus_zero = np.full(codes, 0x3F800000), np.full(codes, 0x80000000)
    got = run(circuit, element, np.full(codes, dtype), ones, minus_zero)
    assert (got.view(np.float32) == np.arange(codes)).all()
    assert got[0] == 0


def test_fp32_and_fp16_pass_unchanged(circuit: Circuit) -> None:
    """Whatever scale and bias say, to the bit, both zeros too; a NaN becomes the canonical one."""
    bits = np.random.PCG64(1).random_raw(3 * 3000).astype(np.uint32).reshape(3, 3000)
    bits[0, : len(SPECIAL)] = SPECIAL
    for dtype in (FP32, FP16):
        code = np.full(3000, dtype)
        got = run(circuit, bits[0], code, bits[1], bits[2])
        assert difference(got, expected(bits[0], code, *bits[1:]), bits[0]) is None


def test_dequantised_with_random_scale_and_bias(circuit: Circuit) -> None:
    """Rounded twice, never fused: scales and biases of any bits, and of sizes that are used."""
    raw = np.random.PCG64(2).random_raw(4 * 30_000).reshape(4, 30_000)
    element, scale, bias = raw[:3].astype(np.uint32)
    dtype = raw[3] % 4
    tame = raw[3] % 3 > 0
    scale = np.where(tame, scale & 0x83FFFFFF | 0x3A000000, scale).astype(np.uint32)
    bias = np.where(tame, bias & 0x83FFFFFF | 0x3C000000, bias).astype(np.uint32)
    wanted = expected(element, dtype, scale, bias)
    assert difference(run(circuit, element, dtype, scale, bias), wanted, element, dtype, scale, bias) is None
    quantised = dtype >= INT8
    integer = np.where(dtype == INT4, element & 0xF, element & 0xFF)
    with np.errstate(all="ignore"):
        fused = (scale.view(np.float32).astype(float) * integer + bias.view(np.float32)).astype(np.float32)
    assert (fused.view(np.uint32) != wanted)[quantised & tame].sum() > 1000  # the test tells them apart


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 3), *[st.integers(0, 2**32 - 1)] * 2), min_size=1
    )
)
def test_any_bits(circuit: Circuit, rows: list[tuple[int, int, int, int]]) -> None:
    element, dtype, scale, bias = np.array(rows, np.uint32).T
    wanted = expected(element, dtype, scale, bias)
    assert difference(run(circuit, element, dtype, scale, bias), wanted, element, dtype, scale, bias) is None
