"""FP32 adder and multiplier against NumPy's float32, to the bit (NaNs made the canonical one)."""

from __future__ import annotations

import numpy as np
import pytest
from circuit_runs import Circuit
from fp_words import SPECIAL, applied, difference, packed, pairs
from hypothesis import given
from hypothesis import strategies as st
from recnmp.rtl.fp import add, multiply
from recnmp.rtl.ports import Hardware

Words = np.ndarray


class Unit:
    """A compiled unit, and the operation it stands for."""

    def __init__(self, hardware: Hardware, latency: int, operation: np.ufunc) -> None:
        self._circuit, self._latency, self._operation = Circuit(hardware), latency, operation
        (self._output,) = (port.name for port in hardware.outputs)

    def run(self, a: Words, b: Words) -> Words:
        """Results of the pairs, one entering each clock."""
        flush = np.zeros(self._latency, np.uint32)
        got = self._circuit.run({"a": np.concatenate([a, flush]), "b": np.concatenate([b, flush])})
        return got[self._output][self._latency :].astype(np.uint32)

    def check(self, a: Words, b: Words) -> None:
        wanted = applied(self._operation, a, b)
        assert difference(self.run(a, b), wanted, a, b) is None


@pytest.fixture(scope="module")
def adder() -> Unit:
    return Unit(add.FP_ADD, add.LATENCY, np.add)


@pytest.fixture(scope="module")
def multiplier() -> Unit:
    return Unit(multiply.FP_MUL, multiply.LATENCY, np.multiply)


def random_words(seed: int, count: int) -> Words:
    return np.random.PCG64(seed).random_raw(count).astype(np.uint32)


def both_signs(a: Words, b: Words) -> tuple[Words, Words]:
    """Each pair with all four combinations of signs."""
    high = np.uint32(1 << 31)
    return np.concatenate([a, a, a ^ high, a ^ high]), np.concatenate([b, b ^ high, b, b ^ high])


def test_special_values_with_each_other(adder: Unit, multiplier: Unit) -> None:
    assert len(np.unique(SPECIAL)) >= 120
    adder.check(*pairs(SPECIAL))
    multiplier.check(*pairs(SPECIAL))


def test_random_bits(adder: Unit, multiplier: Unit) -> None:
    a, b = random_words(1, 40_000), random_words(2, 40_000)
    adder.check(a, b)
    multiplier.check(a, b)


@given(pairs=st.lists(st.tuples(*[st.integers(0, 2**32 - 1)] * 2), min_size=1, max_size=30))
def test_any_bits(adder: Unit, multiplier: Unit, pairs: list[tuple[int, int]]) -> None:
    a, b = np.array(pairs, np.uint32).T
    adder.check(a, b)
    multiplier.check(a, b)


def test_cancellation_at_every_distance(adder: Unit) -> None:
    """Exponents 0 to 30 apart, fractions random and all the ends, both signs, from the least exponent on."""
    fractions = np.array([0, 1, 2, 3, 0x3FFFFF, 0x400000, 0x400001, 0x7FFFFE, 0x7FFFFF], np.int64)
    random = random_words(3, 8).astype(np.int64) & 0x7FFFFF
    x, y = pairs(np.concatenate([fractions, random]))
    for base in (0, 1, 2, 40, 224):
        a = [packed(0, base + distance, x) for distance in range(31)]
        b = [packed(0, base, y)] * 31
        adder.check(*both_signs(np.concatenate(a), np.concatenate(b)))


def test_ties_and_their_neighbours_when_added(adder: Unit) -> None:
    """An even and an odd number and one half of its last place, or one bit more or less than that."""
    for exponent in (30, 127, 250):
        even_odd = packed(0, exponent, np.array([0, 1, 2, 3, 0x7FFFFE, 0x7FFFFF]))
        half = int(packed(0, exponent - 24, np.array(0)))
        quarter = int(packed(0, exponent - 25, np.array(0)))
        near = np.array([half - 1, half, half + 1, quarter - 1, quarter, quarter + 1], np.uint32)
        a, b = (words.ravel() for words in np.meshgrid(even_odd, near))
        adder.check(*both_signs(a, b))


def test_one_minus_two_to_the_minus_25(adder: Unit) -> None:
    """Half of the last place below 1 lies a further bit down: a unit with too few bits is one ulp off here."""
    got = adder.run(
        np.array([0x3F800000] * 3, np.uint32), np.array([0xB3000000, 0xB3000001, 0xB2FFFFFF], np.uint32)
    )
    assert [hex(word) for word in got] == ["0x3f800000", "0x3f7fffff", "0x3f800000"]


def test_ties_when_multiplied(multiplier: Unit) -> None:
    """Products of 25 significant bits, the last of them 1: exactly between two numbers, odd and even."""
    factors = np.arange(3, 4096, 2, dtype=np.int64)
    others = ((1 << 24) + 1 + 2 * random_words(4, len(factors)).astype(np.int64) % (1 << 24)) // factors | 1
    products = factors * others
    exact = (products >= 1 << 24) & (products < 1 << 25)
    assert exact.sum() > 1000
    a, b = factors[exact].astype(np.float32), others[exact].astype(np.float32)
    wanted = applied(np.multiply, a.view(np.uint32), b.view(np.uint32))
    assert (np.abs(wanted.view(np.float32).astype(np.int64) - products[exact]) == 1).all()  # a tie indeed
    multiplier.check(*both_signs(a.view(np.uint32), b.view(np.uint32)))


def test_results_below_the_least_normal_number(adder: Unit, multiplier: Unit) -> None:
    """Products that are rounded among the subnormals, or up into the least normal number; sums that stay there."""
    for scale in range(95, 131):
        a = packed(0, np.full(400, scale), random_words(scale, 400) & 0x7FFFFF)
        b = packed(0, np.full(400, 127 - scale + 3), random_words(scale + 1000, 400) & 0x7FFFFF)
        for drop in (0, 1, 2, 12, 23, 24, 25, 26, 27):
            smaller = packed(0, np.maximum((b >> 23).astype(np.int64) - drop, 0), b & 0x7FFFFF)
            multiplier.check(*both_signs(a, smaller))
    ends = np.array([0x3F7FFFFF, 0x3F7FFFFE, 0x3F000000, 0x3F000001, 0x3EFFFFFF, 0x3F800001], np.uint32)
    least = np.array([0x00800000, 0x00800001, 0x00FFFFFF, 0x00FFFFFE, 0x007FFFFF, 0x01000000], np.uint32)
    multiplier.check(*(words.ravel() for words in np.meshgrid(ends, least)))
    subnormals = random_words(5, 4000) & 0x81FFFFFF
    adder.check(subnormals, random_words(6, 4000) & 0x81FFFFFF)
    assert (
        applied(np.multiply, np.uint32([0x3F7FFFFF]), np.uint32([0x00800000]))[0] == 0x00800000
    )  # up into normal


def test_subnormal_operands_multiplied(multiplier: Unit) -> None:
    """Every number of leading zeros, times numbers that bring the product back among the normal ones."""
    for zeros in range(23):
        a = packed(
            0, np.zeros(150), (1 << (22 - zeros)) | random_words(zeros, 150) & ((1 << (22 - zeros)) - 1)
        )
        b = packed(0, 100 + random_words(zeros + 50, 150) % 155, random_words(zeros + 99, 150) & 0x7FFFFF)
        multiplier.check(*both_signs(a, b))
        multiplier.check(b, a)


def test_results_beyond_the_greatest_number(adder: Unit, multiplier: Unit) -> None:
    """Overflow by the exponent, by the carry, by rounding alone; and the last that do not overflow."""
    top = packed(0, 250 + random_words(7, 3000) % 5, 0x7FFFFF - random_words(8, 3000) % 4)
    adder.check(top, packed(0, 225 + random_words(9, 3000) % 30, random_words(10, 3000) & 0x7FFFFF))
    half = np.array([0x72FFFFFF, 0x73000000, 0x73000001, 0x737FFFFF], np.uint32)
    adder.check(*both_signs(np.full(4, 0x7F7FFFFF, np.uint32), half))
    other = packed(0, 124 + random_words(11, 3000) % 6, random_words(12, 3000) & 0x7FFFFF)
    multiplier.check(*both_signs(top, other))
    near_one = np.array([0x3F800000, 0x3F800001, 0x3F7FFFFF, 0x3F800002], np.uint32)
    multiplier.check(*(words.ravel() for words in np.meshgrid(near_one, top[:200])))


def test_no_double_rounding(multiplier: Unit) -> None:
    """Just above and below a tie by the lowest bit of 48: a unit that rounds twice, or loses sticky bits, errs."""
    a = random_words(13, 30_000) & 0x7FFFFF | 0x3F800000
    significand = (a & 0x7FFFFF | 0x800000).astype(np.int64)
    goal = (random_words(14, 30_000).astype(np.int64) & 0x7FFFFF | 0x800000) * 2 + 1  # a tie, times 2^23
    other = (goal << 22) // significand
    for step in (-1, 0, 1):
        inside = (other + step >= 1 << 23) & (other + step < 1 << 24)
        multiplier.check(a[inside], packed(0, 127, (other + step)[inside] & 0x7FFFFF))


def test_reset_gives_plus_zero(adder: Unit, multiplier: Unit) -> None:
    for hardware, output, latency in ((add.FP_ADD, "sum", 3), (multiply.FP_MUL, "product", 4)):
        ones = np.full(latency + 1, 0x3F800000, np.uint32)
        got = Circuit(hardware).run({"a": ones, "b": ones})[output]
        assert got[:latency].tolist() == [0] * latency
        assert got[latency] != 0
