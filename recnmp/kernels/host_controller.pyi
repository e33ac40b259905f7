from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .dram import Device

COUNTERS: tuple[str, ...]

class HostController:
    device: Device
    clk: int
    finished: bool
    def __init__(
        self,
        device: Device,
        read_queue: int,
        write_queue: int,
        outstanding: int,
        refresh_interval: int,
        read_latency: int,
        write_latency: int,
        logging: bool,
    ) -> None: ...
    def begin(self, requests: npt.NDArray[np.int64], start: int) -> None: ...
    def run(
        self, skipping: bool = True, progress: Callable[[int], None] | None = None
    ) -> npt.NDArray[np.int64]: ...
    def idle(self, until: int) -> None: ...
    def step(self) -> bool: ...
    def take_log(self) -> npt.NDArray[np.int64]: ...
    def counts(self) -> dict[str, int]: ...
    def reset_counts(self) -> None: ...
