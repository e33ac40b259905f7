"""From what a column holds to dense row numbers and to clocks of the wall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import RecnmpError
from .words import Int64

_FRACTION = r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?\d+[eE][+-]?\d+$"
_NOTHING = r"^\s*(?i:nan|null|none|inf|-inf|\+inf)?\s*$"
_WHOLE = r"^[+-]?\d+$"


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as dense numbers. codes: int64 [records] in 0..size-1. size: distinct ids."""

    codes: Int64
    size: int


def code(column: Any, name: str, source: str) -> Coded:
    """Number a column's ids 0.. in rising order: by value if all are whole numbers, else by text (UTF-8).

    Raises RecnmpError, with the record (counted from 1, without the header), on a missing id, one that is a
    fraction (as pandas writes whole numbers beside missing ones), and one beyond 64 bits.
    """
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        bad = pc.index(pc.or_kleene(pc.is_null(column), pc.is_nan(pc.fill_null(column, 0.0))), True).as_py()
        hint = f"; record {bad + 1} is missing" if bad >= 0 else ""
        raise RecnmpError(
            f"{source}: column {name!r}: ids are {column.type}, allowed are whole numbers or texts{hint}"
        )
    if column.null_count:
        bad = pc.index(pc.is_null(column), True).as_py()
        raise RecnmpError(f"{source}: column {name!r}, record {bad + 1}: the id is missing")
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        column = _from_text(column, name, source)
    elif column.type == pa.uint64():
        top = pc.max(column).as_py() or 0
        if top > 2**63 - 1:
            at = pc.index(column, pa.scalar(top, pa.uint64())).as_py()
            raise RecnmpError(
                f"{source}: column {name!r}, record {at + 1}: id {top}, allowed is up to 2^63-1"
            )
    elif not pa.types.is_integer(column.type):
        raise RecnmpError(
            f"{source}: column {name!r}: ids are {column.type}, allowed are whole numbers or texts"
        )
    coded = pc.dictionary_encode(column)
    order = pc.sort_indices(coded.dictionary).to_numpy()
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return Coded(rank[coded.indices.to_numpy()], len(order))


def _from_text(column: Any, name: str, source: str) -> Any:
    # distinct values are few, records many
    distinct = pc.unique(column)
    for pattern, what in ((_NOTHING, "the id is missing"), (_FRACTION, "the id is a fraction")):
        found = pc.index(pc.match_substring_regex(distinct, pattern), True).as_py()
        if found >= 0:
            value = distinct[found]
            at = pc.index(column, value).as_py()
            raise RecnmpError(
                f"{source}: column {name!r}, record {at + 1}: {what} ({value.as_py()!r}), "
                "allowed are whole numbers or names"
            )
    if not pc.all(pc.match_substring_regex(distinct, _WHOLE)).as_py():
        return column
    plain = pc.replace_substring_regex(column, r"^\+", "")
    try:
        return pc.cast(plain, pa.int64())
    except pa.ArrowInvalid:
        values = [int(value) for value in plain.to_pylist()]
        at = next(at for at, value in enumerate(values) if not -(2**63) <= value < 2**63)
        raise RecnmpError(
            f"{source}: column {name!r}, record {at + 1}: id {values[at]}, allowed is up to 2^63-1"
        ) from None


def code_together(columns: list[Coded]) -> Coded:
    """Several columns as one key: as many ids as there are different combinations."""
    joint = columns[0]
    for column in columns[1:]:
        # sizes are at most the number of records, so the product fits
        pairs = joint.codes * column.size + column.codes
        distinct, codes = np.unique(pairs, return_inverse=True)
        joint = Coded(codes.astype(np.int64).reshape(-1), len(distinct))
    return joint


def split_codes(column: Any, separator: str, name: str, source: str) -> tuple[Coded, Int64]:
    """A text column of several ids each, or none: all ids coded, and how many each record has."""
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise RecnmpError(f"{source}: column {name!r} is {column.type}, allowed for splitting is text")
    parts = pc.split_pattern(column, separator)
    # nothing between separators is a missing id, but a record may have none at all
    lists = pc.if_else(pc.equal(column, ""), pa.scalar([], parts.type), parts)
    return code(lists.flatten(), name, source), lists.value_lengths().to_numpy(zero_copy_only=False).astype(
        np.int64
    )


def times(column: Any, name: str, source: str) -> tuple[Any, int]:
    """Times as a numeric array, and how many of its units make a second (of numbers: 1, they are seconds).

    Numbers, or ISO 8601 texts, all with a zone or all without. Raises RecnmpError naming the first other
    value.
    """
    if pa.types.is_timestamp(column.type):
        return _filled(column, pc.cast(column, pa.timestamp("ns", column.type.tz)), name, source), 10**9
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        return _filled(column, column, name, source), 1
    if not pa.types.is_string(column.type):
        raise RecnmpError(
            f"{source}: column {name!r} is {column.type}, allowed are numbers and ISO 8601 times"
        )
    for kind, unit in (
        (pa.int64(), 1),
        (pa.float64(), 1),
        (pa.timestamp("ns", "UTC"), 10**9),
        (pa.timestamp("ns"), 10**9),
    ):
        try:
            return _filled(column, pc.cast(column, kind), name, source), unit
        except pa.ArrowInvalid:
            continue
    raise RecnmpError(f"{source}: column {name!r}, record {_first_odd(column)}")


def _first_odd(column: Any) -> str:
    """The first value that is no time, or is written unlike the first one."""
    first = column[0].as_py()
    kinds = (pa.int64(), pa.float64(), pa.timestamp("ns", "UTC"), pa.timestamp("ns"))
    like = [kind for kind in kinds if _reads(column[:1], kind)]
    for at, value in enumerate(column):
        if not any(_reads(column[at : at + 1], kind) for kind in like):
            other = f", like the first, {first!r}" if like else ""
            return f"{at + 1}: time {value.as_py()!r}, allowed are numbers, or ISO 8601 times{other}"
    return "1: numbers and fractions of other kinds are mixed"


def _reads(column: Any, kind: Any) -> bool:
    try:
        pc.cast(column, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _filled(column: Any, values: Any, name: str, source: str) -> Any:
    numbers = values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values
    bad = pc.is_null(numbers)
    if pa.types.is_floating(numbers.type):
        bad = pc.or_kleene(bad, pc.invert(pc.is_finite(pc.fill_null(numbers, 0.0))))
    at = pc.index(bad, True).as_py()
    if at >= 0:
        raise RecnmpError(f"{source}: column {name!r}, record {at + 1}: the time is {column[at].as_py()!r}")
    return numbers.to_numpy(zero_copy_only=False)
