"""How fast a trace is described: exact LRU stack distances, counts, the whole of `trace info`."""

from collections import OrderedDict
from typing import Any

import numpy as np
from recnmp.traces.generate import Recipe, generate
from stopwatch import quickest

from recnmp.kernels.locality import LruStack
from recnmp.locality import count_rows, describe
from recnmp.workload import Workload

ACCESSES = 2_000_000
CAPACITIES = 2 ** np.arange(7, 21)


def _curve(rows: np.ndarray, touched: int) -> None:
    hits = np.zeros(len(CAPACITIES), dtype=np.int64)
    LruStack(np.ones(touched, dtype=np.int64)).access(rows, CAPACITIES, hits)


def _dictionary_cache(rows: list[int], capacity: int) -> None:
    """One size only: what the exact curve at all sizes is weighed against."""
    cache: OrderedDict[int, None] = OrderedDict()
    for row in rows:
        if row in cache:
            cache.move_to_end(row)
        else:
            cache[row] = None
            if len(cache) > capacity:
                cache.popitem(last=False)


def rows() -> list[dict[str, Any]]:
    """One figure a row: name, value, unit, note."""
    random = np.random.default_rng(1)
    even = random.integers(0, 1_000_000, ACCESSES)
    skewed = (random.random(ACCESSES) ** 4 * 1_000_000).astype(np.int64)
    result = []
    for name, ids in (("uniform", even), ("skewed", skewed)):
        _, numbers = np.unique(ids, return_inverse=True)
        touched = int(numbers.max()) + 1
        took = quickest(lambda numbers=numbers, touched=touched: _curve(numbers, touched))  # type: ignore[misc]
        note = f"all sizes at once, {touched:,} rows touched, one thread"
        result.append(_row(f"exact LRU hit curve, {name}", ACCESSES / took / 1e6, "M accesses/s", note))
    listed = skewed[: ACCESSES // 8].tolist()
    took = quickest(lambda: _dictionary_cache(listed, 2048), 1)
    result.append(
        _row("OrderedDict cache, skewed", len(listed) / took / 1e6, "M accesses/s", "a single size")
    )
    made = generate(Recipe("2021-x16", batches=6))
    pieces = list(made.pieces())
    held = Workload(made.header, lambda: iter(pieces))
    took = quickest(lambda: count_rows(held))
    result.append(
        _row("count rows", held.lookups / took / 1e6, "M lookups/s", "2021-x16, 8 tables x 1 M rows")
    )
    took = quickest(lambda: describe(held))
    note = "2021-x16, real and shuffled curve"
    result.append(_row("trace info", held.lookups / took / 1e6, "M lookups/s", note))
    return result


def _row(name: str, value: float, unit: str, note: str) -> dict[str, Any]:
    return {"name": name, "value": round(value, 2), "unit": unit, "note": note}
