import numpy as np
import numpy.typing as npt

class LruStack:
    def __init__(self, lines: npt.NDArray[np.int64]) -> None: ...
    def access(
        self, rows: npt.NDArray[np.int64], capacities: npt.NDArray[np.int64], hits: npt.NDArray[np.int64]
    ) -> None: ...

def shuffle(items: npt.NDArray[np.int64], words: npt.NDArray[np.uint64], done: int) -> None: ...
