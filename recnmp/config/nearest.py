"""The nearest known name, for errors about unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """`", did you mean 'x'?"` for the known name most like this one, or `""` if none is at all like it."""
    lower = {candidate.lower(): candidate for candidate in known}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.5)
    return f", did you mean '{lower[close[0]]}'?" if close else ""
