"""Readable names for the wires of one instance of a block."""

from __future__ import annotations

import pyrtl


class Scope:
    """Names an instance's wires: `at("sticky", wire)` is `wire` under the name NAME/sticky.

    What has a name in waves can also be found by a fault that is to be planted there. An unnamed wire is
    renamed, so that a name costs no net; one that has a name already (a port, a constant) gets a wire more.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, label: str, wire: pyrtl.WireVector) -> pyrtl.WireVector:
        full = self.within(label)
        if type(wire) is pyrtl.WireVector and wire.name.startswith("tmp"):
            wire.name = full
            return wire
        named = pyrtl.WireVector(len(wire), full)
        named <<= wire
        return named

    def register(self, label: str, following: pyrtl.WireVector) -> pyrtl.Register:
        """A register NAME/label that takes `following` at each clock edge, and 0 at reset."""
        register = pyrtl.Register(len(following), self.within(label))
        register.next <<= following
        return register

    def delay(self, label: str, wire: pyrtl.WireVector, clocks: int) -> pyrtl.WireVector:
        """`wire` so many clocks later, through registers NAME/label_1, ..._2 and on."""
        for clock in range(1, clocks + 1):
            wire = self.register(f"{label}_{clock}", wire)
        return wire

    def within(self, label: str) -> str:
        """The name of something inside this scope, such as another scope."""
        return f"{self.name}/{label}"
