"""The instructions of a batch as one channel gets them: CONFIG, LOOKUPs and END, packet after packet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .kernels.packing import open_packets, predict
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


class PacketStreams:
    """Makes the streams of all channels, and keeps what the host remembers of each: packet numbers and predicted rows.

    A batch is `open`, its LOOKUPs written into `stream` at `starts`, `close`. ranks: of a channel.
    """

    def __init__(self, channels: int, ranks: int) -> None:
        self._next_packet = [0] * channels
        self._rows: Int64s = np.full((channels, ranks * 16), -1, np.int64)

    def open(
        self, lengths: Int64s, order: Int64s, forms: Sequence[Mapping[str, int]], weighted: bool
    ) -> None:
        """Begin a batch: packets with CONFIG and END, and room for their LOOKUPs.

        lengths: int64 [tables, channels, packets of a table], LOOKUPs of each packet; one that has none on a channel
        is not sent there. order: all packets that have any on some channel, by table * packets of a table + number, as
        they are sent. forms: what CONFIG says of each table's rows: dim, dtype, layout.

        Afterwards stream is [m] of `instruction_dtype`, channel after channel, and starts int64 [tables, channels,
        packets], where in it each packet begins.
        """
        channels, packets = lengths.shape[1:]
        self.starts: Int64s = np.zeros(lengths.shape, np.int64)
        self._order, self._lengths, self._ends = order, lengths, [0]
        numbers = np.zeros(lengths.shape, np.int64)
        of, number = np.divmod(order, max(1, packets))
        for channel in range(channels):
            counted = lengths[of, channel, number]
            room = np.where(counted > 0, counted + 2, 0)
            self.starts[of, channel, number] = self._ends[-1] + np.cumsum(room) - room
            numbers[of, channel, number] = self._next_packet[channel] - 1 + np.cumsum(counted > 0)
            self._ends.append(self._ends[-1] + int(room.sum()))
        self.stream = np.zeros(self._ends[-1], instruction_dtype)
        for table, form in enumerate(forms):
            for channel in range(channels):
                open_packets(
                    lengths[table, channel],
                    self.starts[table, channel],
                    numbers[table, channel],
                    form["dim"],
                    form["dtype"],
                    form["layout"],
                    weighted,
                    self.stream,
                )

    def close(
        self, poolings_per_packet: int, lines: Int64s, with_offset: npt.NDArray[np.bool_]
    ) -> list[Packets]:
        """The batch, when all its LOOKUPs are written.

        lines: int64 [channels], that they read. with_offset: bool [tables], whether their LOOKUPs carry ByteOffset.
        """
        built = []
        offset_lookups = self._lengths[with_offset].sum(axis=(0, 2))
        for channel, (first, last) in enumerate(pairwise(self._ends)):
            stream = self.stream[first:last]
            predict(stream, self._rows[channel])
            table, packet = np.divmod(self._order, max(1, self._lengths.shape[2]))
            here = self._lengths[table, channel, packet] > 0
            table, packet = table[here], packet[here]
            number = self._next_packet[channel]
            self._next_packet[channel] += len(table)
            built.append(
                Packets(
                    stream,
                    table,
                    packet * poolings_per_packet,
                    number,
                    int(lines[channel]),
                    int(offset_lookups[channel]),
                )
            )
        return built
