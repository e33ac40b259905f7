"""The hardware blocks by name."""

from __future__ import annotations

import difflib

from ..errors import RecnmpError
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
    near = difflib.get_close_matches(name, BLOCKS, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "there are: " + ", ".join(BLOCKS)
    raise RecnmpError(f"no block {name!r}; {hint}")
