"""Users' arrays as int64 ids and float32 weights: widened where that is exact, refused where it is not."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from .batch import Float32, Int64

_LOWEST, _HIGHEST = -(2**63), 2**63 - 1


def as_whole(value: object) -> int | None:
    """The whole number that `value` is (Python's, NumPy's), or None if it is none; True and False are none."""
    try:
        return None if isinstance(value, bool | np.bool_) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def shown(value: object) -> str:
    """A value as errors show it: one line, not endless."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"  # Python does not write out very long ones
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"


def as_ids(values: npt.ArrayLike, source: str, what: str = "indices") -> Int64:
    """Ids as a contiguous int64 array [N]; the same memory if it already is one.

    Ints of any width, sign and byte order are widened. Raises RecnmpError on floats (what a table column
    becomes when an id is missing), other types, masked values, ids of 2^63 and over, and arrays that are not
    flat.
    """
    array = _array(values, source, what)
    if array.size == 0 and not isinstance(values, np.ndarray):
        array = array.astype(np.int64)  # an empty list has no type of its own
    if array.ndim != 1:
        raise RecnmpError(f"{source}: {what} have shape {array.shape}, allowed is one dimension")
    if array.dtype.kind in "fO":
        given = values if isinstance(values, list | tuple) else array
        hint = _first_odd(given, array)
        kind = f"{array.dtype}" if array.dtype.kind == "f" else f"of type {array.dtype}"
        raise RecnmpError(f"{source}: {what} are {kind}, allowed are whole-number types{hint}")
    if array.dtype.kind not in "iu":
        raise RecnmpError(f"{source}: {what} are of type {array.dtype}, allowed are whole-number types")
    if array.dtype.kind == "u" and array.dtype.itemsize == 8:
        bad = np.flatnonzero(array > np.uint64(_HIGHEST))
        if len(bad):
            raise RecnmpError(
                f"{source}: {what}: position {bad[0]} is {array[bad[0]]}, allowed is up to 2^63-1"
            )
    return np.ascontiguousarray(array, dtype=np.int64)


def as_weights(values: npt.ArrayLike, lookups: int, source: str) -> Float32:
    """Weights as a contiguous float32 array [lookups]; wider floats are rounded to nearest.

    NaN and infinities pass. Raises RecnmpError on another length, other types, masked values, and a finite
    value that float32 would turn infinite.
    """
    array = _array(values, source, "weights")
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


def _array(values: npt.ArrayLike, source: str, what: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        masked = np.flatnonzero(np.ma.getmaskarray(values))
        if len(masked):
            raise RecnmpError(f"{source}: {what}: position {masked[0]} is masked, allowed are none missing")
        values = values.data
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise RecnmpError(
            f"{source}: {what} are no array of one dimension: {str(error).splitlines()[0]}"
        ) from error


def _first_odd(given: Any, array: npt.NDArray[Any]) -> str:
    """What made an array of ids one of floats or objects: a number beyond 64 bits, a missing or odd value."""
    if array.dtype.kind == "O" or given is not array:
        for position, value in enumerate(given):
            number = as_whole(value)
            if number is not None and not _LOWEST <= number <= _HIGHEST:
                allowed = "up to 2^63-1" if number > 0 else "from -2^63 on"
                return f"; position {position} is {shown(number)}, allowed is {allowed}"
    if array.dtype.kind == "O":
        odd = next((at for at, value in enumerate(given) if as_whole(value) is None), None)
        return "" if odd is None else f"; position {odd} is {shown(given[odd])}"
    bad = np.flatnonzero(~np.isfinite(array))
    return f"; position {bad[0]} is {array[bad[0]]}, a missing id" if len(bad) else ""
