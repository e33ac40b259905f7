"""State of compiled circuits: reset, snapshot, views by name, copies; assertions, bad inputs, what is refused."""

from __future__ import annotations

import numpy as np
import pyrtl
import pytest
from random_circuits import packed, simulated, stimulus, unpacked
from recnmp.rtl.backend import CircuitAssertionError, Instance, Module, compile_block

from recnmp.errors import RecnmpError

ONE = np.ones((1, 1), np.uint64)


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def counter() -> pyrtl.Block:
    """Counts by `by` from 5 in 70 bits, notes what it was in a memory; all is shown."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        by = pyrtl.Input(66, "by")
        count = pyrtl.Register(70, "box/count", reset_value=5)
        notes = pyrtl.MemBlock(70, 3, "notes", asynchronous=True)
        place = pyrtl.Register(3, "place")
        place.next <<= place + 1
        count.next <<= count + by
        notes[place] <<= count
        pyrtl.Output(70, "before").__ilshift__(notes[place])
        pyrtl.Output(70, "now").__ilshift__(count)
    return block


def asserting() -> Module:
    """`limit/kept` is that x is not 9, `other` that it is not 11."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        x = pyrtl.Input(8, "x")
        seen = pyrtl.Register(8, "seen")
        seen.next <<= x
        pyrtl.Output(8, "out").__ilshift__(seen)
        for name, bad in (("limit/kept", 9), ("other", 11)):
            kept = pyrtl.WireVector(1, name)
            kept <<= x != bad
            pyrtl.rtl_assert(kept, ValueError(f"{bad} came"), block)
    return compile_block(block)


def test_state_is_seen_and_changed_in_place() -> None:
    instance = compile_block(counter()).instance()
    assert {name: view.shape for name, view in instance.state.items()} == {
        "box/count": (2,), "place": (), "notes": (8, 2),
    }  # fmt: skip
    assert instance.state["box/count"].tolist() == [5, 0]
    instance.state["box/count"][:] = [2**64 - 1, 3]
    instance.state["notes"][1] = [7, 1]
    instance.state["place"][...] = 1
    assert instance.step(by=2) == {"before": 7 + 2**64, "now": 2**66 - 1}
    assert instance.state["box/count"].tolist() == [1, 4]
    assert instance.state["notes"][1].tolist() == [2**64 - 1, 3]
    assert int(instance.state["place"]) == 2


def test_views_of_copies_have_an_axis_of_copies_first() -> None:
    instance = compile_block(counter()).instance(3)
    assert {name: view.shape for name, view in instance.state.items()} == {
        "box/count": (3, 2), "place": (3,), "notes": (3, 8, 2),
    }  # fmt: skip
    instance.state["box/count"][1] = [100, 0]
    instance.state["notes"][2, 0] = [9, 0]
    assert instance.step(by=[1, 2, 3]) == {"before": [0, 0, 9], "now": [5, 100, 5]}
    assert instance.state["box/count"].tolist() == [[6, 0], [102, 0], [8, 0]]
    assert instance.state["notes"][:, 0, 0].tolist() == [5, 100, 5]


@pytest.mark.parametrize("copies", [1, 3])
def test_reset_gives_the_same_run_again(copies: int) -> None:
    instance = compile_block(counter()).instance(copies)
    rows = np.array([[k, k % 3] for k in range(40)], np.uint64)
    first = instance.run(rows)
    assert not np.array_equal(instance.run(rows), first)
    instance.reset()
    assert np.array_equal(instance.run(rows), first)


@pytest.mark.parametrize("copies", [1, 3])
def test_a_snapshot_brings_every_register_and_memory_word_back(copies: int) -> None:
    module = compile_block(counter())
    instance, other = module.instance(copies), module.instance(copies)
    rows = np.array([[k * 7, k % 3] for k in range(20)], np.uint64)
    instance.run(rows)
    kept = instance.snapshot()
    expected = instance.run(rows)
    other.restore(kept)
    assert np.array_equal(other.run(rows), expected)
    instance.restore(kept)
    assert np.array_equal(instance.run(rows), expected)
    with pytest.raises(ValueError, match="none of this instance"):
        module.instance(copies + 8).restore(kept)


def test_instances_of_one_module_do_not_know_of_each_other() -> None:
    module = compile_block(counter())
    block = counter()
    many = [module.instance() for _ in range(5)]
    rows = [stimulus(block, 25, seed) for seed in range(5)]
    made: list[list[dict[str, int]]] = [[] for _ in many]
    for t in range(25):  # turn by turn
        for own, instance, into in zip(rows, many, made, strict=True):
            into.append(instance.step(**own[t]))  # type: ignore[arg-type]
    assert made == [simulated(block, own) for own in rows]


def test_rows_alike_for_all_copies_equal_rows_for_each() -> None:
    module = compile_block(counter())
    rows = packed(module.inputs, stimulus(counter(), 30, 3), module.in_words)
    alike = module.instance(5).run(rows)
    assert np.array_equal(alike, module.instance(5).run(np.repeat(rows[:, None], 5, axis=1)))
    assert unpacked(module.outputs, alike[:, 4]) == simulated(counter(), stimulus(counter(), 30, 3))


def test_outputs_come_into_the_array_given_and_nowhere_else() -> None:
    module = compile_block(counter())
    rows = np.zeros((6, 2), np.uint64)
    room = np.full((6, module.out_words), 99, np.uint64)
    assert module.instance().run(rows, room) is room
    assert np.array_equal(room, module.instance().run(rows))
    with pytest.raises(ValueError, match="outputs are"):
        module.instance().run(rows, room[:, ::-1])
    with pytest.raises(ValueError, match=r"must be \[clocks, 2\]"):
        module.instance().run(np.zeros((6, 3), np.uint64))


def test_progress_hears_of_every_clock_once() -> None:
    heard: list[int] = []
    compile_block(counter()).instance().run(np.zeros((10_000, 2), np.uint64), progress=heard.append)
    assert sum(heard) == 10_000
    assert len(heard) > 1


@pytest.mark.parametrize("copies", [1, 3, 9])
@pytest.mark.parametrize(("value", "name"), [(9, "limit/kept"), (11, "other")])
def test_a_false_assertion_stops_the_run_after_its_clock(copies: int, value: int, name: str) -> None:
    instance = asserting().instance(copies)
    rows = np.zeros((8, copies, 1), np.uint64)
    rows[5, copies - 1] = value
    with pytest.raises(CircuitAssertionError, match=f"{name}.*in clock 5: {value} came") as caught:
        instance.run(rows)
    assert (caught.value.name, caught.value.clock, caught.value.copy) == (name, 5, copies - 1)
    assert isinstance(caught.value.__cause__, ValueError)
    assert instance.state["seen"].reshape(-1)[copies - 1] == value  # the clock was made


def test_copies_that_only_fill_a_vector_break_no_assertion() -> None:
    """An input of 0 is forbidden here, and what nobody uses is 0."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        x = pyrtl.Input(1, "x")
        pyrtl.Output(1, "out").__ilshift__(x)
        pyrtl.rtl_assert(x, ValueError("x is 0"), block)
    assert compile_block(block).instance(3).step(x=1) == {"out": [1, 1, 1]}


def bad(instance: Instance, rows: list[list[int]]) -> str:
    before = instance.snapshot()
    with pytest.raises(ValueError, match="clock") as caught:
        instance.run(np.array(rows, np.uint64))
    assert np.array_equal(instance.snapshot(), before), "a refused run must change nothing"
    return str(caught.value)


def test_an_input_with_too_many_bits_is_refused_by_name_before_anything_happens() -> None:
    instance = compile_block(counter()).instance()
    assert bad(instance, [[1, 3], [2**64 - 1, 4]]) == (
        "input 'by' is 0x4ffffffffffffffff in clock 1, it has 66 bits"
    )
    with pytest.raises(ValueError, match="'by' is 73786976294838206464, it has 66 bits"):
        instance.step(by=2**66)
    with pytest.raises(ValueError, match="-1"):
        instance.step(by=-1)
    with pytest.raises(ValueError, match="'to' is no input"):
        instance.step(by=1, to=2)
    with pytest.raises(ValueError, match="'by' is an input that has no value"):
        instance.step()


def test_ports_have_the_order_that_is_asked_for() -> None:
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        wires = [pyrtl.Input(bits, name) for name, bits in (("i2", 65), ("i10", 3))]
        for name, wire in zip(("o2", "o10"), wires, strict=True):
            pyrtl.Output(len(wire), name).__ilshift__(wire)
    module = compile_block(block)
    assert [(f.name, f.bits, f.first, f.columns) for f in module.inputs] == [
        ("i2", 65, 0, 2),
        ("i10", 3, 2, 1),
    ]
    module = compile_block(block, ["i10", "i2"], ["o10"])
    assert [f.name for f in module.inputs] == ["i10", "i2"]
    assert module.instance().run(np.array([[5, 6, 1]], np.uint64)).tolist() == [[5]]
    for inputs, outputs, said in (
        (["i2"], None, "input 'i10' is not named"),
        (["i2", "i10", "i3"], None, "'i3' is no input; there are: i10, i2"),
        (None, ["o2", "o2"], "an output is named twice"),
    ):
        with pytest.raises(RecnmpError, match=said):
            compile_block(block, inputs, outputs)


def test_two_write_ports_a_rom_with_gaps_and_a_huge_memory_are_refused() -> None:
    def built(kind: str) -> pyrtl.Block:
        block = pyrtl.Block()
        with pyrtl.set_working_block(block, no_sanity_check=True):
            x = pyrtl.Input(30, "x")
            if kind == "rom":
                rom = pyrtl.RomBlock(8, 2, [1, 2, 3], "table", asynchronous=True)
                pyrtl.Output(8, "o").__ilshift__(rom[x[:2]])
                return block
            memory = pyrtl.MemBlock(
                8, 30 if kind == "huge" else 2, "store", max_write_ports=2, asynchronous=True
            )
            memory[x[: memory.addrwidth]] <<= x[:8]
            if kind == "writes":
                memory[x[2:4]] <<= x[:8]
            pyrtl.Output(8, "o").__ilshift__(memory[x[: memory.addrwidth]])
        return block

    for kind, said in (
        ("writes", "memory 'store' has several write ports, at most 1"),
        ("rom", "ROM 'table' gives nothing for address 3 of 0 to 3"),
        ("huge", "memory 'store' has 30 address bits, at most 26"),
    ):
        with pytest.raises(RecnmpError, match=said):
            compile_block(built(kind))
    with pytest.raises(ValueError, match="copies is 0"):
        compile_block(counter()).instance(0)


def test_an_overlarge_register_put_in_by_hand_stays_inside_its_memory() -> None:
    """The view of a register can hold more than the register; an address from it must not leave the memory."""
    module = compile_block(counter())
    for instance in (module.instance(), module.instance(2)):
        instance.state["place"][...] = np.uint64(2**40 + 3)
        instance.run(ONE.repeat(2, axis=1))
        assert instance.state["notes"].reshape(-1, 8, 2)[0, 3, 0] == 5
