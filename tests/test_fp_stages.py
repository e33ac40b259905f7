"""The pipeline stages of the FP32 units are balanced, as synthesis sees them."""

import os
import sys

import pytest


@pytest.fixture
def stage_delay(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "benchmarks"))
    import stage_delay

    yield stage_delay
    sys.modules.pop("stage_delay")


def test_each_stage_is_found(stage_delay) -> None:
    assert [len(list(stage_delay.stages(unit))) for unit in stage_delay.UNITS] == [3, 4]


def test_slowest_stages_are_within_a_quarter(stage_delay) -> None:
    if reason := stage_delay.missing():
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    measured = stage_delay.measure(estimate=False)
    assert stage_delay.imbalance(measured) <= 0.25
    # The first prototype, one multiplication in one stage, had 8.2 ns, and 5.8 in the adder.
    assert max(stage_delay.slowest(measured).values()) < 5800
