"""Every known fault is found: by lockstep with the kernels, and those of the FP units by NumPy alone as well."""

from __future__ import annotations

import numpy as np
import pytest
from recnmp.rtl.backend import compile_block
from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.export.verilog import module
from recnmp.rtl.faults import FAULTS, Fault
from recnmp.rtl.lockstep.pair import PAIRS
from recnmp.rtl.lockstep.verify import verify

from recnmp.errors import RecnmpError

CLOCKS = 50_000
SEED = 1
UNITS = {"fp_add": (np.add, 3), "fp_mul": (np.multiply, 4)}


def of_units() -> list[str]:
    return [name for name, fault in FAULTS.items() if fault.block in UNITS]


def test_there_are_enough_and_each_says_what_it_is() -> None:
    assert len(FAULTS) >= 14
    assert {fault.block for fault in FAULTS.values()} == set(BLOCKS), "a block without a fault"
    for name, fault in FAULTS.items():
        assert name == fault.name
        assert name.startswith(f"{fault.block}_")
        assert set(fault.seen_at) <= {port.name for port in BLOCKS[fault.block].outputs}
        assert fault.says
        assert "\n" not in fault.says
    assert len({fault.says for fault in FAULTS.values()}) >= len(FAULTS) - 3, "the same in two blocks at most"


@pytest.mark.parametrize("block", BLOCKS)
def test_what_has_no_fault_passes_the_same_run(block: str) -> None:
    assert verify(PAIRS[block], CLOCKS, SEED) is None


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_changes_the_circuit_and_is_found(name: str) -> None:
    fault = FAULTS[name]
    hardware = BLOCKS[fault.block]
    circuit = fault.circuit(hardware)
    assert module(hardware, circuit) != module(hardware, hardware.circuit()), "the patch changes nothing"
    difference = verify(PAIRS[fault.block], CLOCKS, SEED, circuit)
    assert difference is not None, f"{CLOCKS} clocks do not show that {fault.says}"
    assert difference.signal in fault.seen_at
    assert difference.kernel != difference.circuit


def against_numpy(circuit_of: str, fault: Fault | None) -> int:
    """Outputs of an FP unit that are not NumPy's, on the pair's operands; the clocks before the first do not count."""
    operation, latency = UNITS[circuit_of]
    hardware = BLOCKS[circuit_of]
    inputs = np.concatenate(list(PAIRS[circuit_of].pieces(CLOCKS, SEED + 1)))
    a, b = inputs.astype(np.uint32).view(np.float32).T
    with np.errstate(all="ignore"):
        right = operation(a, b)
    expected = np.where(np.isnan(right), np.uint32(0x7FC00000), right.view(np.uint32)).astype(np.uint64)
    circuit = hardware.circuit() if fault is None else fault.circuit(hardware)
    ports = [port.name for port in hardware.inputs], [port.name for port in hardware.outputs]
    made = compile_block(circuit, *ports).instance().run(inputs)[:, 0]
    return int(np.count_nonzero(made[latency:] != expected[:-latency]))


@pytest.mark.parametrize("block", UNITS)
def test_numpy_finds_nothing_in_sound_units(block: str) -> None:
    assert against_numpy(block, None) == 0


@pytest.mark.parametrize("name", of_units())
def test_numpy_finds_each_fault_of_the_units(name: str) -> None:
    """No kernel is needed for it: rounding, special values and signs are IEEE's."""
    assert against_numpy(FAULTS[name].block, FAULTS[name]) > 0


def test_a_fault_whose_wire_is_gone_is_refused() -> None:
    fault = FAULTS["lane_hazard_short"]
    with pytest.raises(ValueError, match="is a fault of lane, not of fp_add"):
        fault.circuit(BLOCKS["fp_add"])
    with pytest.raises(ValueError, match="no wire 'lane/same_2'"):
        fault.patch(BLOCKS["fp_add"].circuit())


def test_an_unknown_block_is_refused_with_a_hint() -> None:
    from recnmp.rtl.blocks import block_named

    with pytest.raises(RecnmpError, match="no block 'fp_ad'; did you mean 'fp_add'"):
        block_named("fp_ad")
