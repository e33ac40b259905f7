"""Packets: every line of every lookup is asked for once, in order, in the packet and tag of its pooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recnmp import RecnmpError, isa
from recnmp.config.system import SystemConfig
from recnmp.config.units import Nmp
from recnmp.host import PacketBuilder, to_wire
from recnmp.packets import Packets
from recnmp.placement import Placement
from recnmp.workload import Batch, Table, Workload

MAPPINGS = ("skylake", "RoBaRaCoCh", "RoRaBaCoCh", "RoRaCoBaCh")
# no finer than the widest row here, which takes half a KiB
SEVERAL = [("RoBaRaChCo", 2), ("RoBaRaChCo", 3), ("ChRoBaRaCo", 2)]


# dtype and layout in CONFIG, by the page's table
CODES = {("fp32", "plain"): (0, 0), ("fp16", "plain"): (1, 0)} | {
    (dtype, layout): (code, 1 if layout == "tail" else 2)
    for dtype, code in (("int8", 2), ("int4", 3))
    for layout in ("tail", "head", "head16")
}
LINED = (("fp32", "plain"),)
PLAIN = (("fp32", "plain"), ("fp16", "plain"))
ALL = tuple(CODES)


@st.composite
def workloads(draw: st.DrawFn, kinds: tuple[tuple[str, str], ...] = LINED) -> Workload:
    """Small traces of one to three tables, with empty bags and repeated rows.

    kinds: of rows, by dtype and layout; those of LINED never straddle lines.
    """
    some = st.sampled_from([4, 8, 16, 32, 48, 128])
    dims = draw(st.lists(some if kinds == LINED else some | st.integers(1, 128), min_size=1, max_size=3))
    tables = [
        Table(f"t{i}", draw(st.integers(1, 5000)), dim, *draw(st.sampled_from(kinds)))
        for i, dim in enumerate(dims)
    ]
    size = draw(st.integers(1, 20))
    lengths = draw(st.lists(st.integers(0, 5), min_size=size * len(dims), max_size=size * len(dims)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    rows = np.repeat([table.rows for table in tables], np.array(lengths).reshape(len(dims), size).sum(1))
    indices = rng.integers(0, rows) if len(rows) else np.zeros(0, np.int64)
    weights = rng.standard_normal(len(indices)).astype(np.float32) if draw(st.booleans()) else None
    return Workload.from_arrays(indices, lengths=lengths, tables=tables, weights=weights, batch_size=size)


def config(
    mapping: str, poolings: int = 8, pages: str = "random", channels: int = 1, stride: str = "packed"
) -> SystemConfig:
    """A memory of 2x2 a channel."""
    return SystemConfig.model_validate(
        {
            "memory": {"channels": channels, "dimms": 2, "ranks_per_dimm": 2},
            "placement": {"mapping": mapping, "pages": pages, "stride": stride},
            "nmp": {"poolings_per_packet": poolings},
        }
    )


@settings(max_examples=60, deadline=None)
@given(
    workloads(PLAIN),
    st.sampled_from([(mapping, 1) for mapping in MAPPINGS] + SEVERAL),
    st.integers(1, 16),
    st.sampled_from(["table", "sample"]),
)
def test_packets_hold_the_batch(
    workload: Workload, mapping: tuple[str, int], poolings: int, order: str
) -> None:
    """Against a plain loop over the bags: packets, tags, order, places and weights, channel by channel."""
    all_hold(workload, mapping, poolings, order)


@settings(max_examples=40, deadline=None)
@given(
    workloads(ALL),
    st.sampled_from([("RoBaRaCoCh", 1), ("RoRaBaCoCh", 1), *SEVERAL]),
    st.integers(1, 16),
    st.sampled_from(["table", "sample"]),
)
def test_packets_of_rows_of_every_type(
    workload: Workload, mapping: tuple[str, int], poolings: int, order: str
) -> None:
    """The same of rows that straddle lines, by mappings that keep each in one DRAM row."""
    all_hold(workload, mapping, poolings, order)


def all_hold(workload: Workload, mapping: tuple[str, int], poolings: int, order: str) -> None:
    """What the tests above say."""
    system = config(mapping[0], poolings, channels=mapping[1])
    placement = Placement(system, workload.tables)
    builder = PacketBuilder(workload.tables, placement, system.units)
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
        table = workload.tables[body[0][0]]
        said = [int(stream[name][opens[number]]) for name in ("dim", "dtype", "layout")]
        assert said == [table.dim, *CODES[table.dtype, table.layout]]
        assert packets.table[number] == body[0][0]
        found = []
        for one in stream[opens[number] + 1 : closes[number]]:
            for burst in range(one["bursts"]):
                place = [int(one[n]) for n in ("rank", "bankgroup", "bank", "row")] + [
                    int(one["column"]) + burst
                ]
                sample = int(packets.first_sample[number]) + int(one["tag"])
                line = {4: 8}.get(int(one["opcode"]), int(one["opcode"]) - 8) + burst
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
    builder = PacketBuilder(tables, Placement(system, tables), system.units)
    rows: dict[tuple[int, ...], int] = {}
    seen = set()
    for batch in workload.batches():
        for one in builder.build(batch, "table")[0].stream:
            if one["opcode"] in (isa.CONFIG, isa.END):
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
    builder = PacketBuilder(tables, Placement(config("skylake"), tables), config("skylake", 1).units)
    packets = [builder.build(batch, "table")[0] for batch in workload.batches()]
    assert [p.stream["packet"].tolist() for p in packets] == [[0, 0, 0], [], [1, 1, 1]]
    assert [p.first_packet for p in packets] == [0, 1, 1]
    assert [p.first_sample.tolist() for p in packets] == [[1], [], [1]]


@pytest.mark.parametrize(("mapping", "bursts"), [("RoBaRaCoCh", [8, 1]), ("skylake", [1] * 9)])
def test_nine_lines_are_eight_and_one(mapping: str, bursts: list[int]) -> None:
    """Row 1 of 508 bytes begins 60 bytes into a line, and touches nine: by a plain order they are two runs, by the
    hash, which flips the bank group with every line, nine."""
    table = Table("t", 8, 127)
    workload = Workload.from_arrays([1], lengths=[1], tables=[table], batch_size=1)
    builder = PacketBuilder([table], Placement(config(mapping), [table]), Nmp())
    ((packets,),) = (builder.build(batch, "table") for batch in workload.batches())
    lookups = packets.stream[1:-1]
    assert lookups["bursts"].tolist() == bursts
    assert lookups["opcode"].tolist() == (
        [8, 4] if mapping != "skylake" else [8, 9, 10, 11, 12, 13, 14, 15, 4]
    )
    assert lookups["byte_offset"].tolist() == [15] * len(bursts)
    # the hash goes to and fro between two banks; from the second line in each on, the row is predicted open
    banks = 1 if mapping == "RoBaRaCoCh" else 2
    assert lookups["ddr_cmd"].tolist() == [3] * banks + [2] * (len(bursts) - banks)
    assert (packets.lines, packets.offset_lookups) == (9, len(bursts))
    assert isa.is_lookup(packets.stream["opcode"]).tolist() == [False, *[True] * len(bursts), False]


@pytest.mark.parametrize(
    ("table", "words", "mapping", "stride"),
    [
        (Table("wide", 10, 144), "table 'wide': dim 144, but a partial sum holds 1 to 128 elements", "", ""),
        (
            Table("eight", 99, 64, "int8"),
            "table 'eight': row 0 of 72 bytes lies in several DRAM rows by mapping 'skylake', but a row of int8 is "
            r'read by one instruction \(D9\): use placement.mapping = "RoBaRaCoCh"',
            "skylake",
            "aligned",
        ),
        (
            Table("four", 99, 64, "int4"),
            "table 'four': row 1 of 36 bytes lies in several DRAM rows by mapping 'skylake', but a row of int4 is "
            r'read by one instruction \(D9\): use placement.stride = "aligned", or placement.mapping = "RoBaRaCoCh"',
            "skylake",
            "packed",
        ),
        (Table("four", 99, 64, "int4"), "", "skylake", "aligned"),
        (Table("four", 1, 64, "int4"), "", "skylake", "packed"),
        (Table("eight", 99, 128, "int8"), "", "RoBaRaCoCh", "packed"),
    ],
)
def test_what_cannot_be_summed_is_refused(table: Table, words: str, mapping: str, stride: str) -> None:
    """By the table's name, with what would help; rows that lie in one DRAM row are fine."""
    placement = Placement(config(mapping or "skylake", stride=stride or "packed"), [table])
    if not words:
        PacketBuilder([table], placement, Nmp())
        return
    with pytest.raises(RecnmpError, match=words):
        PacketBuilder([table], placement, Nmp())
