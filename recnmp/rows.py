"""Rows as bytes: elements, scale and bias into the layouts of `Table`, and out of them as the datapath does it (D9)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .errors import RecnmpError
from .workload import Table

Bytes = npt.NDArray[np.uint8]
Float32s = npt.NDArray[np.float32]
# the one NaN of D10
CANONICAL_NAN = np.uint32(0x7FC00000).view(np.float32)


def element_type(table: Table) -> np.dtype[np.generic]:
    """The NumPy type of one element: float32, float16, or uint8, for int4 with 0..15 in it."""
    return np.dtype({"fp32": "<f4", "fp16": "<f2"}.get(table.dtype, "u1"))


def parameter_type(table: Table) -> np.dtype[np.generic]:
    """The NumPy type of scale and bias of a quantised table: float32 or float16."""
    return np.dtype("<f4" if table.parameter_bytes == 4 else "<f2")


def encode_rows(
    table: Table,
    elements: npt.NDArray[np.generic],
    scale: npt.NDArray[np.generic] | None = None,
    bias: npt.NDArray[np.generic] | None = None,
) -> Bytes:
    """uint8 [n, row_bytes]: rows as they are stored; unused bits and padding are 0.

    elements: [n, dim] of `element_type`. scale, bias: [n] of `parameter_type`, of quantised tables only.
    Raises RecnmpError on other types and shapes, and on int4 elements above 15.
    """
    where = f"rows of table '{table.name}'"
    _expect(f"{where}: elements", elements, element_type(table), (len(elements), table.dim))
    stored = np.zeros((len(elements), table.row_bytes), np.uint8)
    kind = element_type(table)
    raw = (
        np.ascontiguousarray(elements, kind).view(np.uint8).reshape(len(elements), table.dim * kind.itemsize)
    )
    if table.dtype == "int4":
        if raw.size and raw.max() > 15:
            row, column = (int(at) for at in np.argwhere(raw > 15)[0])
            raise RecnmpError(
                f"{where}: element {column} of row {row} is {raw[row, column]}, allowed is 0..15"
            )
        even = raw[:, ::2].copy()
        even[:, : table.dim // 2] |= raw[:, 1::2] << 4
        raw = even
    stored[:, table.elements_at : table.elements_at + raw.shape[1]] = raw
    if not table.quantised:
        if scale is not None or bias is not None:
            raise RecnmpError(f"{where}: {table.dtype} rows have no scale and bias")
        return stored
    at, each, pair = table.parameters_at, table.parameter_bytes, parameter_type(table)
    for name, given in (("scale", scale), ("bias", bias)):
        if given is None:
            raise RecnmpError(f"{where}: {table.dtype} rows need a {name} each")
        _expect(f"{where}: {name}", given, pair, (len(elements),))
        stored[:, at : at + each] = np.ascontiguousarray(given, pair).view(np.uint8).reshape(-1, each)
        at += each
    return stored


def decode_rows(table: Table, stored: Bytes) -> Float32s:
    """float32 [n, dim]: what the datapath makes of stored rows uint8 [n, row_bytes].

    fp16 is widened exactly; quantised: fl(fl(scale * q) + bias). A NaN is 0x7FC00000.
    Raises RecnmpError on another type or shape.
    """
    _expect(f"rows of table '{table.name}'", stored, np.dtype("u1"), (len(stored), table.row_bytes))
    used = (table.dim * table.element_bits + 7) // 8
    raw = np.ascontiguousarray(stored[:, table.elements_at : table.elements_at + used])
    if not table.quantised:
        return one_nan(raw.view(element_type(table)).astype(np.float32))
    if table.dtype == "int4":
        raw = np.stack([raw & 15, raw >> 4], axis=2).reshape(len(raw), 2 * used)[:, : table.dim]
    at, each = table.parameters_at, table.parameter_bytes
    pair = np.ascontiguousarray(stored[:, at : at + 2 * each]).view(parameter_type(table)).astype(np.float32)
    return dequantise(raw, pair[:, 0], pair[:, 1])


def dequantise(elements: Bytes, scale: Float32s, bias: Float32s) -> Float32s:
    """float32 [n, dim]: fl(fl(scale * q) + bias), two roundings; elements [n, dim], scale and bias [n]."""
    with np.errstate(all="ignore"):
        scaled = scale[:, None] * elements.astype(np.float32)
        return one_nan(scaled + bias[:, None])


def one_nan(values: Float32s) -> Float32s:
    """The same values, with every NaN the canonical one."""
    values[np.isnan(values)] = CANONICAL_NAN
    return values


def _expect(
    what: str, array: npt.NDArray[np.generic], kind: np.dtype[np.generic], shape: tuple[int, ...]
) -> None:
    if array.dtype != kind or array.shape != shape:
        raise RecnmpError(f"{what}: {array.dtype} {list(array.shape)}, expected {kind} {list(shape)}")
