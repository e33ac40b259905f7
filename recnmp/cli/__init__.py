"""The command line. A verb's module is imported only when that verb is asked for.

Each verb is a module of this package with `HELP: str`, `add_arguments(parser)` and `run(args) -> int`.
A sub-verb may set its own `run` with `set_defaults`. Whatever a user can do wrong ends as one line on
standard error and exit code 2; `--debug`, anywhere on the line, adds the traceback. Any other exception is a
fault of recnmp: its traceback, one line that says so, and exit code 70 (EX_SOFTWARE of sysexits.h).
"""

from __future__ import annotations

import argparse
import importlib
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from .. import __version__
from ..errors import RecnmpError, hint
from .streams import OUTPUT, checked_output, let_go, say

# verb -> one line for the overview (the module is not imported for it)
VERBS = {
    "simulate": "run a trace on the host baseline and near-memory systems",
    "trace": "import, generate and describe traces",
    "config": "show every resolved number of a system",
    "rtl": "the blocks as hardware: verify against the kernels, export as Verilog, list ports",
    "validate": "replay recorded DRAM command traces and compare clock by clock",
}
DONE, DIFFERENCE, BAD_INPUT, OWN_FAULT, INTERRUPTED, TERMINATED = 0, 1, 2, 70, 130, 143


class Parser(argparse.ArgumentParser):
    """argparse whose complaints are the one line of every other bad input, not a page of usage.

    Sub-parsers are of the same class. Options are never abbreviated: a script that works today
    must not become ambiguous when an option is added.
    """

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]  # argparse's own
        """Words that nobody knows are told by the sub-verb that they stand behind, whose help is the right one."""
        namespace, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return namespace, unknown

    def error(self, message: str) -> NoReturn:
        if found := re.search(r"invalid choice: '(.*)' \(choose from (.*)\)$", message):
            meant = hint(found[1], re.findall(r"[\w.-]+", found[2]))
            message += f"; {meant}" if meant.startswith("did") else ""
        raise RecnmpError(f"{message} (`{self.prog} --help` tells more)")


def _overview() -> str:
    width = max(map(len, VERBS))
    return "verbs:\n" + "\n".join(f"  {verb:<{width}}  {line}" for verb, line in VERBS.items())


def _parse(words: Sequence[str], debug: bool) -> argparse.Namespace:
    if words and words[0] in VERBS:
        module = importlib.import_module(f".{words[0]}", __name__)
        parser = Parser(
            prog=f"recnmp {words[0]}",
            description=module.HELP,
            epilog="--debug shows the traceback of an error.",
            allow_abbrev=False,
        )
        module.add_arguments(parser)
        args = parser.parse_args(words[1:])
        args.debug = debug
        args.run = getattr(args, "run", module.run)
        return args
    if words and not words[0].startswith("-"):
        raise RecnmpError(f"no verb {words[0]!r}; {hint(words[0], VERBS)}")
    parser = Parser(
        prog="recnmp",
        usage="recnmp VERB ...",
        description="Near-memory processing of embedding lookups, simulated to the clock.",
        epilog=_overview() + "\n\n`recnmp VERB --help` tells more; --debug shows an error's traceback.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"recnmp {__version__}")
    parser.parse_args(words or ["--help"])
    raise RecnmpError("no verb given; there are: " + ", ".join(VERBS))


def _say(text: str, debug: bool) -> None:
    if debug:
        with suppress(OSError):
            traceback.print_exc()
    say(f"recnmp: {text}")


class _Terminated(KeyboardInterrupt):
    """The signal with which `kill` and batch schedulers end a program: left as orderly as on Ctrl-C."""


@contextmanager
def _orderly_end() -> Iterator[None]:
    """While a verb runs, SIGTERM unwinds it like Ctrl-C, so that no half-written file stays behind."""

    def end(number: int, frame: FrameType | None) -> NoReturn:
        raise _Terminated

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set what a signal does
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Exit codes: 0 done, 1 a difference found, 2 bad input, 70 a fault of recnmp itself (with its traceback),
    130 interrupted, 143 terminated.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    words = [word for word in given if word != "--debug"]
    debug = len(words) < len(given)
    try:
        with _orderly_end(), checked_output():
            args = _parse(words, debug)
            return int(args.run(args))
    except RecnmpError as error:
        _say(f"error: {error}", debug)
        return BAD_INPUT
    except BrokenPipeError:
        # the reader (head, less) has gone: not our error; keep the interpreter's flush at exit quiet
        let_go(sys.stdout)
        return DONE
    except MemoryError as error:
        _say(f"error: not enough memory{f': {error}' if str(error) else ''}", debug)
        return BAD_INPUT
    except OSError as error:
        place = f"{error.filename}: " if error.filename is not None else ""
        _say(f"error: {place}{error.strerror or error}", debug)
        if error.filename == OUTPUT:
            let_go(sys.stdout)
        return BAD_INPUT
    except Exception as error:
        # 1 would be read as a difference found
        _say(f"this is a fault of recnmp, please report it: {type(error).__name__}: {error}", debug=True)
        return OWN_FAULT
    except _Terminated:
        _say("terminated, nothing was left half written", debug)
        return TERMINATED
    except KeyboardInterrupt:
        _say("interrupted, nothing was left half written", debug)
        return INTERRUPTED
