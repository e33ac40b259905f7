"""Rows of every type, packed or aligned, from trace to sums: each element once, in the order that the kernel logs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_sums import naive_sums
from test_packets import ALL, PLAIN, config, workloads

from recnmp.config.system import SystemConfig
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.values import HashValues
from recnmp.workload import Table, Workload


@st.composite
def systems(draw: st.DrawFn) -> tuple[SystemConfig, Workload]:
    """A system, and a trace that it takes: quantised rows need a mapping that leaves them whole."""
    mapping = draw(st.sampled_from(["RoBaRaCoCh", "RoRaBaCoCh", "skylake", "RoRaCoBaCh"]))
    whole = mapping in ("RoBaRaCoCh", "RoRaBaCoCh")
    words = config(mapping, draw(st.integers(1, 16)), stride=draw(st.sampled_from(["packed", "aligned"])))
    document = words.model_dump()
    document["nmp"] |= {"rank_cache_bytes": draw(st.sampled_from([0, 256, 65536]))}
    if document["nmp"]["rank_cache_bytes"] and draw(st.booleans()):
        document["nmp"]["rank_cache_flush"] = "batch"
    return SystemConfig.model_validate(document), draw(workloads(ALL if whole else PLAIN))


@settings(max_examples=25, deadline=None)
@given(systems(), st.integers(0, 9))
def test_sums_of_rows_of_every_type(case: tuple[SystemConfig, Workload], seed: int) -> None:
    """Bit for bit one float32 operation after another; and with every clock stepped, the same in the same clocks."""
    system, workload = case
    values = HashValues(workload.tables, seed)
    (batch,) = workload.batches()
    engines = [
        NmpEngine(system, workload.tables, Placement(system, workload.tables), values, skip, logging=True)
        for skip in (True, False)
    ]
    ends = [engine.run_batch(batch, workload.order, 0) for engine in engines]
    assert ends[0] == ends[1]
    (logs,), (ticked,) = (engine.logs[0] for engine in engines)
    for name in ("commands", "operands", "results", "sends"):
        assert np.array_equal(*(np.sort(getattr(log, name)) for log in (logs, ticked)))

    per_table = np.diff(batch.offsets[:: batch.batch_size])
    vectors = []
    for table in range(batch.n_tables):
        first, last = batch.offsets[[table * batch.batch_size, (table + 1) * batch.batch_size]]
        vectors += list(values.vectors(table, batch.indices[first:last]))
    assert len(vectors) == per_table.sum()
    operands = [
        [tuple(row) for row in logs.operands.tolist() if row[3] == rank]
        for rank in range(system.memory.ranks)
    ]
    _, sums = naive_sums(
        logs.stream, operands, lambda lookup, element: vectors[lookup][element], system.memory.ranks_per_dimm
    )
    packets = engines[0].packets[0][0]
    expected = [np.zeros((batch.batch_size, table.dim), np.float32) for table in workload.tables]
    for (packet, tag), vector in sums.items():
        expected[packets.table[packet]][packets.first_sample[packet] + tag] = vector
    for mine, other in zip(engines[0].results(), expected, strict=True):
        assert np.array_equal(mine.view(np.uint32), other.view(np.uint32))
    # each element of each lookup entered once
    entered = sorted(
        (row[1], element)
        for of_rank in operands
        for row in of_rank
        for element in range(row[6], row[6] + row[7])
    )
    assert entered == [(lookup, element) for lookup, row in enumerate(vectors) for element in range(len(row))]


@pytest.mark.parametrize("stride", ["packed", "aligned"])
@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 8, 12, 16, 17, 20, 24, 32, 40, 48, 64, 120, 127, 128])
def test_the_shortcut_is_taken_where_each_line_is_an_operand(dim: int, stride: str) -> None:
    """fp32 rows that begin with a line, or share one with others; a wrong promise would be refused by the kernel."""
    system = config("RoBaRaCoCh", stride=stride)
    table = Table("t", 64, dim)
    workload = Workload.from_arrays(np.arange(64), lengths=[64], tables=[table], batch_size=1)
    values = HashValues([table])
    engine = NmpEngine(system, [table], Placement(system, [table]), values)
    assert engine.channels.kernels[0].ranks.window.operands.foreseen == (
        stride == "aligned" or dim in (1, 2, 4, 8, 16, 32, 48, 64, 128)
    )
    (batch,) = workload.batches()
    engine.run_batch(batch, "table", 0)
    (sums,) = engine.results()
    assert np.array_equal(sums[0], values.vectors(0, np.arange(64)).sum(0, dtype=np.float32))


def test_no_shortcut_for_other_types() -> None:
    """Rows of 32 bytes, two to a line: one operand a line, but not what the shortcut knows."""
    system, tables = config("RoBaRaCoCh"), [Table("t", 64, 16), Table("u", 64, 16, "fp16")]
    engines = [NmpEngine(system, tables[:n], Placement(system, tables[:n])) for n in (1, 2)]
    assert [engine.channels.kernels[0].ranks.window.operands.foreseen for engine in engines] == [True, False]
