"""Packets as observers see them: what each holds, kept until it has ended, which may be batches later."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from . import isa
from .kernels.packet_log import PACKET_COLUMNS
from .observe import Logs
from .packets import Packets

Int64s = npt.NDArray[np.int64]

# of an ended packet, each int64
HELD = ("batch", "table", "first_sample", "poolings", "lookups", "instructions")
COLUMNS = (*HELD, *PACKET_COLUMNS)


class PacketBooks:
    """Joins the packets that end on one channel with what was sent of them."""

    def __init__(self) -> None:
        self._batch = -1
        self._first = 0  # number of the first packet that is kept
        self._kept: Int64s = np.zeros((0, len(HELD)), np.int64)
        self._open: npt.NDArray[np.bool_] = np.zeros(0, bool)  # which of the kept have not ended

    @property
    def batch(self) -> int:
        """Number of the batch that was sent last, from 0 on; -1 before the first."""
        return self._batch

    def sent(self, packets: Packets, logs: Logs) -> Int64s:
        """The next batch was sent. int64 [n, len(COLUMNS)]: the packets that ended meanwhile, in that order.

        poolings: those that have a LOOKUP here; lookups: those of which a run lies here; instructions: LOOKUPs.
        """
        self._batch += 1
        count = len(packets.table)
        held = np.zeros((count, len(HELD)), np.int64)
        lookups = logs.stream[isa.is_lookup(logs.stream["opcode"])]
        packet = lookups["packet"] - packets.first_packet
        held[:, 0] = self._batch
        held[:, 1] = packets.table
        held[:, 2] = packets.first_sample
        tags = np.unique(packet * isa.TAGS + lookups["tag"])
        held[:, 3] = np.bincount(tags // isa.TAGS, minlength=count)
        _, first = np.unique(lookups["lookup"], return_index=True)
        held[:, 4] = np.bincount(packet[first], minlength=count)
        held[:, 5] = np.bincount(packet, minlength=count)
        self._kept = np.concatenate([self._kept, held])
        self._open = np.append(self._open, np.ones(count, bool))
        at = logs.packets[:, 0] - self._first
        ended = np.concatenate([self._kept[at], logs.packets], axis=1)
        self._open[at] = False
        waiting = np.flatnonzero(self._open)
        gone = int(waiting[0]) if len(waiting) else len(self._open)
        self._kept, self._open, self._first = self._kept[gone:], self._open[gone:], self._first + gone
        return ended
