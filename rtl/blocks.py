"""The hardware blocks by name."""

from __future__ import annotations

from ..errors import RecnmpError, hint
from .fp.add import FP_ADD
from .fp.convert import WIDEN
from .fp.dequantise import DEQUANTISE
from .fp.multiply import FP_MUL
from .lane import LANE
from .ports import Hardware

BLOCKS: dict[str, Hardware] = {block.name: block for block in (FP_ADD, FP_MUL, WIDEN, DEQUANTISE, LANE)}


def block_named(name: str) -> Hardware:
    """A block. Raises RecnmpError where there is none of this name, with the nearest that there is."""
    if name in BLOCKS:
        return BLOCKS[name]
    raise RecnmpError(f"no block {name!r}; {hint(name, BLOCKS)}")
