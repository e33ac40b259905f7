"""docs/hardware.md and the builders say the same."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hardware_page import PAGE, between, with_excerpt, with_outputs, with_tables
from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.fp import add, dequantise, multiply
from simulators import need

TEXT = PAGE.read_text()


def test_port_and_fault_tables_are_those_of_the_builders() -> None:
    assert with_tables(TEXT) == TEXT, "run python tests/hardware_page.py"


def test_the_excerpt_is_what_is_exported() -> None:
    assert with_excerpt(TEXT) == TEXT, "run python tests/hardware_page.py"


def test_commands_print_what_the_page_shows() -> None:
    need("iverilog", "vvp")
    assert with_outputs(TEXT) == TEXT, "run python tests/hardware_page.py"


def test_a_changed_port_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = BLOCKS["lane"]
    wider = dataclasses.replace(
        lane, outputs=(dataclasses.replace(lane.outputs[0], bits=2), *lane.outputs[1:])
    )
    monkeypatch.setitem(BLOCKS, "lane", wider)
    assert with_tables(TEXT) != TEXT
    with pytest.raises(ValueError, match="markers of ports of nothing once"):
        between(TEXT, "ports of nothing", "")


def test_every_block_is_on_the_page_with_files_that_exist(root: Path) -> None:
    rows = [line.split("|") for line in TEXT.splitlines() if line.startswith("| `")]
    table = {row[1].strip(" `"): row for row in rows if len(row) == 8}
    assert set(table) == set(BLOCKS)
    for row in table.values():
        assert (root / row[4].strip().strip("`")).is_file()
        assert (root / "recnmp" / row[5].split(",")[0].strip().strip("`")).is_file()
    assert int(table["fp_add"][3]) == add.LATENCY
    assert int(table["fp_mul"][3]) == multiply.LATENCY
    assert table["dequantise"][3].split() == [str(multiply.LATENCY), "+", str(add.LATENCY)]
    assert dequantise.LATENCY == multiply.LATENCY + add.LATENCY
    assert int(table["lane"][3]) == dequantise.LATENCY + multiply.LATENCY + add.LATENCY
