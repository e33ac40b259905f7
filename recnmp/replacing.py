"""Writing a file so that it is whole or not there."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import RecnmpError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the target's place only if the block ends well.

    On any exception, Ctrl-C included, the temporary file is removed and the target stays as it was.
    A link stays a link: its file is replaced. A file that is replaced keeps its mode.
    Raises RecnmpError where the folder does not exist or may not be written, or the disk is full.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    if target.is_dir():
        raise RecnmpError(f"{path}: is a folder, not a file that can be written")
    try:
        temporary.touch()
    except OSError as error:
        raise RecnmpError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        yield temporary
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        os.replace(temporary, target)
    except OSError as error:
        if error.filename is not None:
            raise
        raise RecnmpError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)
