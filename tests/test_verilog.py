"""Blocks as Verilog: equal to PyRTL in Icarus, clean for Verilator, and a testbench that finds what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recnmp.rtl.export.verilog import module
from recnmp.rtl.export.write import export
from recnmp.rtl.ports import Hardware, Port
from simulators import need, replay, run, warnings
from toy_hardware import TOY, random_hardware, simulated

from recnmp.errors import RecnmpError


def test_a_block_with_one_of_each_does_in_icarus_what_it_does_in_pyrtl(tmp_path: Path) -> None:
    export(tmp_path / "toy.v", simulated(TOY, 300, 1, addresses=9), "by a test")
    said = replay(tmp_path, "toy")
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.splitlines()[-1] == "PASS toy: 4 outputs equal in each of 300 clocks"


def test_module_and_testbench_are_clean(tmp_path: Path) -> None:
    export(tmp_path / "toy.v", simulated(TOY, 30, 1, addresses=9), "by a test")
    assert warnings(tmp_path, "toy.v", top="toy") == ""
    assert warnings(tmp_path, "toy_tb.v", "toy.v", top="toy_tb") == ""


@settings(max_examples=25)
@given(st.integers(0, 1 << 40))
def test_any_block_does_in_icarus_what_it_does_in_pyrtl(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Memories of random blocks start at 0 in both: here an initial block does it."""
    folder = tmp_path_factory.mktemp("random")
    hardware = random_hardware(seed)
    export(folder / "random.v", simulated(hardware, 60, seed), "by a test")
    text = (folder / "random.v").read_text()
    if "memory [0:3];" in text:
        zeros = "".join(f"    initial memory[{address}] = 6'd0;\n" for address in range(4))
        (folder / "random.v").write_text(text.replace("memory [0:3];\n", "memory [0:3];\n" + zeros))
    said = replay(folder, "random")
    assert said.returncode == 0, f"{said.stdout}{said.stderr}{text}"
    # chance also makes comparisons that have one outcome only
    assert warnings(folder, "-Wno-CMPCONST", "random.v", top="random") == ""


@pytest.mark.parametrize(("clock", "port", "name"), [(17, 4, "kept"), (0, 7, "below"), (29, 6, "mixed")])
def test_a_wrong_vector_is_found_and_named(tmp_path: Path, clock: int, port: int, name: str) -> None:
    """One bit of one expected output is turned over: the testbench says which clock and which signal, and fails."""
    export(tmp_path / "toy.v", simulated(TOY, 30, 1, addresses=9), "by a test")
    lines = (tmp_path / "toy.vec").read_text().splitlines()
    row = next(number for number, line in enumerate(lines) if not line.startswith("//")) + clock
    columns = lines[row].split("_")[1:]  # after the digit that says: a clock
    right = columns[port]
    columns[port] = f"{int(right, 16) ^ 1:0{len(right)}x}"
    lines[row] = "_".join(["1", *columns])
    (tmp_path / "toy.vec").write_text("\n".join(lines) + "\n")
    said = replay(tmp_path, "toy")
    assert said.returncode != 0
    first, last = [line for line in said.stdout.splitlines() if line.startswith(("first", "FAIL", "PASS"))]
    assert first == f"first difference: clock {clock}, {name}: got {right}, expected {columns[port]}"
    assert last == "FAIL toy: 1 of 120 outputs differ in 30 clocks"


def test_vectors_that_are_missing_or_too_few_fail(tmp_path: Path) -> None:
    """A testbench without its vectors must not pass."""
    export(tmp_path / "toy.v", simulated(TOY, 30, 1, addresses=9), "by a test")
    vectors = (tmp_path / "toy.vec").read_text().splitlines()
    (tmp_path / "short.vec").write_text("\n".join(vectors[:-1]) + "\n")
    assert replay(tmp_path, "toy").returncode == 0
    assert run(tmp_path, "vvp -n toy_tb.vvp +vectors=short.vec").returncode != 0
    (tmp_path / "toy.vec").unlink()
    assert run(tmp_path, "vvp -n toy_tb.vvp").returncode != 0


SAME_BYTES = """
import hashlib, random, sys
sys.path.insert(0, sys.argv[1])
from toy_hardware import TOY, random_hardware
from recnmp.rtl.export.verilog import module
random_hardware(int(sys.argv[2])).circuit()  # moves PyRTL's counters
for hardware in (TOY, *map(random_hardware, range(5))):
    print(hashlib.sha256(module(hardware, hardware.circuit()).encode()).hexdigest())
"""


def test_the_same_circuit_gives_the_same_bytes() -> None:
    """Whatever the order of sets, and however many wires were made before."""
    said = [
        subprocess.run(
            [sys.executable, "-c", SAME_BYTES, str(Path(__file__).parent), seed],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1] != ""


@pytest.mark.parametrize("name", ["toy", "toy.vhd", "to y.v", "-toy.v", ".v", "a;b.v", "toy.v.txt"])
def test_a_name_that_is_no_plain_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecnmpError, match="give a name like"):
        export(tmp_path / name, simulated(TOY, 3, 1), "by a test")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    with pytest.raises(RecnmpError, match="cannot be written"):
        export(tmp_path / "gone" / "toy.v", simulated(TOY, 3, 1), "by a test")
    (tmp_path / "toy.vec").mkdir()
    with pytest.raises(RecnmpError, match="is a folder"):
        export(tmp_path / "toy.v", simulated(TOY, 3, 1), "by a test")
    assert [path.name for path in tmp_path.iterdir()] == ["toy.vec"]


@pytest.mark.parametrize("name", ["rst", "module", "bit", "a/b", "2a"])
def test_a_port_that_verilog_cannot_name_is_refused(name: str) -> None:
    hardware = Hardware(
        "odd", "", (Port(name, 1, ""),), (Port("out", 1, ""),), lambda wires: {"out": ~wires[name]}
    )
    with pytest.raises(ValueError, match="cannot be a name in Verilog"):
        module(hardware, hardware.circuit())


def test_ports_may_have_any_other_name(tmp_path: Path) -> None:
    """Also one that a testbench would like for itself."""
    names = ["vector", "vectors", "file", "at", "wrong", "CLOCKS2", "number", "odd_tb"]
    inputs, outputs = [tuple(Port(name, 2, "") for name in part) for part in (names[:4], names[4:])]
    hardware = Hardware(
        "odd",
        "",
        inputs,
        outputs,
        lambda wires: {o.name: ~wires[i.name] for i, o in zip(inputs, outputs, strict=True)},
    )
    export(tmp_path / "odd.v", simulated(hardware, 20, 1), "by a test")
    said = replay(tmp_path, "odd")
    assert said.returncode == 0, said.stdout + said.stderr


def test_vectors_wider_than_their_port_are_refused() -> None:
    vectors = simulated(TOY, 3, 1)
    vectors.inputs[1, 2] = 2
    with pytest.raises(ValueError, match="write has 1 bits, not 0x2"):
        vectors.text()


@pytest.mark.slow
def test_the_testbench_runs_verilated_too(tmp_path: Path) -> None:
    need("verilator", "g++", "make")
    export(tmp_path / "toy.v", simulated(TOY, 300, 1, addresses=9), "by a test")
    text = (tmp_path / "toy_tb.v").read_text()
    command = next(line for line in text.splitlines() if "verilator" in line).removeprefix(" * ").strip()
    said = run(tmp_path, command)
    assert said.returncode == 0, said.stdout + said.stderr
    assert "PASS toy: 4 outputs equal in each of 300 clocks" in said.stdout
    text = (tmp_path / "toy.vec").read_text()
    (tmp_path / "wrong.vec").write_text(text.replace("_0\n", "_1\n", 1))
    said = run(tmp_path, "obj_dir/Vtoy_tb +vectors=wrong.vec")
    assert said.returncode != 0
    assert "first difference: clock" in said.stdout
    (tmp_path / "short.vec").write_text(text[:-20])
    assert run(tmp_path, "obj_dir/Vtoy_tb +vectors=short.vec").returncode != 0
    assert run(tmp_path, "obj_dir/Vtoy_tb +vectors=none.vec").returncode != 0
