import numpy as np
import numpy.typing as npt

def accumulate(
    operands: npt.NDArray[np.void],
    first_sample: npt.NDArray[np.int64],
    first_packet: int,
    first_lookup: int,
    vectors: npt.NDArray[np.float32],
    weights: npt.NDArray[np.float32] | None,
    partial: npt.NDArray[np.float32],
) -> None: ...
