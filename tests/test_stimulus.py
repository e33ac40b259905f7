"""What the stimulus provokes: a profile that provoked nothing would make `equal` cheap."""

from __future__ import annotations

import numpy as np
import pytest
from recnmp.rtl.lockstep.fp_stimulus import SPECIAL_HALVES, halves, operand_pairs, quantised, two_operands
from recnmp.rtl.lockstep.lane_stimulus import lane_inputs
from recnmp.rtl.lockstep.words import Words

from recnmp.kernels.fp_units import FpAdd, FpMul
from recnmp.kernels.lane import Lane

CLOCKS = 100_000


def singles(bits: np.ndarray) -> np.ndarray:
    return bits.astype(np.uint32).view(np.float32)


def exact(a: np.ndarray, b: np.ndarray, multiply: bool) -> tuple[np.ndarray, np.ndarray]:
    """float64 results, and where these are exact: all products, and sums of exponents at most 27 apart."""
    with np.errstate(all="ignore"):
        x, y = singles(a).astype(np.float64), singles(b).astype(np.float64)
        if multiply:
            return x * y, np.isfinite(x * y)
        apart = np.abs(
            (a >> np.uint64(23) & np.uint64(255)).astype(int)
            - (b >> np.uint64(23) & np.uint64(255)).astype(int)
        )
        return x + y, np.isfinite(x + y) & (apart <= 27)


@pytest.mark.parametrize("multiply", [False, True])
def test_operands_of_the_fp_units(multiply: bool) -> None:
    """Of what a unit treats apart, at least one clock in 1000 each."""
    a, b = operand_pairs(Words(1), CLOCKS)
    assert max(a.max(), b.max()) < 1 << 32
    value, known = exact(a, b, multiply)
    x, y = singles(a), singles(b)
    with np.errstate(all="ignore"):
        result = x * y if multiply else x + y
        ulp = np.spacing(np.abs(result))
        off = np.abs(value - result.astype(np.float64)) / ulp
        up = np.abs(result) > np.abs(value)
    least = np.finfo(np.float32).smallest_normal
    finite = np.isfinite(x) & np.isfinite(y)
    seen = {
        "ties": known & (off == 0.5),
        "just off a tie": known & (off < 0.5) & (off > 0.499),
        "exact": known & (off == 0) & (x != 0) & (y != 0),
        "inexact": known & (off > 0),
        "a rounding carries into the exponent": known & (off > 0) & (result.view(np.uint32) << 9 == 0) & up,
        "subnormal results": (result != 0) & (np.abs(result) < least),
        "overflow": finite & np.isinf(result),
        "infinities": np.isinf(x) | np.isinf(y),
        "invalid": ~np.isnan(x) & ~np.isnan(y) & np.isnan(result),
        "NaN operands": np.isnan(x) | np.isnan(y),
        "negative zero": (result == 0) & np.signbit(result),
        "subnormal operands": (np.abs(x) < least) & (x != 0) & (y != 0),
        "both subnormal": (np.abs(x) < least) & (np.abs(y) < least) & (x != 0) & (y != 0),
    }
    if multiply:
        seen["underflow to zero"] = (result == 0) & (x != 0) & (y != 0)
    else:
        with np.errstate(all="ignore"):
            deep = np.abs(result) < np.maximum(np.abs(x), np.abs(y)) / 1024
        seen["cancellation"] = finite & deep & (result != 0)
        seen["to zero"] = finite & (result == 0) & (x != 0)
        distance = np.abs((a >> np.uint64(23)).astype(int) % 256 - (b >> np.uint64(23)).astype(int) % 256)
        seen |= {f"{n} apart": distance == n for n in range(28)}
    rare = {name: int(where.sum()) for name, where in seen.items() if where.sum() < CLOCKS // 1000}
    assert rare == {}


def test_units_are_not_fed_with_the_same_again() -> None:
    rows = two_operands(Words(1), 0, CLOCKS)
    assert rows.shape == (CLOCKS, 2)
    assert len(np.unique(rows, axis=0)) > 0.8 * CLOCKS
    for unit in (FpAdd(), FpMul()):
        assert len(np.unique(unit.run(rows))) > 0.4 * CLOCKS


def test_every_half_is_widened() -> None:
    first = halves(Words(1), 0, 1 << 16)[:, 0]
    assert np.array_equal(first, np.arange(1 << 16))
    assert np.array_equal(halves(Words(2), 8192, 8192)[:, 0], first[8192:16384])
    later = halves(Words(1), 1 << 16, 8192)[:, 0]
    assert len(np.unique(later)) > 7000
    assert later.max() < 1 << 16


def test_elements_to_dequantise() -> None:
    element, dtype, scale, bias = quantised(Words(1), 0, CLOCKS).T
    assert np.bincount(dtype.astype(int)).min() > CLOCKS // 5
    for code, levels in ((2, 256), (3, 16)):
        assert len(np.unique(element[dtype == code] % np.uint64(levels))) == levels
    integers = dtype == 2
    with np.errstate(all="ignore"):
        scaled = singles(scale) * (element & np.uint64(255)).astype(np.float32)
        value = scaled + singles(bias)
        cancels = integers & np.isfinite(scaled) & (scaled != 0) & (np.abs(value) < np.abs(scaled) / 1024)
    assert cancels.sum() > CLOCKS // 50
    assert max(element.max(), scale.max(), bias.max()) < 1 << 32


def test_a_lane_is_driven_to_its_corners() -> None:
    rows = lane_inputs(Words(1), 0, CLOCKS)
    widths = np.array([1, 32, 2, 32, 32, 1, 32, 1, 4, 3, 1, 4, 3], np.uint64)
    assert not (rows >> widths).any()
    inputs = dict(zip(Lane.INPUTS, rows.T, strict=True))
    lane = Lane()
    ready, waiting, busy, total = lane.run(rows).T
    taken = (inputs["valid"] & ready) == 1
    place = inputs["tag"] * np.uint64(8) + inputs["group"]
    asked = inputs["read_tag"] * np.uint64(8) + inputs["read_group"]
    assert len(np.unique(place[taken])) == len(np.unique(asked[inputs["read"] == 1])) == 128
    assert np.bincount(inputs["dtype"][taken].astype(int)).min() > CLOCKS // 20
    # one clock in so many, at least
    often = {
        "hazard": (waiting == 1, 6),
        "offered, not taken": ((ready == 0) & (inputs["valid"] == 1), 7),
        "idle": (busy == 0, 20),
        "begins idle": ((busy[1:] == 0) & (busy[:-1] == 1), 1000),
        "first": (taken & (inputs["first"] == 1), 20),
        "weighted": (taken & (inputs["weighted"] == 1), 8),
        "not weighted": (taken & (inputs["weighted"] == 0), 8),
        "a number is read": ((total != 0) & (total & 0x7F800000 != 0x7F800000), 5),
        "infinity or NaN is read": (total & 0x7F800000 == 0x7F800000, 1000),
    }
    rare = {name: int(where.sum()) for name, (where, part) in often.items() if where.sum() < CLOCKS // part}
    assert rare == {}
    assert np.sum(total & 0x7F800000 == 0x7F800000) < CLOCKS // 8
    # the register holds one for one clock and for two
    runs = np.diff(np.flatnonzero(np.diff(np.concatenate([[0], waiting, [0]]).astype(int))))[::2]
    assert set(runs.tolist()) == {1, 2}


def test_special_halves_are_seen_in_a_sum_of_a_lane() -> None:
    """Each begins a partial sum that is read before another operand covers it: what it is widened to is seen."""
    rows = lane_inputs(Words(1), 0, CLOCKS)
    inputs = dict(zip(Lane.INPUTS, rows.T, strict=True))
    ready, _, _, total = Lane().run(rows).T
    place = inputs["tag"] * np.uint64(8) + inputs["group"]
    asked = inputs["read_tag"] * np.uint64(8) + inputs["read_group"]
    offered = (inputs["valid"] & ready & inputs["first"]) == 1
    plain = offered & (inputs["dtype"] == 1) & (inputs["weighted"] == 0)
    half = inputs["element"] & np.uint64(0xFFFF)
    at = np.flatnonzero(plain[:-17] & (asked[16:-1] == place[:-17]) & (inputs["read"][16:-1] == 1))
    at = at[[not np.any(ready[clock : clock + 3] == 0) for clock in at]]
    counts = {int(special): int(np.sum(half[at] == special)) for special in SPECIAL_HALVES}
    assert min(counts.values()) >= 5, counts
    with np.errstate(all="ignore"):
        wide = half.astype(np.uint16).view(np.float16).astype(np.float32)
    seen, expected = singles(total[at + 17]), wide[at]
    same = (seen == expected) | (np.isnan(seen) & np.isnan(expected))
    assert np.mean(same) > 0.9, "most are read before another operand comes"


def test_words() -> None:
    """Bounds are kept and reached."""
    words = Words(3, 1)
    assert set(words.below(1000, 3).tolist()) == {0, 1, 2}
    assert set(words.between(1000, -2, 1).tolist()) == {-2, -1, 0, 1}
    assert set(words.pick(1000, (7, 9)).tolist()) == {7, 9}
    assert 150 < words.once_in(1000, 5).sum() < 250
    assert int(words.bits(1000, 5).max()) == 31
    assert np.array_equal(Words(3, 1).bits(9), Words(3, 1).bits(9))
    assert not np.array_equal(Words(3, 1).bits(9), Words(3, 2).bits(9))
