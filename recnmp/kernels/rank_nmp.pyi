import numpy as np
import numpy.typing as npt

from .rank_cache import RankCache
from .rank_window import RankWindow
from .stalls import Stalls

class RankNmp:
    ranks: int
    ranks_per_dimm: int
    fifo_depth: int
    tags_per_group: int
    pipeline: int
    window: RankWindow
    cache: RankCache | None
    stalls: Stalls | None
    def __init__(
        self,
        window: RankWindow,
        fifo_depth: int,
        tags_per_group: int,
        pipeline: int,
        cache: RankCache | None = None,
        stalls: Stalls | None = None,
    ) -> None: ...
    def step(self, r: int, clk: int, arriving: npt.NDArray[np.void], clear: int = 0) -> tuple[bool, int]: ...
    def start_batch(self, stream: npt.NDArray[np.void], clk: int, closing: bool) -> None: ...
    def count_stalls(self, over: int, end: int) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
    def in_flight(self) -> int: ...
