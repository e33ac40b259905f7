"""The FP32 units against NumPy on many random patterns: python benchmarks/fp_patterns.py --patterns 100000000

A third of the patterns are uniform bits; a third have exponents near each other, and fractions that are often almost
empty or full, so that sums cancel and ties occur; a third have results near the least or the greatest exponent.
The circuits run compiled, a pattern each clock. Exit code 1 at the first mismatch, with its operands and both results.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from recnmp.rtl.backend import compile_block
from recnmp.rtl.fp import add, dequantise, multiply
from recnmp.rtl.fp.convert import INT4, INT8
from recnmp.rtl.ports import Hardware
from tqdm import tqdm

CHUNK = 1 << 17
QUIET_NAN = np.uint32(0x7FC00000)
Words = np.ndarray  # uint32 [patterns]


@dataclass(frozen=True)
class Unit:
    """A circuit of one output, its latency in clocks, random inputs in the order of its ports, expected results."""

    hardware: Hardware
    latency: int
    stimulus: Callable[[np.random.PCG64, int], list[Words]]
    expected: Callable[[list[Words]], Words]


def words(bits: np.random.PCG64, count: int) -> Words:
    return bits.random_raw(count).astype(np.uint32)


def fractions(bits: np.random.PCG64, count: int) -> Words:
    """23 bits: of four kinds any, or the lower part all 0, or all 1, or few bits set."""
    raw = bits.random_raw(count)
    any_bits = raw & np.uint64(0x7FFFFF)
    low = (np.uint64(1) << (raw >> np.uint64(32) & np.uint64(31)) % np.uint64(24)) - np.uint64(1)
    few = any_bits & raw >> np.uint64(23) & raw >> np.uint64(41)
    kind = raw >> np.uint64(62)
    return np.choose(kind.astype(np.int64), [any_bits, any_bits & ~low, any_bits | low, few]).astype(
        np.uint32
    )


def pairs(bits: np.random.PCG64, count: int, product: bool) -> list[Words]:
    """Two operands, of the three kinds that the head of this file names."""
    third = count // 3
    uniform, near, edge = count - 2 * third, third, third
    raw = bits.random_raw(near + edge)
    exponent = (raw & np.uint64(0xFF)).astype(np.int64)
    step = (raw >> np.uint64(8) & np.uint64(63)).astype(np.int64) - 32
    alike = (
        raw >> np.uint64(20) & np.uint64(3) == 0
    )  # fractions that differ in few bits: sums that cancel far
    if product:  # exponents whose sum is near that of 1, of the least or of the greatest number
        goal = np.array([127, 0, -23, 255])[(raw >> np.uint64(16) & np.uint64(3)).astype(np.int64)]
        other = goal + 127 - exponent + step // 2
    else:
        exponent[near:] = np.where(step % 2 == 0, exponent % 32, 254 - exponent % 4)[near:]
        step = np.where(np.arange(near + edge) < near, step, step // 8)
        other = exponent + np.where(alike, step // 16, step)
    signs = (raw >> np.uint64(32)).astype(np.uint32)
    x, y = fractions(bits, near + edge), fractions(bits, near + edge)
    y = np.where(alike, x ^ y & words(bits, near + edge) & words(bits, near + edge) >> 12, y)
    a = (signs & 1) << 31 | exponent.astype(np.uint32) << 23 | x
    b = (signs & 2) << 30 | np.clip(other, 0, 255).astype(np.uint32) << 23 | y
    return [np.concatenate([words(bits, uniform), a]), np.concatenate([words(bits, uniform), b])]


def quantised(bits: np.random.PCG64, count: int, dtype: int) -> list[Words]:
    """Any element bits; scale and bias uniform, of similar size so that they cancel, or of extreme size."""
    element = words(bits, count)
    code = element & (0xFF if dtype == INT8 else 0xF)
    scale, bias = pairs(bits, count, product=False)
    # The sizes of scale * code and bias are close where those of scale and bias are, up to 8 bits.
    lifted = np.where(code > 1, np.log2(np.maximum(code, 1)).astype(np.uint32), 0)
    exponent = np.minimum((bias >> 23 & 0xFF) + lifted, 255)
    bias = np.where(words(bits, count) & 1, bias & 0x807FFFFF | exponent << 23, bias).astype(np.uint32)
    return [element, np.full(count, dtype, np.uint32), scale, bias]


def canonical(values: np.ndarray) -> Words:
    return np.where(np.isnan(values), QUIET_NAN, values.view(np.uint32))


def operation(of: np.ufunc) -> Callable[[list[Words]], Words]:
    return lambda operands: canonical(of(*(operand.view(np.float32) for operand in operands)))


def dequantised(operands: list[Words]) -> Words:
    element, dtype, scale, bias = operands
    code = (element & np.where(dtype == INT8, 0xFF, 0xF).astype(np.uint32)).astype(np.float32)
    scaled = scale.view(np.float32) * code
    return canonical(scaled + bias.view(np.float32))


UNITS = {
    "fp_add": Unit(add.FP_ADD, add.LATENCY, lambda bits, n: pairs(bits, n, False), operation(np.add)),
    "fp_mul": Unit(
        multiply.FP_MUL, multiply.LATENCY, lambda bits, n: pairs(bits, n, True), operation(np.multiply)
    ),
    "int8": Unit(
        dequantise.DEQUANTISE, dequantise.LATENCY, lambda bits, n: quantised(bits, n, INT8), dequantised
    ),
    "int4": Unit(
        dequantise.DEQUANTISE, dequantise.LATENCY, lambda bits, n: quantised(bits, n, INT4), dequantised
    ),
}


def compare(name: str, patterns: int, seed: int) -> str | None:
    """The first mismatch in so many patterns, in words."""
    unit = UNITS[name]
    ports = [port.name for port in unit.hardware.inputs]
    circuit = compile_block(unit.hardware.circuit(), ports).instance()
    bits = np.random.PCG64(seed)
    meter = tqdm(
        total=patterns, desc=name, unit=" patterns", unit_scale=True, disable=not sys.stderr.isatty()
    )
    with meter, np.errstate(all="ignore"):
        for begin in range(0, patterns, CHUNK):
            count = min(CHUNK, patterns - begin)
            operands = unit.stimulus(bits, count)
            rows = np.zeros((count + unit.latency, len(ports)), np.uint64)
            for column, operand in enumerate(operands):
                rows[:count, column] = operand
            got = circuit.run(rows)[unit.latency :, 0]
            wanted = unit.expected(operands)
            wrong = np.flatnonzero(got != wanted)
            if len(wrong):
                at = wrong[0]
                given = ", ".join(f"{port} {int(o[at]):08x}" for port, o in zip(ports, operands, strict=True))
                return f"{name}, pattern {begin + at}: {given}: circuit {int(got[at]):08x}, NumPy {wanted[at]:08x}"
            meter.update(count)
    return None


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="FP32 units against NumPy on many random patterns")
    parser.add_argument("--patterns", type=int, default=1_000_000, help="for each unit (default: 1000000)")
    parser.add_argument("--unit", action="append", choices=UNITS, help="default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the patterns (default: 1)")
    options = parser.parse_args(arguments)
    for name in options.unit or UNITS:
        begin = time.perf_counter()
        if difference := compare(name, options.patterns, options.seed):
            print(difference)
            return 1
        seconds = time.perf_counter() - begin
        print(f"{name}: {options.patterns} patterns, no mismatch, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
