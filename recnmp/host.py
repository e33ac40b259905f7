"""What the host does before the channel: lookups into NMP packets (docs/microarchitecture.md, section 2).

A batch becomes one array of instructions a channel, packet after packet, in the order in which they are sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from . import isa
from .config.system import BURST_BYTES
from .config.units import Nmp
from .errors import RecnmpError
from .kernels.packing import count_lookups, write_lookups
from .packet_order import PacketOrder
from .packets import Packets, PacketStreams
from .placement import Lines, Placement
from .progress import Progress
from .workload import Batch, Table

Int64s = npt.NDArray[np.int64]
_PIECE = 1 << 17  # lookups that are placed between two looks at progress


class Locality(Protocol):
    """Which lookups may use the RankCache."""

    def bits(self, batch: Batch, table: int) -> npt.NDArray[np.bool_]:
        """The locality bit of each lookup of a table; asked for once a batch and table, tables in order."""


class PacketBuilder:
    """Builds packets, and keeps what the host remembers from batch to batch.

    tables: the workload's; placement: where their rows are; units: how packets are made and in which order they go;
    locality: whether LOOKUPs may use the RankCache: all, none, or as a Locality says.
    Raises RecnmpError for a table whose rows this machine cannot sum.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        placement: Placement,
        units: Nmp,
        locality: bool | Locality = False,
    ) -> None:
        self._tables = tables
        self._placement = placement
        self._poolings = units.poolings_per_packet
        self._locality = locality
        self.order = PacketOrder(units)
        memory = placement.config.memory
        self._channels = memory.channels
        # whether LOOKUPs of a packet go in turn by rank: the k-th of each before the (k+1)-th of any, ranks ascending
        self._turns = memory.ranks if units.instruction_order == "interleaved" else 1
        self._streams = PacketStreams(memory.channels, memory.ranks)
        self._placers = [placement.placer(number) for number in range(len(tables))]
        self._forms = [form_words(table) for table in tables]
        strides = [placement.stride(number) for number in range(len(tables))]
        self._with_offset = np.array(strides, np.int64) % BURST_BYTES != 0
        for number, table in enumerate(tables):
            check_table(table)
            if table.quantised:
                self._check_whole(number, table)

    def _check_whole(self, number: int, table: Table) -> None:
        """Raise RecnmpError if a row of a quantised table would need two instructions (D9).

        What changes from a line to the next within a page is the same in all pages: the rows of one tell of all.
        """
        rules, rows = self._placement.config.placement, min(table.rows, self._placement.rows_per_page(number))
        lines = self._placement.locate(number, np.arange(rows))
        broken = _broken(lines)
        if not broken.any():
            return
        row = int(lines.vector[1:][broken][0])
        narrow = rules.stride == "packed" and table.row_bytes <= BURST_BYTES
        raise RecnmpError(
            f"table '{table.name}': row {row} of {table.row_bytes} bytes lies in several DRAM rows by mapping "
            f"'{rules.mapping}', but a row of {table.dtype} is read by one instruction (D9): use "
            + ('placement.stride = "aligned", or ' if narrow else "")
            + f'placement.mapping = "{"RoBaRaCoCh" if self._placement.config.memory.channels == 1 else "ChRoBaRaCo"}"'
        )

    def build(self, batch: Batch, order: str, progress: Progress | None = None) -> list[Packets]:
        """All packets of a batch that have a LOOKUP, as each channel sees them.

        order: "table" or "sample", that of the trace; progress: told of lookups twice, as they are counted and as they
        are put into packets.
        """
        size, tables = batch.batch_size, batch.n_tables
        per_table = -(-size // self._poolings)
        counts = np.zeros((tables, self._channels, per_table, self._turns), np.int64)
        for table in range(tables):
            for first, rows in self._pieces(batch, table, progress):
                bags = self._bags(batch, table)
                if not count_lookups(self._placers[table], rows, bags, first, self._poolings, counts[table]):
                    self._placement.check_rows(table, rows)
        lengths = counts.sum(axis=3)
        # a channel's part of a packet is a packet of its own, with CONFIG and END
        sent = self.order.arrange(np.where(lengths > 0, lengths + 2, 0).sum(axis=1), order)
        streams, weighted = self._streams, batch.weights is not None
        streams.open(lengths, sent, self._forms[:tables], weighted)
        lines = np.zeros(self._channels, np.int64)
        for table in range(tables):
            bags = self._bags(batch, table)
            bits = self._bits(batch, table)
            written = np.zeros_like(counts[table])
            for first, rows in self._pieces(batch, table, progress):
                piece = slice(first, first + len(rows))
                of_table = slice(first - int(bags[0]), first - int(bags[0]) + len(rows))
                write_lookups(
                    self._placers[table],
                    rows,
                    bags,
                    first,
                    self._poolings,
                    counts[table],
                    written,
                    streams.starts[table],
                    None if batch.weights is None else np.ascontiguousarray(batch.weights[piece]),
                    None if bits is None else bits[of_table],
                    streams.stream,
                    lines,
                )
        return streams.close(self._poolings, lines, self._with_offset[:tables])

    def _bits(self, batch: Batch, table: int) -> npt.NDArray[np.uint8] | None:
        """uint8 [lookups of the table]: their locality bits; None if all are 0."""
        if self._locality is False:
            return None
        bags = self._bags(batch, table)
        if self._locality is True:
            return np.ones(int(bags[-1] - bags[0]), np.uint8)
        return np.ascontiguousarray(self._locality.bits(batch, table)).view(np.uint8)

    def _bags(self, batch: Batch, table: int) -> Int64s:
        """int64 [samples + 1]: where the lookups of each sample of a table begin."""
        size = batch.batch_size
        return np.ascontiguousarray(batch.offsets[table * size : (table + 1) * size + 1])

    def _pieces(self, batch: Batch, table: int, done: Progress | None) -> Iterator[tuple[int, Int64s]]:
        """The rows of a table's lookups, some at a time, each with the number of its first lookup."""
        first, last = batch.offsets[[table * batch.batch_size, (table + 1) * batch.batch_size]].tolist()
        for start in range(first, last, _PIECE):
            rows = np.ascontiguousarray(batch.indices[start : min(last, start + _PIECE)], np.int64)
            yield start, rows
            if done is not None:
                done(len(rows))


def check_table(table: Table) -> None:
    """Raise RecnmpError unless this machine can sum rows of the table (D9)."""
    most = isa.MAX_BURSTS * isa.ELEMENTS_PER_GROUP
    if table.dim > most:
        raise RecnmpError(
            f"table '{table.name}': dim {table.dim}, but a partial sum holds 1 to {most} elements (D9)"
        )


def is_by_line(table: Table, stride: int) -> bool:
    """Whether each line of each row is one operand, and that a whole element group: rows of fp32 without an offset, or
    several of them in a line."""
    return table.dtype == "fp32" and (stride % BURST_BYTES == 0 or BURST_BYTES % stride == 0)


def form_words(table: Table) -> dict[str, int]:
    """What CONFIG says of a table's rows. Padding at a row's end is no part of it, so head16 is head."""
    layout = table.layout.removesuffix("16")
    return {
        "dim": table.dim,
        "dtype": isa.DTYPES.index(table.dtype),
        "layout": isa.LAYOUTS.index(layout),
    }


def _broken(lines: Lines) -> npt.NDArray[np.bool_]:
    """bool [lines - 1]: whether a line goes on with the vector before it, but not with its DRAM row and columns."""
    apart = lines.column[1:] != lines.column[:-1] + 1
    for name in ("channel", "rank", "bankgroup", "bank", "row"):
        column = getattr(lines, name)
        apart |= column[1:] != column[:-1]
    broken: npt.NDArray[np.bool_] = apart & (lines.vector[1:] == lines.vector[:-1])
    return broken


def to_wire(stream: npt.NDArray[np.void], poolings_per_packet: int) -> npt.NDArray[np.uint64]:
    """The instructions as they cross the channel: uint64 [m, 2], layout `isa.INSTRUCTION`.

    Tag groups are those that the channel gave when it sent them (field `group`).
    """
    lookup = isa.is_lookup(stream["opcode"])
    place = {
        name: np.where(lookup, stream[name], 0) for name in ("rank", "bankgroup", "bank", "row", "column")
    }
    group = stream["group"]
    config = {
        "tag_group": group,
        "dtype": stream["dtype"],
        "layout": stream["layout"],
        "weighted": stream["weighted"],
        "unused": np.zeros(len(stream), np.int64),
    }
    tag = group.astype(np.int64) * poolings_per_packet + stream["tag"]
    return isa.INSTRUCTION.pack(
        {
            "opcode": stream["opcode"],
            "ddr_cmd": stream["ddr_cmd"],
            "address": np.where(lookup, isa.ADDRESS.pack(place)[:, 0], isa.CONFIG_ADDRESS.pack(config)[:, 0]),
            "vsize": np.where(lookup, stream["bursts"] - 1, 0),
            "weight": np.where(lookup, stream["weight"].view(np.uint32), np.maximum(stream["dim"], 0)),
            "locality": stream["locality"],
            "psum_tag": np.where(lookup, tag, 0),
            "byte_offset": stream["byte_offset"],
        }
    )
