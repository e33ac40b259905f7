"""The instruction's bits: NumPy columns, packed words and PyRTL wires are one declaration."""

from __future__ import annotations

import numpy as np
import pyrtl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recnmp.rtl.wires import join, split

from recnmp import RecnmpError, isa
from recnmp.config.system import ADDRESS_LIMITS, SystemConfig
from recnmp.config.units import TAGS

LAYOUTS = (isa.INSTRUCTION, isa.ADDRESS, isa.CONFIG_ADDRESS)


def columns_of(layout: isa.Layout) -> st.SearchStrategy[dict[str, list[int]]]:
    """A few words, field by field."""
    return st.integers(1, 5).flatmap(
        lambda n: st.fixed_dictionaries(
            {
                f.name: st.lists(st.integers(0, (1 << f.bits) - 1), min_size=n, max_size=n)
                for f in layout.fields
            }
        )
    )


def test_widths() -> None:
    """79 bits as in the paper, 83 with ByteOffset (D8); addresses fill the 32-bit field."""
    assert isa.BITS_ALIGNED == 79
    assert isa.BITS_PACKED == 83
    assert isa.ADDRESS.width == isa.CONFIG_ADDRESS.width == 32


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
@given(data=st.data())
def test_unpack_undoes_pack(layout: isa.Layout, data: st.DataObject) -> None:
    """unpack(pack(x)) == x for every field."""
    columns = data.draw(columns_of(layout))
    unpacked = layout.unpack(layout.pack(columns))
    assert {name: column.tolist() for name, column in unpacked.items()} == columns


@given(data=st.data())
def test_bits_are_where_the_declaration_says(data: st.DataObject) -> None:
    """The packed word as one integer, against shifts by hand."""
    columns = data.draw(columns_of(isa.INSTRUCTION))
    words = isa.INSTRUCTION.pack(columns)
    for i, word in enumerate(words):
        expected, low = 0, 0
        for field in isa.INSTRUCTION.fields:
            expected |= columns[field.name][i] << low
            low += field.bits
        assert int(word[0]) | int(word[1]) << 64 == expected


@pytest.mark.parametrize("field", isa.INSTRUCTION.fields, ids=lambda field: field.name)
def test_what_does_not_fit_is_refused(field: isa.Field) -> None:
    """One more than a field holds, and -1."""
    columns = {f.name: np.zeros(3, np.int64) for f in isa.INSTRUCTION.fields}
    for value in (1 << field.bits, -1):
        columns[field.name] = np.array([0, 0, value])
        with pytest.raises(
            RecnmpError, match=rf"instruction 2: {field.name} is {value}, .* 0 to {(1 << field.bits) - 1}"
        ):
            isa.INSTRUCTION.pack(columns)


def test_missing_field() -> None:
    """A forgotten column is named."""
    with pytest.raises(RecnmpError, match=r"missing or unknown: bank$"):
        isa.ADDRESS.pack({f.name: [0] for f in isa.ADDRESS.fields if f.name != "bank"})


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_wires_agree(layout: isa.Layout) -> None:
    """Hardware splits a word into the same fields as `unpack`, and joins them to the same word."""
    rng = np.random.default_rng(7)
    columns = {f.name: rng.integers(0, 1 << f.bits, 8) for f in layout.fields}
    words = [sum(int(w) << 64 * k for k, w in enumerate(row)) for row in layout.pack(columns)]
    pyrtl.reset_working_block()
    word = pyrtl.Input(layout.width, "word")
    fields = split(layout, word)
    for name, wire in fields.items():
        out = pyrtl.Output(len(wire), f"out_{name}")
        out <<= wire
    whole = pyrtl.Output(layout.width, "whole")
    whole <<= join(layout, fields)
    simulation = pyrtl.Simulation()
    for i, value in enumerate(words):
        simulation.step({"word": value})
        assert simulation.inspect("whole") == value
        for name, column in columns.items():
            assert simulation.inspect(f"out_{name}") == column[i]


def test_wires_of_another_width() -> None:
    """A word or field that is too wide is a mistake of the builder, told at once."""
    pyrtl.reset_working_block()
    with pytest.raises(ValueError, match="has 32 bits, the word long has 33"):
        split(isa.ADDRESS, pyrtl.Input(33, "long"))
    fields = {f.name: pyrtl.Input(f.bits + (f.name == "row"), f"in_{f.name}") for f in isa.ADDRESS.fields}
    with pytest.raises(ValueError, match="row has 18 bits, not 19"):
        join(isa.ADDRESS, fields)


def test_configuration_agrees_with_the_layout() -> None:
    """What configuration says of the instruction (it may import nothing) is what the layout has."""
    energy = SystemConfig().energy
    assert (energy.instruction_bits, energy.offset_instruction_bits) == (isa.BITS_ALIGNED, isa.BITS_PACKED)
    assert isa.TAGS == TAGS == 1 << next(f.bits for f in isa.INSTRUCTION.fields if f.name == "psum_tag")
    widths = {field.name: 1 << field.bits for field in isa.ADDRESS.fields}
    names = ("rank", "bankgroup", "bank", "row", "column")
    assert [*ADDRESS_LIMITS.values()] == [widths[name] for name in names]
