"""Named faults of the circuits: each a patch that the checks must find.

A fault of a new block goes into a file of its own, and its list into `FAULTS`.
"""

from .fault import Fault
from .fp import FP_FAULTS
from .lane import LANE_FAULTS

__all__ = ["FAULTS", "Fault"]

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*FP_FAULTS, *LANE_FAULTS)}
