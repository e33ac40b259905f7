"""A product of two 24-bit words as the sum of a few 48-bit words: radix-4 Booth digits, carry-save adders.

All on whole words modulo 2^48: a carry-save step is five operations, whatever the width; zeros that never
change are for synthesis to remove.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from ..scope import Scope

DIGITS = 13
PRODUCT_BITS = 48


def booth_digits(word: pyrtl.WireVector) -> tuple[pyrtl.WireVector, pyrtl.WireVector, pyrtl.WireVector]:
    """Of a 24-bit word the digits d with word = sum of d[i] * 4^i, d[i] in -2 .. 2, as three words of 26 bits.

    Bit 2i of the first says that d[i] is 1 or -1, of the second that it is 2 or -2, of the third that it is
    negative (or 0, as -0). The bits between mean nothing.
    """
    here = pyrtl.concat(pyrtl.Const(0, 2), word)
    under = pyrtl.concat(pyrtl.Const(0, 1), word, pyrtl.Const(0, 1))
    above = pyrtl.concat(pyrtl.Const(0, 3), word[1:])
    one = here ^ under
    return one, (above ^ here) & ~one, above


def booth_rows(
    multiplicand: pyrtl.WireVector, one: pyrtl.WireVector, two: pyrtl.WireVector, minus: pyrtl.WireVector
) -> list[pyrtl.WireVector]:
    """13 words of 48 bits, digit i times the 24-bit multiplicand times 4^i, which add up to the product.

    A negative row is inverted; the 1 that completes it stands in the next row, which has two empty places there.
    Instead of a sign, which would fill a row to the top, each has its inverse and constant ones: the sum of all
    signs modulo 2^48.
    """
    single, double = (
        pyrtl.concat(pyrtl.Const(0, 1), multiplicand),
        pyrtl.concat(multiplicand, pyrtl.Const(0, 1)),
    )
    rows = []
    completes = None
    for digit in range(DIGITS):
        bit = 2 * digit
        negative = minus[bit]
        row = pyrtl.select(one[bit], single, pyrtl.select(two[bit], double, pyrtl.Const(0, 25)))
        row = pyrtl.select(negative, ~row, row)
        if completes is None:
            parts = [~negative, negative, negative, row]
        else:
            parts = [pyrtl.Const(1, 1), ~negative, row, pyrtl.Const(0, 1), completes]
        parts += [pyrtl.Const(0, bit - 2)] if bit > 2 else []
        above = PRODUCT_BITS - sum(map(len, parts))
        if above >= 0:
            rows.append(pyrtl.concat(*([pyrtl.Const(0, above)] if above else []), *parts))
        else:
            rows.append(pyrtl.concat(*parts)[:PRODUCT_BITS])
        completes = negative
    return rows


def reduce_rows(at: Scope, rows: Sequence[pyrtl.WireVector], left: int) -> list[pyrtl.WireVector]:
    """Rows with the same sum modulo 2^48, as few as `left`, level by level; named level1_sum0, level1_carry0, ..."""
    rows, level = list(rows), 0
    while len(rows) > left:
        level += 1
        whole = len(rows) - len(rows) % 3
        following = []
        for first in range(0, whole, 3):
            total, carry = carry_save(*rows[first : first + 3])
            label = f"level{level}_"
            following += [at(f"{label}sum{first // 3}", total), at(f"{label}carry{first // 3}", carry)]
        rows = following + rows[whole:]
    return rows


def carry_save(
    a: pyrtl.WireVector, b: pyrtl.WireVector, c: pyrtl.WireVector
) -> tuple[pyrtl.WireVector, pyrtl.WireVector]:
    """Two words with the same sum as the three, modulo 2 to their width."""
    differ = a ^ b
    carries = a & b | differ & c
    return differ ^ c, pyrtl.concat(carries[:-1], pyrtl.Const(0, 1))
