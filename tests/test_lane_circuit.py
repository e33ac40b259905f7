"""The lane as a circuit does on every clock what docs/microarchitecture.md, section 7, says."""

import numpy as np
import pytest
from circuit_runs import Circuit
from naive_lane import NaiveLane
from recnmp.rtl.lane import LANE, LANE_ARITHMETIC, LANE_CONTROL, datapath

Columns = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def lane() -> Circuit:
    return Circuit(LANE)


def stimulus(
    clocks: int, seed: int, places: int, offered: float, dtypes: tuple[int, ...] = (0, 1, 2, 3)
) -> Columns:
    """Random inputs: operands go to `places` partial sums; values are often near 1, and sometimes any bits."""
    random = np.random.Generator(np.random.PCG64(seed))
    columns = {port.name: random.integers(0, 1 << port.bits, clocks, dtype=np.uint64) for port in LANE.inputs}
    columns["valid"] = (random.random(clocks) < offered).astype(np.uint64)
    columns["first"] = (random.random(clocks) < 0.15).astype(np.uint64)
    columns["dtype"] = random.choice(np.array(dtypes, np.uint64), clocks)
    chosen = random.integers(0, 128, places, dtype=np.uint64)
    for tag, group in (("tag", "group"), ("read_tag", "read_group")):
        place = random.choice(chosen, clocks)
        columns[tag], columns[group] = place >> np.uint64(3), place & np.uint64(7)
    near = random.random(clocks) < 0.9
    for name in ("element", "scale", "bias", "weight"):
        tame = columns[name] & np.uint64(0x83FFFFFF) | np.uint64(0x3C000000)
        columns[name] = np.where(near, tame, columns[name])
    return columns


def expected(columns: Columns) -> Columns:
    naive, made = NaiveLane(), []
    rows = {name: values.tolist() for name, values in columns.items()}
    with np.errstate(all="ignore"):
        for clock in range(len(columns["valid"])):
            made.append(naive.step({name: values[clock] for name, values in rows.items()}))
    return {name: np.array([row[name] for row in made], np.uint64) for name in made[0]}


def first_difference(got: Columns, wanted: Columns) -> str | None:
    for clock in range(len(wanted["sum"])):
        for name in wanted:
            if got[name][clock] != wanted[name][clock]:
                return f"clock {clock}: {name} is {got[name][clock]:#x}, not {wanted[name][clock]:#x}"
    return None


@pytest.mark.parametrize(
    ("places", "offered"), [(1, 1.0), (2, 1.0), (3, 0.9), (4, 0.5), (12, 1.0), (128, 0.8)]
)
def test_every_output_on_every_clock(lane: Circuit, places: int, offered: float) -> None:
    columns = stimulus(3000, seed=100 + places, places=places, offered=offered)
    wanted = expected(columns)
    assert first_difference(lane.run(columns), wanted) is None
    if places < 4:
        assert wanted["waiting"].sum() > 400
    assert len(np.unique(wanted["sum"])) > 500


@pytest.mark.parametrize("dtype", range(4))
def test_each_dtype_alone(lane: Circuit, dtype: int) -> None:
    columns = stimulus(1500, seed=dtype, places=5, offered=1.0, dtypes=(dtype,))
    assert first_difference(lane.run(columns), expected(columns)) is None


def test_sixteen_lanes_on_one_control_are_sixteen_lanes() -> None:
    shared = stimulus(400, seed=7, places=4, offered=1.0)
    random = np.random.Generator(np.random.PCG64(8))
    elements = [random.integers(0, 1 << 32, 400, dtype=np.uint64) for _ in range(3)]
    inputs = {name: values for name, values in shared.items() if name != "element"}
    inputs |= {f"element{number}": values for number, values in enumerate(elements)}
    got = Circuit(datapath(3)).run(inputs)
    for number, values in enumerate(elements):
        wanted = expected({**shared, "element": values})
        alone = {name: got[name] for name in ("ready", "waiting", "busy")} | {"sum": got[f"sum{number}"]}
        assert first_difference(alone, wanted) is None


def test_control_and_arithmetic_fit_together() -> None:
    """Whatever the arithmetic takes is an input of the lane or an output of the control, of equal width."""
    offered = {port.name: port.bits for port in (*LANE.inputs, *LANE_CONTROL.outputs)}
    assert {port.name: offered.get(port.name) for port in LANE_ARITHMETIC.inputs} == {
        port.name: port.bits for port in LANE_ARITHMETIC.inputs
    }
