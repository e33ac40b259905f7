"""`recnmp validate dram FOLDER`: recorded command traces against the exact host channel."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..errors import RecnmpError
from ..validate import case_names, load_case, validate_case
from .streams import go_on_unread, say

HELP = "Replay recorded DRAM command traces and compare clock by clock."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    dram = kinds.add_parser(
        "dram",
        help="host channel against recorded runs",
        description="Replays each case (NAME.npz with NAME.json) of a folder. Exit code: 0 all exact, "
        "1 a difference, 2 a case that cannot be read (the others are replayed).",
    )
    dram.add_argument("folder", type=Path, metavar="FOLDER", help="folder of cases")
    dram.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """One line a case, the first difference below it; 2 if any cannot be read, else 1 if any differs."""
    go_on_unread()
    names = case_names(args.folder)
    different = unreadable = 0
    for name in names:
        try:
            case = load_case(args.folder, name)
        except RecnmpError as error:
            if args.debug:
                raise
            say(f"recnmp: error: {error}")
            unreadable += 1
            continue
        outcome = validate_case(case)
        verdict = "DIFFERS" if outcome.difference else "exact"
        print(f"{outcome.name:<24} {outcome.commands:>9} commands  {verdict}", flush=True)
        for line in outcome.difference:
            print(line)
        different += bool(outcome.difference)
    exact = len(names) - different - unreadable
    print(f"{exact} of {len(names)} cases exact" + (f", {unreadable} cannot be read" if unreadable else ""))
    return 2 if unreadable else 1 if different else 0
