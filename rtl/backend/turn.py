"""What runs by itself: one run at a time, and no copies of machine code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from ...errors import RecnmpError


class Turn:
    """Held while something steps; who comes meanwhile is refused, not kept waiting."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._lock = threading.Lock()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Raises RecnmpError where somebody has it: a progress callback, or another thread."""
        if not self._lock.acquire(blocking=False):
            raise RecnmpError(f"{self._what} is in a run: a callback or another thread must not change it")
        try:
            yield
        finally:
            self._lock.release()


class Unique:
    """What cannot be pickled or copied."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} holds machine code: it cannot be pickled or copied")
