"""Faulty circuits: lockstep finds them, says where, and shows it with few clocks."""

from __future__ import annotations

import pytest
from recnmp.rtl.faults import FAULTS
from recnmp.rtl.lockstep.pair import PAIRS
from recnmp.rtl.lockstep.verify import Bench

SHORTEST = {
    "fp_add": 4,
    "fp_mul": 5,
    "widen": 1,
    "dequantise": 8,
}  # an operand, and what is left of its clocks


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_fault_is_found_and_made_short(name: str) -> None:
    fault = FAULTS[name]
    pair = PAIRS[fault.block]
    bench = Bench(pair, fault.circuit(pair.hardware))
    found = bench.verify(1_000_000, 1)
    assert found is not None
    assert found.signal in fault.seen_at
    short = bench.shortened(found, 1)
    # two operands and a read, in the pipeline one after the other, are enough for any fault of a lane
    assert len(short.inputs) <= SHORTEST.get(fault.block, 40)
    assert short.clock == len(short.inputs) - 1
    assert short.kernel != short.circuit
    again = bench.compare([short.inputs], 1)
    assert again is not None
    assert (again.clock, again.signal, again.circuit) == (short.clock, short.signal, short.circuit)


@pytest.mark.parametrize("name", sorted(FAULTS))
@pytest.mark.parametrize("seed", [2, 3])
def test_a_fault_is_found_soon_whatever_the_seed(name: str, seed: int) -> None:
    """A corner that one seed meets by chance in a million clocks is not aimed at."""
    fault = FAULTS[name]
    pair = PAIRS[fault.block]
    clocks = {"lane": 200_000, "widen": 1 << 16}.get(fault.block, 10_000)
    assert Bench(pair, fault.circuit(pair.hardware)).verify(clocks, seed) is not None
