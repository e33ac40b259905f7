"""A testbench that replays recorded vectors and says, on the first difference, where it is."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..ports import Hardware
from .vectors import END, ROW, digits
from .verilog import span

# Inputs change at 1, outputs are compared at 4, the edge is at 5 of every 10.
TEXT = """\
/* {name}_tb: replays {stem}.vec on {name} and compares every output on every clock.
 *
 * Icarus Verilog, in this folder (exit code 0 only if everything is equal):
 *     {replay}
 * Verilator 5:
 *     verilator --binary -Wno-fatal --top-module {name}_tb {stem}_tb.v {stem}.v && obj_dir/V{name}_tb
 * Other vectors of as many clocks: +vectors=FILE at the end. A line of a .vec is one clock: the digit 1, then
 * every port in hexadecimal, in the order of the ports, outputs last. The digit {end} ends them. A file that is not
 * there, or holds fewer or more clocks, is refused: "no vectors in FILE".
 *
 * PASS means that the outputs were those of the kernel for these vectors. It is no proof: `recnmp rtl verify`
 * compares the same circuit with the kernel over millions of clocks.
 */

`timescale 1ns / 1ps

module {name}_tb;
    localparam CLOCKS = {clocks};

    reg clk = 1'b0;
    reg rst = 1'b1;
{declarations}
    {name} dut (
{connections}
    );

    reg [{top}:0] tb_vectors [0:CLOCKS];
    reg [{top}:0] tb_vector;
    reg [8*1024-1:0] tb_file;
    integer tb_at;
    integer tb_wrong = 0;

    initial begin
        if ($value$plusargs("vectors=%s", tb_file) == 0) tb_file = "{stem}.vec";
        // a simulator may start at 0, at x or at anything: what was not read must be told from what was
        for (tb_at = 0; tb_at <= CLOCKS; tb_at = tb_at + 1) tb_vectors[tb_at] = {{{bits}{{1'b0}}}};
        $readmemh(tb_file, tb_vectors, 0, CLOCKS);
        for (tb_at = 0; tb_at <= CLOCKS; tb_at = tb_at + 1) begin
            tb_vector = tb_vectors[tb_at];
            if (tb_vector[{top}:{mark}] !== ((tb_at == CLOCKS) ? 4'h{end} : 4'h{row})) begin
                $display("no vectors in %0s: line %0d of its %0d clocks and an end is missing or another",
                         tb_file, tb_at + 1, CLOCKS);
                $fatal(1);
            end
        end
        #5 clk = 1'b1;  // one edge in reset
        #5 clk = 1'b0;
        rst = 1'b0;
        for (tb_at = 0; tb_at < CLOCKS; tb_at = tb_at + 1) begin
            tb_vector = tb_vectors[tb_at];
            #1;
{drives}
            #3;
{checks}
            #1 clk = 1'b1;
            #5 clk = 1'b0;
        end
        if (tb_wrong != 0) begin
            $display("FAIL {name}: %0d of %0d outputs differ in %0d clocks", tb_wrong, CLOCKS * {outputs}, CLOCKS);
            $fatal(1);
        end
        $display("PASS {name}: {outputs} output{s} equal in each of %0d clocks", CLOCKS);
        $finish;
    end
endmodule
"""

CHECK = """\
            if ({name} !== {part}) begin
                if (tb_wrong == 0)
                    $display("first difference: clock %0d, {name}: got %h, expected %h", tb_at, {name}, {part});
                tb_wrong = tb_wrong + 1;
            end"""


def replay_command(stem: str, folder: Path | None = None) -> str:
    """How to run a testbench in Icarus Verilog: in the folder of its files, or from where that is `folder`."""
    command = f"iverilog -g2012 -o {stem}_tb.vvp {stem}_tb.v {stem}.v && vvp -n {stem}_tb.vvp"
    if folder is None or folder == Path():
        return command
    place = f"./{folder}" if str(folder).startswith("-") else str(folder)
    return f"(cd {shlex.quote(place)} && {command})"


def testbench(hardware: Hardware, stem: str, clocks: int) -> str:
    """Verilog of the testbench `NAME_tb` for the module in `stem`.v and `clocks` lines of `stem`.vec."""
    ports = [*hardware.inputs, *hardware.outputs]
    at: dict[str, str] = {}
    low = 0
    for port in reversed(ports):
        at[port.name] = f"{low + port.bits - 1}:{low}" if port.bits > 1 else f"{low}"
        low += 4 * digits(port)
    declarations = [f"    reg  {span(port.bits)}{port.name};" for port in hardware.inputs]
    declarations += [f"    wire {span(port.bits)}{port.name};" for port in hardware.outputs]
    names = ["clk", "rst", *(port.name for port in ports)]
    checks = [CHECK.format(name=port.name, part=f"tb_vector[{at[port.name]}]") for port in hardware.outputs]
    return TEXT.format(
        name=hardware.name,
        stem=stem,
        replay=replay_command(stem),
        clocks=clocks,
        declarations="\n".join(declarations),
        connections=",\n".join(f"        .{name}({name})" for name in names),
        bits=low + 4,
        top=low + 3,
        mark=low,
        row=ROW,
        end=END,
        drives="\n".join(
            f"            {port.name} = tb_vector[{at[port.name]}];" for port in hardware.inputs
        ),
        checks="\n".join(checks),
        outputs=len(hardware.outputs),
        s="s" if len(hardware.outputs) > 1 else "",
    )
