"""A lane, told from docs/microarchitecture.md section 7 as a history: what entered when, and what is visible when.

Nothing is registered here. Every operand that ever entered stays in a list with its clock of entry, and each
question is answered by looking through the list. NumPy's float32 does the arithmetic.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

CANONICAL = 0x7FC00000


def number(bits: int) -> np.float32:
    return np.frombuffer(struct.pack("<I", bits & 0xFFFFFFFF), np.float32)[0]


def pattern(x: np.float32) -> int:
    return CANONICAL if np.isnan(x) else struct.unpack("<I", np.float32(x).tobytes())[0]


def converted(element: int, dtype: int) -> np.float32:
    """Rule 3, the element alone."""
    match dtype:
        case 0:
            return number(element)
        case 1:
            return np.float32(np.frombuffer(struct.pack("<H", element & 0xFFFF), np.float16)[0])
        case 2:
            return np.float32(element % 256)
        case _:
            return np.float32(element % 16)


@dataclass
class Entered:
    clock: int
    place: tuple[int, int]  # tag, group
    sum: np.float32


class LaneHistory:
    def __init__(self) -> None:
        self.clock = 0
        self.register: dict[str, int] | None = None
        self.entered: list[Entered] = []
        self.to_show = np.float32(0)

    def visible(self, place: tuple[int, int], clock: int) -> np.float32:
        """The partial sum in the state at the start of `clock`."""
        sums = [one.sum for one in self.entered if one.place == place and one.clock + 14 <= clock]
        return sums[-1] if sums else np.float32(0)

    def value(self, operand: dict[str, int]) -> np.float32:
        """Rules 3 and 4, without the sum."""
        x = converted(operand["element"], operand["dtype"])
        with np.errstate(all="ignore"):
            if operand["dtype"] >= 2:
                x = np.float32(number(operand["scale"]) * x)
                x = np.float32(x + number(operand["bias"]))
            return np.float32(number(operand["weight"]) * x) if operand["weighted"] else x

    def step(self, **inputs: int) -> tuple[int, int, int, int]:
        now, held = self.clock, self.register
        place = (held["tag"], held["group"]) if held else None
        late = [one for one in self.entered if one.clock in (now - 1, now - 2)]
        enters = held is not None and all(one.place != place for one in late)
        ready = held is None or enters
        flying = any(now - 13 <= one.clock <= now - 1 for one in self.entered)
        shown = (int(ready), int(held is not None and not enters), int(held is not None or flying))
        out = (*shown, pattern(self.to_show))

        asked = (inputs["read_tag"], inputs["read_group"])
        self.to_show = self.visible(asked, now) if inputs["read"] else np.float32(0)
        if held is not None and place is not None and enters:
            before = np.float32(0) if held["first"] else self.visible(place, now + 11)
            with np.errstate(all="ignore"):
                self.entered.append(Entered(now, place, np.float32(before + self.value(held))))
        if ready:
            self.register = dict(inputs) if inputs["valid"] else None
        self.clock += 1
        return out
