"""Runs of compiled circuits: Ctrl-C, other threads, no clocks, no ports."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pyrtl
import pytest
from recnmp.rtl.backend import Composition, Module, Part, compile_block

CLOCKS = 400_000


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def counting(inputs: bool = True, outputs: bool = True) -> Module:
    """Adds x, or 1, to a register; and has something long to do, so that a run takes a while."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        step = pyrtl.Input(1, "x") if inputs else pyrtl.Const(1, 1)
        count = pyrtl.Register(40, "count")
        count.next <<= (count + step)[:40]
        long = pyrtl.Register(32, "long")
        word = long
        for _ in range(400):
            word = (word * word + count[:32])[:32]
        long.next <<= word
        if outputs:
            pyrtl.Output(40, "shown").__ilshift__(count)
    return compile_block(block)


def machines() -> list[Any]:
    module = counting()
    whole = Composition({"a": Part(module, 3)}, {}, {"x": "a.x"}, {"shown": "a[2].shown"})
    return [module.instance(), module.instance(3), whole]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_ctrl_c_ends_a_run_between_two_clocks(which: int) -> None:
    """No Python runs meanwhile: only the kernel itself can see the signal."""
    machine = machines()[which]
    rows, room = np.ones((CLOCKS, 1), np.uint64), np.zeros((CLOCKS, 3 if which == 1 else 1), np.uint64)
    room = room[:, :, np.newaxis] if which == 1 else room
    before = signal.signal(signal.SIGVTALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)  # of this process's own time, however busy the machine is
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.run(rows, room)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    counts = (machine.state["a"] if which == 2 else machine.state)["count"].reshape(-1)
    assert 0 < int(counts[0]) < CLOCKS
    assert len(set(counts.tolist())) == 1, "all copies made the same clocks"


def test_instances_may_run_in_threads() -> None:
    module = counting()
    rows = (np.arange(20_000, dtype=np.uint64) % 3 == 0).astype(np.uint64)[:, None]
    expected = module.instance().run(rows)
    made: list[Any] = [None] * 4

    def work(number: int) -> None:
        made[number] = module.instance().run(rows)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, expected) for one in made)


def test_no_clocks_are_no_clocks() -> None:
    for machine in machines():
        assert len(machine.run(np.zeros((0, 1), np.uint64))) == 0


def test_without_ports_a_row_is_one_word_of_zero() -> None:
    machine = counting(inputs=False, outputs=False).instance()
    assert machine.run(np.zeros((7, 1), np.uint64)).tolist() == [[0]] * 7
    assert int(machine.state["count"]) == 7
    assert machine.step() == {}
    with pytest.raises(ValueError, match="without inputs"):
        machine.run(np.ones((1, 1), np.uint64))
