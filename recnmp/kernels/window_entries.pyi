import numpy as np
import numpy.typing as npt

RANK_COUNTERS: tuple[str, ...]

class WindowEntries:
    ranks: int
    size: int
    def __init__(self, ranks: int, size: int) -> None: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
