"""Every block of the hardware in lockstep with its kernel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.lockstep.pair import PAIRS, PIECE
from recnmp.rtl.lockstep.verify import Bench, verify

BENCHES: dict[str, Bench] = {}


def bench(name: str) -> Bench:
    """A circuit is built and compiled once."""
    return BENCHES.setdefault(name, Bench(PAIRS[name]))


def test_every_block_has_a_kernel() -> None:
    assert PAIRS.keys() == BLOCKS.keys()
    assert {pair.name: pair.hardware for pair in PAIRS.values()} == BLOCKS


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_a_circuit_does_what_its_kernel_does(name: str) -> None:
    difference = bench(name).verify(40 * PIECE, 1)
    assert difference is None, "\n".join(difference.lines())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3])
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_many_clocks(name: str, seed: int) -> None:
    difference = verify(PAIRS[name], 5_000_000, seed)
    assert difference is None, "\n".join(difference.lines())


def drawn(name: str) -> st.SearchStrategy[list[tuple[int, ...]]]:
    """Inputs of up to 24 clocks; tags and groups from a few, so that they meet."""
    few = {"tag": 1, "group": 1, "read_tag": 1, "read_group": 1}
    odd = [0, 1, 0x3F800000, 0x7F800000, 0x7FC00001, 0x80000000]

    def values(bits: int) -> st.SearchStrategy[int]:
        whole = st.integers(0, (1 << bits) - 1)
        return st.one_of(whole, st.sampled_from(odd)) if bits == 32 else whole

    ports = PAIRS[name].hardware.inputs
    return st.lists(
        st.tuples(*(values(few.get(port.name, port.bits)) for port in ports)), min_size=1, max_size=24
    )


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_drawn_inputs(name: str) -> None:
    """Hypothesis shrinks what differs to a few clocks."""

    @given(drawn(name))
    def check(rows: list[tuple[int, ...]]) -> None:
        difference = bench(name).compare([np.array(rows, np.uint64)], len(rows))
        assert difference is None, "\n".join(difference.lines())

    check()
