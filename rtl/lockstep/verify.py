"""Kernel and circuit side by side: the same inputs, every output compared on every clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np
import pyrtl

from .difference import SHOWN, Difference
from .pair import Pair
from .shorten import Shortener
from .words import Uint64s


class Side(Protocol):
    """One of the two: a kernel, or an instance of a compiled circuit."""

    def reset(self) -> object:
        """Back to the state at the start."""

    def run(self, inputs: Uint64s) -> Uint64s:
        """One clock a row: uint64 [clocks, inputs] -> [clocks, outputs], as they are before each clock's edge."""


class Bench:
    """Both sides of a pair, ready to run.

    circuit: in the place of the pair's own (with a fault, say); same ports. side: in the place of the compiled
    circuit altogether.
    """

    def __init__(self, pair: Pair, circuit: pyrtl.Block | None = None, side: Side | None = None) -> None:
        self.pair = pair
        self._kernel: Side = pair.kernel()
        self._circuit = _compiled(pair, circuit) if side is None else side

    def verify(
        self, clocks: int, seed: int, progress: Callable[[int], None] | None = None
    ) -> Difference | None:
        """Run so many clocks of the pair's stimulus; the first difference, None if all is equal.

        progress is told clocks since it was last told, after each piece; there Ctrl-C is answered too.
        """
        return self.compare(self.pair.pieces(clocks, seed), SHOWN, progress)

    def compare(
        self, pieces: Iterable[Uint64s], shown: int, progress: Callable[[int], None] | None = None
    ) -> Difference | None:
        """Run pieces of one stimulus, uint64 [clocks, inputs] each, from reset; the first difference.

        shown: clocks up to it that are kept, so that they can be told.
        """
        self._kernel.reset()
        self._circuit.reset()
        before = 0
        tail: tuple[Uint64s, ...] = ()
        for inputs in pieces:
            outputs, other = self._kernel.run(inputs), self._circuit.run(inputs)
            now = (inputs, outputs, other)
            differs = outputs != other
            if differs.any():
                row = int(differs.any(axis=1).argmax())
                column = int(differs[row].argmax())
                told = _last(tail, tuple(part[: row + 1] for part in now), shown)
                signal = self.pair.hardware.outputs[column].name
                values = int(outputs[row, column]), int(other[row, column])
                return Difference(self.pair, before + row, signal, *values, *told)
            tail = _last(tail, now, shown)
            before += len(inputs)
            if progress is not None:
                progress(len(inputs))
        return None

    def shortened(self, difference: Difference, seed: int) -> Difference:
        """A difference that a much shorter and plainer stimulus shows from reset, with all its clocks.

        difference: what `verify` found with this seed. It need not be of the same signal.
        """
        clocks = difference.clock + 1

        def last(length: int) -> Uint64s:
            return self.pair.rows(clocks - length, clocks, seed)

        def differs(rows: Uint64s) -> int | None:
            found = self.compare([rows], 1)
            return None if found is None else found.clock

        rows = Shortener(differs).shorten(last, clocks)
        found = self.compare([np.ascontiguousarray(rows)], len(rows))
        if found is None:
            raise ValueError(
                f"{self.pair.name}: nothing differs with seed {seed} up to clock {difference.clock}"
            )
        return found


def verify(
    pair: Pair,
    clocks: int,
    seed: int,
    circuit: pyrtl.Block | None = None,
    progress: Callable[[int], None] | None = None,
) -> Difference | None:
    """Build, compile and run a pair: see Bench."""
    return Bench(pair, circuit).verify(clocks, seed, progress)


def _compiled(pair: Pair, circuit: pyrtl.Block | None) -> Side:
    from ..backend import compile_block

    block = pair.hardware.circuit() if circuit is None else circuit
    inputs = [port.name for port in pair.hardware.inputs]
    outputs = [port.name for port in pair.hardware.outputs]
    side: Side = compile_block(block, inputs, outputs).instance()
    return side


def _last(tail: tuple[Uint64s, ...], now: tuple[Uint64s, ...], shown: int) -> tuple[Uint64s, ...]:
    """The last `shown` rows of what came before and what came now."""
    if tail and len(now[0]) < shown:
        now = tuple(np.concatenate(parts) for parts in zip(tail, now, strict=True))
    return tuple(part[-shown:].copy() for part in now)
