"""What is said once of a whole trace; JSON in the metadata of both containers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import RecnmpError
from .table import Table, check_tables

VERSION = 1
ORDERS = ("table", "sample")
MODES = ("sum", "mean")


@dataclass(frozen=True)
class Header:
    """tables: T of them. batch_sizes: samples of each batch. lookups: of all batches.

    order: in which poolings are executed, "table" (table by table) or "sample" (sample by sample).
    mode: "sum" or "mean" (no weights). weighted: there is a weight for each lookup.
    origin: how the trace was made (generator, parameters, file); not part of its content.
    Raises RecnmpError on unknown words, negative sizes and weights with mean.
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
        object.__setattr__(self, "batch_sizes", tuple(self.batch_sizes))
        if self.order not in ORDERS:
            raise RecnmpError(f"order is {self.order!r}, allowed: {', '.join(ORDERS)}")
        if self.mode not in MODES:
            raise RecnmpError(f"mode is {self.mode!r}, allowed: {', '.join(MODES)}")
        if self.mode == "mean" and self.weighted:
            raise RecnmpError("weights with mode mean: a mean takes no weights")
        for batch, size in enumerate(self.batch_sizes):
            if size < 0:
                raise RecnmpError(f"batch {batch}: batch size is {size}, allowed is 0 and up")

    def to_json(self) -> str:
        """One line of JSON, keys in a fixed order."""
        return json.dumps(
            {
                "version": VERSION,
                "tables": [
                    {"name": table.name, "rows": table.rows, "dim": table.dim, "dtype": table.dtype}
                    for table in self.tables
                ],
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
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise RecnmpError(f"{source}: its description is damaged: {error}") from error
        if version != VERSION:
            raise RecnmpError(
                f"{source}: is of trace format {version!r}, this program reads format {VERSION}"
            )
        try:
            tables = tuple(Table(**table) for table in fields.pop("tables"))
            return Header(tables=tables, **fields)
        except TypeError as error:
            raise RecnmpError(f"{source}: its description is damaged: {error}") from error
        except RecnmpError as error:
            raise RecnmpError(f"{source}: {error}") from error
