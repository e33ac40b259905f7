"""Workloads for tests, as nested lists and as the real thing."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from recnmp.workload import Table, Workload

Lists = list[list[list[list[int]]]]  # [batch][table][sample] -> ids


@dataclass(frozen=True)
class Case:
    """The same trace twice."""

    lists: Lists
    workload: Workload


def build(lists: Lists, rows: list[int], order: str = "table", weights: bool = False, dim: int = 16) -> Case:
    tables = [Table(f"t{number}", size, dim) for number, size in enumerate(rows)]
    bags = [bag for batch in lists for table in batch for bag in table]
    ids = np.array([row for bag in bags for row in bag], dtype=np.int64)
    factors = np.arange(len(ids), dtype=np.float32) / 7 if weights else None
    sizes = [len(batch[0]) for batch in lists]
    workload = Workload.from_arrays(
        ids, lengths=[len(bag) for bag in bags], tables=tables, batch_size=sizes, order=order, weights=factors
    )
    return Case(lists, workload)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Small traces: uneven batches, empty ones, empty bags, repeated ids."""
    rows = draw(st.lists(st.integers(1, 9), min_size=1, max_size=3))
    lists: Lists = []
    for size in draw(st.lists(st.integers(0, 4), max_size=4)):
        lists.append(
            [[draw(st.lists(st.integers(0, top - 1), max_size=6)) for _ in range(size)] for top in rows]
        )
    order = draw(st.sampled_from(["table", "sample"]))
    return build(lists, rows, order, draw(st.booleans()), draw(st.sampled_from([1, 16, 40])))
