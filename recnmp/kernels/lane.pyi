import numpy as np
import numpy.typing as npt

from .clocked import Clocked

LANE_COUNTERS: tuple[str, ...]
LANE_STAGES: dict[str, int]

class Lane(Clocked):
    def step(
        self,
        valid: int = 0,
        element: int = 0,
        dtype: int = 0,
        scale: int = 0,
        bias: int = 0,
        weighted: int = 0,
        weight: int = 0,
        first: int = 0,
        tag: int = 0,
        group: int = 0,
        read: int = 0,
        read_tag: int = 0,
        read_group: int = 0,
    ) -> tuple[int, int, int, int]: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def partial_sums(self) -> npt.NDArray[np.float32]: ...
    def snapshot(self) -> Lane: ...
    def restore(self, kept: Lane) -> None: ...
