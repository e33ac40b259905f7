from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .circuit import Circuit

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]

class Assembly:
    in_words: int
    out_words: int
    def __init__(
        self,
        circuits: list[Circuit],
        in_words: int,
        out_words: int,
        moves_out: Places,
        moves_in: Places,
        wires: Places,
        watched: list[list[tuple[int, int, int]] | None],
    ) -> None: ...
    def place(self, i: int, move: Places) -> None: ...
    def touched(self) -> None: ...
    def skipped(self) -> list[int]: ...
    def run(
        self,
        inputs: Words,
        outputs: Words,
        skip: bool = True,
        progress: Callable[[int], None] | None = None,
    ) -> tuple[int, int, int]: ...
