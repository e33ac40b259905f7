"""Ids are checked against their table's rows; an error names source, table, bag, position, value and range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from .batch import Int64, Piece
from .numbers import shown
from .table import Table

OUT_OF_RANGE = ("error", "clamp", "modulo")


@dataclass(frozen=True)
class Repair:
    """What to do with ids outside 0..rows-1; by default nothing is repaired.

    out_of_range: "error", "clamp" (to 0 or rows-1) or "modulo" (rows, never negative).
    pruned: an id of -1 is a pruned row: it adds 0 and costs no access, so it leaves its bag.
    """

    out_of_range: str = "error"
    pruned: bool = False

    def __post_init__(self) -> None:
        if self.out_of_range not in OUT_OF_RANGE:
            raise RecnmpError(f"out_of_range is {self.out_of_range!r}, allowed: {', '.join(OUT_OF_RANGE)}")
        if not isinstance(self.pruned, bool):
            raise RecnmpError(f"pruned is {self.pruned!r}, allowed: True, False")


def as_repair(value: object) -> Repair:
    """The repair asked for, None: none. Raises RecnmpError on anything else, the bare word included."""
    if value is None:
        return Repair()
    if not isinstance(value, Repair):
        raise RecnmpError(
            f"repair is {shown(value)}, allowed is a Repair, like Repair('clamp') or Repair(pruned=True)"
        )
    return value


@dataclass
class RepairCounts:
    """How many lookups were changed on the way in."""

    clamped: int = 0
    wrapped: int = 0
    pruned: int = 0

    def __bool__(self) -> bool:
        return bool(self.clamped or self.wrapped or self.pruned)


def check_piece(
    piece: Piece,
    tables: Sequence[Table],
    repair: Repair,
    counts: RepairCounts,
    source: str,
    mode: str = "sum",
) -> Piece:
    """The piece itself if all ids are within 0..rows-1, else a repaired copy, counted in `counts`.

    Raises RecnmpError at the first id out of range that `repair` does not allow, and on pruned rows in a
    mean.
    """
    ends = np.zeros(len(piece.lengths) + 1, dtype=np.int64)
    np.cumsum(piece.lengths, out=ends[1:])
    fixed: Int64 | None = None
    keep: npt.NDArray[np.bool_] | None = None
    bag = piece.first_bag
    while bag < piece.first_bag + len(piece.lengths):
        number = bag // piece.batch_size
        following = min((number + 1) * piece.batch_size, piece.first_bag + len(piece.lengths))
        low, high = int(ends[bag - piece.first_bag]), int(ends[following - piece.first_bag])
        ids = piece.indices[low:high]
        rows = tables[number].rows
        bag = following
        if not len(ids) or (ids.min() >= 0 and ids.max() < rows):
            continue
        bad = (ids < 0) | (ids >= rows)
        if repair.pruned:
            gone = ids == -1
            bad &= ~gone
            if gone.any():
                keep = np.ones(len(piece.indices), dtype=np.bool_) if keep is None else keep
                keep[low:high] = ~gone
        if not bad.any():
            continue
        if repair.out_of_range == "error":
            raise RecnmpError(
                _out_of_range(piece, ends, low + int(np.argmax(bad)), tables, source, repair.pruned)
            )
        fixed = piece.indices.copy() if fixed is None else fixed
        wrong = ids[bad]
        fixed[low:high][bad] = np.clip(wrong, 0, rows - 1) if repair.out_of_range == "clamp" else wrong % rows
        if repair.out_of_range == "clamp":
            counts.clamped += len(wrong)
        else:
            counts.wrapped += len(wrong)
    indices = piece.indices if fixed is None else fixed
    if keep is None:
        return (
            piece
            if fixed is None
            else Piece(piece.batch, piece.batch_size, piece.first_bag, piece.lengths, indices, piece.weights)
        )
    if mode != "sum":
        raise RecnmpError(
            f"{source}: batch {piece.batch}: pruned rows (-1) in a mean: they would change its divisor"
        )
    counts.pruned += int(len(keep) - keep.sum())
    kept = np.zeros(len(keep) + 1, dtype=np.int64)
    np.cumsum(keep, out=kept[1:])
    weights = None if piece.weights is None else piece.weights[keep]
    return Piece(piece.batch, piece.batch_size, piece.first_bag, np.diff(kept[ends]), indices[keep], weights)


def _out_of_range(
    piece: Piece, ends: Int64, position: int, tables: Sequence[Table], source: str, pruned: bool
) -> str:
    local = int(np.searchsorted(ends, position, side="right")) - 1
    number, sample = divmod(piece.first_bag + local, piece.batch_size)
    value, table = int(piece.indices[position]), tables[number]
    hint = ", the number of rows itself: ids count from 0" if value == table.rows else ""
    if value == -1 and not pruned:
        hint = ": if it marks a pruned row, allow it with pruned"
    return (
        f"{source}: table {number} ({table.name!r}), batch {piece.batch}, bag of sample {sample}, "
        f"position {position - int(ends[local])}: row {value} is out of range, "
        f"allowed is 0..{table.rows - 1}{hint}"
    )
