"""Every block of the machine as Verilog, replayed against what its kernel does."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.export.names import is_temporary
from recnmp.rtl.export.netlist import netlist
from recnmp.rtl.export.record import record
from recnmp.rtl.export.verilog import module
from recnmp.rtl.export.write import export
from recnmp.rtl.faults import FAULTS
from recnmp.rtl.lockstep.pair import PAIRS
from simulators import need, replay, run, warnings

CLOCKS = 3000


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_in_icarus_equals_its_kernel(tmp_path: Path, block: str) -> None:
    vectors = record(PAIRS[block], CLOCKS, 3)
    export(tmp_path / f"{block}.v", vectors, "by a test")
    said = replay(tmp_path, block)
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.startswith(f"PASS {block}: ")
    assert said.stdout.rstrip().endswith(f"equal in each of {len(vectors.inputs)} clocks")


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_and_its_testbench_are_clean(tmp_path: Path, block: str) -> None:
    export(tmp_path / "any_name.v", record(PAIRS[block], 10, 3), "by a test")
    assert warnings(tmp_path, "any_name.v", top=block) == ""
    assert warnings(tmp_path, "any_name_tb.v", "any_name.v", top=f"{block}_tb") == ""


@pytest.mark.parametrize("block", BLOCKS)
def test_yosys_takes_a_block_for_synthesis(tmp_path: Path, block: str) -> None:
    """It elaborates without a loop, a latch, a wire that nothing drives or one that two drive."""
    need("yosys")
    export(tmp_path / "block.v", record(PAIRS[block], 10, 3), "by a test")
    said = run(
        tmp_path, f"yosys -q -p 'read_verilog block.v; hierarchy -check -top {block}; proc; check -assert'"
    )
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")


@pytest.mark.parametrize("name", ["fp_add_sticky_lost", "fp_mul_subnormal_shift", "lane_hazard_by_tag"])
def test_the_testbench_finds_a_fault_of_the_circuit(tmp_path: Path, name: str) -> None:
    """The vectors tell a wrong circuit from a right one."""
    fault = FAULTS[name]
    hardware = BLOCKS[fault.block]
    export(tmp_path / "wrong.v", record(PAIRS[fault.block], CLOCKS, 3), "by a test")
    (tmp_path / "wrong.v").write_text(module(hardware, fault.circuit(hardware)))
    said = replay(tmp_path, "wrong")
    assert said.returncode != 0
    assert any(f", {signal}: got " in said.stdout.splitlines()[0] for signal in fault.seen_at)


def test_what_a_lane_records_reads_no_sum_before_it_is_written() -> None:
    """Verilog's memories start unknown: each partial sum is begun once, and none is read or added to before."""
    vectors = record(PAIRS["lane"], CLOCKS, 3)
    column = dict(zip((port.name for port in vectors.hardware.inputs), vectors.inputs.T, strict=True))
    begun = [
        (int(tag), int(group))
        for tag, group, first, valid in zip(
            column["tag"], column["group"], column["first"], column["valid"], strict=True
        )
        if first and valid
    ]
    assert len(set(begun[:128])) == 128
    settled = 128 + 14
    assert not column["read"][:settled].any()
    assert column["first"][:128].all()
    assert vectors.outputs[:128, 0].all(), "every one of them is taken at once"
    assert not vectors.outputs[settled : settled + 1, 2].any(), "the last of them has left the pipeline"
    assert column["read"][settled:].any()


def test_the_file_says_what_the_block_is(tmp_path: Path) -> None:
    export(tmp_path / "lane.v", record(PAIRS["lane"], 10, 3), "Written by recnmp 7: so and so")
    head = [line for line in (tmp_path / "lane.v").read_text().splitlines() if line.startswith("//")]
    words = [line.removeprefix("//").split() for line in head]
    for port in (*BLOCKS["lane"].inputs, *BLOCKS["lane"].outputs):
        row = next(row for row in words if row[:2] == [port.name, str(port.bits)])
        assert " ".join(row[3:]).startswith(port.meaning[:30])
    assert head[1] == "// Written by recnmp 7: so and so"
    assert any("synchronous and active high" in line for line in head)
    names = [line for line in (tmp_path / "lane.v").read_text().splitlines() if line.startswith("    input")]
    assert [line.rstrip(",").split()[-1] for line in names] == [
        "clk",
        "rst",
        *(p.name for p in BLOCKS["lane"].inputs),
    ]


def test_the_same_seed_gives_the_same_vectors() -> None:
    one, same, other = (record(PAIRS["lane"], 500, seed) for seed in (3, 3, 4))
    assert one.text() == same.text() != other.text()
    longer = record(PAIRS["lane"], 900, 3)
    assert np.array_equal(longer.inputs[: len(one.inputs)], one.inputs), "more clocks begin with fewer"


def test_bits_above_a_port_are_not_recorded() -> None:
    """Kernels and circuits ignore them; a vector has no room for them."""
    pair = PAIRS["widen"]
    above = replace(pair, stimulus=lambda *words: pair.stimulus(*words) | np.uint64(1 << 40))
    assert record(above, 50, 3).text() == record(pair, 50, 3).text()


@pytest.mark.parametrize("block", BLOCKS)
def test_the_text_keeps_every_name_and_fits_into_a_line(block: str) -> None:
    """A wire that the builder named and that reaches an output can be found under that name."""
    hardware = BLOCKS[block]
    text = module(hardware, hardware.circuit())
    assert max(map(len, text.splitlines())) <= 110
    live = netlist(hardware.circuit(), [port.name for port in hardware.outputs])
    words = set(re.findall(r"\w+", text))
    assert {name.replace("/", "__") for name in live.driver if not is_temporary(name)} <= words
    assert not any(word.startswith(("tmp", "const_")) for word in words)


@pytest.mark.slow
@pytest.mark.parametrize("block", ["fp_mul", "lane"])
def test_a_block_verilated_equals_its_kernel(tmp_path: Path, block: str) -> None:
    need("verilator", "g++", "make")
    vectors = record(PAIRS[block], 50_000, 4)
    export(tmp_path / f"{block}.v", vectors, "by a test")
    text = (tmp_path / f"{block}_tb.v").read_text()
    command = next(line for line in text.splitlines() if "verilator" in line).removeprefix(" * ").strip()
    said = run(tmp_path, command)
    assert said.returncode == 0, said.stdout + said.stderr
    assert f"equal in each of {len(vectors.inputs)} clocks" in said.stdout


def _without_vectors(folder: Path, change: str) -> None:
    """widen, which has no register and no X of its own, with vectors that are not those of its testbench."""
    export(folder / "widen.v", record(PAIRS["widen"], 40, 3), "by a test")
    vectors = folder / "widen.vec"
    lines = vectors.read_text().splitlines(keepends=True)
    vectors.write_text("")
    if change == "missing":
        vectors.unlink()
    elif change == "short":
        vectors.write_text("".join([*lines[:-2], lines[-1]]))
    elif change == "cut":
        vectors.write_text("".join(lines[:-1]))
    elif change == "other":
        vectors.write_text("".join(line if "//" in line else line[2:] for line in lines))


@pytest.mark.parametrize("change", ["missing", "empty", "short", "cut", "other"])
def test_a_testbench_without_its_vectors_does_not_pass(tmp_path: Path, change: str) -> None:
    _without_vectors(tmp_path, change)
    said = replay(tmp_path, "widen")
    assert said.returncode != 0
    assert "PASS" not in said.stdout
    assert "no vectors in widen.vec" in said.stdout
    assert "first difference" not in said.stdout


def test_more_vectors_than_clocks_do_not_pass(tmp_path: Path) -> None:
    export(tmp_path / "widen.v", record(PAIRS["widen"], 40, 3), "by a test")
    lines = (tmp_path / "widen.vec").read_text().splitlines(keepends=True)
    (tmp_path / "widen.vec").write_text("".join([*lines[:-1], *lines[-2:]]))
    said = replay(tmp_path, "widen")
    assert said.returncode != 0
    assert "PASS" not in said.stdout


@pytest.mark.slow
@pytest.mark.parametrize("change", ["missing", "empty", "short", "cut", "other"])
def test_a_verilated_testbench_without_its_vectors_does_not_pass(tmp_path: Path, change: str) -> None:
    """Verilator knows two states: what was not read is no X there."""
    need("verilator", "g++", "make")
    _without_vectors(tmp_path, change)
    text = (tmp_path / "widen_tb.v").read_text()
    command = next(line for line in text.splitlines() if "verilator" in line).removeprefix(" * ").strip()
    said = run(tmp_path, command)
    assert said.returncode != 0
    assert "PASS" not in said.stdout
    assert "no vectors in" in said.stdout


@pytest.mark.parametrize("block", ["fp_add", "fp_mul"])
def test_vectors_of_a_unit_begin_with_special_values(block: str) -> None:
    """Infinities, NaNs, zeros, subnormals and the greatest numbers of both signs, each with each."""
    vectors = record(PAIRS[block], 1, 3)
    pairs = set(map(tuple, vectors.inputs.tolist()))
    magnitudes = (
        0x00000000,
        0x00000001,
        0x007FFFFF,
        0x00800000,
        0x7F7FFFFF,
        0x7F800000,
        0x7F800001,
        0x7FC00000,
    )
    special = [sign | magnitude for sign in (0, 1 << 31) for magnitude in magnitudes]
    assert {(a, b) for a in special for b in special} <= pairs


def test_vectors_of_a_lane_show_special_values_in_its_sum() -> None:
    total = record(PAIRS["lane"], 1, 3).outputs[:, 3]
    assert {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0x00000001} <= set(total.tolist())


def test_the_registers_of_a_lane_stand_under_their_clocks() -> None:
    """Names count the clocks since the operand register, which inputs reach in one: neither loop moves them."""
    clock = netlist(BLOCKS["lane"].circuit(), [port.name for port in BLOCKS["lane"].outputs]).clock
    for name in (
        "number_0",
        "scale_0",
        "place_0",
        "place_7",
        "place_13",
        "first_10",
        "forward_11",
        "stored_11",
    ):
        assert clock[f"lane/{name}"] == int(name.split("_")[1]) + 1, name
    assert clock["lane/scale_mul/product"] == 1 + 4
    assert clock["lane/bias_add/sum"] == 1 + 4 + 3
    assert clock["lane/weight_mul/product"] == 12
    assert (clock["lane/sum_add/big_1"], clock["lane/sum_add/total_2"]) == (13, 14)
    assert clock["lane/sums"] == clock["lane/sum_14"] == 15
