"""The kernels that place rows and write packets, against NumPy: every byte of the stream, over batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naive_packing import PLACE, NaivePacking
from test_packet_order import POLICY_WORDS
from test_packets import ALL, config, workloads

from recnmp import RecnmpError, host
from recnmp.config.order import PARTS
from recnmp.config.system import SystemConfig
from recnmp.host import PacketBuilder
from recnmp.kernels.packing import count_lookups, write_lookups
from recnmp.kernels.placing import Placer
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.placement import Placement
from recnmp.workload import Batch, Table, Workload


@dataclass
class Bits:
    """A locality bit by table and row."""

    seed: int

    def bits(self, batch: Batch, table: int) -> npt.NDArray[np.bool_]:
        size = batch.batch_size
        rows = batch.indices[batch.offsets[table * size] : batch.offsets[(table + 1) * size]]
        return (rows * 7 + table + self.seed) % 3 == 0


@st.composite
def systems(draw: st.DrawFn) -> SystemConfig:
    """Memories of any mapping, some of sizes that are no powers of two, with any way to make packets."""
    hashed = draw(st.sampled_from([True, False, False]))
    memory = {
        "channels": 1 if hashed else draw(st.sampled_from([1, 2, 3])),
        "dimms": draw(st.sampled_from([1, 2, 4] if hashed else [1, 2, 3, 4])),
        "ranks_per_dimm": draw(st.sampled_from([1, 2])),
    }
    # mostly a page lies in one rank and channel; what changes within it is free
    parts = draw(st.permutations(list(PARTS)))
    low = [part for part in parts if part not in ("Ch", "Ra")][draw(st.integers(0, 2)) :]
    order = "".join([part for part in parts if part not in low] + low)
    return SystemConfig.model_validate(
        {
            "memory": memory,
            "dram": {"organisation": draw(st.sampled_from(["DDR4_8Gb_x8", "DDR4_8Gb_x16"]))},
            "placement": {
                "mapping": "skylake" if hashed else order,
                "pages": draw(st.sampled_from(["sequential", "random", "coloured"])),
                "stride": draw(st.sampled_from(["packed", "aligned"])),
                "seed": draw(st.integers(0, 9)),
            },
            "nmp": draw(POLICY_WORDS) | {"poolings_per_packet": draw(st.integers(1, 16))},
        }
    )


# rows that touch nine lines, and take two LOOKUPs
WIDE = Workload.from_arrays(
    np.arange(20), lengths=[3, 0, 9, 8], tables=[Table("wide", 20, 127)], batch_size=4
)


def placed(system: SystemConfig, workload: Workload) -> Placement | None:
    """None where the mapping tears rows, which is refused."""
    try:
        return Placement(system, workload.tables)
    except RecnmpError:
        return None


@settings(max_examples=200, deadline=None)
@given(systems(), workloads(ALL), st.integers(0, 99))
def test_rows_are_placed_as_by_numpy(system: SystemConfig, workload: Workload, seed: int) -> None:
    placement = placed(system, workload)
    if placement is None:
        return
    rng = np.random.default_rng(seed)
    for number, table in enumerate(workload.tables):
        rows = rng.integers(0, table.rows, 50)
        lines, (found, offsets) = placement.locate(number, rows), placement.placer(number).lines(rows)
        assert np.array_equal(offsets, lines.byte_offset)
        assert np.array_equal(found, np.stack([getattr(lines, n) for n in ("vector", *PLACE)], axis=1))


@settings(max_examples=200, deadline=None)
@given(
    systems(),
    st.sampled_from([ALL[:2], ALL]).flatmap(workloads),
    st.sampled_from(["table", "sample"]),
    st.sampled_from([False, True, Bits(0), Bits(1)]),
    st.sampled_from([1, 3, 1 << 17]),
)
@example(config("RoBaRaCoCh"), WIDE, "table", True, 3)
def test_streams_are_those_of_the_twin(
    system: SystemConfig, workload: Workload, order: str, locality: Any, piece: int
) -> None:
    """Two batches, the second with its predictions and numbers after the first; lookups in pieces of any length."""
    placement = placed(system, workload)
    if placement is None:
        return
    try:
        builder = PacketBuilder(workload.tables, placement, system.units, locality)
    except RecnmpError:
        return  # quantised rows that lie in several DRAM rows

    def bits(batch: Batch, table: int) -> npt.NDArray[np.bool_]:
        if isinstance(locality, Bits):
            return locality.bits(batch, table)
        size = batch.batch_size
        return np.full(batch.offsets[(table + 1) * size] - batch.offsets[table * size], locality)

    twin = NaivePacking(system, workload.tables, bits)
    (batch,) = workload.batches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host, "_PIECE", piece)
        for _ in range(2):
            told: list[int] = []
            built, expected = builder.build(batch, order, told.append), twin.build(batch, order)
            assert sum(told) == 2 * batch.lookups
            assert len(built) == len(expected)
            for packets, (stream, tables, samples, first, lines, offsets) in zip(
                built, expected, strict=True
            ):
                assert packets.stream.tobytes() == stream.tobytes()
                assert packets.table.tolist() == tables
                assert packets.first_sample.tolist() == samples
                assert (packets.first_packet, packets.lines, packets.offset_lookups) == (
                    first,
                    lines,
                    offsets,
                )


@pytest.mark.parametrize("row", [-1, 10])
def test_rows_beyond_the_table_are_refused_as_by_placement(row: int) -> None:
    table = Table("t", 10, 16)
    system = config("skylake")
    builder = PacketBuilder([table], Placement(system, [table]), system.units)
    batch = Batch(0, 1, np.array([0, 9, row]), np.array([0, 3]))
    with pytest.raises(RecnmpError, match=f"table 't': row {row} at position 2, allowed 0 to 9"):
        builder.build(batch, "table")


def test_shapes_that_do_not_fit_are_refused() -> None:
    """Nothing is written beside an array."""
    placer = Placement(config("skylake"), [Table("t", 10, 16)]).placer(0)
    rows, bags, counts = np.arange(4), np.array([0, 2, 4]), np.zeros((1, 2, 4), np.int64)
    assert count_lookups(placer, rows, bags, 0, 1, counts)
    assert counts.sum(axis=(0, 2)).tolist() == [2, 2]
    for given_rows, given_bags, first, given_counts in [
        (rows, bags, 1, counts),
        (rows, bags - 1, -1, counts[:, :1].copy()),
        (rows, bags, 0, np.zeros((1, 2, 3), np.int64)),
        (rows, bags, 0, np.zeros((2, 2, 4), np.int64)),
        (rows, np.array([5, 9]), 0, counts),
        (rows, bags[:0], 0, counts),
    ]:
        with pytest.raises(ValueError, match=r"bags|counts|packets"):
            count_lookups(placer, given_rows, given_bags, first, 1, given_counts)
    stream, starts = np.zeros(8, instruction_dtype), np.array([[0, 4]])
    for given_rows in (rows, np.array([0, 10]), np.array([-1])):
        arrays = (
            np.zeros_like(counts),
            np.zeros_like(counts),
            starts,
            None,
            None,
            stream,
            np.zeros(1, np.int64),
        )
        with pytest.raises(ValueError, match="were not counted"):
            write_lookups(placer, given_rows, bags, 0, 1, *arrays)
    with pytest.raises(ValueError, match="rows are 0 to 9"):
        placer.lines(np.array([10]))
    with pytest.raises(ValueError, match="are no page"):
        Placer(10, 64, 64, 65, 0, [], {}, 1, 1)
    with pytest.raises(ValueError, match="once"):
        Placer(10, 64, 64, 64, 0, [("row", 2), ("row", 2)], {}, 1, 1)
