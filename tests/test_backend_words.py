"""Every operation on words around the borders of limbs, against Python's own numbers."""

from __future__ import annotations

import numpy as np
import pyrtl
import pytest
from random_circuits import packed, raw, unpacked
from recnmp.rtl.backend import compile_block

WIDTHS = [1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193]
OPS = {
    "+": (lambda a, b: a + b, 1),
    "-": (lambda a, b: a - b, 1),
    "*": (lambda a, b: a * b, 2),
    "&": (lambda a, b: a & b, 0),
    "|": (lambda a, b: a | b, 0),
    "^": (lambda a, b: a ^ b, 0),
    "n": (lambda a, b: ~(a & b), 0),
}
COMPARED = {"<": lambda a, b: a < b, ">": lambda a, b: a > b, "=": lambda a, b: a == b}


@pytest.fixture(scope="module", autouse=True)
def cache(compiled_circuits: object) -> None:
    """Compiled circuits lie in a folder of the tests."""


def widths_of_result(bits: int, growth: int) -> list[int]:
    """All that the operation gives, and less."""
    most = {0: bits, 1: bits + 1, 2: 2 * bits}[growth]
    return sorted({most, bits, max(1, bits - 1), max(1, bits // 2)})


def pairs(bits: int, count: int) -> list[dict[str, int]]:
    """Words whose limbs are mostly all zeros, all ones, one, or the top bit: where carries run far; and neighbours."""
    source = np.random.PCG64(bits)

    def word() -> int:
        made = 0
        for limb in range(bits // 64 + 1):
            kind, any_bits = (int(w) for w in source.random_raw(2))
            pick = (0, 2**64 - 1, 1, 2**63, any_bits, 2**64 - 1, 2**32 - 1, 2**64 - 2)[kind % 8]
            made |= pick << (64 * limb)
        return made & ((1 << bits) - 1)

    rows = []
    for number in range(count):
        a = word()
        b = (word(), ~a, -a, a, a + 1, a - 1)[number % 6] & ((1 << bits) - 1)
        rows.append({"a": a, "b": b})
    return rows


@pytest.mark.parametrize("copies", [1, 4])
@pytest.mark.parametrize("bits", WIDTHS)
def test_operations_equal_those_of_whole_numbers(bits: int, copies: int) -> None:
    block = pyrtl.Block()
    results = {}
    with pyrtl.set_working_block(block, no_sanity_check=True):
        a, b = pyrtl.Input(bits, "a"), pyrtl.Input(bits, "b")
        for number, (op, (meaning, growth)) in enumerate(OPS.items()):
            for width in widths_of_result(bits, growth):
                name = f"op{number}_{width}"
                pyrtl.Output(width, name).__ilshift__(raw(op, width, a, b))
                results[name] = (meaning, width)
        for number, (op, meaning) in enumerate(COMPARED.items()):
            pyrtl.Output(1, f"compared{number}").__ilshift__(raw(op, 1, a, b))
            results[f"compared{number}"] = (meaning, 1)
    module = compile_block(block)
    rows = pairs(bits, 600)
    expected = [
        {
            name: int(meaning(row["a"], row["b"])) & ((1 << width) - 1)
            for name, (meaning, width) in results.items()
        }
        for row in rows
    ]
    made = module.instance(copies).run(packed(module.inputs, rows, module.in_words))
    assert unpacked(module.outputs, made if copies == 1 else made[:, copies - 1]) == expected
