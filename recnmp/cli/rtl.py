"""`recnmp rtl verify`."""

from __future__ import annotations

import argparse

from ..errors import RecnmpError
from .rtl_verify import add_verify_arguments

HELP = "circuits of the blocks: compare them with their kernels"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-verbs."""
    verbs = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    add_verify_arguments(
        verbs.add_parser("verify", help="circuits and kernels, clock by clock", allow_abbrev=False)
    )


def run(args: argparse.Namespace) -> int:
    """Never reached: a sub-verb is required, and each has its own `run`."""
    raise RecnmpError("give verify")
