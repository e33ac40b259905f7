"""Stored rows against Python's struct module, which packs and unpacks each number by itself."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recnmp import RecnmpError
from recnmp.rows import decode_rows, element_type, encode_rows, parameter_type
from recnmp.values import FileValues, HashValues
from recnmp.workload import Table

KINDS = [(dtype, layout) for dtype in ("int8", "int4") for layout in ("tail", "head", "head16")]
NAN = 0x7FC00000


def pack_row(dtype: str, layout: str, elements: list[int], scale: bytes, bias: bytes) -> bytes:
    """One stored row by the table of docs/traces.md."""
    if dtype == "int4":
        pairs = [*elements, *([0] if len(elements) % 2 else [])]
        body = b"".join(struct.pack("B", pairs[i] + 16 * pairs[i + 1]) for i in range(0, len(pairs), 2))
    else:
        body = struct.pack(f"{len(elements)}B", *elements)
    row = body + scale + bias if layout == "tail" else scale + bias + body
    while layout == "head16" and len(row) % 16:
        row += b"\0"
    return row


def bits_of(x: float) -> int:
    """Bits of a number in fp32, rounded once by the C library; canonical NaN."""
    if x != x:
        return NAN
    try:
        return int(struct.unpack("<I", struct.pack("<f", x))[0])
    except OverflowError:  # struct refuses what rounds to infinity
        return 0x7F800000 if x > 0 else 0xFF800000


def number_of(bits: int) -> float:
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


def expected(q: int, scale: bytes, bias: bytes) -> int:
    """fl(fl(scale * q) + bias): products and sums of two fp32 numbers in double, rounded once to fp32.

    Rounding twice is harmless: 53 >= 2 * 24 + 2 bits.
    """
    kind = "<f" if len(scale) == 4 else "<e"
    factor, addend = struct.unpack(kind, scale)[0], struct.unpack(kind, bias)[0]
    return bits_of(number_of(bits_of(factor * q)) + addend)


@st.composite
def rows(draw: st.DrawFn) -> tuple[Table, list[list[int]], list[bytes], list[bytes]]:
    dtype, layout = draw(st.sampled_from(KINDS))
    dim = draw(st.integers(1, 21))
    table = Table("t", 5, dim, dtype, layout)
    top = 255 if dtype == "int8" else 15
    elements = draw(st.lists(st.lists(st.integers(0, top), min_size=dim, max_size=dim), max_size=4))
    each = 4 if dtype == "int8" and layout == "tail" else 2
    # any bits: subnormals, infinities and NaNs of any payload among them
    odd = [b"\x01\x00", b"\xff\x03", b"\x00\x7c", b"\x00\xfc", b"\x01\x7c", b"\x00\x80", b"\x00\x3c"]
    half = st.one_of(st.binary(min_size=2, max_size=2), st.sampled_from(odd))
    word = (
        half
        if each == 2
        else st.one_of(
            st.binary(min_size=4, max_size=4), st.floats(width=32).map(lambda x: struct.pack("<f", x))
        )
    )
    return (
        table,
        elements,
        *(draw(st.lists(word, min_size=len(elements), max_size=len(elements))) for _ in "sb"),
    )


@given(rows())
def test_rows_are_stored_and_dequantised_as_said(
    case: tuple[Table, list[list[int]], list[bytes], list[bytes]],
) -> None:
    table, elements, scales, biases = case
    q = np.array(elements, np.uint8).reshape(-1, table.dim)
    kind = parameter_type(table)
    stored = encode_rows(
        table, q, np.frombuffer(b"".join(scales), kind), np.frombuffer(b"".join(biases), kind)
    )
    packed = [pack_row(table.dtype, table.layout, *row) for row in zip(elements, scales, biases, strict=True)]
    assert [bytes(row) for row in stored] == packed
    assert stored.shape == (len(elements), table.row_bytes)
    got = decode_rows(table, stored).view(np.uint32)
    for row, own in enumerate(elements):
        assert got[row].tolist() == [expected(x, scales[row], biases[row]) for x in own]
    if len(elements):
        table = Table("t", len(elements), table.dim, table.dtype, table.layout)
        assert np.array_equal(
            FileValues([table], [stored]).vectors(0, np.array([0])).view(np.uint32), got[:1]
        )


def test_the_first_element_is_the_lower_half_by_hand() -> None:
    """Three elements 1, 2, 3: bytes 21 03, then scale 2.0 (00 40) and bias -1.0 (00 bc)."""
    table = Table("t", 1, 3, "int4")
    stored = np.frombuffer(bytes.fromhex("2103004000bc"), np.uint8).reshape(1, 6)
    assert decode_rows(table, stored).tolist() == [[1.0, 3.0, 5.0]]


def test_all_halves_are_widened_exactly() -> None:
    """Every fp16 pattern against struct; NaNs become the canonical one."""
    words = np.arange(1 << 16, dtype=np.uint16)
    table = Table("t", 1 << 12, 16, "fp16")
    halves = words.view(np.float16).reshape(-1, 16)
    truth = [bits_of(struct.unpack("<e", struct.pack("<H", int(word)))[0]) for word in words]
    stored = encode_rows(table, halves)
    assert stored.shape == (1 << 12, 32)
    assert decode_rows(table, stored).view(np.uint32).reshape(-1).tolist() == truth
    read = FileValues([table], [halves]).vectors(0, np.arange(1 << 12))
    assert read.view(np.uint32).reshape(-1).tolist() == truth


@pytest.mark.parametrize(("dtype", "layout"), [("fp16", ""), *KINDS])
def test_hash_values_can_be_stored_and_summed_exactly(dtype: str, layout: str) -> None:
    """Multiples of 1/16, bounded as documented; the same whatever the layout; different by row and seed."""
    table = Table("t", 4000, 33, dtype, layout)
    one = HashValues([table], 1).vectors(0, np.arange(4000))
    assert one.dtype == np.float32
    assert np.array_equal(one * 16, np.round(one * 16))
    most = {"fp16": 8, "int8": 40, "int4": 16}[dtype]
    assert most / 2 < np.abs(one).max() <= most
    assert most * 16 * (16384 if dtype == "int8" else 65536) <= 2**24
    assert np.array_equal(one, HashValues([Table("t", 9, 33, dtype)], 1).vectors(0, np.arange(4000)))
    assert np.mean(one == HashValues([table], 2).vectors(0, np.arange(4000))) < 0.05
    assert len(np.unique(one, axis=0)) == 4000
    assert np.array_equal(one[[7, 7, 3]], HashValues([table], 1).vectors(0, np.array([7, 7, 3])))


BYTE = Table("t", 3, 8, "int8", "head")


@pytest.mark.parametrize(
    ("table", "array", "words"),
    [
        (
            BYTE,
            np.zeros((3, 8), np.float32),
            r"float32 \[3, 8\], expected uint8 \[3, 12\]: stored bytes of int8",
        ),
        (BYTE, np.zeros((3, 16), np.uint8), r"uint8 \[3, 16\], expected uint8 \[3, 12\]: .* layout head"),
        (Table("t", 3, 8, "fp16"), np.zeros((3, 8), np.float32), r"expected float16 \[3, 8\]$"),
    ],
)
def test_files_of_other_rows_are_refused(table: Table, array: np.ndarray, words: str) -> None:
    with pytest.raises(RecnmpError, match=words):
        FileValues([table], [array])


def test_bad_rows_are_refused() -> None:
    """Type, shape and values, each by name."""
    half = np.zeros(2, np.float16)
    q = np.zeros((2, 8), np.uint8)
    for table, parts, words in (
        (BYTE, (q, half), "int8 rows need a bias each"),
        (BYTE, (q, half, np.zeros(2, np.float32)), r"bias: float32 \[2\], expected float16 \[2\]"),
        (BYTE, (q[:, 1:], half, half), r"elements: uint8 \[2, 7\], expected uint8 \[2, 8\]"),
        (Table("t", 3, 8, "int4"), (q + 16, half, half), "element 0 of row 0 is 16, allowed is 0..15"),
        (Table("t", 3, 8), (q.astype(np.float32), half, half), "fp32 rows have no scale and bias"),
    ):
        with pytest.raises(RecnmpError, match=words):
            encode_rows(table, *parts)
    with pytest.raises(RecnmpError, match=r"uint8 \[2, 8\], expected uint8 \[2, 12\]"):
        decode_rows(BYTE, q)
    assert element_type(BYTE) == np.uint8
