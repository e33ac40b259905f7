from .cache_sets import CacheSets
from .operand_path import OperandPath
from .rank_window import RankWindow

class RankCache:
    window: RankWindow
    operands: OperandPath
    flushed: bool
    caches: tuple[CacheSets, ...]
    def __init__(
        self,
        window: RankWindow,
        sets: int,
        ways: int,
        policy: str,
        rows: int,
        columns: int,
        flushed: bool,
    ) -> None: ...
    def start_batch(self, clk: int) -> None: ...
