"""What callers of compiled circuits can do wrong is refused in one line that names it; nothing is done then."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pyrtl
import pytest
from recnmp.rtl.backend import CircuitAssertionError, Composition, Module, Part, compile_block

from recnmp.errors import RecnmpError

TOP = 2**64 - 1


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def holding(bits: int = 64, port: str = "x", name: str = "held") -> Module:
    """Shows in each clock what came in the clock before."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        held = pyrtl.Register(bits, name)
        held.next <<= pyrtl.Input(bits, port)
        pyrtl.Output(bits, "o").__ilshift__(held)
    return compile_block(block)


def machines(bits: int = 64) -> list[Any]:
    module = holding(bits)
    whole = Composition({"a": Part(module, 2)}, {}, {"x": "a.x"}, {"o": "a[1].o"})
    return [module.instance(), module.instance(3), whole]


WRONG = [
    (np.array([[1.5]]), "inputs are float64: whole numbers only"),
    (np.array([[np.nan]], np.float32), "inputs are float32"),
    (np.zeros((0, 1)), "inputs are float64"),
    (np.array([[1j]]), "inputs are complex128"),
    (np.array([["2026-01-01"]], "datetime64[D]"), r"inputs are datetime64\[D\]"),
    (np.array([["7"]]), "inputs are <U1"),
    ([[1.5]], r"an input is 1.5 \(float\): whole numbers only"),
    ([["7"]], "an input is '7'"),
    ([[2**70, 1.5]], "an input is 1.5"),
    ([[None]], r"an input is None \(NoneType\)"),
    (None, "an input is None"),
    ([[1], [2, 3]], "inputs are ragged"),
    (7, r"inputs are 7 \(int\), they must be \[clocks, 1\]"),
    ([[0], [0], [-1]], "input 'x' is -1 in clock 2, it has 64 bits"),
    ([[TOP], [-1]], "input 'x' is -1 in clock 1, it has 64 bits"),
    (np.array([[0], [-3]], np.int8), "input 'x' is -3 in clock 1"),
    (np.array([[0], [2**64]], object), "input 'x' is 0x10000000000000000 in clock 1, it has 64 bits"),
]


@pytest.mark.parametrize(("given", "said"), WRONG)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_inputs_that_are_no_words_are_refused(which: int, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        machines()[which].run(given)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int64, object, ">u8"])
def test_whole_numbers_of_every_type_are_taken(dtype: Any) -> None:
    for machine in machines():
        assert machine.run(np.array([[1], [0], [1], [0]], dtype)).reshape(4, -1)[:, 0].tolist() == [
            0,
            1,
            0,
            1,
        ]
        assert machine.run([[TOP], [0]]).reshape(2, -1)[1, 0] == TOP


def test_negative_numbers_are_named_in_ports_of_several_words_and_for_each_copy() -> None:
    for machine in machines(70):
        with pytest.raises(ValueError, match="input 'x' is -1 in word 1 in clock 1, it has 70 bits"):
            machine.run(np.array([[0, 0], [5, -1]]))
    many = holding(8).instance(3)
    rows = np.zeros((4, 3, 1), np.int64)
    rows[2, 1] = -7
    with pytest.raises(ValueError, match="input 'x' of copy 1 is -7 in clock 2, it has 8 bits"):
        many.run(rows)


def test_a_step_takes_whole_numbers_only() -> None:
    one, many = holding().instance(), holding().instance(2)
    for value in (1.5, "1", b"1", None, np.float64(2), [1.0], np.array([2.5]), 1j):
        with pytest.raises(ValueError, match=r"input 'x' is .*: whole numbers only"):
            one.step(x=value)
    for value in (True, np.bool_(True), np.uint8(1), np.array(1), [1], np.array([1])):
        one.step(x=value)  # type: ignore[arg-type]
        assert one.step(x=0) == {"o": 1}
    with pytest.raises(ValueError, match="input 'x' is -1 in clock 0"):
        many.step(x=[1, -1])
    with pytest.raises(ValueError, match="'x' has 3 values for 2 copies"):
        many.step(x=[1, 2, 3])


@pytest.mark.parametrize("which", [0, 2])
def test_outputs_lie_apart_from_inputs_and_state_and_are_described(which: int) -> None:
    machine = machines()[which]
    room = np.zeros((6, 1), np.uint64)
    with pytest.raises(ValueError, match="outputs share memory with inputs"):
        machine.run(room[:5], room[1:])
    locked = np.zeros((6, 1), np.uint64)
    locked.flags.writeable = False
    for given, said in (
        ([0], r"outputs are \[0\] \(list\), they must be a NumPy array"),
        (room.astype(np.int64), r"outputs are int64 \(6, 1\)"),
        (room[:5], r"outputs are uint64 \(5, 1\)"),
        (np.zeros((6, 2), np.uint64)[:, :1], r"uint64 \(6, 1\) not contiguous, they must"),
        (locked, r"uint64 \(6, 1\) read-only"),
    ):
        with pytest.raises(ValueError, match=said):
            machine.run(np.zeros((6, 1), np.uint64), given)
    if which == 0:
        with pytest.raises(ValueError, match="share memory with the state"):
            machine.run(np.zeros((1, 1), np.uint64), machine.state["held"].reshape(1, 1))


@pytest.mark.parametrize("copies", [2.5, True, "2", None, 0, -1, np.float64(2)])
def test_a_number_of_copies_is_a_whole_number(copies: Any) -> None:
    with pytest.raises(ValueError, match=r"copies is .*, a whole number of at least 1 must be"):
        holding().instance(copies)
    with pytest.raises(RecnmpError, match="composition: copies is"):
        Part(holding(), copies)


def test_snapshots_belong_to_a_module_and_a_number_of_copies() -> None:
    instance, other = holding().instance(), holding(port="y").instance()
    kept = instance.snapshot()
    with pytest.raises(
        ValueError, match=r"a snapshot of a module with inputs x, outputs o is none of .* inputs y"
    ):
        other.restore(kept)
    with pytest.raises(ValueError, match="a snapshot of copies 1 is none of copies 3"):
        holding().instance(3).restore(kept)
    holding().instance().restore(pickle.loads(pickle.dumps(kept)))  # the same circuit, compiled anew
    with pytest.raises(ValueError, match=r"None \(NoneType\) is no snapshot"):
        instance.restore(None)  # type: ignore[arg-type]
    parts = {"a": holding(), "b": holding(8)}
    whole = Composition(parts, {}, {"x": "a.x", "y": "b.x"}, {})
    taken = whole.snapshot()
    whole.run([[3, 4]])
    with pytest.raises(ValueError, match="is none of b of"):
        whole.restore({"a": taken["a"], "b": taken["a"]})
    assert int(whole.state["a"]["held"]) == 3, "nothing is done"
    with pytest.raises(ValueError, match="is no snapshot of a composition"):
        whole.restore(None)  # type: ignore[arg-type]


def test_bad_arguments_of_compilation_and_parts() -> None:
    with pytest.raises(RecnmpError, match=r"circuit: None \(NoneType\) is no PyRTL block"):
        compile_block(None)  # type: ignore[arg-type]
    with pytest.raises(RecnmpError, match=r"inputs are 'x' .*, they must be a sequence of names"):
        compile_block(pyrtl.Block(), "x")
    with pytest.raises(RecnmpError, match=r"wake is 'go' .*, it must be a tuple of names"):
        Part(holding(), wake="go")  # type: ignore[arg-type]
    with pytest.raises(RecnmpError, match="a part is 3"):
        Composition({"a": 3}, {}, {}, {})  # type: ignore[dict-item]
    with pytest.raises(RecnmpError, match=r"part 'a\.b': a name has no"):
        Composition({"a.b": holding()}, {}, {}, {})


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([1, 300, 0, 0], r"address 1 of 0 to 3: the entry is 300 \(int\), it has 8 bits"),
        ([1, 2, 1.5, 0], r"address 2 of 0 to 3: the entry is 1.5 \(float\), it must be a whole number"),
        ([None, 2, 1, 0], "address 0 of 0 to 3: the entry is None"),
        (lambda address: 1 // address, "address 0 of 0 to 3: its function fails: ZeroDivisionError"),
        ({0: 1}, "address 1 of 0 to 3: there is no entry; pad_with_zeros=True"),
    ],
)
def test_entries_of_a_rom_are_named(data: Any, said: str) -> None:
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        rom = pyrtl.RomBlock(8, 2, data, "table", asynchronous=True)
        pyrtl.Output(8, "o").__ilshift__(rom[pyrtl.Input(2, "x")])
    with pytest.raises(RecnmpError, match="ROM 'table', " + said):
        compile_block(block)


def test_a_port_may_be_called_self() -> None:
    assert holding(8, "self").instance().step(self=3) == {"o": 0}


class OddError(Exception):
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def test_assertions_survive_pickle_and_machines_say_that_they_do_not() -> None:
    for cause in (ValueError("x"), OddError(1, 2)):
        error = CircuitAssertionError("kept", 7, 2, " of copy 2", cause)
        for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
            assert str(other) == str(error)
            assert (other.name, other.clock, other.copy) == ("kept", 7, 2)
            assert str(other.__cause__) == str(cause)
    for machine in (holding(), *machines()):
        for act in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="holds machine code: it cannot be pickled or copied"):
                act(machine)


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_callback_cannot_run_what_runs(which: int) -> None:
    machine = machines()[which]
    rows = np.ones((5000, 1), np.uint64)
    acts = [lambda: machine.run(rows[:1]), machine.reset, lambda: machine.restore(machine.snapshot())]
    if which == 2:
        acts.append(lambda: machine.instances["a"].run(rows[:1]))
    for act in acts:
        with pytest.raises(RecnmpError, match="is in a run"):
            machine.run(rows, progress=lambda _, act=act: act())
    machine.reset()
    machine.run(rows)  # and is free again


def test_skipped_clocks_are_counted_from_reset() -> None:
    whole = Composition({"a": Part(holding(), wake=("x",))}, {}, {"x": "a.x"}, {})
    whole.run(np.zeros((9, 1), np.uint64))
    assert whole.skipped == {"a": 9}
    whole.reset()
    assert whole.skipped == {"a": 0}
    whole.run(np.zeros((2, 1), np.uint64))
    assert whole.skipped == {"a": 2}


def test_inputs_below_many_outputs_are_those_of_each() -> None:
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        total: pyrtl.WireVector = pyrtl.Const(0, 8)
        for number in range(12):
            total = (total + pyrtl.Input(8, f"i{number}"))[:8]
            pyrtl.Output(8, f"o{number}").__ilshift__(total)
        still = pyrtl.Register(8, "still")
        still.next <<= total
        pyrtl.Output(8, "last").__ilshift__(still)
    below = compile_block(block).input_dependent
    assert below == {f"o{n}": [f"i{k}" for k in range(n + 1)] for n in range(12)}
