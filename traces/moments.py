"""Columns of times as whole or real numbers that can be compared and subtracted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import RecnmpError
from ..workload.numbers import shown

# Forms of texts; the first record's form is that of all. All have years of four digits.
_DATE = r"\d{4}-\d\d-\d\d(?:[T ]\d\d(?::\d\d(?::\d\d(?:[.,]\d+)?)?)?)?"
_FORMS = {
    "number": r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$",
    "zoned": rf"^{_DATE}(?:Z|[+-]\d\d(?::?\d\d)?)$",
    "local": rf"^{_DATE}$",
}
ALLOWED = (
    "allowed are finite numbers (seconds), or ISO 8601 times of the years 0001 to 9999 like 2024-05-01, "
    "2024-05-01T08:00:00.25, with Z or +02:00 at all or at none"
)
_WHOLE = r"^[+-]?\d{1,18}$"
_NS_SECONDS = 9_223_372_036  # |seconds| whose nanoseconds fit in 64 bits
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

Clock = npt.NDArray[Any]


def times(column: Any, name: str, source: str) -> tuple[Clock, int]:
    """Times as int64, uint64 or float64, and how many of its units make a second (of numbers: 1).

    Numbers, ISO 8601 texts, or dates and timestamps of Parquet, in their own unit. Texts count in nanoseconds
    if the years 1678 to 2261 hold them all, else in microseconds, rounded down.
    Raises RecnmpError naming the first value that is missing or other, and what is allowed.
    """
    kind = column.type
    if pa.types.is_date(kind):
        column = column.cast(pa.timestamp("s" if pa.types.is_date32(kind) else "ms"))
    if pa.types.is_timestamp(column.type):
        return _filled(column.cast(pa.int64()), column, name, source), _UNITS[column.type.unit]
    if pa.types.is_integer(kind):
        wide = pa.uint64() if kind == pa.uint64() else pa.int64()
        return _filled(column.cast(wide), column, name, source), 1
    if pa.types.is_floating(kind):
        return _filled(column.cast(pa.float64()), column, name, source), 1
    if not pa.types.is_large_string(kind):
        raise RecnmpError(
            f"{source}: column {name!r} is {kind}, allowed are numbers, ISO 8601 texts, dates, timestamps"
        )
    return _of_texts(column, name, source)


def _of_texts(column: Any, name: str, source: str) -> tuple[Clock, int]:
    if not len(column):
        return np.zeros(0, dtype=np.int64), 1
    _filled(column, column, name, source)
    first = column[:1]
    form = next((form for form in _FORMS if _matches(first, _FORMS[form])[0].as_py()), None)
    odd = 0 if form is None else pc.index(_matches(column, _FORMS[form]), False).as_py()
    if form is None or odd >= 0:
        like = f", like the first, {shown(column[0].as_py())}" if odd else ""
        raise RecnmpError(
            f"{source}: column {name!r}, record {odd + 1}: time {shown(column[odd].as_py())}, {ALLOWED}{like}"
        )
    if form == "number":
        if pc.all(_matches(column, _WHOLE)).as_py():
            return _cast(pc.replace_substring_regex(column, r"^\+", ""), pa.int64(), name, source), 1
        return _filled(_numbers(column), column, name, source), 1
    whole = pc.replace_substring_regex(column, r"[.,]\d+", "")
    seconds = _cast(whole, pa.timestamp("s", "UTC" if form == "zoned" else None), name, source)
    digits = 9 if np.abs(seconds).max() < _NS_SECONDS else 6
    fraction = pc.replace_substring_regex(column, r"^[^.,]*(?:[.,](\d+))?.*$", r"\1")
    padded = pc.utf8_slice_codeunits(pc.utf8_rpad(fraction, digits, "0"), 0, digits)
    return seconds * 10**digits + padded.cast(pa.int64()).to_numpy(), 10**digits


def _numbers(column: Any) -> Any:
    """Decimal texts as float64; what is too large for it is infinite."""
    return pa.array(np.array([float(text) for text in column.to_pylist()], dtype=np.float64))


def _matches(column: Any, pattern: str) -> Any:
    return pc.match_substring_regex(column, pattern)


def _cast(column: Any, kind: Any, name: str, source: str) -> Clock:
    """Texts that have the right form as int64. Raises RecnmpError at the first that means nothing (25:00)."""

    def fails(count: int) -> bool:
        try:
            column[:count].cast(kind)
        except pa.ArrowInvalid:
            return True
        return False

    if not fails(len(column)):
        numbers: Clock = column.cast(kind).cast(pa.int64()).to_numpy(zero_copy_only=False)
        return numbers
    good, bad = 0, len(column)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if fails(middle) else (middle, bad)
    raise RecnmpError(
        f"{source}: column {name!r}, record {bad}: time {shown(column[bad - 1].as_py())} does not exist, {ALLOWED}"
    )


def _filled(numbers: Any, column: Any, name: str, source: str) -> Clock:
    """The numbers, none missing or infinite."""
    bad = pc.is_null(numbers)
    if pa.types.is_floating(numbers.type):
        bad = pc.or_kleene(bad, pc.invert(pc.is_finite(pc.fill_null(numbers, 0.0))))
    at = pc.index(bad, True).as_py()
    if at >= 0:
        value = shown(column[at].as_py()) if column[at].is_valid else "missing"
        raise RecnmpError(f"{source}: column {name!r}, record {at + 1}: the time is {value}, {ALLOWED}")
    found: Clock = numbers.to_numpy(zero_copy_only=False)
    return found
