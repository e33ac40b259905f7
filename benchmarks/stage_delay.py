"""Cells and delay of each pipeline stage of the FP32 units, by synthesis: python benchmarks/stage_delay.py

Each stage alone, from its registers to the next ones: exported as Verilog, mapped by yosys and abc onto the OSU
0.18 um cells (Debian: yosys, qflow-tech-osu018), whose nonlinear delay tables abc reads. No wires, no registers' own
delay: good for comparing stages, no promise of a clock. Beside it PyRTL's own estimate, in its 130 nm gates and with
additions that ripple. The script of abc maps for delay; one that first saves area (dc2) makes chains of prefix adders.
"""

from __future__ import annotations

import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyrtl
from recnmp.rtl.fp.add import FP_ADD
from recnmp.rtl.fp.multiply import FP_MUL
from recnmp.rtl.ports import Hardware

CELLS = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
UNITS = (FP_ADD, FP_MUL)
SCRIPT = """
read_verilog {verilog}
synth -flatten -top toplevel
abc -liberty {cells} -script +strash;&get,-n;&dch,-f;&nf;&put;buffer,-c;topo;upsize;dnsize;stime,-p
stat
"""


@dataclass(frozen=True)
class Stage:
    unit: str
    number: int  # from 1
    nets: int
    cells: int
    delay_ps: float
    pyrtl_ps: float  # NaN if it was not asked for


def missing() -> str | None:
    """What the measurement needs and this machine does not have, if anything."""
    if shutil.which("yosys") is None:
        return "yosys is not installed"
    return None if CELLS.is_file() else f"no cell library at {CELLS} (Debian: qflow-tech-osu018)"


def stages(hardware: Hardware) -> Iterator[pyrtl.Block]:
    """The combinational logic before each rank of registers of a pipeline without feedback, as blocks."""
    block = hardware.circuit()
    made_by = {wire: net for net in block.logic for wire in net.dests}
    depths: dict[pyrtl.WireVector, int] = {}

    def depth(wire: pyrtl.WireVector) -> int:
        """Registers between the inputs and `wire`."""
        if wire not in depths:
            net = made_by.get(wire)
            depths[wire] = max(map(depth, net.args), default=0) + (net.op == "r") if net else 0
        return depths[wire]

    registers = sorted(block.wirevector_subset(pyrtl.Register), key=lambda register: register.name)
    for number in range(1, max(map(depth, registers)) + 1):
        yield _alone([register for register in registers if depth(register) == number], made_by)


def _alone(ends: list[pyrtl.Register], made_by: dict[pyrtl.WireVector, pyrtl.LogicNet]) -> pyrtl.Block:
    """A block of the logic that feeds the registers `ends`, each an output, from registers and inputs."""
    stage = pyrtl.Block()
    copies: dict[pyrtl.WireVector, pyrtl.WireVector] = {}

    def copy(wire: pyrtl.WireVector) -> pyrtl.WireVector:
        if wire in copies:
            return copies[wire]
        net = made_by.get(wire)
        if isinstance(wire, pyrtl.Const):
            made = pyrtl.Const(wire.val, len(wire), block=stage)
        elif net is None or net.op == "r":
            made = pyrtl.Input(len(wire), f"from_{len(copies)}", block=stage)
        else:
            arguments = tuple(map(copy, net.args))
            made = pyrtl.WireVector(len(wire), block=stage)
            stage.add_net(pyrtl.LogicNet(net.op, net.op_param, arguments, (made,)))
        copies[wire] = made
        return made

    for number, register in enumerate(ends):
        (following,) = made_by[register].args
        if isinstance(following, pyrtl.Register) or following not in made_by:
            continue  # handed on
        output = pyrtl.Output(len(register), f"to_{number}", block=stage)
        stage.add_net(pyrtl.LogicNet("w", None, (copy(following),), (output,)))
    return stage


def synthesised(stage: pyrtl.Block) -> tuple[int, float]:
    """Cells and delay in ps of a combinational block. Raises RuntimeError with yosys' words if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        verilog, script = Path(folder, "stage.v"), Path(folder, "stage.ys")
        with verilog.open("w") as file:
            pyrtl.output_to_verilog(file, add_reset=False, block=stage)
        script.write_text(SCRIPT.format(verilog=verilog, cells=CELLS))
        done = subprocess.run(["yosys", "-s", script], capture_output=True, text=True, check=False)
    delay = re.findall(r"Delay\s*=\s*([\d.]+) ps", done.stdout)
    cells = re.findall(r"Number of cells:\s+(\d+)", done.stdout)
    if done.returncode or not delay or not cells:
        raise RuntimeError(f"yosys: {(done.stderr or done.stdout)[-500:]}")
    return int(cells[-1]), float(delay[-1])


def estimated(stage: pyrtl.Block) -> float:
    """PyRTL's own estimate of the delay, in ps; on a copy, since it works on single bits."""
    with pyrtl.set_working_block(stage, no_sanity_check=True):
        bits = pyrtl.synthesize(update_working_block=False, block=stage)
        pyrtl.optimize(update_working_block=False, block=bits)
        return float(pyrtl.TimingAnalysis(block=bits).max_length())


def measure(estimate: bool = True) -> list[Stage]:
    """Each stage of each unit; PyRTL's own estimate takes about as long as yosys."""
    return [
        Stage(
            hardware.name,
            number,
            len(stage.logic),
            *synthesised(stage),
            estimated(stage) if estimate else math.nan,
        )
        for hardware in UNITS
        for number, stage in enumerate(stages(hardware), 1)
    ]


def slowest(measured: list[Stage]) -> dict[str, float]:
    """The delay in ps of the slowest stage of each unit."""
    units: dict[str, float] = {}
    for stage in measured:
        units[stage.unit] = max(units.get(stage.unit, 0.0), stage.delay_ps)
    return units


def imbalance(measured: list[Stage]) -> float:
    """By what part the slowest stage of the slower unit is slower than that of the other one."""
    delays = slowest(measured).values()
    return max(delays) / min(delays) - 1


def main() -> int:
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    measured = measure()
    print(f"{'unit':8} {'stage':>5} {'nets':>5} {'cells':>6} {'delay ns':>9} {'PyRTL ns':>9}")
    for stage in measured:
        print(
            f"{stage.unit:8} {stage.number:5} {stage.nets:5} {stage.cells:6} "
            f"{stage.delay_ps / 1000:9.2f} {stage.pyrtl_ps / 1000:9.2f}"
        )
    delays = ", ".join(f"{unit} {delay / 1000:.2f} ns" for unit, delay in slowest(measured).items())
    print(f"slowest: {delays}; apart by {imbalance(measured):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
