"""Cases made for corners of rows that are not whole fp32 lines: other types, straddling lines, parameters.

As those of tests/machine_corners.py they are for every machine that follows the page; what must happen in them is
worked out by hand in tests/test_naive_rows.py.
"""

from __future__ import annotations

from cache_corners import cached, local
from machine_cases import Case, Encoder, Lookup, Packet, Run

FP32, FP16, INT8, INT4 = range(4)
PLAIN, TAIL, HEAD = range(3)


def row_at(byte_offset: int, bursts: int, column: int = 0, bankgroup: int = 0, row: int = 5) -> Lookup:
    """A row in one run of rank 0."""
    return Lookup(0, (Run(bankgroup, 0, row, column, bursts),), byte_offset=byte_offset)


def one_rank(*packets: Packet, **parameters: object) -> Case:
    return Case({"dimms": 1, "ranks_per_dimm": 1, **parameters}, (Encoder().encode(list(packets)),))


def int8_of_72_bytes() -> Case:
    """64 elements in line 0, scale and bias in line 1, which is read first."""
    return one_rank(Packet(((row_at(0, 2),),), 64, dtype=INT8, layout=TAIL))


def parameters_in_two_lines() -> Case:
    """62 elements, then the scale in bytes 62 to 65: both lines are parameter lines."""
    return one_rank(Packet(((row_at(0, 2),),), 62, dtype=INT8, layout=TAIL))


def three_lines() -> Case:
    """126 elements, then the scale in bytes 126 to 129: the second and the third line go before the first."""
    return one_rank(Packet(((row_at(0, 3),),), 126, dtype=INT8, layout=TAIL))


def parameters_alone_at_the_head() -> Case:
    """A row that begins in the last word of a line: only its parameters are there."""
    return one_rank(Packet(((row_at(60, 2),),), 64, dtype=INT8, layout=HEAD))


def nine_lines() -> Case:
    """128 fp32 elements from byte 4 on: element 127 alone in a line and instruction of its own."""
    runs = (Run(0, 0, 5, 0, 8), Run(0, 0, 5, 8, 1))
    return one_rank(Packet(((Lookup(0, runs, byte_offset=4),),), 128))


def halves_of_a_group_hit() -> Case:
    """Element group 1 in two runs, one line each, both of which hit: its halves meet at the adder."""
    encoder = Encoder()
    runs = (Run(0, 0, 5, 0, 2), Run(1, 0, 7, 0, 1))
    packet = Packet(((Lookup(0, runs, byte_offset=32),),), 40)
    return cached(local(encoder.encode([packet])), local(encoder.encode([packet]), gap=100))


def two_groups_a_line() -> Case:
    """fp16: 20 elements in a line, twice."""
    return one_rank(Packet(((row_at(0, 1), row_at(24, 1, 1)),), 20, dtype=FP16))


def int4_backlog() -> Case:
    """Rows of 8 operands in a line, behind one of parameters: lines come faster than operands are taken."""
    rows = tuple(row_at(60, 2, 2 * i, i % 4) for i in range(5))
    return one_rank(Packet((rows[:3], rows[3:]), 128, dtype=INT4, layout=HEAD), window=4)


def elements_hit_and_wait() -> Case:
    """The element line is in the RankCache, the parameter line is not."""
    encoder = Encoder()
    first = encoder.encode([Packet(((row_at(0, 1, 3),),))])
    second = encoder.encode([Packet(((row_at(0, 2, 3),), (row_at(0, 2, 3),)), 64, dtype=INT8, layout=TAIL)])
    return cached(local(first), local(second, gap=100))


def a_place_for_all_operands() -> Case:
    """A window of one: the second row is decoded when the last operand of the first is taken."""
    return one_rank(Packet(((row_at(0, 1), row_at(0, 1, 1)),), 32, dtype=FP16), window=1)


def row_corners() -> dict[str, Case]:
    """All of them, by name."""
    return {
        "int8 of 72 bytes": int8_of_72_bytes(),
        "parameters in two lines": parameters_in_two_lines(),
        "three lines": three_lines(),
        "parameters alone at the head": parameters_alone_at_the_head(),
        "nine lines": nine_lines(),
        "halves of a group hit": halves_of_a_group_hit(),
        "two groups a line": two_groups_a_line(),
        "int4 backlog": int4_backlog(),
        "elements hit and wait": elements_hit_and_wait(),
        "a place for all operands": a_place_for_all_operands(),
    }
