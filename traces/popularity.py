"""Popularity laws: how the lookups of a table are shared out among its active rows, in whole numbers.

A law is a list of groups of equally popular rows. The sum of all popularities is a whole number, so one raw
random word chooses a row by integer arithmetic alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal, localcontext

import numpy as np

from .words import Int64

_TOTAL_BITS = 62


class Groups:
    """Groups of rows, most popular first: `rows[g]` rows, each with `share[g]` of `total` cells.

    Rows are numbered 0.. in that order; cells too, row after row. Groups without rows or share are left out.
    """

    def __init__(self, groups: Iterable[tuple[int, int]]) -> None:
        kept = [(rows, share) for rows, share in groups if rows and share]
        self.rows = np.array([rows for rows, _ in kept], dtype=np.int64)
        self.share = np.array([share for _, share in kept], dtype=np.int64)
        self.total = sum(rows * share for rows, share in kept)
        ends = np.cumsum(self.rows * self.share)
        self._ends, self._starts = ends, ends - self.rows * self.share
        self._first = np.cumsum(self.rows) - self.rows

    def locate(self, cells: Int64) -> Int64:
        """Which row each cell (int64, 0..total-1) belongs to."""
        group = np.searchsorted(self._ends, cells, side="right")
        rows: Int64 = self._first[group] + (cells - self._starts[group]) // self.share[group]
        return rows


def uniform(active: int) -> Groups:
    """All rows alike."""
    return Groups([(active, 1)])


def zipf(active: int, exponent: Decimal) -> Groups:
    """The k-th row has a share of k^-exponent (k from 1): exact for 1024 rows, then in groups of 0.4 % width.

    Decimal's ln and exp are rounded correctly, so the whole numbers are the same everywhere.
    """
    with localcontext(Context(prec=40)):
        powers: list[tuple[int, Decimal]] = []
        rank = 1
        while rank <= active:
            count = 1 if rank <= 1024 else min(rank // 256, active - rank + 1)
            middle = Decimal(2 * rank + count - 1) / 2
            powers.append((count, (-exponent * middle.ln()).exp()))
            rank += count
        whole = sum((count * power for count, power in powers), Decimal(0))
        return Groups((count, int(power / whole * 2**_TOTAL_BITS)) for count, power in powers)


def thinned(law: Iterable[tuple[int, int]], active: int) -> Groups:
    """`active` rows whose popularities follow a law of (rate, rows), most popular first.

    Row j takes the mean rate of the j-th of `active` equal slices of the law, so that the shares of popular
    and rare rows hold for any number of rows.
    """
    law = list(law)
    slice_rows = sum(rows for _, rows in law)
    groups: list[tuple[int, int]] = []
    filled = mass = 0  # of a row whose slice spans several rates
    for rate, rows in law:
        span = active * rows
        if filled:
            part = min(span, slice_rows - filled)
            filled, mass, span = filled + part, mass + part * rate, span - part
            if filled == slice_rows:
                groups.append((1, mass))
                filled = mass = 0
        if span >= slice_rows:
            groups.append((span // slice_rows, slice_rows * rate))
            span %= slice_rows
        filled, mass = filled + span, mass + span * rate
    shift = max(sum(rows * mass for rows, mass in groups).bit_length() - _TOTAL_BITS, 0)
    return Groups((rows, mass >> shift) for rows, mass in groups)
