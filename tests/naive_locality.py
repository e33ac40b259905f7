"""The plain twin of recnmp.locality: dictionaries and lists, no code shared with it."""

from collections import Counter, OrderedDict
from collections.abc import Iterable


def lru_hits(accesses: Iterable[tuple[int, int]], lines_of_table: list[int], capacity: int) -> int:
    """Lookups all of whose lines hit in one LRU cache of `capacity` lines; an access is (table, row)."""
    cache: OrderedDict[tuple[int, int, int], None] = OrderedDict()
    hits = 0
    for table, row in accesses:
        lines = [(table, row, k) for k in range(lines_of_table[table])]
        hits += all(line in cache for line in lines)
        for line in lines:
            cache[line] = None
            cache.move_to_end(line)
            while len(cache) > capacity:
                cache.popitem(last=False)
    return hits


def histogram(accesses: Iterable[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Rows and lookups in the bins (0,1], (1,2], (2,4] ... (32768,inf)."""
    rows, lookups = [0] * 17, [0] * 17
    for count in Counter(accesses).values():
        place = 0
        while place < 16 and count > 2**place:
            place += 1
        rows[place] += 1
        lookups[place] += count
    return rows, lookups


def accesses(batches: Iterable[list[list[list[int]]]], order: str) -> list[tuple[int, int]]:
    """(table, row) in execution order; a batch is [table][sample] -> ids."""
    found = []
    for batch in batches:
        size = len(batch[0]) if batch else 0
        pairs = [(t, s) for t in range(len(batch)) for s in range(size)]
        if order == "sample":
            pairs = [(t, s) for s in range(size) for t in range(len(batch))]
        found += [(t, row) for t, s in pairs for row in batch[t][s]]
    return found
