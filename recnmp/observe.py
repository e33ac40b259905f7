"""What may be watched while a machine runs. An observer is told of batches after they ran: it never changes a clock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .packets import Packets


@dataclass(frozen=True)
class Logs:
    """What happened on a channel while one batch was sent (the last one: until all was over), in order of clock.

    Structured arrays with the dtypes of kernels/vocabulary.

    commands: DDR commands of all ranks. operands: bursts as they enter the datapaths. results: bursts on the
    channel. sends: instructions on the channel. packets: int64 [n, len(PACKET_COLUMNS)], those that ended
    (kernels/packet_log). stream: the batch's instructions, with the tag groups that they were sent with.
    """

    commands: npt.NDArray[np.void]
    operands: npt.NDArray[np.void]
    results: npt.NDArray[np.void]
    sends: npt.NDArray[np.void]
    packets: npt.NDArray[np.int64]
    stream: npt.NDArray[np.void]


class Observer(Protocol):
    """Watches one system."""

    def wants_logs(self, clock: int) -> bool:
        """Whether a batch that is offered at this clock is to be logged; `packets` and `stream` always are."""
        ...

    def near_memory(self, channel: int, packets: Packets, logs: Logs) -> None:
        """The next batch of a channel was sent: its packets, and what happened meanwhile."""
        ...

    def host(self, channel: int, commands: npt.NDArray[np.int64]) -> None:
        """Commands int64 [m, 7] that a host's channel issued since the last call, as `recnmp.replay` has them."""
        ...
