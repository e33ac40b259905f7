"""What a hardware block is to the outside: its name, its ports, and the function that builds it from wires."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyrtl

Wires = Mapping[str, pyrtl.WireVector]


@dataclass(frozen=True)
class Port:
    """A named bundle of wires. `meaning` says what it carries, and when, in one line."""

    name: str
    bits: int
    meaning: str


@dataclass(frozen=True)
class Hardware:
    """A block of the machine as a circuit: the one declaration of its ports.

    `build` takes a wire for each input and gives a wire for each output. Used inside a bigger block, it is
    called with that block's wires; alone, `circuit` gives it Inputs and Outputs.
    """

    name: str
    summary: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    build: Callable[[Wires], Wires]

    def circuit(self) -> pyrtl.Block:
        """The block alone, in a PyRTL Block of its own. Raises ValueError where `build` and the ports disagree."""
        block = pyrtl.Block()
        with pyrtl.set_working_block(block, no_sanity_check=True):
            made = self.build({port.name: pyrtl.Input(port.bits, port.name) for port in self.inputs})
            if set(made) != {port.name for port in self.outputs}:
                raise ValueError(f"{self.name} makes {sorted(made)}, not its outputs")
            for port in self.outputs:
                if len(made[port.name]) != port.bits:
                    raise ValueError(
                        f"{self.name}: {port.name} has {len(made[port.name])} bits, not {port.bits}"
                    )
                output = pyrtl.Output(port.bits, port.name)
                output <<= made[port.name]
        block.sanity_check()
        return block
