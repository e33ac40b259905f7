"""Lookups from a log of interactions (who, what, when), as a recommender would have issued them.

A query is a *request* of a random user at a random moment of their history (the last items up to it), or one
*session* (items of a user without a long pause between). It is never one query for each event: the histories
of consecutive events overlap nearly wholly, and any cache would seem to hit 98 % of the time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import RecnmpError
from ..workload import Batch, Table, Workload
from ..workload.header import check_mode
from .columns import read_columns
from .ids import code, code_together, split_codes
from .moments import times
from .words import Int64, scaled, source

QUERIES = ("request", "session")
SESSION_GAP = 1800.0
_SECONDS_TILL_5138 = 10**11
_MOST_REQUESTS = 10**12  # drawn at once: far more than memory holds, and no number overflows


@dataclass(frozen=True)
class InteractionOptions:
    """How a log becomes queries.

    user: columns that together are the key of a user. item, time: columns; time None: the file's order.
    tables: further columns, each a table of which a query looks up the values of its last event.
    split: column -> separator, for columns that hold several ids. query: "request" or "session".
    requests: how many to draw, None: as many as there are users. history: most items of a query.
    session_gap: longest pause within a session, in seconds (numbers are taken as seconds), None: 1800. seed:
    of the requests, None: 0. Raises RecnmpError on values out of range, and on what the kind of query does not
    heed.
    """

    user: tuple[str, ...]
    item: str
    time: str | None = None
    tables: tuple[str, ...] = ()
    split: Mapping[str, str] = field(default_factory=dict)
    query: str = "request"
    requests: int | None = None
    history: int = 50
    session_gap: float | None = None
    batch_size: int = 256
    dim: int = 32
    dtype: str = "fp32"
    layout: str = ""
    order: str = "table"
    mode: str = "sum"
    seed: int | None = None
    delimiter: str | None = None
    header: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.query not in QUERIES:
            raise RecnmpError(f"query is {self.query!r}, allowed: {', '.join(QUERIES)}")
        if self.query == "session" and self.time is None:
            raise RecnmpError("sessions need a time column")
        if self.history < 1 or self.batch_size < 1:
            raise RecnmpError(f"history is {self.history}, batch size {self.batch_size}, allowed is 1 and up")
        if self.session_gap is not None and not 0 <= self.session_gap < math.inf:
            raise RecnmpError(f"session gap is {self.session_gap}, allowed is 0 seconds and up")
        if self.requests is not None and not 0 <= self.requests <= _MOST_REQUESTS:
            raise RecnmpError(f"requests are {self.requests}, allowed is 0..{_MOST_REQUESTS}")
        check_mode(self.mode, False)
        if not self.user:
            raise RecnmpError("no column names the user, allowed is one or more")
        unheeded = {"request": ("session_gap",), "session": ("requests", "seed")}[self.query]
        for name in unheeded:
            if getattr(self, name) is not None:
                raise RecnmpError(f"{name.replace('_', '-')} has no effect on {self.query}s: leave it out")
        for name in self.split:
            if name not in (*self.tables, self.item):
                raise RecnmpError(f"column {name!r} is to be split, but is neither the item nor a table")
            if not self.split[name]:
                raise RecnmpError(f"column {name!r}: the separator is empty")


@dataclass(frozen=True, eq=False)
class Imported:
    """workload: the trace. events: records read. queries: samples. mapping: table -> ids mapped to rows.

    cut: queries whose history was longer than allowed, and was cut to its end. doubt: what may have been
    misunderstood, or None.
    """

    workload: Workload
    events: int
    queries: int
    mapping: dict[str, int]
    cut: int
    doubt: str | None = None


@dataclass(frozen=True, eq=False)
class _Feature:
    """Ids of a column in the order of events: those of event e are ids[starts[e] : starts[e+1]]."""

    ids: Int64
    starts: Int64
    rows: int


def import_interactions(path: Path, options: InteractionOptions) -> Imported:
    """Read a log (CSV, also gzip, or Parquet) and form its queries; deterministic for a seed.

    Raises RecnmpError for a file that is not what it should be, naming column, record and value.
    """
    wanted = [*options.user, options.item, *options.tables, *([options.time] if options.time else [])]
    columns = read_columns(path, list(dict.fromkeys(wanted)), options.delimiter, options.header)
    where = str(path)
    users = code_together([code(columns[name], name, where) for name in options.user])
    order = np.arange(len(users.codes))
    clock, second = (order, 1) if options.time is None else times(columns[options.time], options.time, where)
    # by user, then time, then place in the file
    order = np.lexsort((clock, users.codes))
    owner = users.codes[order]
    features = [
        _feature(columns[name], name, options, order, where) for name in (options.item, *options.tables)
    ]
    if options.query == "session":
        first, last = _sessions(owner, clock[order], _gap(options) * second)
    else:
        first, last = _requests(owner, users.size, options)
    starts = np.maximum(first, last + 1 - options.history)
    cut = int(np.count_nonzero(starts > first))
    names = ["user" if len(options.user) > 1 else options.user[0], options.item, *options.tables]
    rows = [users.size, *(feature.rows for feature in features)]
    try:
        tables = [
            Table(name, max(size, 1), options.dim, options.dtype, options.layout)
            for name, size in zip(names, rows, strict=True)
        ]
    except RecnmpError as error:
        raise RecnmpError(f"{path}: {error}") from error
    batches = []
    for number, low in enumerate(range(0, len(last), options.batch_size)):
        part = slice(low, low + options.batch_size)
        bags = [(owner[last[part]], np.ones(len(last[part]), dtype=np.int64))]
        bags.append(_gather(features[0], starts[part], last[part]))
        bags += [_gather(feature, last[part], last[part]) for feature in features[1:]]
        lengths = np.concatenate([lengths for _, lengths in bags])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        batches.append(Batch(number, len(last[part]), np.concatenate([ids for ids, _ in bags]), offsets))
    mapping = dict(zip(names, rows, strict=True))
    origin = {"import": _said(path, options), "active_rows": [table.rows for table in tables]}
    workload = Workload.from_batches(
        tables, batches, order=options.order, mode=options.mode, origin=origin, name=where
    )
    doubt = None
    if options.query == "session" and second == 1 and len(clock) and clock.min() > _SECONDS_TILL_5138:
        doubt = f"column {options.time!r}: times are taken as seconds; these look like milliseconds or finer"
    return Imported(workload, len(owner), len(last), mapping, cut, doubt)


def _said(path: Path, options: InteractionOptions) -> dict[str, Any]:
    said: dict[str, Any] = {"file": path.name, "query": options.query, "user": list(options.user)}
    said |= {
        "item": options.item,
        "time": options.time,
        "tables": list(options.tables),
        "history": options.history,
    }
    if options.query == "session":
        return said | {"session_gap": _gap(options)}
    return said | {"requests": options.requests, "seed": options.seed or 0}


def _gap(options: InteractionOptions) -> float:
    return SESSION_GAP if options.session_gap is None else options.session_gap


def _feature(column: Any, name: str, options: InteractionOptions, order: Int64, where: str) -> _Feature:
    if name not in options.split:
        coded = code(column, name, where)
        return _Feature(coded.codes[order], np.arange(len(order) + 1), coded.size)
    coded, counts = split_codes(column, options.split[name], name, where)
    whole = _Feature(coded.codes, np.concatenate([[0], np.cumsum(counts)]), coded.size)
    ids, lengths = _gather(whole, order, order)
    return _Feature(ids, np.concatenate([[0], np.cumsum(lengths)]), coded.size)


def _sessions(owner: Int64, clock: Any, gap: float) -> tuple[Int64, Int64]:
    """First and last event of each session, in order of their last events' times."""
    if not len(owner):
        return owner, owner
    times = clock
    if clock.dtype.kind == "i":
        clock = clock.view(np.uint64)  # a pause, never negative, may be longer than 63 bits hold
    with np.errstate(over="ignore"):
        pauses = clock[1:] - clock[:-1]  # between users they mean nothing
    begins = np.flatnonzero(np.concatenate([[True], (owner[1:] != owner[:-1]) | (pauses > gap)]))
    ends = np.concatenate([begins[1:], [len(owner)]]) - 1
    by_time = np.argsort(times[ends], kind="stable")
    return begins[by_time], ends[by_time]


def _requests(owner: Int64, users: int, options: InteractionOptions) -> tuple[Int64, Int64]:
    """First event of a random user, and a random one of theirs, for each request, in the order drawn."""
    count = users if options.requests is None else options.requests
    if not users:
        return owner, owner
    words = source(options.seed or 0).random_raw(2 * count)
    user = scaled(words[0::2], users)
    events = np.bincount(owner, minlength=users)
    first = (np.cumsum(events) - events)[user]
    return first, first + scaled(words[1::2], events[user])


def _gather(feature: _Feature, first: Int64, last: Int64) -> tuple[Int64, Int64]:
    """Ids of events first..last of each query one after another, and how many each query has."""
    low, high = feature.starts[first], feature.starts[last + 1]
    lengths = high - low
    gone = np.cumsum(lengths) - lengths
    places = np.arange(int(lengths.sum())) + np.repeat(low - gone, lengths)
    return feature.ids[places], lengths


def column_names(texts: Sequence[str]) -> tuple[str, ...]:
    """`["a,b", "c"]` -> ("a", "b", "c"). Raises RecnmpError on an empty name."""
    names = tuple(name.strip() for text in texts for name in text.split(","))
    if "" in names:
        raise RecnmpError(f"{','.join(texts)!r}: a column's name is empty")
    return names
