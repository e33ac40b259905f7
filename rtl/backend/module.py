"""A compiled circuit and its instances: what callers of the backend see."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyrtl

from ...errors import RecnmpError
from ...kernels.circuit import Circuit, first_excess
from .build import library, vector_lanes
from .layout import WORD, Field, Layout, lay_out, natural, row_length
from .order import Drivers
from .prelude import prelude
from .text import body_text
from .words import mask_of

Words = npt.NDArray[np.uint64]


class CircuitAssertionError(RecnmpError):
    """An rtl_assert of the circuit was false. `clock` counts from the start of the run, from 0.

    The clock was made to its end. The exception that the circuit names is the cause.
    """

    def __init__(self, name: str, clock: int, copy: int, of: str, cause: Exception) -> None:
        super().__init__(f"assertion {name!r}{of} is false in clock {clock}: {cause}")
        self.name, self.clock, self.copy = name, clock, copy
        self.__cause__ = cause


class Module:
    """A block as C text, compiled when its first instance is made.

    inputs, outputs: name, bits, first column and columns (64-bit words) of each port in rows of words.
    input_dependent: outputs that depend on inputs of the same clock, each with the names of these inputs; empty for
    a circuit that `Composition` takes.
    """

    def __init__(
        self, block: pyrtl.Block, inputs: Sequence[str] | None, outputs: Sequence[str] | None
    ) -> None:
        block.sanity_check()
        drivers = Drivers(block)
        self.layout: Layout = lay_out(block, inputs, outputs)
        self.inputs, self.outputs = self.layout.inputs, self.layout.outputs
        self.in_words, self.out_words = row_length(self.inputs), row_length(self.outputs)
        below = {
            field.name: drivers.inputs_below(block.wirevector_by_name[field.name]) for field in self.outputs
        }
        self.input_dependent: Mapping[str, list[str]] = {name: on for name, on in below.items() if on}
        self._body = body_text(self.layout, drivers, not self.input_dependent)
        self._asserted = [
            (asserted_name(drivers, wire), error) for wire, error in block.rtl_assert_dict.items()
        ]
        self._library: dict[int, ctypes.CDLL] = {}
        self.input_limits = limits_of(self.inputs, self.in_words)

    def text(self, copies: int = 1) -> str:
        """The C text for so many copies: a function of the circuit alone."""
        return prelude(copies, vector_lanes(copies)) + self._body

    def circuit(self, copies: int) -> Circuit:
        """New copies as the kernels step them; their state is all zeros."""
        code = self._library.get(copies)
        if code is None:
            code = self._library[copies] = library(self.text(copies), native=copies > 1)
        lanes = vector_lanes(copies)
        kinds = ("clock",) if self.input_dependent else ("advance", "outputs")
        places = {kind: ctypes.cast(code[f"circuit_{kind}"], ctypes.c_void_p).value or 0 for kind in kinds}
        columns = -(-copies // lanes) * lanes
        return Circuit(code, copies, columns, self.layout.words, self.in_words, self.out_words, **places)

    def instance(self, copies: int = 1) -> Instance:
        """A new set of copies, reset. Raises RecnmpError without a C compiler, ValueError for less than one copy."""
        if copies < 1:
            raise ValueError(f"copies is {copies}, at least 1 must be")
        return Instance(self, copies)

    def broken(self, failed: int, clock: int, copies: int, part: str = "") -> CircuitAssertionError:
        """The exception for what a clock function returned; `part` is its name in something larger."""
        name, cause = self._asserted[(failed & 0xFFFFFFFF) - 1]
        copy = failed >> 32
        of = (f" of copy {copy}" if copies > 1 else "") + (f" of {part}" if part else "")
        return CircuitAssertionError(name, clock, copy, of, cause)


def compile_block(
    block: pyrtl.Block, inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None
) -> Module:
    """A PyRTL block as a module that runs at the speed of machine code, equal to pyrtl.Simulation on every clock.

    inputs, outputs: order of the ports, by default by name; outputs may be left out, inputs may not.
    Raises RecnmpError for unknown ports, a memory with two write ports or more than 26 address bits, a ROM without
    data for some address, and, when the first instance is made, without a C compiler; PyrtlError for a block that
    PyRTL refuses (loops, wires without a driver).
    """
    return Module(block, inputs, outputs)


def asserted_name(drivers: Drivers, wire: pyrtl.WireVector) -> str:
    """The wire that was asserted: PyRTL makes an output with a name of its own for it."""
    return str(drivers.net[wire].args[0].name)


def limits_of(fields: Sequence[Field], words: int) -> Words:
    """What each column may hold: uint64 [words]."""
    limits = np.zeros(words, np.uint64)
    for field in fields:
        for limb in range(field.columns):
            limits[field.first + limb] = mask_of(field.bits, limb)
    return limits


def check_rows(fields: Sequence[Field], rows: Words, limits: Words) -> None:
    """Raises ValueError for a value that has more bits than its port. rows: uint64 [clocks, copies, words]."""
    flat = rows.reshape(-1, rows.shape[2])
    row, column = first_excess(flat, limits)
    if row < 0:
        return
    clock, copy = divmod(row, rows.shape[1])
    of = f" of copy {copy}" if rows.shape[1] > 1 else ""
    for field in fields:
        if field.first <= column < field.first + field.columns:
            value = joined(flat[row, field.first : field.first + field.columns])
            raise ValueError(
                f"input {field.name!r}{of} is {value:#x} in clock {clock}, it has {field.bits} bits"
            )
    raise ValueError(
        f"inputs hold {int(flat[row, column])} in clock {clock}, a circuit without inputs takes 0 only"
    )


def joined(words: Words) -> int:
    """A number from its 64-bit words, the lowest first."""
    return sum(int(word) << (WORD * limb) for limb, word in enumerate(words))


def spread(value: int, field: Field) -> list[int]:
    """The 64-bit words of a number. Raises ValueError for one that the port cannot hold."""
    if not 0 <= value < 1 << field.bits:
        raise ValueError(f"{field.name!r} is {value}, it has {field.bits} bits: 0 to {(1 << field.bits) - 1}")
    return [value >> (WORD * limb) & ((1 << WORD) - 1) for limb in range(field.columns)]


class Instance:
    """Copies of a module, each with its state, stepped together.

    state: NumPy views by name of register or memory, read and written in place. Axes: copies (only if there are
    several), words of a memory, 64-bit words of a value (only above 64 bits). Bits above the width must stay zero.
    """

    def __init__(self, module: Module, copies: int) -> None:
        self.module, self.copies = module, copies
        self.circuit = module.circuit(copies)
        self._words = self.circuit.state_words()
        self.state: Mapping[str, Words] = MappingProxyType(self._views())
        self.reset()

    def _views(self) -> dict[str, Words]:
        layout, columns = self.module.layout, self.circuit.columns
        grid = self._words.reshape(layout.words, columns)
        views: dict[str, Words] = {}
        for field in (*layout.registers, *layout.memories):
            words = getattr(field, "words", 1)
            part = grid[field.first : field.first + words * field.columns, : self.copies]
            view = np.moveaxis(part.reshape(words, field.columns, self.copies), 2, 0)
            if field.columns == 1:
                view = view[:, :, 0]
            if field in layout.registers:
                view = view[:, 0]
            views[field.name] = view if self.copies > 1 else view[0:1].reshape(view.shape[1:])
        return views

    def reset(self) -> None:
        """As new: registers hold their reset values, memories zeros."""
        self._words[:] = 0
        grid = self._words.reshape(self.module.layout.words, self.circuit.columns)
        for field in self.module.layout.registers:
            for limb in range(field.columns):
                grid[field.first + limb] = field.reset >> (WORD * limb) & ((1 << WORD) - 1)

    def snapshot(self) -> Words:
        """The whole state, to be given to `restore` of an instance of the same module and number of copies."""
        return self._words.copy()

    def restore(self, snapshot: Words) -> None:
        """Raises ValueError for a snapshot of another module or number of copies, as far as its size shows it."""
        if snapshot.shape != self._words.shape or snapshot.dtype != np.uint64:
            raise ValueError(
                f"a snapshot of shape {snapshot.shape} is none of this instance: {self._words.shape}"
            )
        self._words[:] = snapshot

    def run(
        self, inputs: Words, outputs: Words | None = None, progress: Callable[[int], None] | None = None
    ) -> Words:
        """One clock a row: outputs of a clock come from that clock's inputs and the state before its edge.

        inputs: uint64 [clocks, words], for all copies alike, or [clocks, copies, words]. Returns uint64 [clocks,
        words], or [clocks, copies, words] if there are several; `outputs` is filled and returned if it is given.
        progress: called with the clocks made since the last call. Nothing is done if an input has too many bits.
        Without inputs, or outputs, a row is one word of 0. One instance runs in one thread at a time.
        Raises ValueError for bad shapes and such inputs (port, clock, value), CircuitAssertionError for an rtl_assert.
        """
        module = self.module
        rows = np.ascontiguousarray(inputs, dtype=np.uint64)
        if rows.ndim == 2:
            rows = rows[:, np.newaxis, :]
        if rows.ndim != 3 or rows.shape[1] not in (1, self.copies) or rows.shape[2] != module.in_words:
            wanted = f"[clocks, {module.in_words}]" + (
                f" or [clocks, {self.copies}, {module.in_words}]" if self.copies > 1 else ""
            )
            raise ValueError(f"inputs have the shape {np.shape(inputs)}, they must be {wanted}")
        shape = (len(rows), self.copies, module.out_words)
        shown = shape if self.copies > 1 else (shape[0], shape[2])
        made = np.zeros(shown, np.uint64) if outputs is None else outputs
        if made.shape != shown or made.dtype != np.uint64 or not made.flags.c_contiguous:
            raise ValueError(f"outputs are {made.dtype} {made.shape}, they must be contiguous uint64 {shown}")
        check_rows(module.inputs, rows, module.input_limits)
        clocks, failed = self.circuit.run(rows, made.reshape(shape), progress)
        if failed:
            raise module.broken(failed, clocks - 1, self.copies)
        return made

    def step(self, **values: int | Sequence[int]) -> dict[str, int | list[int]]:
        """One clock: a value for each input by name, or one for each copy; outputs by name, a list if there are copies.

        Raises ValueError for inputs that are missing, unknown or too large, CircuitAssertionError for an rtl_assert.
        """
        module = self.module
        names = {field.name for field in module.inputs}
        if wrong := sorted(set(values) ^ names, key=natural):
            said = "no input of the circuit" if wrong[0] in values else "an input that has no value"
            raise ValueError(f"{wrong[0]!r} is {said}")
        row = np.zeros((1, self.copies, module.in_words), np.uint64)
        for field in module.inputs:
            given = values[field.name]
            each = (
                [int(v) for v in given]
                if isinstance(given, Sequence | np.ndarray)
                else [int(given)] * self.copies
            )
            if len(each) != self.copies:
                raise ValueError(f"{field.name!r} has {len(each)} values for {self.copies} copies")
            for copy, value in enumerate(each):
                row[0, copy, field.first : field.first + field.columns] = spread(value, field)
        made = self.run(row).reshape(self.copies, module.out_words)
        out: dict[str, int | list[int]] = {}
        for field in module.outputs:
            each = [joined(words) for words in made[:, field.first : field.first + field.columns]]
            out[field.name] = each if self.copies > 1 else each[0]
        return out
