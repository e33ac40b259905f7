from typing import ClassVar

from .clocked import Clocked

class Delay(Clocked):
    LATENCY: ClassVar[int]

class FpAdd(Delay):
    def step(self, a: int, b: int) -> int: ...

class FpMul(Delay):
    def step(self, a: int, b: int) -> int: ...

class Widen(Clocked):
    LATENCY: ClassVar[int]
    def step(self, half: int) -> int: ...

class Dequantise(Delay):
    def step(self, element: int, dtype: int, scale: int, bias: int) -> int: ...
