"""Sums of the near-memory machine, one float32 operation after another (section 6, D10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

ZERO = np.float32(0.0)
NAN = np.array([0x7FC00000], np.uint32).view(np.float32)[0]

# value of an element of the vector that a lookup reads: (lookup, element) -> float32
Value = Callable[[int, int], np.float32]


def canonical(x: np.float32) -> np.float32:
    return NAN if np.isnan(x) else x


def add(a: np.float32, b: np.float32) -> np.float32:
    with np.errstate(all="ignore"):
        return canonical(np.float32(a) + np.float32(b))


def multiply(a: np.float32, b: np.float32) -> np.float32:
    with np.errstate(all="ignore"):
        return canonical(np.float32(a) * np.float32(b))


def tree(values: Sequence[np.float32]) -> np.float32:
    """Balanced tree over the numbers of the ranks, level by level; absent ranks are +0.0."""
    level = list(values)
    while len(level) > 1:
        level += [ZERO] * (len(level) % 2)
        level = [add(level[i], level[i + 1]) for i in range(0, len(level), 2)]
    return level[0]


def naive_sums(
    stream: np.ndarray, operands: Iterable[Iterable[tuple]], value: Value, ranks_per_dimm: int
) -> tuple[dict[tuple[int, int, int], np.ndarray], dict[tuple[int, int], np.ndarray]]:
    """DIMM sums by (dimm, packet, tag) and host sums by (packet, tag), float32 [dim] each.

    `stream` holds all instructions (of all batches; packets and lookups are numbered across batches),
    `operands` one list a rank, in order: clk, lookup, packet, rank, tag, element group, its first element, elements.
    `value` gives x of section 6; lanes without an element of the operand add nothing. Tags that got no instruction
    have no entry.
    """
    dims, weighted, weights = {}, {}, {}
    for record in stream:
        if record["opcode"] == 1:
            dims[int(record["packet"])] = int(record["dim"])
            weighted[int(record["packet"])] = bool(record["weighted"])
        elif record["opcode"] >= 4:
            weights[int(record["lookup"])] = np.float32(record["weight"])

    partial: list[dict[tuple[int, int], np.ndarray]] = []  # of each rank
    for of_rank in operands:
        sums: dict[tuple[int, int], np.ndarray] = {}
        for _, lookup, packet, _, tag, _, first, count in of_rank:
            acc = sums.setdefault((packet, tag), np.zeros(dims[packet], np.float32))
            for element in range(first, first + count):
                y = value(lookup, element)
                if weighted[packet]:
                    y = multiply(weights[lookup], y)
                acc[element] = add(acc[element], y)
        partial.append(sums)

    of_dimms: dict[tuple[int, int, int], np.ndarray] = {}
    of_host: dict[tuple[int, int], np.ndarray] = {}
    for dimm in range(len(partial) // ranks_per_dimm):
        ranks = partial[dimm * ranks_per_dimm : (dimm + 1) * ranks_per_dimm]
        for packet, tag in sorted(set().union(*ranks)):
            zeros = np.zeros(dims[packet], np.float32)
            columns = zip(*(rank.get((packet, tag), zeros) for rank in ranks), strict=True)
            of_dimms[dimm, packet, tag] = np.array([tree(column) for column in columns], np.float32)
            host = of_host.setdefault((packet, tag), zeros.copy())
            for element in range(dims[packet]):
                host[element] = add(host[element], of_dimms[dimm, packet, tag][element])
    return of_dimms, of_host
