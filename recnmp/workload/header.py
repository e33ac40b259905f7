"""What is said once of a whole trace; JSON in the metadata of both containers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import RecnmpError
from .numbers import as_whole, shown
from .table import Table, check_tables

VERSION = 2  # the highest that is read; written is the lowest that can say it (`Header.version`)
ORDERS = ("table", "sample")
MODES = ("sum", "mean", "weighted-mean")
LARGEST_BATCH = 2**31 - 1  # samples: Parquet holds their numbers as int32


@dataclass(frozen=True)
class Header:
    """tables: T of them. batch_sizes: samples of each batch. lookups: of all batches.

    order: in which poolings are executed, "table" (table by table) or "sample" (sample by sample).
    mode: "sum" (weighted where there are weights), "mean" (no weights), or "weighted-mean": the weighted sum
    divided by the number of lookups, not by the weights (FBGEMM). weighted: there is a weight for each lookup.
    origin: how the trace was made (generator, parameters, file), what JSON can hold; not part of its content.
    NumPy's numbers and arrays in it become plain ones.
    Raises RecnmpError on unknown words, sizes out of range, other types, weights with mean, none with
    weighted-mean.
    """

    tables: tuple[Table, ...]
    batch_sizes: tuple[int, ...]
    lookups: int
    order: str = "table"
    mode: str = "sum"
    weighted: bool = False
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", check_tables(self.tables))
        object.__setattr__(self, "batch_sizes", check_sizes(self.batch_sizes))
        lookups = as_whole(self.lookups)
        if lookups is None or lookups < 0:
            raise RecnmpError(f"lookups are {shown(self.lookups)}, allowed is a whole number from 0 on")
        object.__setattr__(self, "lookups", lookups)
        if self.order not in ORDERS:
            raise RecnmpError(f"order is {self.order!r}, allowed: {', '.join(ORDERS)}")
        check_mode(self.mode, self.weighted)
        if not isinstance(self.weighted, bool):
            raise RecnmpError(f"weighted is {shown(self.weighted)}, allowed: True, False")
        if not isinstance(self.origin, Mapping):
            raise RecnmpError(f"origin is {shown(self.origin)}, allowed is a mapping")
        object.__setattr__(self, "origin", _plain(self.origin, "origin"))

    @property
    def version(self) -> int:
        """Of the format: 1 says no layouts of tables but the dtype's own, and no weighted means."""
        plain = self.mode != "weighted-mean" and all(table.default_layout for table in self.tables)
        return 1 if plain else 2

    def to_json(self) -> str:
        """One line of JSON, keys in a fixed order."""
        return json.dumps(
            {
                "version": self.version,
                "tables": [_said(table) for table in self.tables],
                "order": self.order,
                "mode": self.mode,
                "weighted": self.weighted,
                "batch_sizes": list(self.batch_sizes),
                "lookups": self.lookups,
                "origin": dict(self.origin),
            }
        )

    @staticmethod
    def from_json(text: str, source: str) -> Header:
        """The header of file `source`. Raises RecnmpError on another version, a missing or unknown key."""
        try:
            fields = json.loads(text)
            version = fields.pop("version")
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
            raise RecnmpError(f"{source}: its description is damaged: {error}") from error
        if version not in range(1, VERSION + 1):
            raise RecnmpError(
                f"{source}: is of trace format {version!r}, this program reads formats 1 to {VERSION}"
            )
        try:
            tables = tuple(Table(**table) for table in fields.pop("tables"))
            return Header(tables=tables, **fields)
        except (TypeError, KeyError) as error:
            raise RecnmpError(f"{source}: its description is damaged: {error}") from error
        except RecnmpError as error:
            raise RecnmpError(f"{source}: {error}") from error


def check_mode(mode: object, weighted: bool) -> None:
    """Raise RecnmpError on an unknown mode, and on weights that it does not take or lacks."""
    if mode not in MODES:
        raise RecnmpError(f"mode is {mode!r}, allowed: {', '.join(MODES)}")
    if mode == "mean" and weighted:
        raise RecnmpError("weights with mode mean: a mean takes no weights, weighted-mean does")
    if mode == "weighted-mean" and not weighted:
        raise RecnmpError("mode weighted-mean without weights: a mean takes none")


def _said(table: Table) -> dict[str, str | int]:
    """A table for JSON; the default layout is not said, so that content hashes are those of format 1."""
    said: dict[str, str | int] = {
        "name": table.name,
        "rows": table.rows,
        "dim": table.dim,
        "dtype": table.dtype,
    }
    return said if table.default_layout else said | {"layout": table.layout}


def check_sizes(sizes: Iterable[object]) -> tuple[int, ...]:
    """Samples of each batch as plain numbers. Raises RecnmpError, naming the batch, on others."""
    checked = []
    for batch, size in enumerate(sizes):
        number = as_whole(size)
        if number is None or not 0 <= number <= LARGEST_BATCH:
            raise RecnmpError(
                f"batch {batch}: batch size is {shown(size)}, allowed are whole numbers 0..2^31-1"
            )
        checked.append(number)
    return tuple(checked)


def _plain(value: Any, place: str) -> Any:
    """The value as JSON has it: mappings, lists, texts, numbers, true, false, null."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic | np.ndarray) and value.dtype.kind in "biufU":
        return value.tolist()
    if isinstance(value, Mapping):
        odd = [key for key in value if not isinstance(key, str)]
        if odd:
            raise RecnmpError(f"{place}: key {shown(odd[0])}, allowed are texts")
        return {key: _plain(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{at}]") for at, item in enumerate(value)]
    raise RecnmpError(
        f"{place} is {shown(value)}, allowed is what JSON can hold: numbers, texts, lists, mappings"
    )
