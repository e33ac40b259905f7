import numpy as np
import numpy.typing as npt

from .rank_cache import RankCache
from .rank_window import RankWindow

class RankNmp:
    ranks: int
    ranks_per_dimm: int
    fifo_depth: int
    tags_per_group: int
    pipeline: int
    window: RankWindow
    cache: RankCache | None
    def __init__(
        self,
        window: RankWindow,
        fifo_depth: int,
        tags_per_group: int,
        pipeline: int,
        cache: RankCache | None = None,
    ) -> None: ...
    def step(self, r: int, clk: int, arriving: npt.NDArray[np.void], clear: int = 0) -> tuple[bool, int]: ...
    def in_flight(self) -> int: ...
