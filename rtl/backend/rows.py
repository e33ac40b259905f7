"""Rows of words that callers give: whole numbers that their ports can hold, or a ValueError that names the trouble."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...kernels.circuit import first_excess
from .layout import WORD, Field
from .words import mask_of

Words = npt.NDArray[np.uint64]
WHOLE = "whole numbers only"


def limits_of(fields: Sequence[Field], words: int) -> Words:
    """What each column may hold: uint64 [words]."""
    limits = np.zeros(words, np.uint64)
    for field in fields:
        for limb in range(field.columns):
            limits[field.first + limb] = mask_of(field.bits, limb)
    return limits


def joined(words: Sequence[int] | npt.NDArray[np.generic]) -> int:
    """A number from its 64-bit words, the lowest first."""
    return sum(int(word) << (WORD * limb) for limb, word in enumerate(words))


def shown(value: object) -> str:
    """A value that somebody gave, and its type; cut where it is long."""
    text = repr(value)
    return f"{text if len(text) <= 40 else text[:40] + '...'} ({type(value).__name__})"


def whole(value: object, what: str) -> int:
    """A whole number, as Python or NumPy has it; a bool is one. Raises ValueError for anything else."""
    try:
        return int(value) if isinstance(value, np.bool_) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{what} is {shown(value)}: {WHOLE}") from None


def copies_of(copies: object) -> int:
    """A number of copies. Raises ValueError for what is none."""
    if isinstance(copies, bool | np.bool_) or not isinstance(copies, int | np.integer) or copies < 1:
        raise ValueError(f"copies is {copies!r}, a whole number of at least 1 must be")
    return int(copies)


def too_much(field: Field, value: int, clock: int, copy: str = "", word: str = "") -> ValueError:
    told = str(value) if value < 0 else f"{value:#x}"
    return ValueError(
        f"input {field.name!r}{copy} is {told}{word} in clock {clock}, it has {field.bits} bits"
    )


def spread(value: int, field: Field) -> list[int]:
    """The 64-bit words of a number. Raises ValueError for one that the port cannot hold."""
    if not 0 <= value < 1 << field.bits:
        raise too_much(field, value, 0)
    return [value >> (WORD * limb) & ((1 << WORD) - 1) for limb in range(field.columns)]


def each_copy(given: object, field: Field, copies: int) -> list[int]:
    """The values of an input for one clock: one for all copies, or a sequence with one for each."""
    what = f"input {field.name!r}"
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given[()]
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str | bytes):
        return [whole(given, what)] * copies
    if len(given) != copies:
        raise ValueError(f"{what} has {len(given)} values for {copies} copies")
    return [whole(value, what) for value in given]


def _array(given: object) -> npt.NDArray[Any]:
    """An array of whole numbers, of any such type, or of Python's where no other holds them."""
    try:
        made = np.asarray(given)
        # 2**64 - 1 and -1 side by side would be floats
        if made.dtype.kind not in "biuO" and not isinstance(given, np.ndarray) and made.size:
            made = np.array(given, dtype=object)
    except (ValueError, OverflowError, TypeError):
        raise ValueError("inputs are ragged: all rows must have as many words") from None
    if made.dtype.kind == "O":
        for value in made.reshape(-1):
            whole(value, "an input")
    elif made.dtype.kind not in "biu" and (made.size or isinstance(given, np.ndarray)):
        raise ValueError(f"inputs are {made.dtype}: {WHOLE}")
    return made


def input_rows(given: object, fields: Sequence[Field], limits: Words, axes: Sequence[int]) -> Words:
    """Inputs of a run, checked: uint64 [clocks, copies, words], contiguous, with copies 1 where they are all alike.

    axes: numbers of copies that may come with an axis of their own.
    """
    rows, words = _array(given), len(limits)
    shape = rows.shape
    if rows.ndim == 2:
        rows = rows[:, np.newaxis, :]
        axes = (1,)
    if rows.ndim != 3 or rows.shape[1] not in axes or rows.shape[2] != words:
        wanted = [f"[clocks, {words}]", *(f"[clocks, {copies}, {words}]" for copies in axes if copies > 1)]
        got = shown(given) if not shape else f"of the shape {shape}"
        raise ValueError(f"inputs are {got}, they must be {' or '.join(wanted)}")
    if rows.dtype.kind in "iO":
        outside = rows < 0 if rows.dtype.kind == "i" else ((rows < 0) | (rows >= 1 << WORD)).astype(bool)
        if outside.any():
            at = int(np.argmax(outside.reshape(-1)))
            _refuse(fields, rows.reshape(-1, words), at // words, at % words, rows.shape[1])
    made = np.ascontiguousarray(rows, dtype=np.uint64)
    row, column = first_excess(made.reshape(-1, words), limits)
    if row >= 0:
        _refuse(fields, made.reshape(-1, words), row, column, made.shape[1])
    return made


def _refuse(
    fields: Sequence[Field], flat: npt.NDArray[np.generic], row: int, column: int, copies: int
) -> None:
    """Raises ValueError for a value that its port cannot hold."""
    clock, copy = divmod(row, copies)
    of = f" of copy {copy}" if copies > 1 else ""
    word = int(flat[row, column])
    for field in fields:
        if field.first <= column < field.first + field.columns:
            if 0 <= word < 1 << WORD:
                raise too_much(field, joined(flat[row, field.first : field.first + field.columns]), clock, of)
            limb = f" in word {column - field.first}" if field.columns > 1 else ""
            raise too_much(field, word, clock, of, limb)
    raise ValueError(f"inputs hold {word} in clock {clock}, a circuit without inputs takes 0 only")


def output_room(given: object, shape: tuple[int, ...], rows: Words, states: Sequence[Words]) -> Words:
    """Where outputs go: a new array, or the one given. It lies apart from the inputs, and both from all states."""
    if given is None:
        made = np.zeros(shape, np.uint64)
    else:
        wanted = f"they must be a NumPy array, uint64 {shape}, contiguous and writable"
        if not isinstance(given, np.ndarray):
            raise ValueError(f"outputs are {shown(given)}, {wanted}")
        faults = [
            word
            for word, is_so in (
                ("not contiguous", not given.flags.c_contiguous),
                ("read-only", not given.flags.writeable),
            )
            if is_so
        ]
        if given.shape != shape or given.dtype != np.uint64 or faults:
            raise ValueError(
                f"outputs are {' '.join([str(given.dtype), str(given.shape), *faults])}, {wanted}"
            )
        if np.may_share_memory(given, rows):  # both are contiguous, so this is exact
            raise ValueError("outputs share memory with inputs: they need an array of their own")
        made = given
    for state in states:
        if np.may_share_memory(rows, state) or (given is not None and np.may_share_memory(made, state)):
            raise ValueError("inputs or outputs share memory with the state: they need an array of their own")
    return made
