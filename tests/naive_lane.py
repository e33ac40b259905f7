"""The lane in plain Python, from docs/microarchitecture.md, section 7, alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

QUIET_NAN = 0x7FC00000
BIAS_CLOCK, SUM_CLOCKS = 7, 14


def number(word: int) -> np.float32:
    return np.uint32(word).view(np.float32)


def word(value: np.float32) -> int:
    return QUIET_NAN if np.isnan(value) else int(np.float32(value).view(np.uint32))


def element_value(element: int, dtype: int) -> np.float32:
    if dtype == 0:
        return number(element)
    if dtype == 1:
        return np.float32(np.uint16(element & 0xFFFF).view(np.float16))
    return np.float32(element & (0xFF if dtype == 2 else 0xF))


@dataclass(frozen=True)
class Operand:
    place: tuple[int, int]
    first: bool
    value: np.float32  # dequantised and weighted

    @classmethod
    def of(cls, wires: dict[str, int]) -> Operand:
        value = element_value(wires["element"], wires["dtype"])
        if wires["dtype"] >= 2:
            value = number(wires["scale"]) * value + number(wires["bias"])
        if wires["weighted"]:
            value = number(wires["weight"]) * value
        return cls((wires["tag"], wires["group"]), bool(wires["first"]), value)


class NaiveLane:
    """`step` is one clock: the wires of the inputs to those of the outputs."""

    def __init__(self) -> None:
        self.clock = 0
        self.register: Operand | None = None
        self.entered: dict[int, Operand] = {}  # by the clock in which it entered
        self.sums: dict[tuple[int, int], int] = {}  # visible now
        self.read = 0

    def step(self, wires: dict[str, int]) -> dict[str, int]:
        now, held = self.clock, self.register
        landing = self.entered.get(now - SUM_CLOCKS)
        if landing is not None:
            # Nothing else was added to this place since it was read, three clocks ago: the hazard saw to that.
            before = 0 if landing.first else self.sums.get(landing.place, 0)
            self.sums[landing.place] = word(number(before) + landing.value)
        recent = [self.entered[clock].place for clock in (now - 1, now - 2) if clock in self.entered]
        entering = held is not None and held.place not in recent
        pending = any(now - 13 <= clock < now for clock in self.entered)
        outputs = {
            "ready": int(held is None or entering),
            "waiting": int(held is not None and not entering),
            "busy": int(held is not None or pending),
            "sum": self.read,
        }
        if entering and held is not None:
            self.entered[now] = held
            self.register = None
        if wires["valid"] and outputs["ready"]:
            self.register = Operand.of(wires)
        self.read = self.sums.get((wires["read_tag"], wires["read_group"]), 0) if wires["read"] else 0
        self.entered.pop(now - SUM_CLOCKS, None)
        self.clock += 1
        return outputs
