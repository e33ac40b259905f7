"""The command that compares the FP32 units with NumPy on many patterns finds what is wrong, and says it."""

from __future__ import annotations

import dataclasses
import sys

import numpy as np
import pytest


@pytest.fixture
def fp_patterns(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import fp_patterns

    yield fp_patterns
    sys.modules.pop("fp_patterns")


def test_no_mismatch(fp_patterns, capsys) -> None:
    assert fp_patterns.main(["--patterns", "200000"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(",")[0] for line in said] == [
        f"{name}: 200000 patterns" for name in fp_patterns.UNITS
    ]


def test_a_mismatch_is_shown(fp_patterns, monkeypatch, capsys) -> None:
    broken = dataclasses.replace(fp_patterns.UNITS["fp_add"], expected=fp_patterns.operation(np.subtract))
    monkeypatch.setitem(fp_patterns.UNITS, "fp_add", broken)
    assert fp_patterns.main(["--patterns", "1000", "--unit", "fp_add"]) == 1
    said = capsys.readouterr().out
    assert said.startswith("fp_add, pattern 0: a ")
    assert "circuit " in said
    assert "NumPy " in said


def test_patterns_reach_the_corners(fp_patterns) -> None:
    """Of each kind of result there are many: subnormal, infinite, NaN, zero, cancelled."""
    bits = np.random.PCG64(3)
    with np.errstate(all="ignore"):
        for name, operate in (("fp_add", np.add), ("fp_mul", np.multiply)):
            a, b = (words.view(np.float32) for words in fp_patterns.UNITS[name].stimulus(bits, 300_000))
            result = operate(a, b)
            finite = np.isfinite(a) & np.isfinite(b)
            subnormal = (result != 0) & (np.abs(result) < np.finfo(np.float32).tiny)
            assert subnormal.sum() > 1000
            assert (finite & np.isinf(result)).sum() > 1000
            assert np.isnan(result).sum() > 1000
            double = operate(a.astype(float), b.astype(float))
            odd = np.abs(double - result) == np.spacing(np.abs(result)).astype(float) / 2
            assert (finite & odd).sum() > 1000  # ties
            if operate is np.add:
                assert ((np.abs(result) < np.abs(a) / 1024) & (a != 0)).sum() > 1000  # cancelled
