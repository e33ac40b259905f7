import numpy as np
import numpy.typing as npt

from .rank_nmp import RankNmp

DIMM_COUNTERS: tuple[str, ...]

class DimmNmp:
    dimms: int
    ranks_per_dimm: int
    tags_per_group: int
    groups: int
    ranks: RankNmp
    def __init__(self, ranks: RankNmp, groups: int, adder_clocks: int) -> None: ...
    def step(self, d: int, packet_of: npt.NDArray[np.int64], clk: int, sent: int = 0) -> int: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def reset_counts(self) -> None: ...
