"""How far a run is, said in lookups."""

from __future__ import annotations

from collections.abc import Callable

# Called with the number of lookups that were finished since the last call.
Progress = Callable[[int], None]


class Meter:
    """Counts steps of work and reports lookups: each lookup is finished after so many steps of about equal length.

    Over a whole run, what is reported only grows, and adds up to exactly the lookups that have taken all their
    steps. Halves and thirds of lookups are counted as well: a batch that is being placed is seen to move.
    """

    def __init__(self, steps: int, report: Progress | None) -> None:
        self._steps = steps
        self._report = report
        self._taken = self._reported = 0

    def step(self, lookups: int) -> None:
        """So many lookups have taken one more step."""
        self._taken += lookups
        finished = self._taken // self._steps
        if self._report is not None and finished > self._reported:
            self._report(finished - self._reported)
            self._reported = finished

    def following(self, lookups: int, whole: int) -> Callable[..., None]:
        """A callback to be told again and again how much of `whole` is done, until that step of `lookups` is over.

        It takes one number or several that are added up.
        """
        seen = 0

        def reached(*parts: int) -> None:
            nonlocal seen
            now = lookups * sum(parts) // whole if whole else lookups
            self.step(now - seen)
            seen = now

        return reached
