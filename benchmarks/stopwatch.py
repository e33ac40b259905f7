"""One way to take a time, for every benchmark."""

import time
from collections.abc import Callable


def quickest(work: Callable[[], object], repeats: int = 3) -> float:
    """Wall time of the quickest of several calls, in seconds: what a shared machine disturbs least."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)
