"""Direct drawing: how many rows of each table are looked up exactly how often, to meet a reuse histogram."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from .popularity import Groups


def fill_urns(law: Sequence[tuple[int, int]], lookups: Sequence[int]) -> list[Groups]:
    """Share out rows by count so that each table gets its lookups exactly and all together follow the law.

    law: (count, rows), highest count first, the last count being 1. lookups: of each table.
    Returns for each table groups of rows whose share is their count.
    """
    whole, weight = sum(lookups), sum(count * rows for count, rows in law)
    room = list(lookups)
    urns: list[list[tuple[int, int]]] = [[] for _ in lookups]
    owed = 0  # lookups that the law wanted so far and rounding has not given, times weight
    for count, rows in law:
        owed += count * rows * whole
        wanted = (2 * owed + count * weight) // (2 * count * weight)
        given = _deal(urns, room, count, wanted) if count > 1 else _finish(urns, room)
        owed -= given * count * weight
    return [Groups(urn) for urn in urns]


def _deal(urns: list[list[tuple[int, int]]], room: list[int], count: int, wanted: int) -> int:
    """Deal `wanted` rows of `count` lookups to the tables by the room they have left; how many had room."""
    left = sum(room)
    if wanted <= 0 or not left:
        return 0
    shares = [min(wanted * space // left, space // count) for space in room]
    rest = wanted - sum(shares)
    heap = [(shares[table] * count - room[table], table) for table in range(len(room))]
    heapq.heapify(heap)
    while rest and -heap[0][0] >= count:
        space, table = heap[0]
        shares[table] += 1
        rest -= 1
        heapq.heapreplace(heap, (space + count, table))
    for table, share in enumerate(shares):
        if share:
            urns[table].append((share, count))
            room[table] -= share * count
    return wanted - rest


def _finish(urns: list[list[tuple[int, int]]], room: list[int]) -> int:
    """What is left are rows looked up once."""
    for table, space in enumerate(room):
        if space:
            urns[table].append((space, 1))
    given = sum(room)
    room[:] = [0] * len(room)
    return given
