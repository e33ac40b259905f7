"""`recnmp validate dram FOLDER`: recorded command traces against the exact host channel."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..validate import load_cases, validate_case

HELP = "Replay recorded DRAM command traces and compare clock by clock."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the verb."""
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    dram = kinds.add_parser(
        "dram",
        help="host channel against recorded runs",
        description="Replays each case (NAME.npz with NAME.json) of a folder. Exit code: 0 all exact, "
        "1 a difference, 2 bad input.",
    )
    dram.add_argument("folder", type=Path, metavar="FOLDER", help="folder of cases")
    dram.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """One line a case, the first difference below it; 1 if any case differs."""
    cases = load_cases(args.folder)
    different = 0
    for case in cases:
        outcome = validate_case(case)
        verdict = "DIFFERS" if outcome.difference else "exact"
        print(f"{outcome.name:<24} {outcome.commands:>9} commands  {verdict}", flush=True)
        for line in outcome.difference:
            print(line)
        different += bool(outcome.difference)
    print(f"{len(cases) - different} of {len(cases)} cases exact")
    return 1 if different else 0
