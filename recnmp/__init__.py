"""recnmp: clock-exact simulation of near-memory processing for recommendation models."""

from .errors import RecnmpError
from .replay import HostChannel, Replay, replay_dram

__version__ = "0.1.0"
__all__ = ["HostChannel", "RecnmpError", "Replay", "__version__", "replay_dram"]
