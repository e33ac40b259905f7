"""The published reuse histograms of production-like batches, and laws derived from them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

NAMES = ("2021-base", "2021-x16", "2022")
RATE_UNIT = 2**16  # of the mixture's rates


@dataclass(frozen=True)
class Histogram:
    """One published trace, from facebookresearch/dlrm_datasets (MIT, notice in histograms.json).

    lookups, rows_touched: of the published batch. rows_per_bin, lookups_per_bin: 17 bins of the reuse factor,
    (0,1], (1,2], (2,4] ... (32768,inf). mixture: (rate in 1/RATE_UNIT accesses a published batch, rows in
    2^-10); direct: (count, rows in 2^-10); both from the most popular.
    """

    name: str
    lookups: int
    rows_touched: int
    rows_per_bin: tuple[int, ...]
    lookups_per_bin: tuple[int, ...]
    mixture: tuple[tuple[int, int], ...]
    direct: tuple[tuple[int, int], ...]


@lru_cache(maxsize=len(NAMES))
def published(name: str) -> Histogram:
    """The histogram of that name. Raises KeyError for a name that is not in NAMES."""
    text = (files(__package__ or "") / "histograms.json").read_text(encoding="utf-8")
    entry = json.loads(text)["histograms"][name]
    return Histogram(
        name,
        entry["lookups"],
        entry["rows_touched"],
        tuple(entry["rows_per_bin"]),
        tuple(entry["lookups_per_bin"]),
        tuple((rate, rows) for rate, rows in entry["mixture"]),
        tuple((count, rows) for count, rows in entry["direct"]),
    )
