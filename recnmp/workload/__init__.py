"""Pooled lookups: what a trace is, how it is checked, stored and read back.

The form is table-major: bag (table t, sample b) of a batch is `indices[offsets[t*B+b] : offsets[t*B+b+1]]`.
Several batches follow each other in time.
"""

from .batch import Bags, Batch, Piece, pieces_of
from .checks import Repair, RepairCounts, check_piece
from .numbers import as_ids, as_weights
from .offsets import Layout, as_offsets, offsets_from_lengths
from .sniff import sniff
from .table import DTYPES, Table
from .workload import Workload

__all__ = [
    "DTYPES",
    "Bags",
    "Batch",
    "Layout",
    "Piece",
    "Repair",
    "RepairCounts",
    "Table",
    "Workload",
    "as_ids",
    "as_offsets",
    "as_weights",
    "check_piece",
    "offsets_from_lengths",
    "pieces_of",
    "sniff",
]
