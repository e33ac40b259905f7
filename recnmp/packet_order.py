"""The order in which packets are sent: SLS threads that make them, and the scheduler that picks (section 2b)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .config.units import Nmp
from .kernels.packet_scheduler import PacketScheduler

Int64s = npt.NDArray[np.int64]


class PacketOrder:
    """Arranges the packets of batch after batch, for all channels of a system."""

    def __init__(self, units: Nmp) -> None:
        self._threads = units.threads
        self._scheduler = PacketScheduler(
            units.packet_queue, units.packet_policy, units.threads, units.starvation_limit
        )

    def arrange(self, instructions: Int64s, order: str) -> Int64s:
        """All packets of a batch that have instructions, in the order in which they are sent.

        instructions: int64 [tables, packets of a table], of all channels, CONFIG and END included; 0 where a packet is
        not sent. order: "table" or "sample", that of the trace. Returns places in `instructions`, row after row.
        """
        arriving = arrivals(instructions, order, self._threads)
        table = arriving // max(1, instructions.shape[1])
        return arriving[self._scheduler.order(table, table % self._threads)]

    @property
    def passed_over_max(self) -> int:
        """The largest number of picks that passed over any packet, since the last reset."""
        return self._scheduler.passed_over_max

    def reset_counts(self) -> None:
        """passed_over_max to zero."""
        self._scheduler.reset_counts()


def arrivals(instructions: Int64s, order: str, threads: int) -> Int64s:
    """Packets in the order in which they arrive at the scheduler; arguments and result as of `PacketOrder.arrange`.

    Table t belongs to thread t mod threads. A packet arrives when its thread has prepared all instructions of it and
    of the thread's packets before it, one a step, all threads at the same pace; of several the lowest thread's first.
    """
    tables, packets = instructions.shape
    places = np.arange(tables * packets).reshape(tables, packets)
    sent = (places if order == "table" else places.T).reshape(-1)
    of_packet = instructions.reshape(-1)[sent]
    sent, of_packet = sent[of_packet > 0], of_packet[of_packet > 0]
    thread = sent // max(1, packets) % threads
    by_thread = np.argsort(thread, kind="stable")
    total = np.cumsum(of_packet[by_thread])
    begins = np.searchsorted(thread[by_thread], thread[by_thread])  # where each one's thread begins
    prepared = np.empty(len(sent), np.int64)
    prepared[by_thread] = total - np.append(0, total)[begins]
    return sent[np.lexsort((thread, prepared))]
