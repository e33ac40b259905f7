"""A compiled circuit and its instances: what callers of the backend see."""

from __future__ import annotations

import ctypes
import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import pyrtl

from ...errors import RecnmpError
from ...kernels.circuit import Circuit
from .build import library, vector_lanes
from .layout import WORD, Layout, lay_out, natural, row_length
from .order import Drivers
from .prelude import prelude
from .rows import copies_of, each_copy, input_rows, joined, limits_of, output_room, shown, spread
from .text import body_text
from .turn import Turn, Unique

Words = npt.NDArray[np.uint64]


class CircuitAssertionError(RecnmpError):
    """An rtl_assert of the circuit was false. `clock` counts from the start of the run, from 0.

    The clock was made to its end. The exception that the circuit names is the cause.
    """

    def __init__(self, name: str, clock: int, copy: int, of: str, cause: Exception) -> None:
        super().__init__(f"assertion {name!r}{of} is false in clock {clock}: {cause}")
        self.name, self.clock, self.copy = name, clock, copy
        self.__cause__ = cause
        self._made_of = name, clock, copy, of

    def __reduce__(self) -> tuple[Any, ...]:
        cause: Exception = self.__cause__  # type: ignore[assignment]
        try:
            pickle.loads(pickle.dumps(cause))
        except Exception:  # whatever a circuit's own exception does there
            cause = RecnmpError(str(cause))
        return type(self), (*self._made_of, cause)


class Module(Unique):
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
        below = drivers.inputs_below([block.wirevector_by_name[field.name] for field in self.outputs])
        self.input_dependent: Mapping[str, list[str]] = {
            field.name: on for field, on in zip(self.outputs, below, strict=True) if on
        }
        self._body = body_text(self.layout, drivers, not self.input_dependent)
        self._asserted = [
            (asserted_name(drivers, wire), error) for wire, error in block.rtl_assert_dict.items()
        ]
        self.digest = hashlib.sha256(f"{self.layout}\n{self._body}".encode()).hexdigest()
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
        return Instance(self, copies_of(copies))

    def named(self) -> str:
        """The module by its ports, for messages."""
        ports = (
            ", ".join(field.name for field in fields) or "none" for fields in (self.inputs, self.outputs)
        )
        return "a module with inputs {}, outputs {}".format(*ports)

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
    The C compiler takes seconds for 10,000 operations in one module, and longer, more than in proportion, where many
    values live long. Parts that are equal compile once as a module of
    their own (`Composition`).
    Raises RecnmpError for unknown ports, a memory with two write ports or more than 26 address bits, a ROM without
    data for some address, and, when the first instance is made, without a C compiler; PyrtlError for a block that
    PyRTL refuses (loops, wires without a driver).
    """
    if not isinstance(block, pyrtl.Block):
        raise RecnmpError(f"circuit: {shown(block)} is no PyRTL block")
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        if names is not None and (isinstance(names, str | bytes) or not isinstance(names, Sequence)):
            raise RecnmpError(f"circuit: {what} are {shown(names)}, they must be a sequence of names")
    return Module(block, inputs, outputs)


def asserted_name(drivers: Drivers, wire: pyrtl.WireVector) -> str:
    """The wire that was asserted: PyRTL makes an output with a name of its own for it."""
    return str(drivers.net[wire].args[0].name)


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The whole state of copies of a module. circuit: what module it is, a digest of its text and layout."""

    words: Words
    copies: int
    circuit: str
    name: str


class Instance(Unique):
    """Copies of a module, each with its state, stepped together.

    state: NumPy views by name of register or memory, read and written in place. Axes: copies (only if there are
    several), words of a memory, 64-bit words of a value (only above 64 bits). Bits above the width must stay zero.
    """

    def __init__(self, module: Module, copies: int) -> None:
        self.module, self.copies = module, copies
        self.circuit = module.circuit(copies)
        self._words = self.circuit.state_words()
        self.turn = Turn("an instance")
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
        with self.turn.taken():
            self._reset()

    def _reset(self) -> None:
        self._words[:] = 0
        grid = self._words.reshape(self.module.layout.words, self.circuit.columns)
        for field in self.module.layout.registers:
            for limb in range(field.columns):
                grid[field.first + limb] = field.reset >> (WORD * limb) & ((1 << WORD) - 1)

    def snapshot(self) -> Snapshot:
        """The whole state, to be given to `restore` of an instance of the same module and number of copies."""
        words = self._words.copy()
        words.flags.writeable = False
        return Snapshot(words, self.copies, self.module.digest, self.module.named())

    def restore(self, snapshot: Snapshot) -> None:
        """Raises ValueError for a snapshot of another module or number of copies."""
        self.check_snapshot(snapshot)
        with self.turn.taken():
            self._words[:] = snapshot.words

    def check_snapshot(self, snapshot: object, part: str = "") -> None:
        """Raises ValueError for what `restore` does not take; `part` is the name in something larger."""
        of = f" of {part}" if part else ""
        if not isinstance(snapshot, Snapshot):
            raise ValueError(f"{shown(snapshot)} is no snapshot{of}")
        if snapshot.circuit != self.module.digest:
            raise ValueError(f"a snapshot of {snapshot.name} is none{of} of {self.module.named()}")
        if snapshot.copies != self.copies:
            raise ValueError(f"a snapshot of copies {snapshot.copies} is none{of} of copies {self.copies}")
        if snapshot.words.shape != self._words.shape:
            raise ValueError(
                f"a snapshot{of} comes from a machine with other vectors: {snapshot.words.shape}"
            )

    def memory(self) -> Words:
        """The state itself, not a copy: uint64, in the order of the circuit."""
        return self._words

    def run(
        self, inputs: Words, outputs: Words | None = None, progress: Callable[[int], None] | None = None
    ) -> Words:
        """One clock a row: outputs of a clock come from that clock's inputs and the state before its edge.

        inputs: whole numbers of any type, [clocks, words], for all copies alike, or [clocks, copies, words]. Returns
        uint64 [clocks, words], or [clocks, copies, words] if there are several; `outputs` is filled and returned
        if it is given, and shares no memory with `inputs`.
        progress: called with the clocks made since the last call. Nothing is done if an input does not fit.
        Without inputs, or outputs, a row is one word of 0. One instance makes one run at a time. Where a callback
        raises, or Ctrl-C comes, the state is that after the last clock that was made, at most 4,096 past those told to
        `progress`; their outputs are in `outputs` if that was given, and lost if not.
        Raises ValueError for bad shapes and types and such inputs (port, clock, value), CircuitAssertionError for an
        rtl_assert, RecnmpError while another run of this instance is under way.
        """
        module = self.module
        rows = input_rows(inputs, module.inputs, module.input_limits, (1, self.copies))
        shape = (len(rows), self.copies, module.out_words)
        seen = shape if self.copies > 1 else (shape[0], shape[2])
        made = output_room(outputs, seen, rows, [self._words])
        with self.turn.taken():
            clocks, failed = self.circuit.run(rows, made.reshape(shape), progress)
        if failed:
            raise module.broken(failed, clocks - 1, self.copies)
        return made

    def step(self, /, **values: int | Sequence[int]) -> dict[str, int | list[int]]:
        """One clock: a value for each input by name, or one for each copy; outputs by name, a list if there are copies.

        Raises ValueError for inputs that are missing, unknown or do not fit, CircuitAssertionError for an rtl_assert.
        """
        module = self.module
        names = {field.name for field in module.inputs}
        if wrong := sorted(set(values) ^ names, key=natural):
            said = "no input of the circuit" if wrong[0] in values else "an input that has no value"
            raise ValueError(f"{wrong[0]!r} is {said}")
        row = np.zeros((1, self.copies, module.in_words), np.uint64)
        for field in module.inputs:
            for copy, value in enumerate(each_copy(values[field.name], field, self.copies)):
                row[0, copy, field.first : field.first + field.columns] = spread(value, field)
        made = self.run(row).reshape(self.copies, module.out_words)
        out: dict[str, int | list[int]] = {}
        for field in module.outputs:
            each = [joined(words) for words in made[:, field.first : field.first + field.columns]]
            out[field.name] = each if self.copies > 1 else each[0]
        return out
