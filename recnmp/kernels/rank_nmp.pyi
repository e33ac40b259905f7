import numpy as np
import numpy.typing as npt

from .dram import Device

RANK_COUNTERS: tuple[str, ...]

class RankNmp:
    ranks: int
    ranks_per_dimm: int
    fifo_depth: int
    window_size: int
    tags_per_group: int
    shared_bus: int
    device: Device
    def __init__(
        self,
        device: Device,
        ranks_per_dimm: int,
        fifo_depth: int,
        window_size: int,
        tags_per_group: int,
        data_delay: int,
        pipeline: int,
        n_refi: int,
        stagger: int,
        shared_bus: bool,
    ) -> None: ...
    def step(self, r: int, clk: int, arriving: npt.NDArray[np.void], clear: int = 0) -> tuple[bool, int]: ...
    def log_to(self, logging: bool, commands: int, operands: int) -> None: ...
    def take_logs(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
