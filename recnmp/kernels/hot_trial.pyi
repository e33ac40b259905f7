import numpy as np
import numpy.typing as npt

from .cache_sets import CacheSets

def trial_hits(
    cache: CacheSets,
    lines: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int64],
    threshold: int,
    first: int,
    end: int,
) -> int: ...
def assume(cache: CacheSets, other: CacheSets) -> None: ...
