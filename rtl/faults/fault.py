"""A fault: a named, explained change of one block's circuit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyrtl

from ..ports import Hardware

Patch = Callable[[pyrtl.Block], None]


@dataclass(frozen=True)
class Fault:
    """`says` is what is wrong in one line. `patch` changes the finished circuit of the block named `block`.

    `seen_at`: outputs at which it may be noticed first.
    """

    name: str
    block: str
    says: str
    patch: Patch
    seen_at: tuple[str, ...]

    def circuit(self, hardware: Hardware) -> pyrtl.Block:
        """The circuit of `hardware` with the fault. Raises ValueError if it is another block, or has changed names."""
        if hardware.name != self.block:
            raise ValueError(f"{self.name} is a fault of {self.block}, not of {hardware.name}")
        block = hardware.circuit()
        self.patch(block)
        return block
