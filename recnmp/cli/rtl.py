"""`recnmp rtl verify | export | ports | list | faults`: the blocks as hardware."""

from __future__ import annotations

import argparse

from ..errors import RecnmpError
from .rtl_export import add_export_arguments, add_faults_arguments, add_list_arguments, add_ports_arguments
from .rtl_verify import add_verify_arguments

HELP = "the blocks as hardware: verify against the kernels, export as Verilog, list ports"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-verbs."""
    verbs = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    add_verify_arguments(
        verbs.add_parser(
            "verify", help="run circuits and kernels side by side, clock by clock", allow_abbrev=False
        )
    )
    add_export_arguments(
        verbs.add_parser(
            "export", help="write a block as Verilog, with testbench and vectors", allow_abbrev=False
        )
    )
    add_ports_arguments(verbs.add_parser("ports", help="show the ports of blocks", allow_abbrev=False))
    add_list_arguments(
        verbs.add_parser("list", help="show what blocks there are, and their size", allow_abbrev=False)
    )
    add_faults_arguments(
        verbs.add_parser(
            "faults", help="show the known faults, which `verify --fault` plants", allow_abbrev=False
        )
    )


def run(args: argparse.Namespace) -> int:
    """Never reached: a sub-verb is required, and each has its own `run`."""
    raise RecnmpError("give one of verify, export, ports, list, faults")
