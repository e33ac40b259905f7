import numpy as np
import numpy.typing as npt

from .window_entries import WindowEntries

class OperandPath:
    entries: WindowEntries
    foreseen: bool
    divider: int
    def __init__(
        self,
        entries: WindowEntries,
        data_delay: int,
        accumulate: int,
        tags_per_group: int,
        foreseen: bool,
        divider: int = 1,
    ) -> None: ...
    def log_to(self, logging: bool, operands: int) -> None: ...
    def take_log(self) -> npt.NDArray[np.void]: ...
