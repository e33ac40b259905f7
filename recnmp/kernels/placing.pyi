from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

NAMES: tuple[str, ...]

class Placer:
    channels: int
    ranks: int
    def __init__(
        self,
        rows: int,
        row_bytes: int,
        stride: int,
        slots: int,
        first_page: int,
        digits: Sequence[tuple[str, int]],
        fixed: Mapping[str, int],
        channels: int,
        ranks: int,
        permutation: tuple[int, int, int, Sequence[int]] | None = None,
        hashing: tuple[int, int, int, int, int] | None = None,
    ) -> None: ...
    def lines(self, rows: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]: ...

def shift_of(size: int) -> int: ...
