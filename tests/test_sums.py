"""Sums: exact where they can be, and bit for bit the order of the hardware where they cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_sums import naive_sums, tree
from test_packets import config, workloads

from recnmp import RecnmpError
from recnmp.config.system import SystemConfig
from recnmp.near_memory import NmpEngine, add_up
from recnmp.placement import Placement
from recnmp.values import FileValues, HashValues, load_values
from recnmp.workload import Table, Workload

ORDERS: list[dict[str, object]] = [
    {},
    {"threads": 3, "packet_policy": "round-robin", "instruction_order": "interleaved"},
    {"threads": 2, "packet_policy": "table-aware", "packet_queue": 2},
]
ODD = np.array([0.0, -0.0, 1e-45, -1e-40, 1e38, -1e38, np.inf, -np.inf, np.nan, 1.0, 1 + 2**-23], np.float32)


@settings(max_examples=40, deadline=None)
@given(workloads(), st.integers(0, 9), st.sampled_from(["table", "sample"]))
def test_hash_values_sum_exactly(workload: Workload, seed: int, order: str) -> None:
    """Plain sums of hash values have no rounding: NumPy's int64 sums are the truth."""
    values = HashValues(workload.tables, seed)
    engine = NmpEngine(
        config("skylake"), workload.tables, Placement(config("skylake"), workload.tables), values
    )
    (batch,) = workload.batches()
    batch = replace(batch, weights=None)
    engine.run_batch(batch, order, 0)
    for table, sums in enumerate(engine.results()):
        for sample in range(batch.batch_size):
            bag = table * batch.batch_size + sample
            rows = batch.indices[batch.offsets[bag] : batch.offsets[bag + 1]]
            exact = (values.vectors(table, rows) * 16).astype(np.int64).sum(0)
            assert np.array_equal(sums[sample].astype(np.float64) * 16, exact)


@settings(max_examples=30, deadline=None)
@given(
    workloads(),
    st.integers(0, 10**6),
    st.booleans(),
    st.sampled_from([0, 256, 65536]),
    st.sampled_from(ORDERS),
)
def test_any_values_sum_as_the_hardware_adds(
    workload: Workload, seed: int, odd: bool, cache: int, order: dict[str, object]
) -> None:
    """Bit for bit against one float32 operation after another, in the order of operands that the kernel logs."""
    rng = np.random.default_rng(seed)
    arrays = []
    for table in workload.tables:
        shape = (table.rows, table.dim)
        array = (
            rng.choice(ODD, shape)
            if odd
            else rng.standard_normal(shape) * 10.0 ** rng.integers(-20, 20, shape)
        )
        arrays.append(array.astype(np.float32))
    words = config("skylake").model_dump()
    system = SystemConfig.model_validate(words | {"nmp": words["nmp"] | order | {"rank_cache_bytes": cache}})
    engine = NmpEngine(
        system,
        workload.tables,
        Placement(system, workload.tables),
        FileValues(workload.tables, arrays),
        logging=True,
    )
    (batch,) = workload.batches()
    engine.run_batch(batch, workload.order, 0)
    ((logs,),), ((packets,),) = engine.logs, engine.packets
    per_table = np.diff(batch.offsets[:: batch.batch_size])
    table_of = np.repeat(np.arange(batch.n_tables), per_table)

    def value(lookup: int, element: int) -> np.float32:
        return arrays[table_of[lookup]][batch.indices[lookup], element]

    operands = [
        [tuple(row) for row in logs.operands.tolist() if row[3] == rank]
        for rank in range(system.memory.ranks)
    ]
    _, sums = naive_sums(logs.stream, operands, value, system.memory.ranks_per_dimm)
    expected = [np.zeros((batch.batch_size, table.dim), np.float32) for table in workload.tables]
    for (packet, tag), vector in sums.items():
        expected[packets.table[packet]][packets.first_sample[packet] + tag] = vector
    for mine, other in zip(engine.results(), expected, strict=True):
        assert np.array_equal(mine.view(np.uint32), other.view(np.uint32))


def test_hash_values_are_small_and_spread() -> None:
    """Multiples of 1/16 in [-8, 8), different by seed, table, row and column."""
    tables = [Table("a", 1000, 32), Table("b", 1000, 32)]
    one = HashValues(tables, 1).vectors(0, np.arange(1000))
    assert one.dtype == np.float32
    assert one.min() == -8.0
    assert one.max() == 8 - 1 / 16
    assert np.array_equal(one * 16, np.round(one * 16))
    assert abs(one.mean()) < 0.1
    for other in (
        HashValues(tables, 2).vectors(0, np.arange(1000)),
        HashValues(tables, 1).vectors(1, np.arange(1000)),
    ):
        assert np.mean(one == other) < 0.01


@pytest.mark.parametrize(
    "array", [np.zeros((10, 16)), np.zeros((9, 16), np.float32), np.zeros((10, 8), np.float32)]
)
def test_files_of_another_shape_are_refused(array: np.ndarray, tmp_path: object) -> None:
    """Type and shape are named, with what was expected."""
    with pytest.raises(
        RecnmpError, match=r"table 't': float(32|64) \[\d+, \d+\], expected float32 \[10, 16\]"
    ):
        FileValues([Table("t", 10, 16)], [array])


def test_load_values(tmp_path_factory: pytest.TempPathFactory) -> None:
    """none, hash, .npy, .npz and a folder; what is missing is named."""
    tmp = tmp_path_factory.mktemp("values")
    tables = [Table("a", 4, 8), Table("b", 3, 16)]
    arrays = {t.name: np.arange(t.rows * t.dim, dtype=np.float32).reshape(t.rows, t.dim) for t in tables}
    assert load_values("none", tables) is None
    assert isinstance(load_values("hash", tables, 3), HashValues)
    np.savez(tmp / "both.npz", **arrays)
    for name, array in arrays.items():
        np.save(tmp / f"{name}.npy", array)
    for what in (tmp / "both.npz", tmp):
        values = load_values(str(what), tables)
        assert values is not None
        assert np.array_equal(values.vectors(1, np.array([2, 0])), arrays["b"][[2, 0]])
    one = load_values(str(tmp / "a.npy"), tables[:1])
    assert one is not None
    assert np.array_equal(one.vectors(0, np.array([3])), arrays["a"][3:])
    (tmp / "bad.npy").write_bytes(b"<!DOCTYPE html>")
    np.savez(tmp / "half.npz", a=arrays["a"])
    for what, words in (
        ("nowhere.npy", "no such file"),
        ("", "--values : no such file"),
        (tmp / "bad.npy", "not a whole NumPy file: it does not begin as one"),
        (tmp / "half.npz", "no array 'b', there are a"),
        (tmp / "a.npy", "an array for each of the 2 tables"),
    ):
        with pytest.raises(RecnmpError, match=words):
            load_values(str(what), tables[:1] if what == tmp / "bad.npy" else tables)


@pytest.mark.parametrize("step", [1, 3, 7, 19])
def test_damaged_values_are_named(step: int, tmp_path: Path) -> None:
    """Cut anywhere, or with a flipped bit anywhere: the file's name in one line, or the right values."""
    tables = [Table("a", 40, 8), Table("b", 3, 16)]
    rng = np.random.default_rng(1)
    arrays = {t.name: rng.standard_normal((t.rows, t.dim)).astype(np.float32) for t in tables}
    np.savez_compressed(tmp_path / "whole.npz", **arrays)
    whole = (tmp_path / "whole.npz").read_bytes()
    harmed = [whole[: len(whole) * step // 20]]
    for at in range(step, len(whole), 97):
        harmed.append(whole[:at] + bytes([whole[at] ^ 1 << step % 8]) + whole[at + 1 :])
    refused = 0
    for content in harmed:
        (tmp_path / "harmed.npz").write_bytes(content)
        try:
            values = load_values(str(tmp_path / "harmed.npz"), tables)
        except RecnmpError as error:
            refused += "harmed.npz" in str(error)
            continue
        assert values is not None
        for number, table in enumerate(tables):
            assert np.array_equal(values.vectors(number, np.arange(table.rows)), arrays[table.name])
    assert refused > len(harmed) // 3  # a flipped bit of a date or a comment harms nothing


@pytest.mark.parametrize("ranks_per_dimm", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("dimms", [1, 3])
def test_ranks_are_added_by_a_balanced_tree_and_dimms_in_order(ranks_per_dimm: int, dimms: int) -> None:
    """Bit for bit against scalar float32 operations; another order of addition would differ."""
    rng = np.random.default_rng(ranks_per_dimm)
    shape = (ranks_per_dimm * dimms, 5, 40)
    partial = (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 4, shape)).astype(np.float32)
    added = add_up(partial, ranks_per_dimm)
    for sample in range(5):
        for element in range(40):
            column = partial[:, sample, element]
            total = np.float32(0)
            for first in range(0, len(column), ranks_per_dimm):
                total = total + tree(column[first : first + ranks_per_dimm])
            assert added[sample, element] == total
