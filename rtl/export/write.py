"""A block as three files: FILE.v, its testbench FILE_tb.v and the vectors FILE.vec."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from pathlib import Path

import pyrtl

from ...errors import RecnmpError
from ...replacing import replacing
from ..ports import Hardware
from .port_tables import text_table
from .testbench import testbench
from .vectors import Vectors
from .verilog import module

# the name is written into Verilog strings and into commands for a shell
STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
HEAD = """\
{name}: {summary}
{provenance}

{table}

Clock and reset: everything happens at the rising edge of clk. rst is synchronous and active high; one edge in
reset brings every register to its start. {memories}
An output stands for the inputs of its own clock and what the registers hold before its edge.
Under `clock n` stand the registers that inputs reach n edges later (loops aside).
The wire a__b is a/b in the PyRTL circuit; x_1, x_2, ... are parts of what makes x."""


def names_of(path: str | os.PathLike[str]) -> tuple[Path, Path, Path]:
    """FILE.v, FILE_tb.v, FILE.vec. Raises RecnmpError on a name that is no plain NAME.v."""
    target = Path(path)
    if target.suffix != ".v" or not STEM.fullmatch(target.stem):
        raise RecnmpError(f"{path}: give a name like fp_add.v: letters, digits, _, - and ., ending in .v")
    folder = target.parent
    return target, folder / f"{target.stem}_tb.v", folder / f"{target.stem}.vec"


def text_of(hardware: Hardware, block: pyrtl.Block, provenance: str) -> str:
    """FILE.v: ports, clocking and origin as a comment, then the module."""
    table = text_table(hardware, "Verilog")
    kept = "Memories are not reset, and not written in reset: write before you read."
    memories = kept if any(net.op == "@" for net in block.logic) else "There are no memories."
    head = HEAD.format(
        name=hardware.name, summary=hardware.summary, provenance=provenance, table=table, memories=memories
    )
    return (
        "".join(f"// {line}".rstrip() + "\n" for line in head.splitlines()) + "\n" + module(hardware, block)
    )


def export(path: str | os.PathLike[str], vectors: Vectors, provenance: str) -> tuple[Path, Path, Path]:
    """Write the block of `vectors` and give the three paths. All are written, or none is touched.

    `provenance` says in a line what wrote the files. The same circuit and vectors give the same bytes.
    Raises RecnmpError where the name is no NAME.v or the folder cannot be written.
    """
    hardware = vectors.hardware
    paths = names_of(path)
    texts = (
        text_of(hardware, hardware.circuit(), provenance),
        testbench(hardware, paths[0].stem, len(vectors.inputs)),
        vectors.text(),
    )
    with ExitStack() as stack:
        beside = [stack.enter_context(replacing(target)) for target in paths]
        for temporary, text in zip(beside, texts, strict=True):
            temporary.write_text(text)
    return paths
