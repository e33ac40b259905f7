"""What the host does before the channel: lookups into NMP packets (docs/microarchitecture.md, section 2).

A batch becomes one array of instructions a channel, packet after packet, in the order in which they are sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from . import isa
from .config.system import BURST_BYTES
from .config.units import Nmp
from .errors import RecnmpError
from .kernels.vocabulary import instruction_dtype
from .packet_order import PacketOrder
from .packets import ChannelStream, Packets
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
        interleaved = units.instruction_order == "interleaved"
        self._channels = [ChannelStream(memory.ranks, interleaved) for _ in range(memory.channels)]
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
        start, _, first_line = _runs(lines)
        if not first_line.any():
            return
        row = int(lines.vector[start[np.flatnonzero(first_line)[0]]])
        narrow = rules.stride == "packed" and table.row_bytes <= BURST_BYTES
        raise RecnmpError(
            f"table '{table.name}': row {row} of {table.row_bytes} bytes lies in several DRAM rows by mapping "
            f"'{rules.mapping}', but a row of {table.dtype} is read by one instruction (D9): use "
            + ('placement.stride = "aligned", or ' if narrow else "")
            + f'placement.mapping = "{"RoBaRaCoCh" if self._placement.config.memory.channels == 1 else "ChRoBaRaCo"}"'
        )

    def build(self, batch: Batch, order: str, progress: Progress | None = None) -> list[Packets]:
        """All packets of a batch that have a LOOKUP, as each channel sees them.

        order: "table" or "sample", that of the trace; progress: told of lookups twice, as they are placed and as they
        are put into packets.
        """
        size, tables = batch.batch_size, batch.n_tables
        per_table = -(-size // self._poolings)
        parts = []
        counts = np.zeros((len(self._channels), tables, per_table), np.int64)
        for table in range(tables):
            lookups = self._lookups(batch, table, progress)
            sample = self._samples(batch, table)[lookups["lookup"] - batch.offsets[table * size]]
            packet, lookups["tag"] = np.divmod(sample, self._poolings)
            lookups["packet"] = packet  # of its table, for now
            places = lookups["channel"].astype(np.int64) * per_table + packet
            counts[:, table] = np.bincount(places, minlength=len(counts) * per_table).reshape(
                len(counts), per_table
            )
            parts.append(lookups)
        # a channel's part of a packet is a packet of its own, with CONFIG and END
        sent = self.order.arrange(np.where(counts > 0, counts + 2, 0).sum(0), order)
        for channel, stream in enumerate(self._channels):
            stream.open(counts[channel], sent)
        for table, lookups in enumerate(parts):
            for channel, stream in enumerate(self._channels):
                mine = lookups if len(self._channels) == 1 else lookups[lookups["channel"] == channel]
                offset = self._placement.stride(table) % BURST_BYTES != 0
                stream.fill(table, mine, offset)
            if progress is not None:
                progress(int(batch.offsets[(table + 1) * size] - batch.offsets[table * size]))
        return [stream.close(self._poolings, batch.weights is not None) for stream in self._channels]

    def _samples(self, batch: Batch, table: int) -> Int64s:
        """int64 [lookups of the table]: the sample that each belongs to."""
        bags = batch.offsets[table * batch.batch_size : (table + 1) * batch.batch_size + 1]
        return np.repeat(np.arange(batch.batch_size), np.diff(bags))

    def _lookups(self, batch: Batch, table: int, placed: Progress | None) -> npt.NDArray[np.void]:
        """One LOOKUP for each run of each lookup of a table, in order; packet and tag not set yet."""
        first, last = batch.offsets[[table * batch.batch_size, (table + 1) * batch.batch_size]]
        bits = (
            np.full(last - first, self._locality)
            if isinstance(self._locality, bool)
            else self._locality.bits(batch, table)
        )
        pieces = [np.zeros(0, instruction_dtype)]
        for start in range(first, last, _PIECE):
            end = min(last, start + _PIECE)
            pieces.append(self._piece(batch, table, start, end, bits[start - first : end - first]))
            if placed is not None:
                placed(end - start)
        return np.concatenate(pieces)

    def _piece(
        self, batch: Batch, table: int, first: int, last: int, bits: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.void]:
        """The LOOKUPs of lookups `first` to `last` of a batch, all of one table, with their locality bits."""
        lines = self._placement.locate(table, batch.indices[first:last])
        start, bursts, first_line = _runs(lines)
        lookups = np.zeros(len(start), instruction_dtype)
        vector = lines.vector[start]
        lookups["lookup"] = first + vector
        lookups["opcode"] = isa.lookup_opcode(first_line)
        lookups["bursts"] = bursts
        for name, word in form_words(self._tables[table]).items():
            lookups[name] = word
        lookups["locality"] = bits[vector]
        for name in ("channel", "rank", "bankgroup", "bank", "row", "column"):
            lookups[name] = getattr(lines, name)[start]
        lookups["byte_offset"] = lines.byte_offset[vector] // 4
        if batch.weights is not None:
            lookups["weight"] = batch.weights[first:last][vector]
        return lookups


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


def _runs(lines: Lines) -> tuple[Int64s, Int64s, Int64s]:
    """Cut vectors into runs of at most 8 consecutive columns of one DRAM row.

    Returns int64 [runs] each: first line of the run, its lines, and the line of its vector that it begins with.
    """
    count = len(lines.vector)
    if count == 0:
        return (np.zeros(0, np.int64),) * 3
    goes_on = np.zeros(count, bool)
    goes_on[1:] = lines.vector[1:] == lines.vector[:-1]
    first_line = np.maximum.accumulate(np.where(goes_on, 0, np.arange(count)))
    for name in ("channel", "rank", "bankgroup", "bank", "row"):
        column = getattr(lines, name)
        goes_on[1:] &= column[1:] == column[:-1]
    goes_on[1:] &= lines.column[1:] == lines.column[:-1] + 1
    start = np.flatnonzero(~goes_on)
    too_long = start[np.diff(np.append(start, count)) > isa.MAX_BURSTS]
    if too_long.size:  # 9 lines, the most that 128 elements of 4 bytes touch
        goes_on[too_long + isa.MAX_BURSTS] = False
        start = np.flatnonzero(~goes_on)
    return start, np.diff(np.append(start, count)), start - first_line[start]


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
