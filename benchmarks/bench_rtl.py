"""Speed of circuits: a design of a rank's size and a lane, by PyRTL's compiled simulator, by ours, by Verilator."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt
import pyrtl
import verilated
from rank_sized import INPUTS, OUTPUTS, RANK, compiled, composition
from recnmp.rtl.lane import LANE, LANE_ARITHMETIC
from stopwatch import quickest

Words = npt.NDArray[np.uint64]
CLOCKS = 20_000


def random_rows(limits: Words, clocks: int) -> Words:
    """Random bits for every port: uint64 [clocks, words]."""
    bits = np.random.PCG64(1).random_raw(clocks * len(limits))
    return np.asarray(bits, np.uint64).reshape(clocks, len(limits)) & limits


def pyrtl_clocks_per_s(block: pyrtl.Block, clocks: int) -> float:
    """PyRTL's CompiledSimulation, all clocks in one C call, on arrays made beforehand."""
    with pyrtl.set_working_block(block, no_sanity_check=True):
        tracer = pyrtl.SimulationTrace(
            sorted(block.wirevector_subset(pyrtl.Output), key=lambda wire: wire.name)
        )
        engine = pyrtl.CompiledSimulation(tracer=tracer)
    words = engine._inputs_array_length
    limits = np.zeros(words, np.uint64)
    for name, place in engine._inputs_metadata.items():
        limits[place.start] = block.wirevector_by_name[name].bitmask
    rows = random_rows(limits, clocks)
    outputs = np.zeros((clocks, engine._outputs_array_length), np.uint64)
    engine._sim_run_all.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
    return clocks / quickest(lambda: engine._sim_run_all(clocks, rows.ctypes.data, outputs.ctypes.data))


def row(name: str, clocks_per_s: float, note: str) -> dict[str, object]:
    return {"name": name, "value": clocks_per_s / 1e6, "unit": "M clocks/s", "note": note}


def rank_rows() -> list[dict[str, object]]:
    block = RANK.circuit()
    nets = f"{len(block.logic):,} nets, 128 KiB, 16 lanes"
    stock = pyrtl_clocks_per_s(block, CLOCKS // 4)
    module = compiled(RANK)
    flat, parts = module.instance(), composition()
    rows = random_rows(module.input_limits, CLOCKS)
    expected = flat.run(rows)
    assert np.array_equal(parts.run(rows), expected), "the composition differs from the one block"
    made = np.empty_like(expected)
    one = CLOCKS / quickest(lambda: flat.run(rows, made))
    several = CLOCKS / quickest(lambda: parts.run(rows, made))
    out = [
        row("circuit of a rank's size: PyRTL, compiled", stock, f"{nets}; one C call"),
        row("circuit of a rank's size: one block", one, f"{one / stock:.1f} x PyRTL's compiled"),
        row(
            "circuit of a rank's size: cache, control, 16 lanes side by side",
            several,
            f"{several / stock:.1f} x PyRTL's compiled; never idle",
        ),
    ]
    rows[:, 0] = np.arange(CLOCKS) % 256 == 0  # valid
    rows[:, [port.name for port in INPUTS].index("read")] = 0
    resting = composition(sleeping=True)
    idle = CLOCKS / quickest(lambda: resting.run(rows, made))
    out.append(row("the same, an operand every 256 clocks", idle, "lanes at rest are skipped"))
    if (version := verilated.version()) is not None:
        rows = random_rows(module.input_limits, CLOCKS)
        seconds, checksum = verilated.timed(block, INPUTS, OUTPUTS, rows)
        assert checksum == verilated.checksum(expected), "Verilator differs"
        rival = CLOCKS / seconds
        note = f"{version}, -O3; the composition is {several / rival:.1f} x as fast"
        out.insert(1, row("circuit of a rank's size: Verilator", rival, note))
    return out


def lane_rows() -> list[dict[str, object]]:
    block = LANE.circuit()
    stock = pyrtl_clocks_per_s(block, CLOCKS)
    module, arithmetic = compiled(LANE), compiled(LANE_ARITHMETIC)
    rows = random_rows(module.input_limits, 5 * CLOCKS)
    one, copies = module.instance(), arithmetic.instance(16)
    alone = len(rows) / quickest(lambda: one.run(rows))
    rows = random_rows(arithmetic.input_limits, CLOCKS)
    many = 16 * len(rows) / quickest(lambda: copies.run(rows))
    nets = f"{len(block.logic):,} nets"
    return [
        row("circuit of a lane: PyRTL, compiled", stock, f"{nets}; one C call"),
        row("circuit of a lane: alone", alone, f"{alone / stock:.1f} x PyRTL's compiled"),
        row("circuit of a lane's arithmetic: 16 side by side", many, "lane clocks"),
    ]


def rows() -> list[dict[str, object]]:
    """Rows of `make bench`."""
    return [*rank_rows(), *lane_rows()]
