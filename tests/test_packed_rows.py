"""Packed rows that straddle lines, on the host: which bytes they have decides which lines are read."""

from __future__ import annotations

import numpy as np
import pytest
from test_packets import config

from recnmp.baseline import line_reads
from recnmp.placement import Placement
from recnmp.workload import Batch, Table


@pytest.mark.parametrize(
    ("dtype", "layout", "dim", "stride", "lines"),
    [
        ("int8", "tail", 64, 72, {2}),  # D7
        ("int8", "tail", 128, 136, {3}),
        ("int8", "tail", 32, 40, {1, 2}),
        ("int8", "head", 64, 68, {2}),
        ("int4", "head", 64, 36, {1, 2}),
        ("int8", "head16", 32, 48, {1, 2}),
        ("int4", "tail", 5, 8, {1}),
    ],
)
def test_lines_of_packed_rows(dtype: str, layout: str, dim: int, stride: int, lines: set[int]) -> None:
    """Each row's lines are those of its bytes in its page, counted byte by byte."""
    system = config("skylake").baseline()
    rules = system.placement.model_copy(update={"stride": "packed"})
    system = system.model_copy(update={"placement": rules})
    table = Table("t", 300, dim, dtype, layout)
    placement = Placement(system, [table])
    assert placement.stride(0) == stride
    found = placement.locate(0, np.arange(300))
    slots = 4096 // stride
    truth = [
        len({(row % slots * stride + byte) // 64 for byte in range(table.row_bytes)}) for row in range(300)
    ]
    assert np.bincount(found.vector).tolist() == truth
    assert set(truth) == lines
    batch = Batch(0, 1, np.arange(300), np.array([0, 300]))
    assert len(line_reads(batch, "table", placement)["row"]) == sum(truth)
