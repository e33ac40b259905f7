"""Compiled circuits equal PyRTL's own three simulators on every clock of random circuits."""

from __future__ import annotations

import numpy as np
import pyrtl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_circuits import circuits, packed, simulated, stimulus, unpacked
from recnmp.rtl.backend import Module, compile_block, pieces

SEEDS = st.integers(0, 2**32 - 1)
# how much more than daily the profile of hypothesis tries
THOROUGH = max(1, settings.default.max_examples // 40)


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def ran(module: Module, rows: list[dict[str, int]]) -> list[dict[str, int]]:
    return unpacked(module.outputs, module.instance().run(packed(module.inputs, rows, module.in_words)))


@given(circuits(), SEEDS)
def test_one_copy_equals_simulation(block: pyrtl.Block, seed: int) -> None:
    rows = stimulus(block, 30, seed)
    assert ran(compile_block(block), rows) == simulated(block, rows)


# FastSimulation 1.0.3 does not cut the first choice of a multiplexer: `f if s else t & mask`
@settings(max_examples=15 * THOROUGH)
@given(circuits(cut="&|^n+-*w~"), SEEDS)
def test_one_copy_equals_fast_simulation(block: pyrtl.Block, seed: int) -> None:
    rows = stimulus(block, 30, seed)
    assert ran(compile_block(block), rows) == simulated(block, rows, pyrtl.FastSimulation)


# CompiledSimulation refuses wires and multiplexers that are wider than what they drive
@settings(max_examples=5 * THOROUGH)
@given(circuits(nets=40, cut="&|^n+-*~"), SEEDS)
def test_one_copy_equals_compiled_simulation(block: pyrtl.Block, seed: int) -> None:
    rows = stimulus(block, 30, seed)
    assert ran(compile_block(block), rows) == simulated(block, rows, pyrtl.CompiledSimulation)


@settings(max_examples=15 * THOROUGH)
@given(circuits(), SEEDS, st.sampled_from([2, 3, 4, 5, 8, 9]))
def test_every_copy_equals_simulation_on_its_own_inputs(block: pyrtl.Block, seed: int, copies: int) -> None:
    module = compile_block(block)
    rows = [stimulus(block, 20, seed + copy) for copy in range(copies)]
    words = np.stack([packed(module.inputs, own, module.in_words) for own in rows], axis=1)
    made = module.instance(copies).run(words)
    for copy, own in enumerate(rows):
        assert unpacked(module.outputs, made[:, copy]) == simulated(block, own)


@settings(max_examples=10 * THOROUGH)
@given(circuits(), SEEDS)
def test_steps_equal_a_run(block: pyrtl.Block, seed: int) -> None:
    rows = stimulus(block, 10, seed)
    module = compile_block(block)
    instance = module.instance()
    assert [instance.step(**row) for row in rows] == ran(module, rows)


@settings(max_examples=10 * THOROUGH)
@given(circuits(), SEEDS, st.sampled_from([1, 3, 5]), st.sampled_from([5, 30]))
def test_a_body_in_pieces_equals_simulation(block: pyrtl.Block, seed: int, copies: int, length: int) -> None:
    rows = stimulus(block, 20, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LENGTH", length)
        module = compile_block(block)
    words = packed(module.inputs, rows, module.in_words)
    made = module.instance(copies).run(words)
    assert unpacked(module.outputs, made if copies == 1 else made[:, copies - 1]) == simulated(block, rows)


@settings(max_examples=5 * THOROUGH)
@given(circuits(state_only=True), SEEDS)
def test_outputs_of_state_alone_in_pieces_equal_simulation(block: pyrtl.Block, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "LENGTH", 4)
        module = compile_block(block)
    rows = stimulus(block, 20, seed)
    assert ran(module, rows) == simulated(block, rows)


@settings(max_examples=15 * THOROUGH)
@given(circuits(state_only=True), SEEDS)
def test_outputs_of_state_alone_equal_simulation(block: pyrtl.Block, seed: int) -> None:
    module = compile_block(block)
    assert not module.input_dependent
    rows = stimulus(block, 20, seed)
    assert ran(module, rows) == simulated(block, rows)
