"""What a trace is like: reuse, hot rows, and how often a cache of any size would hit."""

from .curve import CACHE_SIZES, LINE_BYTES, HitCurve, hit_curve
from .description import describe
from .reuse import BIN_EDGES, RowCounts, count_rows, duplicates, hot_share, reuse_histogram

__all__ = [
    "BIN_EDGES",
    "CACHE_SIZES",
    "LINE_BYTES",
    "HitCurve",
    "RowCounts",
    "count_rows",
    "describe",
    "duplicates",
    "hit_curve",
    "hot_share",
    "reuse_histogram",
]
