"""From what a column holds to dense row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import RecnmpError
from ..workload.numbers import shown
from .words import Int64

_FRACTION = r"^[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?\d+[eE][+-]?\d+$"
_NOTHING = r"^\s*(?i:nan|null|none|inf|-inf|\+inf)?\s*$"
# Plain: a number has one way to be written. Others (007, +7, hexadecimal hashes) are texts.
_WHOLE = r"^(0|-?[1-9]\d*)$"


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as dense numbers. codes: int64 [records] in 0..size-1. size: distinct ids."""

    codes: Int64
    size: int


def code(column: Any, name: str, source: str, records: Int64 | None = None) -> Coded:
    """Number a column's ids 0.. in rising order: by value if all are plain whole numbers, else by text (UTF-8).

    Raises RecnmpError, with the record (counted from 1, without the header), on a missing id, one that is a
    fraction among whole numbers (as pandas writes them beside missing ones), and one beyond 64 bits.
    records: int64, of each id, if it is not its own place.
    """
    if pa.types.is_floating(column.type):
        bad = pc.index(pc.or_kleene(pc.is_null(column), pc.is_nan(pc.fill_null(column, 0.0))), True).as_py()
        hint = f"; record {bad + 1} is missing" if bad >= 0 else ""
        raise RecnmpError(
            f"{source}: column {name!r}: ids are {column.type}, allowed are whole numbers or texts{hint}"
        )
    if column.null_count:
        bad = pc.index(pc.is_null(column), True).as_py()
        raise RecnmpError(f"{source}: column {name!r}, record {bad + 1}: the id is missing")
    if pa.types.is_large_string(column.type):
        column = _from_text(column, f"{source}: column {name!r}", records)
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


def _from_text(column: Any, where: str, records: Int64 | None) -> Any:
    def record(value: Any) -> str:
        at = pc.index(column, value).as_py()
        return f"{where}, record {(at if records is None else int(records[at])) + 1}"

    # distinct values are few, records many
    distinct = pc.unique(column)
    whole = pc.match_substring_regex(distinct, _WHOLE)
    fraction = pc.match_substring_regex(distinct, _FRACTION)
    numeric = pc.all(pc.or_(whole, fraction)).as_py()
    faults = [(pc.match_substring_regex(distinct, _NOTHING), "the id is missing", "whole numbers or names")]
    if numeric:
        faults.append((fraction, "the id is a fraction", "whole numbers, or texts of which one is no number"))
    for bad, what, allowed in faults:
        found = pc.index(bad, True).as_py()
        if found >= 0:
            value = distinct[found]
            raise RecnmpError(f"{record(value)}: {what} ({shown(value.as_py())}), allowed are {allowed}")
    if not numeric:
        return column
    try:
        return pc.cast(column, pa.int64())
    except pa.ArrowInvalid:
        large = next(value for value in distinct if not _fits(value.as_py()))
        raise RecnmpError(f"{record(large)}: id {_cut(large.as_py())}, allowed is up to 2^63-1") from None


def _fits(text: str) -> bool:
    return len(text) <= 20 and -(2**63) <= int(text) < 2**63


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}... ({len(text)} digits)"


def code_together(columns: list[Coded]) -> Coded:
    """Several columns as one key: as many ids as there are different combinations."""
    if not columns:
        raise RecnmpError("no column names the user, allowed is one or more")
    joint = columns[0]
    for column in columns[1:]:
        # sizes are at most the number of records, so the product fits
        pairs = joint.codes * column.size + column.codes
        distinct, codes = np.unique(pairs, return_inverse=True)
        joint = Coded(codes.astype(np.int64).reshape(-1), len(distinct))
    return joint


def split_codes(column: Any, separator: str, name: str, source: str) -> tuple[Coded, Int64]:
    """A text column of several ids each, or none: all ids coded, and how many each record has."""
    if not pa.types.is_large_string(column.type):
        raise RecnmpError(f"{source}: column {name!r} is {column.type}, allowed for splitting is text")
    if column.null_count:
        bad = pc.index(pc.is_null(column), True).as_py()
        raise RecnmpError(f"{source}: column {name!r}, record {bad + 1}: the text is missing, not empty")
    parts = pc.split_pattern(column, separator)
    # nothing between separators is a missing id, but a record may have none at all
    lists = pc.if_else(pc.equal(column, ""), pa.scalar([], parts.type), parts)
    counts: Int64 = lists.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)
    return code(lists.flatten(), name, source, np.repeat(np.arange(len(counts)), counts)), counts
