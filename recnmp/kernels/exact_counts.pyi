import numpy as np
import numpy.typing as npt

class ExactCounts:
    distinct: int
    def of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]: ...
