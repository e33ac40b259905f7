"""A stimulus that shows a difference, made short and plain by trying what can be left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .words import Uint64s

# Runs a stimulus from reset: the number of the first clock with a difference, None if there is none.
Differs = Callable[[Uint64s], int | None]

_ONE_BY_ONE = 64  # lengths of the last clocks that are all tried; longer ones double


class Shortener:
    """Shortens one stimulus. `work`: clocks that all attempts together may run; then what was reached is kept.

    The result is of the same stimulus always: attempts are counted in clocks, not in seconds.
    """

    def __init__(self, differs: Differs, work: int = 50_000_000) -> None:
        self._differs = differs
        self._work = work

    def shorten(self, last: Callable[[int], Uint64s], clocks: int) -> Uint64s:
        """Inputs uint64 [clocks, columns] that end with the clock of a difference, from reset.

        last: the last so many clocks of the whole stimulus, which is `clocks` long and ends with a difference.
        """
        rows = self._last_clocks(last, clocks)
        while True:
            before = rows
            rows = self._without_rows(rows)
            rows = self._without_values(rows)
            rows = self._without_bits(rows)
            if rows.shape == before.shape and np.array_equal(rows, before):
                return rows

    def _try(self, rows: Uint64s) -> Uint64s | None:
        """These rows, up to the difference that they show; None if they show none, or the work is done."""
        if len(rows) == 0 or self._work < len(rows):
            return None
        self._work -= len(rows)
        clock = self._differs(np.ascontiguousarray(rows))
        return None if clock is None else rows[: clock + 1]

    def _last_clocks(self, last: Callable[[int], Uint64s], clocks: int) -> Uint64s:
        length = 0
        while True:
            length = length + 1 if length < _ONE_BY_ONE else 2 * length
            if length >= clocks:
                return last(clocks)
            found = self._try(last(length))
            if found is not None:
                return found

    def _without_rows(self, rows: Uint64s) -> Uint64s:
        """Leave out halves, quarters, ... single clocks, from the end to the beginning."""
        size = max(1, len(rows) // 2)
        while True:
            end = len(rows)
            while end > 0:
                begin = max(0, end - size)
                found = self._try(np.delete(rows, slice(begin, end), axis=0))
                rows = rows if found is None else found
                end = min(begin, len(rows))
            if size == 1:
                return rows
            size //= 2

    def _without_values(self, rows: Uint64s) -> Uint64s:
        """Whole columns, then whole clocks, then single values to 0."""
        for column in range(rows.shape[1]):
            rows = self._with(rows, slice(None), column, 0)
        for row in reversed(range(len(rows))):
            if row < len(rows):
                rows = self._with(rows, row, slice(None), 0)
        for row, column in reversed(list(np.ndindex(*rows.shape))):
            if row < len(rows):
                rows = self._with(rows, row, column, 0)
        return rows

    def _without_bits(self, rows: Uint64s) -> Uint64s:
        """Single bits to 0, the lowest first."""
        for row, column in np.ndindex(*rows.shape):
            if row >= len(rows):
                break
            for bit in range(int(rows[row, column]).bit_length()):
                value = int(rows[row, column]) if row < len(rows) else 0
                if value >> bit & 1:
                    rows = self._with(rows, row, column, value & ~(1 << bit))
        return rows

    def _with(self, rows: Uint64s, row: int | slice, column: int | slice, value: int) -> Uint64s:
        if not np.any(rows[row, column]):
            return rows
        attempt = rows.copy()
        attempt[row, column] = value
        found = self._try(attempt)
        return rows if found is None else found
