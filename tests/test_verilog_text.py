"""The pieces of which Verilog is written: values, names, lines; worked out by hand, or by trying all."""

from __future__ import annotations

from itertools import pairwise

import pyrtl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recnmp.rtl.export.names import Names
from recnmp.rtl.export.values import (
    Constant,
    Operation,
    Part,
    Piece,
    Value,
    compared,
    joined,
    picked,
    text,
    width,
)
from recnmp.rtl.export.verilog import module, wrapped
from recnmp.rtl.ports import Hardware, Port, Wires

WIRE_BITS = 4
PARTS = st.one_of(
    st.builds(
        lambda low, bits: Piece("w", low, min(bits, WIRE_BITS - low), WIRE_BITS),
        st.integers(0, 3),
        st.integers(1, 4),
    ),
    st.integers(1, 3).flatmap(
        lambda bits: st.builds(Constant, st.integers(0, (1 << bits) - 1), st.just(bits))
    ),
)
VALUES = st.lists(PARTS, min_size=1, max_size=4).map(tuple)


def number(value: Value, wire: int) -> int:
    """What the value is where w holds `wire`."""
    result = 0
    for part in value:
        assert not isinstance(part, Operation)
        field = part.number if isinstance(part, Constant) else wire >> part.low & (1 << part.bits) - 1
        result = result << part.bits | field
    return result


@given(VALUES, VALUES, st.sampled_from(["==", "<", ">"]))
def test_a_comparison_is_constant_only_if_it_has_one_outcome(left: Value, right: Value, sign: str) -> None:
    holds = {"==": int.__eq__, "<": int.__lt__, ">": int.__gt__}[sign]
    outcomes = {holds(number(left, a), number(right, b)) for a in range(16) for b in range(16)}
    (made,) = compared(sign, left, right)
    if isinstance(made, Constant):
        assert outcomes == {bool(made.number)}


@given(st.lists(PARTS, min_size=1, max_size=6))
def test_joining_merges_and_changes_nothing(parts: list[Part]) -> None:
    made = joined(parts)
    assert width(made) == sum(part.bits for part in parts)
    assert len(made) <= len(parts)
    assert [number(made, wire) for wire in range(16)] == [number(tuple(parts), wire) for wire in range(16)]
    assert not any(isinstance(a, Constant) and isinstance(b, Constant) for a, b in pairwise(made))


@given(VALUES, st.data())
def test_picking_takes_those_bits(value: Value, data: st.DataObject) -> None:
    indices = data.draw(st.lists(st.integers(0, width(value) - 1), min_size=1, max_size=6))
    for wire in range(16):
        whole = number(value, wire)
        assert number(picked(value, indices), wire) == sum(
            (whole >> i & 1) << n for n, i in enumerate(indices)
        )


def test_values_as_they_are_written() -> None:
    sign = Piece("a", 7, 1, 8)
    assert text((Piece("a", 0, 8, 8),)) == "a"
    assert text((sign,)) == "a[7]"
    assert text((sign,) * 3) == "{3{a[7]}}"
    assert (
        text((*((sign,) * 3), Piece("a", 2, 3, 8), Constant(200, 8), Constant(5, 4)))
        == "{{3{a[7]}}, a[4:2], 8'hc8, 4'd5}"
    )
    with pytest.raises(ValueError, match="no bits can be taken from a & b"):
        picked((Operation("&", "a & b", 8),), [0])


def test_names_are_legal_and_given_once() -> None:
    names = Names({"clk", "sum"})
    given = ["a/b", "a__b", "sum", "wire", "2nd", "x-y", "x_y", "a/b/c"]
    made = [names.of(name) for name in given]
    assert made == ["a__b", "a__b_1", "sum_1", "wire_", "_2nd", "x_y", "x_y_1", "a__b__c"]
    assert names.part("a__b") == "a__b_2"


def _two_of_one_name(wires: Wires) -> Wires:
    one, other = pyrtl.WireVector(4, "a/b"), pyrtl.WireVector(4, "a__b")
    one <<= wires["in"] + 1
    other <<= wires["in"] ^ 3
    return {"out": one & other}


def test_wires_whose_names_become_the_same_stay_apart() -> None:
    hardware = Hardware("two", "", (Port("in", 4, ""),), (Port("out", 4, ""),), _two_of_one_name)
    lines = module(hardware, hardware.circuit()).splitlines()
    assert sum(" a__b = " in line or " a__b_1 = " in line for line in lines) == 2
    assert len({line.split(" = ")[0] for line in lines if " = " in line}) == sum(
        " = " in line for line in lines
    )


def test_long_statements_break_outside_of_brackets() -> None:
    first, second = "{" + ", ".join(["some_wire[7:0]"] * 4) + "}", "(" + " & ".join(["other_wire"] * 4) + ")"
    lines = wrapped(f"assign out = choose ? {first} : {second};").splitlines()
    assert [line.strip() for line in lines] == [f"assign out = choose ? {first} :", f"{second};"]
    assert lines[0].startswith("    assign")
    assert lines[1].startswith("        (")
    endless = "x" * 300
    assert wrapped(f"assign out = {endless};") == f"    assign out = {endless};"
