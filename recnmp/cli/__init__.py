"""The command line. A verb's module is imported only when that verb is asked for.

Each verb is a module of this package with `HELP: str`, `add_arguments(parser)` and `run(args) -> int`.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from .. import __version__
from ..errors import RecnmpError

# verb -> one line for the overview (the module is not imported for it)
VERBS = {
    "simulate": "run a trace on the host baseline and near-memory systems",
    "trace": "import, generate and describe traces",
    "config": "show every resolved number of a system",
    "validate": "replay recorded DRAM command traces and compare clock by clock",
}


def _overview() -> str:
    width = max(map(len, VERBS))
    return "verbs:\n" + "\n".join(f"  {verb:<{width}}  {line}" for verb, line in VERBS.items())


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    debug = argparse.ArgumentParser(add_help=False)
    debug.add_argument("--debug", action="store_true", help="show the traceback of an error")
    if argv and argv[0] in VERBS:
        module = importlib.import_module(f".{argv[0]}", __name__)
        parser = argparse.ArgumentParser(prog=f"recnmp {argv[0]}", description=module.HELP, parents=[debug])
        module.add_arguments(parser)
        args = parser.parse_args(argv[1:])
        # `--debug` before or after a sub-verb means the same
        args.debug = args.debug or "--debug" in argv
        args.run = getattr(args, "run", module.run)
        return args
    parser = argparse.ArgumentParser(
        prog="recnmp",
        description="Near-memory processing of embedding lookups, simulated to the clock.",
        epilog=_overview() + "\n\n`recnmp VERB --help` tells more of each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"recnmp {__version__}")
    parser.add_argument("verb", choices=list(VERBS), metavar="VERB", help=", ".join(VERBS))
    return parser.parse_args(argv or ["--help"])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; exit codes: 0 done, 1 a difference found, 2 bad input, 130 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    if debug and words[0] == "--debug":
        words = [*words[1:], "--debug"]
    try:
        args = _parse(words)
        return int(args.run(args))
    except RecnmpError as error:
        if debug:
            traceback.print_exc()
        print(f"recnmp: error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # the reader (head, less) has gone: not our error; keep the interpreter's flush at exit quiet
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        if debug:
            traceback.print_exc()
        print("recnmp: interrupted, nothing was left half written", file=sys.stderr)
        return 130
