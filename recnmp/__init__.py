"""recnmp: clock-exact simulation of near-memory processing for recommendation models."""

from .errors import RecnmpError

__version__ = "0.1.0"
__all__ = ["RecnmpError", "__version__"]
