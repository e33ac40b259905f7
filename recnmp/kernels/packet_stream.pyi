import numpy as np
import numpy.typing as npt

def check_stream(
    stream: npt.NDArray[np.void], ranks: int, bankgroups: int, banks: int, tags: int, by_line: bool = False
) -> int: ...
