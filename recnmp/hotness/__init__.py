"""Hot-entry profiling: which lookups of a batch may use the RankCache (design D16, docs/profiling.md)."""

from .counting import keys_of, rows_of
from .entries import HotEntries
from .threshold import THRESHOLDS, choose_thresholds

__all__ = ["THRESHOLDS", "HotEntries", "choose_thresholds", "keys_of", "rows_of"]
