"""Modules wired together equal the same circuit in one block; sleeping is never seen; bad wiring is refused by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyrtl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_circuits import packed, simulated, unpacked
from recnmp.rtl.backend import CircuitAssertionError, Composition, Module, Part, compile_block

from recnmp.errors import RecnmpError

Wires = Mapping[str, pyrtl.WireVector]
WORKERS = 5


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def register(name: str, following: pyrtl.WireVector, reset: int | None = None) -> pyrtl.Register:
    made = pyrtl.Register(len(following), name, reset_value=reset)
    made.next <<= following
    return made


def feeder(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """Hands a wide word on, in pieces for each worker; takes back a sum."""
    word = register("word_held", wires["word"], reset=77)
    back = register("back_held", wires["back"])
    out = {f"piece{n}": register(f"piece{n}_held", word[8 * n : 8 * n + 20]) for n in range(WORKERS)}
    return {**out, "start": register("going", wires["go"]), "wide": register("wide_held", word), "echo": back}


def worker(wires: Wires) -> dict[str, pyrtl.WireVector]:
    """Three stages: piece times low bits of the wide word, plus its top; then into a memory; `busy` while it works."""
    going = register("go_1", wires["go"])
    later = register("go_2", going)
    product = register("product", wires["piece"] * wires["wide"][:20])
    total = register("total", product + wires["wide"][60:90])
    kept = pyrtl.MemBlock(41, 2, "kept", asynchronous=True)
    kept[total[:2]] <<= pyrtl.MemBlock.EnabledWrite(total, later)
    sums = pyrtl.Register(41, "sums")
    sums.next <<= pyrtl.select(later, (sums + kept[total[:2]])[:41], sums)
    return {"sum": sums, "busy": going | later}


FEED = {"word": 90, "go": 1, "back": 41}
WORK = {"go": 1, "piece": 20, "wide": 90}


def outputs(made: Wires) -> None:
    for name, wire in made.items():
        pyrtl.Output(len(wire), name).__ilshift__(wire)


def module(build: Any, inputs: Mapping[str, int]) -> Module:
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        outputs(build({name: pyrtl.Input(bits, name) for name, bits in inputs.items()}))
    return compile_block(block)


def flat() -> pyrtl.Block:
    """The same in one block; a worker's sum goes back to the feeder."""
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        back = pyrtl.WireVector(41, "looped")
        word, go = pyrtl.Input(90, "word"), pyrtl.Input(1, "go")
        with pyrtl.name_scope("feeder"):
            fed = feeder({"word": word, "go": go, "back": back})
        sums = []
        for number in range(WORKERS):
            with pyrtl.name_scope(f"worker{number}"):
                done = worker({"go": fed["start"], "piece": fed[f"piece{number}"], "wide": fed["wide"]})
            sums.append(done["sum"])
        back <<= sums[2]
        outputs({"echo": fed["echo"], **{f"sum{n}": wire for n, wire in enumerate(sums)}})
    return block


def wiring() -> dict[str, Any]:
    return {
        "wires": {
            "workers.go": "feeder.start",
            "workers.wide": "feeder.wide",
            "feeder.back": "workers[2].sum",
            **{f"workers[{n}].piece": f"feeder.piece{n}" for n in range(WORKERS)},
        },
        "inputs": {"word": "feeder.word", "go": ["feeder.go"]},
        "outputs": {"echo": "feeder.echo", **{f"sum{n}": f"workers[{n}].sum" for n in range(WORKERS)}},
    }


def composed(sleeping: bool = False) -> Composition:
    rest: dict[str, Any] = {"wake": ("go",), "busy": ("busy",)} if sleeping else {}
    parts = {"feeder": module(feeder, FEED), "workers": Part(module(worker, WORK), WORKERS, **rest)}
    return Composition(parts, **wiring())


def rows(clocks: int, seed: int, one_in: int) -> list[dict[str, int]]:
    """Random words; `go` on one clock of so many, in bursts."""
    bits = np.random.PCG64(seed)
    made = []
    for _ in range(clocks):
        high, low, go = (int(word) for word in bits.random_raw(3))
        made.append({"word": (high << 64 | low) & (2**90 - 1), "go": int(go % one_in == 0)})
    return made


@given(st.integers(0, 2**32), st.sampled_from([1, 2, 9]), st.booleans())
def test_a_composition_equals_the_circuit_in_one_block(seed: int, one_in: int, sleeping: bool) -> None:
    machine = composed(sleeping)
    given_rows = rows(40, seed, one_in)
    made = machine.run(packed(machine.inputs, given_rows, machine.in_words))
    assert unpacked(machine.outputs, made) == simulated(flat(), given_rows)


@settings(max_examples=10)
@given(st.integers(0, 2**32), st.sampled_from([2, 20, 60]))
def test_sleeping_is_never_seen(seed: int, one_in: int) -> None:
    words = packed(composed().inputs, rows(300, seed, one_in), 3)
    awake, asleep, kept_awake = composed(), composed(sleeping=True), composed(sleeping=True)
    expected = awake.run(words)
    assert np.array_equal(asleep.run(words), expected)
    assert np.array_equal(kept_awake.run(words, skip=False), expected)
    assert kept_awake.skipped == awake.skipped == {"feeder": 0, "workers": 0}
    quiet = asleep.skipped
    assert quiet["feeder"] == 0
    if one_in == 60:
        assert quiet["workers"] > 150, "a worker that rests is skipped"
    assert asleep.state["workers"]["sums"].tolist() == awake.state["workers"]["sums"].tolist()


def test_a_part_that_sleeps_too_deep_would_be_found() -> None:
    """Without `busy` a worker sleeps while its pipeline is full: the law above has to fail then."""
    parts = {"feeder": module(feeder, FEED), "workers": Part(module(worker, WORK), WORKERS, wake=("go",))}
    careless = Composition(parts, **wiring())
    words = packed(careless.inputs, rows(300, 1, 20), 3)
    assert not np.array_equal(careless.run(words), composed().run(words))


def test_state_snapshot_and_reset_are_of_all_parts() -> None:
    machine = composed(sleeping=True)
    words = packed(machine.inputs, rows(60, 4, 3), 3)
    first = machine.run(words)
    kept = machine.snapshot()
    second = machine.run(words)
    assert not np.array_equal(first, second)
    machine.restore(kept)
    assert np.array_equal(machine.run(words), second)
    machine.reset()
    assert machine.state["feeder"]["word_held"].tolist() == [77, 0]
    assert np.array_equal(machine.run(words), first)
    machine.reset()
    machine.state["workers"]["sums"][3] = 1234
    assert unpacked(machine.outputs, machine.run(words[:1]))[0]["sum3"] == 1234, (
        "what is put in is shown at once"
    )
    with pytest.raises(ValueError, match="is none of feeder, workers"):
        machine.restore({"feeder": kept["feeder"]})


def test_bad_inputs_and_broken_assertions_are_named() -> None:
    def strict(wires: Wires) -> dict[str, pyrtl.WireVector]:
        kept = pyrtl.WireVector(1, "small")
        kept <<= wires["x"] < 9
        pyrtl.rtl_assert(kept, ValueError("x is large"))
        return {"seen": register("held", wires["x"])}

    strict_module = module(strict, {"x": 8})
    machine = Composition(
        {"one": strict_module, "many": Part(strict_module, 3)},
        {"many.x": "one.seen"},
        {"x": "one.x"},
        {"seen": "many[1].seen"},
    )
    words = np.zeros((10, 1), np.uint64)
    words[4] = 9
    with pytest.raises(CircuitAssertionError, match="'small' of one is false in clock 4: x is large"):
        machine.run(words)
    machine.reset()
    machine.state["one"]["held"][...] = 12
    with pytest.raises(CircuitAssertionError, match="'small' of copy 0 of many is false in clock 0"):
        machine.run(words[:2])
    words[4] = 256
    with pytest.raises(ValueError, match="input 'x' is 0x100 in clock 4, it has 8 bits"):
        machine.run(words)


def through(wires: Wires) -> dict[str, pyrtl.WireVector]:
    return {"good": register("held", wires["x"]), "late": wires["x"] & register("other", wires["y"])}


BAD = [
    ({"workers.piece": "feeder.start"}, "'feeder.start' has 1 bits, workers.piece has 20"),
    ({"workers.piece": "feeder.wrong"}, "'wrong' is no output of feeder; there are: echo, piece0"),
    (
        {"workers.piece": "nobody.go"},
        "'nobody.go' is no PART.PORT or PART.COPY..PORT; parts: feeder, workers",
    ),
    ({"workers[5].piece": "feeder.piece0"}, "workers has copies 0 to 4"),
    ({"workers.go": "feeder.start", "workers[1].go": "feeder.start"}, "driven twice, by 'workers.go' too"),
    ({"feeder.back": "workers.sum"}, "takes one value, 'workers.sum' has one a copy"),
    ({"feeder.back": "workers[0].sum"}, r"nothing drives workers\[0\]"),
]


@pytest.mark.parametrize(("wires", "said"), BAD)
def test_bad_wiring_is_refused_by_name(wires: dict[str, str], said: str) -> None:
    parts = {"feeder": module(feeder, FEED), "workers": Part(module(worker, WORK), WORKERS)}
    with pytest.raises(RecnmpError, match=said):
        Composition(parts, wires, {"word": "feeder.word", "go": "feeder.go"}, {})


def test_an_output_that_depends_on_an_input_is_refused_by_name() -> None:
    made = module(through, {"x": 4, "y": 4})
    assert made.input_dependent == {"late": ["x"]}
    with pytest.raises(RecnmpError, match="output 'late' of part depends on input 'x' in the same clock"):
        Composition({"part": made}, {}, {"x": "part.x", "y": "part.y"}, {"good": "part.good"})
