from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .host_bus import HostBus

class Channel(HostBus):
    now: int
    def run(
        self,
        stream: npt.NDArray[np.void],
        start_clk: int,
        skip: bool = True,
        logging: bool = False,
        drain: bool = True,
        progress: Callable[[int], object] | None = None,
    ) -> int: ...
    def offer(
        self, stream: npt.NDArray[np.void], start_clk: int, logging: bool = False, closing: bool = True
    ) -> None: ...
    def step(self) -> int: ...
    def take_logs(
        self,
    ) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void], npt.NDArray[np.void], npt.NDArray[np.void]]: ...
    def take_packets(self) -> npt.NDArray[np.int64]: ...
    def take_traffic(self) -> npt.NDArray[np.int64]: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def count_stalls(self, end: int) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
