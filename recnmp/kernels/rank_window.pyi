import numpy as np
import numpy.typing as npt

from .dram import Device
from .operand_path import OperandPath
from .window_entries import WindowEntries

class RankWindow:
    ranks: int
    ranks_per_dimm: int
    shared_bus: bool
    device: Device
    operands: OperandPath
    entries: WindowEntries
    def __init__(
        self,
        device: Device,
        ranks_per_dimm: int,
        operands: OperandPath,
        n_refi: int,
        stagger: int,
        shared_bus: bool,
    ) -> None: ...
    def log_to(self, logging: bool, commands: int, operands: int) -> None: ...
    def take_logs(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]: ...
    def grow_log(self) -> None: ...
