"""Cases made for corners of RankCache, operand register and predictions that random ones hardly reach.

As those of tests/machine_corners.py they are for every machine that follows the page; what must happen in them is
worked out by hand in tests/test_naive_cache.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from machine_cases import Batch, Case, Encoder, Lookup, Packet, is_lookup
from machine_corners import lookup


def local(batch: Batch, *bypassing: int, gap: int = 0) -> Batch:
    """Locality bits of all LOOKUPs, but for those of these numbers in the batch."""
    lookups = np.flatnonzero(is_lookup(batch.stream))
    batch.stream["locality"][np.delete(lookups, bypassing)] = 1
    return replace(batch, gap=gap)


def one_pooling(encoder: Encoder, *lookups: Lookup, dim: int = 16) -> Batch:
    return encoder.encode([Packet((lookups,), dim)])


def cached(*batches: Batch, **parameters: object) -> Case:
    """One rank with a RankCache of 64 lines in 4 ways, if no other is asked for."""
    return Case({"dimms": 1, "ranks_per_dimm": 1, "rank_cache_bytes": 4096, **parameters}, batches)


def ten_lookups() -> Case:
    """Misses, secondary hits, and both kinds of bypass, in four sets of a way."""
    columns = (0, 1, 0, 4, 1, 0, 2, 4, 0, 2)
    lookups = [lookup(bankgroup=int(i == 8), column=column) for i, column in enumerate(columns)]
    batch = local(Encoder().encode([Packet((tuple(lookups[:5]), tuple(lookups[5:])))]), 4)
    return cached(batch, rank_cache_bytes=256, rank_cache_ways=1)


def hits_of_one_sum() -> Case:
    """Three hits in a row, each held by the hazard."""
    encoder = Encoder()
    first = local(one_pooling(encoder, lookup()))
    return cached(first, local(one_pooling(encoder, lookup(), lookup(), lookup()), gap=2))


def fill_before_probe() -> Case:
    """A line would be probed in the clock of a fill, for which 36 secondary hits wait."""
    same, other = (lookup(),) * 37, (lookup(bankgroup=1),)
    return cached(local(Encoder().encode([Packet((same, other))])), window=64)


def no_victim() -> Case:
    """One way, which awaits one line when another is probed."""
    encoder = Encoder()
    first = local(one_pooling(encoder, lookup(), lookup(column=1)))
    more = [local(one_pooling(encoder, lookup(column=column)), gap=2) for column in (0, 1, 1, 0)]
    return cached(first, *more, rank_cache_bytes=64, rank_cache_ways=1)


def unprobed_lines_keep_no_row_open() -> Case:
    """Eight hits delay the probe of a line whose row is open, and a younger bypass closes it."""
    encoder = Encoder()
    wide, row = lookup(bankgroup=1, bursts=8), lookup(column=100)
    first = local(encoder.encode([Packet(((wide,), (row,)), 128)]))
    second = encoder.encode([Packet(((wide,), (lookup(),), (lookup(row=9),)), 128)])
    return cached(first, local(second, 2, gap=400))


def secondary_hit_touches() -> Case:
    """Lines 0, 1, 0 in one batch: the secondary hit makes line 1 the older, which line 4 then evicts."""
    encoder = Encoder()
    batches = [
        local(one_pooling(encoder, *(lookup(column=column) for column in columns)), gap=100)
        for columns in ((0, 1, 0), (2, 3, 4), (0,), (1,))
    ]
    return cached(*batches, rank_cache_bytes=256)


def settled_by_a_probe() -> Case:
    """A hit leaves row 9 open, where the host foresees PRE; of three lines there the first is read at once, and the
    last is settled by its probe, which hits."""
    encoder = Encoder()
    return cached(
        local(one_pooling(encoder, lookup(column=1), dim=48)),
        local(one_pooling(encoder, lookup(row=9, column=2, bursts=2), dim=48), gap=100),
        local(one_pooling(encoder, lookup(column=1), lookup(row=9, column=1, bursts=3), dim=48), gap=100),
    )


def random_goes_on_after_a_flush() -> Case:
    """The same 16 lookups twice, one after another (window of one), in one set of four ways."""
    encoder = Encoder()
    lines = [lookup(column=column) for column in (*range(8), *range(8))]
    batches = [local(one_pooling(encoder, *lines)) for _ in range(2)]
    words = {"rank_cache_policy": "random", "rank_cache_flush": "batch", "window": 1}
    return cached(*batches, rank_cache_bytes=256, **words)


def cache_corners() -> dict[str, Case]:
    """All of them, by name."""
    return {
        "ten lookups": ten_lookups(),
        "hits of one sum": hits_of_one_sum(),
        "fill before probe": fill_before_probe(),
        "no victim": no_victim(),
        "unprobed lines keep no row open": unprobed_lines_keep_no_row_open(),
        "secondary hit touches": secondary_hit_touches(),
        "settled by a probe": settled_by_a_probe(),
        "random goes on after a flush": random_goes_on_after_a_flush(),
    }
