"""The instructions of a batch as one channel gets them: CONFIG, LOOKUPs and END, packet after packet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from . import isa
from .kernels.vocabulary import instruction_dtype

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Packets:
    """The packets of one batch on one channel.

    stream: [m] of `instruction_dtype`: each packet is CONFIG, LOOKUPs, END.
    table, first_sample: int64 [packets], whose poolings they hold; pooling j of a packet is sample first_sample + j.
    first_packet: number of the first one; a channel's packets are numbered upwards by one.
    lines: 64-byte lines that the LOOKUPs read.
    offset_lookups: LOOKUPs of tables whose stride is no multiple of 64, which carry ByteOffset (D8).
    """

    stream: npt.NDArray[np.void]
    table: Int64s
    first_sample: Int64s
    first_packet: int
    lines: int
    offset_lookups: int


class ChannelStream:
    """Makes one channel's streams, and keeps what the host remembers of it: packet numbers and predicted rows.

    A batch is `open`, `fill` table by table, `close`. ranks: of the channel. interleaved: the LOOKUPs of a packet go in
    turn by rank (`in_turn`), not in the order in which they come.
    """

    def __init__(self, ranks: int, interleaved: bool = False) -> None:
        self._ranks = ranks
        self._interleaved = interleaved
        self._next_packet = 0
        self._rows: Int64s = np.full(ranks * 16, -1, np.int64)
        self._lines = self._offset_lookups = 0

    def open(self, counts: Int64s, order: Int64s) -> None:
        """Begin a batch.

        counts: int64 [tables, packets of a table], the LOOKUPs of each packet on this channel; one that has none is
        not sent. order: all packets that have any on some channel, by their places in counts, as they are sent.
        """
        counted = counts.reshape(-1)[order]
        lengths = np.where(counted > 0, counted + 2, 0)
        starts, numbers = np.zeros(counts.size, np.int64), np.zeros(counts.size, np.int64)
        starts[order] = np.cumsum(lengths) - lengths
        numbers[order] = np.cumsum(lengths > 0) - 1
        self._counts = counts
        self._starts, self._numbers = starts.reshape(counts.shape), numbers.reshape(counts.shape)
        self._sent = order[counted > 0]
        self._stream = np.zeros(int(lengths.sum()), instruction_dtype)
        self._lines = self._offset_lookups = 0

    def fill(self, table: int, lookups: npt.NDArray[np.void], with_offset: bool) -> None:
        """Put one table's LOOKUPs, with their CONFIG and END, at their places.

        lookups: packet after packet; field `packet` numbers those of the table. with_offset: they carry ByteOffset.
        """
        if self._interleaved:
            lookups = lookups[in_turn(lookups, self._ranks)]
        counts, starts, numbers = self._counts[table], self._starts[table], self._numbers[table]
        stream, used = self._stream, counts > 0
        before = np.cumsum(counts) - counts
        place = np.arange(len(lookups)) + (starts - before + 1)[lookups["packet"]]
        stream[place] = lookups
        stream["packet"][place] = self._next_packet + numbers[lookups["packet"]]
        for opcode, at in ((isa.CONFIG, starts[used]), (isa.END, (starts + counts + 1)[used])):
            stream["opcode"][at] = opcode
            stream["packet"][at] = self._next_packet + numbers[used]
            stream["lookup"][at] = -1
            for name in ("dim", "dtype", "layout"):
                stream[name][at] = lookups[name][:1]
        self._lines += int(lookups["bursts"].sum())
        self._offset_lookups += len(lookups) if with_offset else 0

    def close(self, poolings_per_packet: int, weighted: bool) -> Packets:
        """The batch, when all its tables are filled in."""
        self._stream["weighted"] = weighted
        self._predict(self._stream)
        table, packet = np.divmod(self._sent, max(1, self._counts.shape[1]))
        packets = Packets(
            self._stream,
            table,
            packet * poolings_per_packet,
            self._next_packet,
            self._lines,
            self._offset_lookups,
        )
        self._next_packet += len(table)
        return packets

    def _predict(self, stream: npt.NDArray[np.void]) -> None:
        """Command-presence bits from the row that was last asked for in each bank (D3)."""
        at = np.flatnonzero(isa.is_lookup(stream["opcode"]))
        bank = (stream["rank"][at].astype(np.int64) * 4 + stream["bankgroup"][at]) * 4 + stream["bank"][at]
        order = np.argsort(bank, kind="stable")
        bank, row = bank[order], stream["row"][at][order].astype(np.int64)
        first = np.append(True, bank[1:] != bank[:-1])[: len(bank)]
        before = np.append(-1, row[:-1])[: len(row)]
        before[first] = self._rows[bank[first]]
        last = np.append(first[1:], True)[: len(bank)]
        self._rows[bank[last]] = row[last]
        bits = np.full(len(row), isa.PREDICT_RD, np.int8)
        bits[before != row] |= isa.PREDICT_ACT
        bits[(before != row) & (before >= 0)] |= isa.PREDICT_PRE
        stream["ddr_cmd"][at[order]] = bits


def in_turn(lookups: npt.NDArray[np.void], ranks: int) -> Int64s:
    """Places of LOOKUPs so that within each packet the k-th of each rank comes before the (k+1)-th of any.

    Ranks ascend; those of one rank stay in their order. lookups: packet after packet.
    """
    packet, rank = lookups["packet"], lookups["rank"].astype(np.int64)
    key = packet * ranks + rank
    grouped = np.argsort(key, kind="stable")
    turn = np.empty(len(key), np.int64)
    turn[grouped] = np.arange(len(key)) - np.searchsorted(key[grouped], key[grouped])
    return np.lexsort((rank, turn, packet))
