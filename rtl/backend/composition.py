"""Modules wired together: each clock all outputs from the states, then all wires, then all states."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from ...errors import RecnmpError
from ...kernels.composition import Assembly
from .layout import Field, row_length
from .module import Instance, Module, check_rows, limits_of

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]
# part, word, copy of the source, and of the target
Move = tuple[int, int, int, int, int, int]
ROW, ALL = -1, -1


@dataclass(frozen=True)
class Part:
    """A module in a composition.

    copies: how many side by side. wake, busy: names of inputs of the module, and of outputs ("PORT", or "PART.PORT" of
    another part): in a clock in which all of them are zero, for all copies, the part is left as it is. That must not
    be visible: the caller promises it, and `run(skip=False)` shows the truth.
    """

    module: Module
    copies: int = 1
    wake: tuple[str, ...] = ()
    busy: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pin:
    """An end of a wire: a port of a part, of one copy or of all."""

    part: int
    copy: int
    field: Field

    @classmethod
    def of(cls, text: str, names: Sequence[str], parts: Sequence[Part], output: bool) -> Pin:
        """From "part.port" or "part[copy].port". Raises RecnmpError for what is not there."""
        match = re.fullmatch(r"([^.\[]+)(?:\[(\d+)\])?\.(.+)", text)
        if match is None or match[1] not in names:
            raise RecnmpError(
                f"composition: {text!r} is no PART.PORT or PART[COPY].PORT; parts: {', '.join(names)}"
            )
        number = names.index(match[1])
        part = parts[number]
        ports = part.module.outputs if output else part.module.inputs
        found = [field for field in ports if field.name == match[3]]
        if not found:
            kind = "output" if output else "input"
            raise RecnmpError(
                f"composition: {text!r}: {match[3]!r} is no {kind} of {match[1]}; "
                f"there are: {', '.join(field.name for field in ports)}"
            )
        if match[2] is not None and int(match[2]) >= part.copies:
            raise RecnmpError(f"composition: {text!r}: {match[1]} has copies 0 to {part.copies - 1}")
        copy = int(match[2]) if match[2] else 0 if part.copies == 1 else ALL
        return cls(number, copy, found[0])


class Composition:
    """Instances of modules and the wires between them; a machine that runs, with a state.

    modules: parts by name, a `Module` alone being a part of one copy. wires: source by target, "part.port" or
    "part[copy].port"; a target without a copy means all copies, each from the same copy of a source that has as many,
    else all from one. inputs: targets of each input of the whole. outputs: source of each output of the whole.
    Rows have the inputs and outputs in the order given.
    Raises RecnmpError for ports that are not there, ends of different widths, inputs driven twice or not at all, and a
    module with an output that depends on an input in the same clock.
    """

    def __init__(
        self,
        modules: Mapping[str, Module | Part],
        wires: Mapping[str, str],
        inputs: Mapping[str, str | Sequence[str]],
        outputs: Mapping[str, str],
    ) -> None:
        self._names = list(modules)
        self._parts = [part if isinstance(part, Part) else Part(part) for part in modules.values()]
        for name, part in zip(self._names, self._parts, strict=True):
            for port, on in part.module.input_dependent.items():
                raise RecnmpError(
                    f"composition: output {port!r} of {name} depends on input {on[0]!r} in the same clock; "
                    "put a register between"
                )
        self._driven: dict[tuple[int, str, int], str] = {}
        moves_in: list[Move] = []
        fields: list[Field] = []
        for name, targets in inputs.items():
            pins = [self._target(text) for text in ([targets] if isinstance(targets, str) else targets)]
            if not pins:
                raise RecnmpError(f"composition: input {name!r} goes nowhere")
            field = Field(name, pins[0].field.bits, row_length(fields) if fields else 0)
            fields.append(field)
            for pin in pins:
                self._same_bits(f"input {name!r}", field, pin)
                moves_in += self._moved(Pin(ROW, 0, field), pin)
        self.inputs = tuple(fields)
        moves: list[Move] = []
        for target, source in wires.items():
            sink, origin = self._target(target), self._source(source)
            self._same_bits(f"wire {source!r}", origin.field, sink)
            if origin.copy == ALL and (
                sink.copy != ALL or self._parts[origin.part].copies != self._parts[sink.part].copies
            ):
                raise RecnmpError(
                    f"composition: {target!r} takes one value, {source!r} has one a copy: name a copy"
                )
            moves += self._moved(origin, sink)
        self._all_driven()
        moves_out: list[Move] = []
        fields = []
        for name, source in outputs.items():
            origin = self._source(source)
            if origin.copy == ALL:
                raise RecnmpError(
                    f"composition: output {name!r}: {source!r} has a value for each copy: name a copy"
                )
            field = Field(name, origin.field.bits, row_length(fields) if fields else 0)
            fields.append(field)
            moves_out += self._moved(origin, Pin(ROW, 0, field))
        self.outputs = tuple(fields)
        self.in_words, self.out_words = row_length(self.inputs), row_length(self.outputs)
        self._limits = limits_of(self.inputs, self.in_words)
        watched = [self._watched(number) for number in range(len(self._parts))]
        self.instances: Mapping[str, Instance] = MappingProxyType(
            {
                name: part.module.instance(part.copies)
                for name, part in zip(self._names, self._parts, strict=True)
            }
        )
        self._assembly = Assembly(
            [instance.circuit for instance in self.instances.values()],
            self.in_words,
            self.out_words,
            _places(moves_out),
            _places(moves_in),
            _places(moves),
            watched,
        )

    def _source(self, text: str) -> Pin:
        return Pin.of(text, self._names, self._parts, True)

    def _target(self, text: str) -> Pin:
        """A pin that nothing drives yet."""
        pin = Pin.of(text, self._names, self._parts, False)
        copies = range(self._parts[pin.part].copies) if pin.copy == ALL else (pin.copy,)
        for copy in copies:
            key = (pin.part, pin.field.name, copy)
            if key in self._driven:
                raise RecnmpError(f"composition: {text!r} is driven twice, by {self._driven[key]!r} too")
            self._driven[key] = text
        return pin

    def _same_bits(self, what: str, field: Field, pin: Pin) -> None:
        if field.bits != pin.field.bits:
            raise RecnmpError(
                f"composition: {what} has {field.bits} bits, "
                f"{self._names[pin.part]}.{pin.field.name} has {pin.field.bits}"
            )

    def _all_driven(self) -> None:
        for number, (name, part) in enumerate(zip(self._names, self._parts, strict=True)):
            for field in part.module.inputs:
                for copy in range(part.copies):
                    if (number, field.name, copy) not in self._driven:
                        of = f"[{copy}]" if part.copies > 1 else ""
                        raise RecnmpError(f"composition: nothing drives {name}{of}.{field.name}")

    @staticmethod
    def _moved(source: Pin, target: Pin) -> list[Move]:
        """One move a 64-bit word."""
        return [
            (
                source.part,
                source.field.first + k,
                source.copy,
                target.part,
                target.field.first + k,
                target.copy,
            )
            for k in range(source.field.columns)
        ]

    def _watched(self, number: int) -> list[tuple[int, int, int]] | None:
        part, name = self._parts[number], self._names[number]
        pins = [(0, Pin.of(f"{name}.{port}", self._names, self._parts, False)) for port in part.wake]
        for port in part.busy:
            text = port if port.partition(".")[0].partition("[")[0] in self._names else f"{name}.{port}"
            pins.append((1, self._source(text)))
        return [
            (kind, pin.part, pin.field.first + k) for kind, pin in pins for k in range(pin.field.columns)
        ] or None

    @property
    def state(self) -> Mapping[str, Mapping[str, Words]]:
        """Of each part by name, its registers and memories as in `Instance.state`."""
        return {name: instance.state for name, instance in self.instances.items()}

    @property
    def skipped(self) -> dict[str, int]:
        """In how many clocks each part was skipped since it was made."""
        return dict(zip(self._names, self._assembly.skipped(), strict=True))

    def reset(self) -> None:
        """All parts as new."""
        for instance in self.instances.values():
            instance.reset()

    def snapshot(self) -> dict[str, Words]:
        """The state of all parts, for `restore`."""
        return {name: instance.snapshot() for name, instance in self.instances.items()}

    def restore(self, snapshot: Mapping[str, Words]) -> None:
        """Raises ValueError for a snapshot of another composition."""
        if set(snapshot) != set(self._names):
            raise ValueError(f"a snapshot of {', '.join(snapshot)} is none of {', '.join(self._names)}")
        for name, instance in self.instances.items():
            instance.restore(snapshot[name])

    def run(
        self,
        inputs: Words,
        outputs: Words | None = None,
        progress: Callable[[int], None] | None = None,
        skip: bool = True,
    ) -> Words:
        """One clock a row. inputs: uint64 [clocks, in_words]; returns uint64 [clocks, out_words] (`outputs` if given).

        progress: called with the clocks made since the last call. skip=False steps quiet parts too. Nothing is done if
        an input has too many bits.
        Raises ValueError for bad shapes and such inputs, CircuitAssertionError for an rtl_assert of a part.
        """
        rows = np.ascontiguousarray(inputs, dtype=np.uint64)
        if rows.ndim != 2 or rows.shape[1] != self.in_words:
            raise ValueError(
                f"inputs have the shape {np.shape(inputs)}, they must be [clocks, {self.in_words}]"
            )
        shape = (len(rows), self.out_words)
        made = np.zeros(shape, np.uint64) if outputs is None else outputs
        if made.shape != shape or made.dtype != np.uint64 or not made.flags.c_contiguous:
            raise ValueError(f"outputs are {made.dtype} {made.shape}, they must be contiguous uint64 {shape}")
        check_rows(self.inputs, rows[:, np.newaxis, :], self._limits)
        clocks, failed, broken = self._assembly.run(rows, made, skip, progress)
        if failed:
            part = self._parts[broken]
            raise part.module.broken(failed, clocks - 1, part.copies, self._names[broken])
        return made


def _places(moves: list[Move]) -> Places:
    return np.array(moves, np.int64).reshape(-1, 6)
