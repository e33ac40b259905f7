"""Writing a file so that it is whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import RecnmpError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the target's place only if the block ends well.

    On any exception, Ctrl-C included, the temporary file is removed and the target stays as it was.
    Raises RecnmpError where the folder does not exist or may not be written.
    """
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    if target.is_dir():
        raise RecnmpError(f"{target}: is a folder, not a file that can be written")
    try:
        temporary.touch()
    except OSError as error:
        raise RecnmpError(f"{target}: cannot be written: {error.strerror}") from error
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)
