import numpy as np
import numpy.typing as npt

from .dram import Device

RANK_COUNTERS: tuple[str, ...]

class RankWindow:
    ranks: int
    ranks_per_dimm: int
    size: int
    shared_bus: bool
    device: Device
    def __init__(
        self,
        device: Device,
        ranks_per_dimm: int,
        size: int,
        data_delay: int,
        n_refi: int,
        stagger: int,
        shared_bus: bool,
    ) -> None: ...
    def log_to(self, logging: bool, commands: int, operands: int) -> None: ...
    def take_logs(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]: ...
    def grow_log(self) -> None: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
