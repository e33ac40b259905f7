"""Sums of the naive machine: by hand, and exact where they can be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machine_cases import Encoder, Lookup, Packet, is_lookup, random_case
from naive_rows import Row
from naive_sums import naive_sums
from test_naive_machine import lookup, run


def test_sums_by_hand() -> None:
    """Weighted, two ranks of one DIMM: 0.5 * 1 + 2 * 3 in rank 0, 1 * 10 in rank 1; in the order of operands
    (2^24 + 1) + -2^24 is 0 in float32, not 1."""

    def weigh(item: Lookup, weight: float) -> Lookup:
        return replace(item, weight=weight)

    first = (weigh(lookup(0), 0.5), weigh(lookup(0, 1), 2.0), weigh(lookup(1), 1.0))
    second = (weigh(lookup(0, 2), 1.0), weigh(lookup(0, 3), 1.0), weigh(lookup(0, 0, 1), 1.0))
    batch = Encoder().encode([Packet((first, second), dim=3, weighted=True)])
    machine = run(batch, ranks_per_dimm=2)
    values = [1, 3, 10, 2**24, 1, -(2**24)]
    of_dimms, of_host = naive_sums(batch.stream, machine.log.operands, lambda i, _: np.float32(values[i]), 2)
    assert of_host.keys() == {(0, 0), (0, 1)}
    assert of_host[0, 0].tolist() == [16.5] * 3
    assert of_host[0, 1].tolist() == [0.0] * 3
    assert of_dimms[0, 0, 0].tolist() == [16.5] * 3
    assert of_host[0, 0].dtype == np.float32


def test_sums_of_small_integers_are_exact() -> None:
    """Integers add in any order: the sums equal those of the stream itself."""
    case = random_case(17, most_packets=2, longest=8)
    machine = case.machine()
    case.run(machine)

    def value(item: int, element: int) -> np.float32:
        return np.float32((item * 7 + element) % 31 - 15)

    _, sums = naive_sums(case.stream, machine.log.operands, value, case.parameters["ranks_per_dimm"])
    exact: dict[tuple[int, int], np.ndarray] = {}
    counted = set()
    for i in case.stream[is_lookup(case.stream)]:
        key = (int(i["packet"]), int(i["tag"]))
        if int(i["lookup"]) in counted:
            continue
        counted.add(int(i["lookup"]))
        row = [float(value(int(i["lookup"]), element)) for element in range(i["dim"])]
        exact.setdefault(key, np.zeros(int(i["dim"])))
        exact[key] += np.array(row) * (float(i["weight"]) if i["weighted"] else 1.0)
    assert sums.keys() == exact.keys()
    for key, total in exact.items():
        assert total.tolist() == sums[key].tolist()


def test_one_nan() -> None:
    """Any NaN becomes 0x7FC00000, and infinity less infinity too."""
    batch = Encoder().encode([Packet(((lookup(),), (lookup(bank=1), lookup(bank=2))))])
    machine = run(batch)
    odd = np.array([0xFFC00123], np.uint32).view(np.float32)[0]
    values = [odd, np.float32(np.inf), np.float32(-np.inf)]
    _, sums = naive_sums(batch.stream, machine.log.operands, lambda i, _: values[i], 1)
    assert sums[0, 0].view(np.uint32).tolist() == [0x7FC00000] * 16
    assert sums[0, 1].view(np.uint32).tolist() == [0x7FC00000] * 16


def stored(elements: list[int], dtype: int, layout: int) -> bytes:
    """A row of small whole numbers; scale 0.5 and bias -3 where it is quantised."""
    if dtype < 2:
        return np.array(elements, (np.float32, np.float16)[dtype]).tobytes()
    small = np.array(elements, np.uint8)
    if dtype == 3:
        small = np.append(small, np.zeros(len(small) % 2, np.uint8))
        small = small[0::2] | small[1::2] << 4
    wide = np.float32 if dtype == 2 and layout == 1 else np.float16
    parameters = np.array([0.5, -3], wide).tobytes()
    return small.tobytes() + parameters if layout == 1 else parameters + small.tobytes()


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_stored_rows(seed: int) -> None:
    """Rows of every type as bytes, in runs and straddling lines: exact, whatever the order of operands."""
    case = random_case(seed, most_packets=3, longest=8)
    machine = case.machine()
    case.run(machine)
    of_lookup = {int(i["lookup"]): i for i in case.stream[is_lookup(case.stream)]}
    rng = np.random.default_rng(seed)
    elements = {item: rng.integers(0, 16, i["dim"]).tolist() for item, i in of_lookup.items()}

    def value(item: int, element: int) -> np.float32:
        form = [int(of_lookup[item][name]) for name in ("dtype", "layout", "dim")]
        return Row(*form).value(stored(elements[item], *form[:2]), element)

    _, sums = naive_sums(case.stream, machine.log.operands, value, case.parameters["ranks_per_dimm"])
    exact: dict[tuple[int, int], np.ndarray] = {}
    for item, i in of_lookup.items():
        row = np.array(elements[item], float)
        if i["dtype"] >= 2:
            row = row / 2 - 3
        key = int(i["packet"]), int(i["tag"])
        exact[key] = exact.get(key, 0) + row * (float(i["weight"]) if i["weighted"] else 1)
    assert {key: total.tolist() for key, total in exact.items()} == {
        key: vector.tolist() for key, vector in sums.items()
    }
