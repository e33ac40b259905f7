import numpy as np
import numpy.typing as npt

from .placing import Placer

Int64s = npt.NDArray[np.int64]

def count_lookups(
    placer: Placer, rows: Int64s, bags: Int64s, first: int, poolings: int, counts: Int64s
) -> bool: ...
def write_lookups(
    placer: Placer,
    rows: Int64s,
    bags: Int64s,
    first: int,
    poolings: int,
    counts: Int64s,
    written: Int64s,
    starts: Int64s,
    weights: npt.NDArray[np.float32] | None,
    locality: npt.NDArray[np.uint8] | None,
    stream: npt.NDArray[np.void],
    lines: Int64s,
) -> None: ...
def open_packets(
    lengths: Int64s,
    starts: Int64s,
    numbers: Int64s,
    dim: int,
    dtype: int,
    layout: int,
    weighted: bool,
    stream: npt.NDArray[np.void],
) -> None: ...
def predict(stream: npt.NDArray[np.void], rows: Int64s) -> None: ...
