"""Direct drawing: how many rows of each table are looked up exactly how often, to meet a reuse histogram."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import groupby

from .popularity import Groups

Law = list[tuple[int, int]]


def fill_urns(law: Sequence[tuple[int, int]], lookups: Sequence[int]) -> list[Groups]:
    """Share out rows by count so that each table gets its lookups exactly and all together follow the law.

    law: (count, rows), highest count first, the last count being 1. lookups: of each table.
    Returns for each table groups of rows whose share is their count.
    """
    room = list(lookups)
    urns: list[Law] = [[] for _ in lookups]
    for count, rows in whole_rows(law, sum(lookups)):
        _deal(urns, room, count, rows)
    for urn, space in zip(urns, room, strict=True):
        urn.append((space, 1))  # what is left are rows looked up once
    return [Groups(urn) for urn in urns]


def whole_rows(law: Sequence[tuple[int, int]], lookups: int) -> Law:
    """The law in whole rows for so many lookups, but for rows looked up once.

    A bin of the reuse factor (counts up to the same power of two) that has any rows gets its lookups, as far
    as counts within the bin allow: they are changed by what rounding leaves. The rest goes to the next bin.
    """
    weight = sum(count * rows for count, rows in law)
    plan: Law = []
    owed = 0  # lookups that the law wanted so far and the plan does not hold, times weight
    for power, members in groupby(law, key=lambda entry: (entry[0] - 1).bit_length()):
        if power == 0:
            break
        group: Law = []
        for count, rows in members:
            owed += count * rows * lookups
            wanted = max((2 * owed + count * weight) // (2 * count * weight), 0)
            owed -= wanted * count * weight
            if wanted:
                group.append((count, wanted))
        # the largest groups first: there a change is least a row
        for count, rows in sorted(group, key=lambda entry: -entry[1]):
            low, high = (2 ** (power - 1) + 1 - count) * rows, (2**power - count) * rows
            step, rest = divmod(min(max(owed // weight, low), high), rows)
            plan += [(c, n) for c, n in ((count + step + 1, rest), (count + step, rows - rest)) if n]
            owed -= (step * rows + rest) * weight
    return plan


def _deal(urns: list[Law], room: list[int], count: int, wanted: int) -> None:
    """Deal `wanted` rows of `count` lookups to the tables by the room they have left, as far as it goes."""
    left = sum(room)
    if not left:
        return
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
