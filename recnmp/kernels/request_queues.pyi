import numpy as np
import numpy.typing as npt

def first_out_of_range(
    requests: npt.NDArray[np.int64], highest: npt.NDArray[np.int64]
) -> tuple[int, int]: ...
