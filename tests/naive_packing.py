"""The slow twin of packet building: Lines of `Placement.locate`, cut, counted, sorted and moved with NumPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from recnmp import isa
from recnmp.config.system import SystemConfig
from recnmp.host import form_words
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.packet_order import PacketOrder
from recnmp.placement import Placement
from recnmp.workload import Batch, Table

Ints = npt.NDArray[np.int64]
Stream = npt.NDArray[np.void]
PLACE = ("channel", "rank", "bankgroup", "bank", "row", "column")


class NaivePacking:
    """`build` gives of each channel: stream, table and first sample of packets, number of the first, lines, offsets.

    bits: of a batch and table, the locality bit of each lookup.
    """

    def __init__(
        self,
        system: SystemConfig,
        tables: tuple[Table, ...],
        bits: Callable[[Batch, int], npt.NDArray[np.bool_]],
    ) -> None:
        self.units, self.memory, self.tables, self.bits = system.units, system.memory, tables, bits
        self.placement = Placement(system, tables)
        self.order = PacketOrder(self.units)
        self.next_packet = [0] * self.memory.channels
        self.open_rows: list[dict[tuple[int, ...], int]] = [{} for _ in range(self.memory.channels)]

    def build(self, batch: Batch, order: str) -> list[tuple[Stream, list[int], list[int], int, int, int]]:
        poolings, channels = self.units.poolings_per_packet, self.memory.channels
        per_table = -(-batch.batch_size // poolings)
        # body[table][channel][packet]
        bodies = [self.bodies(batch, table, per_table) for table in range(batch.n_tables)]
        total = np.zeros((batch.n_tables, per_table), np.int64)
        for table, of_table in enumerate(bodies):
            for of_channel in of_table:
                total[table] += [len(body) + 2 if len(body) else 0 for body in of_channel]
        sent = [divmod(int(at), per_table) for at in self.order.arrange(total, order)]
        built = []
        for channel in range(channels):
            mine = [(table, k) for table, k in sent if len(bodies[table][channel][k])]
            first = self.next_packet[channel]
            parts = [np.zeros(0, instruction_dtype)]
            for number, (table, k) in enumerate(mine, start=first):
                packet = np.zeros(len(bodies[table][channel][k]) + 2, instruction_dtype)
                packet[1:-1] = bodies[table][channel][k]
                for name, word in form_words(self.tables[table]).items():
                    packet[name] = word
                packet["packet"] = number
                packet["weighted"] = batch.weights is not None
                packet["opcode"][0], packet["opcode"][-1] = isa.CONFIG, isa.END
                packet["lookup"][[0, -1]] = -1
                parts.append(packet)
            stream = np.concatenate(parts)
            self.predict(stream, channel)
            lines = int(stream["bursts"].sum())
            offsets = sum(
                len(bodies[table][channel][k]) for table, k in mine if self.placement.stride(table) % 64
            )
            samples = [k * poolings for _, k in mine]
            built.append((stream, [table for table, _ in mine], samples, first, lines, offsets))
            self.next_packet[channel] += len(mine)
        return built

    def bodies(self, batch: Batch, table: int, per_table: int) -> list[list[Stream]]:
        """The LOOKUPs of each packet, by channel."""
        lookups = self.lookups(batch, table)
        size, poolings = batch.batch_size, self.units.poolings_per_packet
        bags = batch.offsets[table * size : (table + 1) * size + 1]
        sample = np.repeat(np.arange(size), np.diff(bags))[lookups["lookup"] - bags[0]]
        lookups["tag"] = sample % poolings
        bodies = []
        for channel in range(self.memory.channels):
            here = lookups["channel"] == channel
            bodies.append([self.in_turn(lookups[here & (sample // poolings == k)]) for k in range(per_table)])
        return bodies

    def in_turn(self, lookups: Stream) -> Stream:
        if self.units.instruction_order != "interleaved":
            return lookups
        rank = lookups["rank"]
        turn = np.zeros(len(lookups), np.int64)
        for one in np.unique(rank):
            turn[rank == one] = np.arange(np.count_nonzero(rank == one))
        return lookups[np.lexsort((rank, turn))]

    def lookups(self, batch: Batch, table: int) -> Stream:
        """One LOOKUP for each run of each lookup of a table, in order."""
        first, last = batch.offsets[[table * batch.batch_size, (table + 1) * batch.batch_size]]
        lines = self.placement.locate(table, batch.indices[first:last])
        count = len(lines.vector)
        if not count:
            return np.zeros(0, instruction_dtype)
        goes_on = np.zeros(count, bool)
        goes_on[1:] = lines.vector[1:] == lines.vector[:-1]
        first_line = np.maximum.accumulate(np.where(goes_on, 0, np.arange(count)))
        for name in PLACE[:-1]:
            column = getattr(lines, name)
            goes_on[1:] &= column[1:] == column[:-1]
        goes_on[1:] &= lines.column[1:] == lines.column[:-1] + 1
        start = np.flatnonzero(~goes_on)
        # nine lines, the most that 128 elements of 4 bytes touch, are eight and one
        goes_on[start[np.diff(np.append(start, count)) > 8] + 8] = False
        start = np.flatnonzero(~goes_on)
        lookups = np.zeros(len(start), instruction_dtype)
        vector, line = lines.vector[start], start - first_line[start]
        lookups["lookup"] = first + vector
        lookups["opcode"] = np.where(line < 8, 8 + line, 4)
        lookups["bursts"] = np.diff(np.append(start, count))
        for name in PLACE:
            lookups[name] = getattr(lines, name)[start]
        lookups["byte_offset"] = lines.byte_offset[vector] // 4
        lookups["locality"] = self.bits(batch, table)[vector]
        if batch.weights is not None:
            lookups["weight"] = batch.weights[first:last][vector]
        return lookups

    def predict(self, stream: Stream, channel: int) -> None:
        rows = self.open_rows[channel]
        for at in np.flatnonzero(stream["bursts"]).tolist():
            bank = tuple(int(stream[name][at]) for name in ("rank", "bankgroup", "bank"))
            before, row = rows.get(bank), int(stream["row"][at])
            stream["ddr_cmd"][at] = 2 if before == row else 3 if before is None else 7
            rows[bank] = row
