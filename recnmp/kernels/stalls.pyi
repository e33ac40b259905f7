import numpy as np
import numpy.typing as npt

from .rank_window import RankWindow

CAUSES: tuple[str, ...]

class Stalls:
    window: RankWindow
    def __init__(self, window: RankWindow, divider: int = 1) -> None: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def start(self, clk: int) -> None: ...
