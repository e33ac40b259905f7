"""Wires of an instance have names by which faults and waves find them, at no cost in nets."""

import pyrtl
import pytest
from recnmp.rtl.fp.add import FP_ADD
from recnmp.rtl.fp.multiply import FP_MUL
from recnmp.rtl.lane import LANE, datapath
from recnmp.rtl.scope import Scope


@pytest.fixture
def block():
    with pyrtl.set_working_block(pyrtl.Block(), no_sanity_check=True):
        yield pyrtl.working_block()


def test_a_name_costs_no_net_unless_the_wire_has_one(block) -> None:
    at = Scope("unit")
    a = pyrtl.Input(4, "a")
    inverted = ~a
    assert at("inverted", inverted) is inverted
    assert [net.op for net in block.logic] == ["~"]
    assert at("again", a) is not a
    assert at("inverted_too", inverted).name == "unit/inverted_too"
    assert set(block.wirevector_by_name) == {"a", "unit/inverted", "unit/again", "unit/inverted_too"}


def test_a_delay_is_numbered_by_clock(block) -> None:
    late = Scope("unit").delay("tag", pyrtl.Input(4, "tag"), 3)
    assert late.name == "unit/tag_3"
    assert {register.name for register in block.wirevector_subset(pyrtl.Register)} == {
        "unit/tag_1",
        "unit/tag_2",
        "unit/tag_3",
    }


@pytest.mark.parametrize("hardware", [FP_ADD, FP_MUL, LANE, datapath(2)], ids=lambda hardware: hardware.name)
def test_every_register_and_memory_has_a_name_of_its_block(hardware) -> None:
    circuit = hardware.circuit()
    registers = circuit.wirevector_subset(pyrtl.Register)
    assert registers
    names = [wire.name for wire in registers] + [net.op_param[1].name for net in circuit.logic_subset("m@")]
    roots = {name.partition("/")[0] for name in names}
    assert roots <= {hardware.name, "lane", "lane0", "lane1"}
