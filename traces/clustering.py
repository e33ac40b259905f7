"""Moving repeat accesses near earlier ones of their row; how often each row is accessed stays as it was."""

from __future__ import annotations

from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np

from .words import Int64, Words

_GAP_BITS = 12
_CHOICE_BITS = 20
_FRACTION = 16  # gaps and positions count in 2^-16 lookups
_NO_GAP = np.int64(0)


@lru_cache(maxsize=1)
def _quantiles() -> Int64:
    """4096 quantiles of the exponential law of mean 1, in 2^-16; from Decimal, so the same everywhere."""
    steps = 1 << _GAP_BITS
    with localcontext(Context(prec=28)):
        values = [int(-(1 - Decimal(2 * k + 1) / (2 * steps)).ln() * (1 << _FRACTION)) for k in range(steps)]
    return np.array(values, dtype=np.int64)


def clustered(ids: Int64, words: Words, threshold: int, gap: int) -> Int64:
    """Reorder the accesses of one window.

    ids: int64 [n]. words: raw random words [n]. threshold: probability of moving, in 2^-32. gap: mean
    distance, in lookups. With that probability an access joins the one of its row before it in a chain, an
    exponential gap behind it. A chain stands where one of its accesses, any of them, stood; what reaches
    beyond the window's end goes on at its start. So every place of the window is as crowded, and as likely
    to see a repeat, as any other.
    """
    grouped = np.argsort(ids, kind="stable")
    rows, words = ids[grouped], words[grouped]
    joined = np.zeros(len(ids), dtype=np.bool_)
    joined[1:] = rows[1:] == rows[:-1]
    joined &= (words >> np.uint64(32)).astype(np.int64) < threshold
    draw = (words & np.uint64((1 << _GAP_BITS) - 1)).astype(np.int64)
    walked = np.cumsum(np.where(joined, _quantiles()[draw] * gap, _NO_GAP))
    starts = np.flatnonzero(~joined)
    lengths = np.diff(np.append(starts, len(ids)))
    # bits of the first access's word that decide nothing else
    choice = (words[starts] >> np.uint64(_GAP_BITS)).astype(np.int64) & ((1 << _CHOICE_BITS) - 1)
    stands = grouped[starts + (choice * lengths >> _CHOICE_BITS)] << _FRACTION
    keys = (np.repeat(stands - walked[starts], lengths) + walked) % max(len(ids) << _FRACTION, 1)
    return rows[np.argsort(keys, kind="stable")]
