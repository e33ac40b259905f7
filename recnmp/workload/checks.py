"""Every array is checked at the door; an error names source, table, bag, position, value and range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from .batch import Float32, Int64, Piece
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


@dataclass
class RepairCounts:
    """How many lookups were changed on the way in."""

    clamped: int = 0
    wrapped: int = 0
    pruned: int = 0

    def __bool__(self) -> bool:
        return bool(self.clamped or self.wrapped or self.pruned)


def as_ids(values: npt.ArrayLike, source: str, what: str = "indices") -> Int64:
    """Ids as a contiguous int64 array [N]; the same memory if it already is one.

    Ints of any width, sign and byte order are widened. Raises RecnmpError on floats (what a table column
    becomes when an id is missing), other types, ids of 2^63 and over, and arrays that are not flat.
    """
    array = np.asarray(values)
    if array.size == 0 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)  # an empty list has no type of its own
    if array.ndim != 1:
        raise RecnmpError(f"{source}: {what} have shape {array.shape}, allowed is one dimension")
    if array.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(array))
        hint = f"; position {bad[0]} is {array[bad[0]]}, a missing id" if len(bad) else ""
        raise RecnmpError(f"{source}: {what} are {array.dtype}, allowed are whole-number types{hint}")
    if array.dtype.kind not in "iu":
        raise RecnmpError(f"{source}: {what} are of type {array.dtype}, allowed are whole-number types")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        bad = np.flatnonzero(array > np.uint64(2**63 - 1))
        if len(bad):
            raise RecnmpError(
                f"{source}: {what}: position {bad[0]} is {array[bad[0]]}, allowed is up to 2^63-1"
            )
    return np.ascontiguousarray(array, dtype=np.int64)


def as_weights(values: npt.ArrayLike, lookups: int, source: str) -> Float32:
    """Weights as a contiguous float32 array [lookups]; wider floats are rounded to nearest.

    NaN and infinities pass. Raises RecnmpError on another length, other types, and a finite value that
    float32 would turn infinite.
    """
    array = np.asarray(values)
    if array.shape != (lookups,):
        raise RecnmpError(
            f"{source}: weights have shape {array.shape}, allowed is ({lookups},), one a lookup"
        )
    if array.dtype.kind not in "fiu":
        raise RecnmpError(f"{source}: weights are of type {array.dtype}, allowed are real numbers")
    with np.errstate(over="ignore"):
        narrow = np.ascontiguousarray(array, dtype=np.float32)
    if array.dtype.itemsize > 4:
        bad = np.flatnonzero(np.isinf(narrow) & np.isfinite(array))
        if len(bad):
            raise RecnmpError(
                f"{source}: weights: position {bad[0]} is {array[bad[0]]}, allowed is up to 3.4028e38"
            )
    return narrow


def as_offsets(values: npt.ArrayLike, bags: int | None, lookups: int, source: str) -> Int64:
    """Offsets as a contiguous int64 array: first 0, never falling, last = lookups, bags + 1 of them.

    bags None: any number. Raises RecnmpError at the first bad position, saying what the array looks like.
    """
    array = as_ids(values, source, "offsets")
    if not len(array):
        raise RecnmpError(f"{source}: offsets are empty, allowed is one more than there are bags, from 0")
    fall = np.flatnonzero(array[1:] < array[:-1])
    lengths = len(array) == bags and not (array < 0).any() and int(array.sum()) == lookups
    if lengths and (len(fall) or array[0] != 0 or array[-1] != lookups):
        raise RecnmpError(
            f"{source}: offsets: these look like lengths (their sum is N = {lookups}): pass lengths="
        )
    if array[0] != 0:
        raise RecnmpError(f"{source}: offsets: position 0 is {array[0]}, allowed is 0")
    if len(fall):
        at = int(fall[0]) + 1
        guess = (
            "; 0 again: these look like one array of offsets a table, put one after another"
            if array[at] == 0
            else ""
        )
        if array[at - 1] > lookups:
            raise RecnmpError(
                f"{source}: offsets: position {at - 1} is {array[at - 1]}, allowed is up to N = {lookups}"
            )
        allowed = f"allowed is {array[at - 1]}..{lookups}"
        raise RecnmpError(
            f"{source}: offsets fall at position {at}: {array[at]} after {array[at - 1]}, {allowed}{guess}"
        )
    if bags is not None and len(array) != bags + 1:
        missing = len(array) == bags and array[-1] <= lookups
        guess = "; these look as if the last one, N, was left out" if missing else ""
        raise RecnmpError(f"{source}: there are {len(array)} offsets, allowed is T*B+1 = {bags + 1}{guess}")
    if array[-1] != lookups:
        raise RecnmpError(
            f"{source}: offsets: the last one (position {len(array) - 1}) is {array[-1]}, "
            f"allowed is N = {lookups}"
        )
    return array


def offsets_from_lengths(values: npt.ArrayLike, bags: int | None, lookups: int, source: str) -> Int64:
    """Offsets of given lengths. Raises RecnmpError on a negative length, another sum or number of them."""
    array = as_ids(values, source, "lengths")
    negative = np.flatnonzero(array < 0)
    if len(negative):
        raise RecnmpError(
            f"{source}: lengths: position {negative[0]} is {array[negative[0]]}, allowed is 0 and up"
        )
    if bags is not None and len(array) != bags:
        raise RecnmpError(f"{source}: there are {len(array)} lengths, allowed is T*B = {bags}")
    large = np.flatnonzero(array > lookups)
    if len(large):  # said before the sum, which such a length could overflow
        raise RecnmpError(
            f"{source}: lengths: position {large[0]} is {array[large[0]]}, allowed is up to N = {lookups}"
        )
    total = int(array.sum())
    if total != lookups:
        raise RecnmpError(f"{source}: the lengths' sum is {total}, allowed is N = {lookups}")
    offsets = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum(array, out=offsets[1:])
    return offsets


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
    if mode == "mean":
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
