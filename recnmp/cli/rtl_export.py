"""`recnmp rtl export | ports | list | faults`: blocks as Verilog, their ports, their sizes, their known faults."""

from __future__ import annotations

import argparse

from .. import __version__
from ..errors import RecnmpError
from .trace_words import whole


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rtl export`."""
    parser.set_defaults(run=_export)
    parser.description = (
        "Writes FILE.v, a testbench FILE_tb.v that compares every output on every clock, and the vectors FILE.vec "
        "that it replays: inputs and outputs of the block's kernel."
    )
    parser.add_argument("--block", required=True, metavar="NAME", help="one of `recnmp rtl list`")
    parser.add_argument("-o", "--out", required=True, metavar="FILE.v", help="Verilog file to write")
    parser.add_argument(
        "--clocks",
        type=whole(1),
        default=2000,
        metavar="N",
        help="random clocks to record, like 5000 or 200k (%(default)s)",
    )
    parser.add_argument("--seed", type=whole(0), default=1, help="of the random clocks (%(default)s)")


def _export(args: argparse.Namespace) -> int:
    from ..rtl.blocks import block_named
    from ..rtl.export.record import record
    from ..rtl.export.testbench import replay_command
    from ..rtl.export.write import export, names_of
    from ..rtl.lockstep.pair import PAIRS

    hardware = block_named(args.block)
    if not args.out:
        raise RecnmpError("-o: give the name of the file to write, like fp_add.v")
    names_of(args.out)
    vectors = record(PAIRS[hardware.name], args.clocks, args.seed)
    command = f"recnmp rtl export --block {hardware.name} -o FILE.v --clocks {args.clocks} --seed {args.seed}"
    paths = export(args.out, vectors, f"Written by recnmp {__version__}: {command}")
    shown = ", ".join(str(path) for path in paths)
    print(f"{shown}: {len(vectors.inputs):,} clocks of vectors")
    print(f"replay: {replay_command(paths[0].stem, paths[0].parent)}")
    return 0


def add_ports_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rtl ports`."""
    parser.set_defaults(run=_ports)
    parser.add_argument("--block", action="append", metavar="NAME", help="only this one (all)")
    parser.add_argument("--markdown", action="store_true", help="as the tables of docs/hardware.md")


def _ports(args: argparse.Namespace) -> int:
    from ..rtl.blocks import BLOCKS, block_named
    from ..rtl.export.port_tables import markdown_table, text_table

    chosen = [block_named(name) for name in args.block or BLOCKS]
    for number, hardware in enumerate(chosen):
        if number:
            print()
        if args.markdown:
            print(f"### {hardware.name}\n\n{markdown_table(hardware)}")
        else:
            print(f"{hardware.name}: {hardware.summary}\n{text_table(hardware)}")
    return 0


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rtl list`."""
    parser.set_defaults(run=_list)


def _list(args: argparse.Namespace) -> int:
    from ..rtl.blocks import BLOCKS
    from ..rtl.export.sizes import sizes_table

    print(sizes_table(list(BLOCKS.values())))
    return 0


def add_faults_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `rtl faults`."""
    parser.set_defaults(run=_faults)
    parser.add_argument("--block", action="append", metavar="NAME", help="only of this one (all)")
    parser.add_argument("--markdown", action="store_true", help="as the table of docs/hardware.md")


def _faults(args: argparse.Namespace) -> int:
    from ..rtl.blocks import BLOCKS, block_named
    from ..rtl.faults import FAULTS
    from ..rtl.faults.table import markdown_table, text_table

    chosen = [block_named(name).name for name in args.block or BLOCKS]
    faults = [fault for fault in FAULTS.values() if fault.block in chosen]
    print(markdown_table(faults) if args.markdown else text_table(faults))
    return 0
