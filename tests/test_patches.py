"""Patches of a circuit by the names of its wires: each does what it says, and none does nothing unseen."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyrtl
import pytest
from recnmp.rtl.faults import patch
from recnmp.rtl.faults.fault import Fault
from toy_hardware import TOY

Row = dict[str, int]


def outputs(
    change: Callable[[pyrtl.Block], None] = lambda block: None, clocks: int = 60
) -> tuple[list[Row], list[Row]]:
    """Inputs and outputs of the toy block, changed, clock by clock."""
    block = TOY.circuit()
    change(block)
    simulation = pyrtl.Simulation(tracer=None, block=block)
    chance = random.Random(7)
    inputs, seen = [], []
    for _ in range(clocks):
        inputs.append({port.name: chance.getrandbits(port.bits) for port in TOY.inputs})
        simulation.step(inputs[-1])
        seen.append({port.name: simulation.inspect(port.name) for port in TOY.outputs})
    return inputs, seen


def column(rows: list[Row], name: str) -> list[int]:
    return [row[name] for row in rows]


SOUND = outputs()[1]


def differing(rows: list[Row]) -> set[str]:
    """Outputs that differ from those of the sound block."""
    return {name for name in rows[0] if column(rows, name) != column(SOUND, name)}


def test_an_unpatched_block_is_sound() -> None:
    assert outputs(lambda block: None)[1] == SOUND


def test_stuck_reads_as_a_constant() -> None:
    _, rows = outputs(lambda block: patch.stuck(block, "toy/once", 0xA5))
    assert column(rows, "twice")[1:] == [0xA5] * 59
    assert differing(rows) == {"twice", "mixed"}, "the memory is written from it as well"


def test_inverted_turns_every_bit_over() -> None:
    _, rows = outputs(lambda block: patch.inverted(block, "toy/twice"))
    assert column(rows, "twice") == [value ^ 0xFF for value in column(SOUND, "twice")]
    assert differing(rows) == {"twice"}


def test_an_output_and_an_input_can_be_patched() -> None:
    _, rows = outputs(lambda block: patch.inverted(block, "below"))
    assert column(rows, "below") == [value ^ 1 for value in column(SOUND, "below")]
    _, rows = outputs(lambda block: patch.stuck(block, "write", 0))
    assert set(column(rows, "kept")) == {5}


def test_late_is_one_clock() -> None:
    inputs, rows = outputs(lambda block: patch.late(block, "toy/once"))
    assert column(rows, "twice") == [0, 0, 0, *column(inputs, "b")[:-3]]


def test_early_is_one_clock() -> None:
    inputs, rows = outputs(lambda block: patch.early(block, "toy/once"))
    assert column(rows, "twice") == [0, *column(inputs, "b")[:-1]]
    with pytest.raises(ValueError, match="is no register"):
        outputs(lambda block: patch.early(block, "toy/total"))


def test_swapped_exchanges_two_wires_at_their_readers() -> None:
    inputs, rows = outputs(lambda block: patch.swapped(block, "a", "b"))
    assert column(rows, "twice") == [0, 0, *column(inputs, "a")[:-2]]
    assert column(rows, "below") == [int(not row["b"] < row["a"]) for row in inputs]
    assert "kept" not in differing(rows), "a sum does not mind"


def test_instead_and_into_change_one_reader_only() -> None:
    inputs, rows = outputs(lambda block: patch.instead(block, "toy/once", "a", into="toy/twice"))
    assert column(rows, "twice") == [0, *column(inputs, "a")[:-1]]
    assert differing(rows) == {"twice"}, "the memory is written as before"


def test_rewire_gives_a_wire_of_its_own_making() -> None:
    """One stuck bit of a sum, seen in what is kept."""
    _, rows = outputs(
        lambda block: patch.rewire(block, "toy/total", lambda wire: pyrtl.concat(wire[1:], pyrtl.Const(0, 1)))
    )
    assert all(value & 1 == 0 for value in column(rows, "kept") if value != 5)
    assert differing(rows) == {"kept"}


def test_a_memory_write_may_come_late() -> None:
    inputs, rows = outputs(lambda block: patch.write_late(block, "toy/memory"))
    assert differing(rows) == {"mixed"}
    # nothing else is needed to say what stands in the memory: a history by hand
    memory, pipe, table = [0] * 8, [], [7, 1, 2, 200, 4, 5, 6, 9]
    once = 0
    for row, seen in zip(inputs, rows, strict=True):
        expected = table[row["b"] & 7] ^ memory[row["b"] >> 3 & 7] if row["read"] else 0
        assert seen["mixed"] == expected
        pipe.append((row["write"], row["a"] & 7, once))
        if len(pipe) > 1:
            enable, address, data = pipe.pop(0)
            if enable:
                memory[address] = data
        once = row["b"]


def test_a_memory_knows_its_changed_ports() -> None:
    """PyRTL keeps nets in two places: the block, and the memory they are ports of."""
    block = TOY.circuit()
    patch.write_late(block, "toy/memory")
    patch.inverted(block, "b")
    for net in block.logic_subset("m@"):
        ports = net.op_param[1].readport_nets if net.op == "m" else net.op_param[1].writeport_nets
        assert net in ports
        assert all(port in block.logic for port in ports)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda block: patch.stuck(block, "toy/totel", 0),
            "no wire 'toy/totel' in the block; near it: toy/total",
        ),
        (lambda block: patch.stuck(block, "nothing/like/it", 0), "no wire 'nothing/like/it' in the block$"),
        (lambda block: patch.late(block, "toy/total", "gone"), "no wire 'gone'"),
        (lambda block: patch.swapped(block, "a", "gone"), "no wire 'gone'"),
        (lambda block: patch.swapped(block, "a", "write"), "'a' has 8 bits, 'write' 1"),
        (lambda block: patch.instead(block, "a", "write"), "'a' has 8 bits, not 1"),
        (
            lambda block: patch.instead(block, "toy/kept", "a", into="toy/twice"),
            "nobody reads the wire 'toy/kept'",
        ),
        (lambda block: patch.write_late(block, "toy/table"), "no memory 'toy/table' that is written"),
    ],
)
def test_what_is_not_there_is_refused(change: Callable[[pyrtl.Block], None], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        change(TOY.circuit())


def test_a_fault_is_of_its_block_only() -> None:
    fault = Fault(
        "toy_stuck", "toy", "the sum is 0", lambda block: patch.stuck(block, "toy/total", 0), ("kept",)
    )
    assert fault.circuit(TOY) is not None
    with pytest.raises(ValueError, match="is a fault of lane, not of toy"):
        Fault("other", "lane", "", lambda block: None, ()).circuit(TOY)
