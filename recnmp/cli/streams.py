"""Standard output and error as they come: closed, full, or of an encoding that lacks a letter."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from ..errors import RecnmpError

OUTPUT = "standard output"


class _NamedOutput(io.FileIO):
    """Descriptor 1, whose errors say what could not be written, as those of files do.

    `unread`: a reader that has gone is no error, and nothing more is written.
    """

    unread = False

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if self.unread and isinstance(error, BrokenPipeError):
                return memoryview(data).nbytes
            error.filename = OUTPUT
            raise


@contextmanager
def checked_output() -> Iterator[None]:
    """What the block prints has been written when it ends.

    Raises:
        RecnmpError: standard output is closed; said before the block begins.
        OSError: it cannot be written to; `filename` is then OUTPUT.
    """
    if sys.stderr is None:  # closed: what is said there must not end up on standard output
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        raise RecnmpError(f"{OUTPUT}: closed")
    # names of files and columns are shown in any locale, as escapes where it lacks their letters
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdout is sys.__stdout__ and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_NamedOutput(sys.stdout.fileno(), "w", closefd=False)),
            encoding=sys.stdout.encoding,
            errors=sys.stdout.errors,
            line_buffering=sys.stdout.line_buffering or sys.stdout.write_through,
        )
    try:
        yield
    except SystemExit:  # of --help and --version
        sys.stdout.flush()
        raise
    sys.stdout.flush()


def go_on_unread() -> None:
    """For a verb whose result is its exit code: it goes on to its verdict where a reader (head, less) has gone."""
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    if isinstance(raw, _NamedOutput):
        raw.unread = True


def let_go(stream: TextIO | None) -> None:
    """Forget what a stream has not taken, so that the interpreter does not try again at its end."""
    if stream is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def say(text: str) -> None:
    """One line on standard error, whatever the text holds; nothing if that cannot be written to."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        let_go(sys.stderr)
