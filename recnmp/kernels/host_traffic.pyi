import numpy as np
import numpy.typing as npt

TRAFFIC_COUNTERS: tuple[str, ...]

class HostTraffic:
    rate: int
    dimms: int
    ranks_per_dimm: int
    def __init__(
        self,
        rate: int,
        seed: int,
        dimms: int,
        ranks_per_dimm: int,
        bankgroups: int,
        banks: int,
        rows: int,
        columns: int,
    ) -> None: ...
    def counts(self, now: int) -> npt.NDArray[np.int64]: ...
    def latencies(self) -> npt.NDArray[np.int64]: ...
    def reset_counts(self, now: int) -> None: ...
    def log_to(self, logging: bool) -> None: ...
    def grow_log(self) -> None: ...
    def take_log(self) -> npt.NDArray[np.int64]: ...
