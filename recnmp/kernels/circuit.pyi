from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

def aligned_words(count: int) -> Words: ...
def first_excess(rows: Words, limits: Words) -> tuple[int, int]: ...

class Circuit:
    copies: int
    columns: int
    in_words: int
    out_words: int
    state_only: bool
    def __init__(
        self,
        library: object,
        copies: int,
        columns: int,
        words: int,
        in_words: int,
        out_words: int,
        clock: int = 0,
        advance: int = 0,
        outputs: int = 0,
    ) -> None: ...
    def state_words(self) -> Words: ...
    def run(
        self, inputs: Words, outputs: Words, progress: Callable[[int], None] | None = None
    ) -> tuple[int, int]: ...
