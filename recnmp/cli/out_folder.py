"""The folder that results go to: tried before a long run, and made when there is something to put in."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import RecnmpError


@contextmanager
def folder_made(folder: Path) -> Iterator[None]:
    """The folder is there inside the block; on an exception, what was made for it is gone again.

    Raises:
        RecnmpError: it cannot be made, or is a file.
    """
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    try:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecnmpError(f"{folder}: the folder cannot be made: {error.strerror}") from None
        yield
    except BaseException:
        _remove(missing)
        raise


def check_folder(folder: Path) -> None:
    """Refuse, before anything is computed, a folder that files cannot be written to; nothing is left behind.

    Raises:
        RecnmpError: names the folder and says why.
    """
    missing = [path for path in (folder, *folder.parents) if not os.path.lexists(path)]
    probe = folder / f".probe.{os.getpid()}"
    try:
        with folder_made(folder):
            probe.touch()
    except OSError as error:
        raise RecnmpError(f"{folder}: files cannot be written there: {error.strerror}") from None
    finally:
        with suppress(OSError):
            probe.unlink()
        _remove(missing)


def _remove(folders: list[Path]) -> None:
    """Remove folders, the innermost first, those that hold something excepted."""
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
