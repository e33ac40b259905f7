"""Where bags begin and end: offsets and lengths checked, errors saying where, and what an array looks like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from .batch import Int64
from .numbers import as_ids


@dataclass(frozen=True)
class Layout:
    """What is known of an array of bags before it is looked at.

    tables: their names; None: nobody knows how many. batch_size: samples of every batch, or of each one;
    None: all is one batch. first_batch: its number, named in errors; None: they name no batch.
    """

    tables: tuple[str, ...] | None = None
    batch_size: int | tuple[int, ...] | None = None
    first_batch: int | None = 0

    @property
    def bags(self) -> int | None:
        """How many bags there must be, if that is known."""
        if self.tables is None or not isinstance(self.batch_size, tuple):
            return None
        return sum(self.batch_size) * len(self.tables)

    @property
    def step(self) -> int:
        """The number of bags is a multiple of this (0 if there can be none)."""
        tables = 1 if self.tables is None else len(self.tables)
        return tables * (self.batch_size if isinstance(self.batch_size, int) else 1)

    def fits(self, bags: int) -> bool:
        """So many bags are possible."""
        if self.bags is not None:
            return bags == self.bags
        return bags % self.step == 0 if self.step else bags == 0

    def multiple(self) -> str:
        """The step, spelt out."""
        if isinstance(self.batch_size, int):
            return (
                f"B = {self.step}" if self.tables is None else f"T*B = {len(self.tables)}*{self.batch_size}"
            )
        return f"T = {self.step}"

    def place(self, bag: int, bags: int) -> str:
        """The bag's table, batch and sample, if they are known: "table 0 ('a'), batch 0, bag of sample 1"."""
        if not self.tables or not self.fits(bags):
            return ""
        batch, first, size = 0, 0, bags // len(self.tables)
        if isinstance(self.batch_size, int):
            size = self.batch_size
            batch = bag // self.step
            first = batch * self.step
        elif self.batch_size is not None:
            ends = np.cumsum(self.batch_size) * len(self.tables)
            batch = int(np.searchsorted(ends, bag, side="right"))
            size = self.batch_size[batch]
            first = int(ends[batch]) - size * len(self.tables)
        table, sample = divmod(bag - first, size)
        named = "" if self.first_batch is None else f", batch {self.first_batch + batch}"
        return f"table {table} ({self.tables[table]!r}){named}, bag of sample {sample}"


def as_offsets(values: npt.ArrayLike, lookups: int, source: str, layout: Layout) -> Int64:
    """Offsets as a contiguous int64 array: first 0, never falling, last = lookups, one more than bags.

    Raises RecnmpError at the first bad position, with its table, batch and bag if the layout tells, saying
    what the array looks like.
    """
    array = as_ids(values, source, "offsets")
    if not len(array):
        raise RecnmpError(f"{source}: offsets are empty, allowed is one more than there are bags, from 0")
    bags = len(array) - 1
    fall = np.flatnonzero(array[1:] < array[:-1])
    wrong = bool(len(fall)) or array[0] != 0 or array[-1] != lookups
    if wrong and layout.fits(len(array)) and not (array < 0).any() and int(array.sum()) == lookups:
        raise RecnmpError(
            f"{source}: offsets: these look like lengths (their sum is N = {lookups}): pass lengths="
        )
    if array[0] != 0:
        raise RecnmpError(f"{source}: offsets: position 0 is {array[0]}, allowed is 0")
    if len(fall):
        at = int(fall[0]) + 1
        if array[at - 1] > lookups:
            raise RecnmpError(
                f"{source}: offsets: position {at - 1} is {array[at - 1]}, allowed is up to N = {lookups}"
                f"{_end(layout, at - 2, bags)}"
            )
        guess = (
            "; 0 again: these look like one array of offsets a table, put one after another"
            if array[at] == 0
            else ""
        )
        allowed = f"allowed is {array[at - 1]}..{lookups}{_end(layout, at - 1, bags)}"
        raise RecnmpError(
            f"{source}: offsets fall at position {at}: {array[at]} after {array[at - 1]}, {allowed}{guess}"
        )
    if not layout.fits(bags):
        left_out = layout.fits(len(array)) and array[-1] <= lookups
        guess = "; these look as if the last one, N, was left out" if left_out else ""
        raise RecnmpError(f"{source}: {_count(layout, bags, 'offsets', 1)}{guess}")
    if array[-1] != lookups:
        raise RecnmpError(
            f"{source}: offsets: the last one (position {bags}) is {array[-1]}, allowed is N = {lookups}"
        )
    return array


def offsets_from_lengths(values: npt.ArrayLike, lookups: int, source: str, layout: Layout) -> Int64:
    """Offsets of given lengths. Raises RecnmpError on a negative length, another sum or number of them."""
    array = as_ids(values, source, "lengths")
    negative = np.flatnonzero(array < 0)
    if len(negative):
        at = int(negative[0])
        raise RecnmpError(
            f"{source}: lengths: position {at} is {array[at]}, allowed is 0 and up{_of(layout, at, len(array))}"
        )
    offsets_like = len(array) and array[0] == 0 and array[-1] == lookups and (np.diff(array) >= 0).all()
    guess = "; these look like offsets: pass offsets=" if offsets_like else ""
    if layout.bags is not None and len(array) != layout.bags:
        raise RecnmpError(f"{source}: {_count(layout, len(array), 'lengths', 0)}{guess}")
    large = np.flatnonzero(array > lookups)
    if len(large):  # said before the sum, which such a length could overflow
        at = int(large[0])
        raise RecnmpError(
            f"{source}: lengths: position {at} is {array[at]}, allowed is up to N = {lookups}"
            f"{_of(layout, at, len(array))}"
        )
    total = int(array.sum())
    if total != lookups:
        raise RecnmpError(f"{source}: the lengths' sum is {total}, allowed is N = {lookups}{guess}")
    if not layout.fits(len(array)):
        raise RecnmpError(f"{source}: {_count(layout, len(array), 'lengths', 0)}")
    offsets = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum(array, out=offsets[1:])
    return offsets


def _end(layout: Layout, bag: int, bags: int) -> str:
    place = layout.place(bag, bags)
    return f", the end of {place}" if place else ""


def _of(layout: Layout, bag: int, bags: int) -> str:
    place = layout.place(bag, bags)
    return f", of {place}" if place else ""


def _count(layout: Layout, bags: int, what: str, more: int) -> str:
    """That the number of bags is wrong; there are `more` of `what` than bags."""
    if layout.bags is not None:
        allowed = f"T*B{'+1' if more else ''} = {layout.bags + more}"
        return f"there are {bags + more} {what}, allowed is {allowed}"
    if not layout.step:
        return f"{bags} bags but no tables"
    return (
        f"there are {bags + more} {what} ({bags} bags), allowed is a multiple of {layout.multiple()}"
        f"{', and one' if more else ''}"
    )
