"""Packets: every line of every lookup is asked for once, in order, in the packet and tag of its pooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recnmp import RecnmpError, isa
from recnmp.config.system import SystemConfig
from recnmp.host import PacketBuilder, to_wire
from recnmp.packets import Packets
from recnmp.placement import Placement
from recnmp.workload import Batch, Table, Workload

MAPPINGS = ("skylake", "RoBaRaCoCh", "RoRaBaCoCh", "RoRaCoBaCh")
# no finer than the widest row here, which takes half a KiB
SEVERAL = [("RoBaRaChCo", 2), ("RoBaRaChCo", 3), ("ChRoBaRaCo", 2)]


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    """Small traces of one to three tables, with empty bags and repeated rows."""
    dims = draw(st.lists(st.sampled_from([4, 8, 16, 32, 48, 128]), min_size=1, max_size=3))
    tables = [Table(f"t{i}", draw(st.integers(1, 5000)), dim) for i, dim in enumerate(dims)]
    size = draw(st.integers(1, 20))
    lengths = draw(st.lists(st.integers(0, 5), min_size=size * len(dims), max_size=size * len(dims)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    rows = np.repeat([table.rows for table in tables], np.array(lengths).reshape(len(dims), size).sum(1))
    indices = rng.integers(0, rows) if len(rows) else np.zeros(0, np.int64)
    weights = rng.standard_normal(len(indices)).astype(np.float32) if draw(st.booleans()) else None
    return Workload.from_arrays(indices, lengths=lengths, tables=tables, weights=weights, batch_size=size)


def config(mapping: str, poolings: int = 8, pages: str = "random", channels: int = 1) -> SystemConfig:
    """A memory of 2x2 a channel."""
    return SystemConfig.model_validate(
        {
            "memory": {"channels": channels, "dimms": 2, "ranks_per_dimm": 2},
            "placement": {"mapping": mapping, "pages": pages, "stride": "packed"},
            "nmp": {"poolings_per_packet": poolings},
        }
    )


@settings(max_examples=60, deadline=None)
@given(
    workloads(),
    st.sampled_from([(mapping, 1) for mapping in MAPPINGS] + SEVERAL),
    st.integers(1, 16),
    st.sampled_from(["table", "sample"]),
)
def test_packets_hold_the_batch(
    workload: Workload, mapping: tuple[str, int], poolings: int, order: str
) -> None:
    """Against a plain loop over the bags: packets, tags, order, places and weights, channel by channel."""
    system = config(mapping[0], poolings, channels=mapping[1])
    placement = Placement(system, workload.tables)
    builder = PacketBuilder(workload.tables, placement, poolings)
    (batch,) = workload.batches()
    built = builder.build(batch, order)
    assert len(built) == mapping[1]
    for channel, packets in enumerate(built):
        hold_the_batch(packets, channel, batch, workload, placement, poolings, order)


def hold_the_batch(
    packets: Packets,
    channel: int,
    batch: Batch,
    workload: Workload,
    placement: Placement,
    poolings: int,
    order: str,
) -> None:
    """The packets of one channel are those of the plain loop, as far as their lines are on it."""
    size, tables = batch.batch_size, batch.n_tables
    keys = [
        (k, t) if order == "sample" else (t, k) for t in range(tables) for k in range(-(-size // poolings))
    ]
    expected = []
    for key in sorted(keys):
        table, k = key[::-1] if order == "sample" else key
        body = []
        for j in range(poolings):
            sample = k * poolings + j
            if sample >= size:
                break
            first, last = batch.offsets[[table * size + sample, table * size + sample + 1]]
            for lookup in range(first, last):
                lines = placement.locate(table, batch.indices[lookup : lookup + 1])
                for line in np.flatnonzero(lines.channel == channel).tolist():
                    place = [
                        int(getattr(lines, n)[line]) for n in ("rank", "bankgroup", "bank", "row", "column")
                    ]
                    body.append((table, sample, j, lookup, line, place, int(lines.byte_offset[0]) // 4))
        if body:
            expected.append(body)
    stream = packets.stream
    opens, closes = (
        np.flatnonzero(stream["opcode"] == isa.CONFIG),
        np.flatnonzero(stream["opcode"] == isa.END),
    )
    assert len(opens) == len(closes) == len(expected) == len(packets.table)
    for number, body in enumerate(expected):
        assert np.all(stream["packet"][opens[number] : closes[number] + 1] == number)
        assert stream["dim"][opens[number]] == workload.tables[body[0][0]].dim
        assert packets.table[number] == body[0][0]
        found = []
        for one in stream[opens[number] + 1 : closes[number]]:
            for burst in range(one["bursts"]):
                place = [int(one[n]) for n in ("rank", "bankgroup", "bank", "row")] + [
                    int(one["column"]) + burst
                ]
                sample = int(packets.first_sample[number]) + int(one["tag"])
                line = int(one["opcode"]) - isa.LOOKUP + burst
                where = (sample, int(one["tag"]), int(one["lookup"]), line, place, int(one["byte_offset"]))
                found.append((body[0][0], *where))
            if batch.weights is not None:
                assert one["weight"] == batch.weights[one["lookup"]]
        assert found == body
    assert packets.lines == sum(map(len, expected))
    to_wire(stream, poolings)  # everything fits its field


def test_prediction_is_the_last_row_sent_to_the_bank() -> None:
    """Over two batches, against a dict."""
    tables = [Table("t", 300, 16)]
    rng = np.random.default_rng(3)
    workload = Workload.from_arrays(
        rng.integers(0, 300, 400), lengths=[20] * 20, tables=tables, batch_size=10
    )
    system = config("RoRaBaCoCh", pages="sequential")
    builder = PacketBuilder(tables, Placement(system, tables), 8)
    rows: dict[tuple[int, ...], int] = {}
    seen = set()
    for batch in workload.batches():
        for one in builder.build(batch, "table")[0].stream:
            if one["opcode"] < isa.LOOKUP:
                assert one["ddr_cmd"] == 0
                continue
            bank = (int(one["rank"]), int(one["bankgroup"]), int(one["bank"]))
            before = rows.get(bank)
            rows[bank] = int(one["row"])
            expected = isa.PREDICT_RD
            if before is None:
                expected |= isa.PREDICT_ACT
            elif before != one["row"]:
                expected |= isa.PREDICT_ACT | isa.PREDICT_PRE
            assert one["ddr_cmd"] == expected
            seen.add(expected)
    assert len(seen) >= 2


def test_packet_numbers_go_on() -> None:
    """Over batches, with batches that send nothing between."""
    tables = [Table("t", 10, 16)]
    workload = Workload.from_arrays([1, 2], lengths=[0, 1, 0, 0, 0, 1], tables=tables, batch_size=2)
    builder = PacketBuilder(tables, Placement(config("skylake"), tables), 1)
    packets = [builder.build(batch, "table")[0] for batch in workload.batches()]
    assert [p.stream["packet"].tolist() for p in packets] == [[0, 0, 0], [], [1, 1, 1]]
    assert [p.first_packet for p in packets] == [0, 1, 1]
    assert [p.first_sample.tolist() for p in packets] == [[1], [], [1]]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (Table("half", 10, 16, "fp16"), "table 'half': fp16 rows are not summed near memory yet, only fp32"),
        (Table("wide", 10, 144), "table 'wide': dim 144, but a partial sum holds 1 to 128 elements"),
    ],
)
def test_what_cannot_be_summed_is_refused(table: Table, words: str) -> None:
    """By the table's name."""
    with pytest.raises(RecnmpError, match=words):
        PacketBuilder([table], Placement(config("skylake").as_host(), [table]), 8)
