"""Table row -> places in DRAM: allocation (design D7), pages, and the address mapping (docs/placement.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .address import COLUMNS, AddressMap, DramAddresses, Int64s
from .config.system import BURST_BYTES, PAGE_BYTES, SystemConfig
from .errors import RecnmpError
from .kernels.placing import Placer
from .pages import PagePermutation

_PAGE_LINES = PAGE_BYTES // BURST_BYTES
_CHUNK = 1 << 15  # vectors placed at a time, so that temporaries stay in the cache


class PlacedTable(Protocol):
    """What placement needs of a table; `recnmp.workload.Table` has it."""

    @property
    def name(self) -> str:
        """Name, for errors."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    @property
    def row_bytes(self) -> int:
        """Bytes of a row."""


@dataclass(frozen=True)
class Lines:
    """The 64-byte lines of some vectors: vector after vector, in column order within each.

    Attributes:
        vector: int64 [m], index into the rows that were asked for.
        channel, rank, bankgroup, bank, row, column: int64 [m]; rank in the channel, column in bursts.
        byte_offset: int64 [n], where each vector starts in its first line.
    """

    vector: Int64s
    channel: Int64s
    rank: Int64s
    bankgroup: Int64s
    bank: Int64s
    row: Int64s
    column: Int64s
    byte_offset: Int64s


@dataclass(frozen=True)
class _Allocation:
    """Where a table's logical pages lie: consecutive from first_page, in the region of its colour."""

    table: PlacedTable
    stride: int
    slots: int  # rows of a page
    first_page: int
    pages: int
    colour: int | None  # rank over all channels that the table is bound to


class Placement:
    """The places of all tables of a workload in a system's memory.

    Args:
        config: the system.
        tables: the tables in the workload's order; their pages follow each other in that order.

    Raises:
        RecnmpError: tables do not fit (both sizes are named), a row is larger than a page, or a vector would
            straddle ranks or channels.
    """

    def __init__(self, config: SystemConfig, tables: Sequence[PlacedTable]) -> None:
        self.config = config
        self.map = AddressMap.of(config)
        rules = config.placement
        self._colours = config.memory.channels * config.memory.ranks if rules.pages == "coloured" else 0
        region_pages = (self.map.rank_lines if self._colours else self.map.lines) // _PAGE_LINES
        self._allocations = self._allocate(tables, region_pages)
        self._pages: list[PagePermutation] = []
        if rules.pages != "sequential":
            regions = max(1, self._colours)
            self._pages = [PagePermutation(region_pages, rules.seed, region) for region in range(regions)]

    def stride(self, table: int) -> int:
        """Bytes from one row of a table to the next in a page (D7)."""
        return self._allocations[table].stride

    def rows_per_page(self, table: int) -> int:
        """Rows of a table in a 4 KiB page."""
        return self._allocations[table].slots

    def locate(self, table: int, rows: Int64s) -> Lines:
        """All lines of the vectors `rows` int64 [n] of table number `table`.

        Raises:
            RecnmpError: a row that the table does not have.
        """
        allocation = self._allocations[table]
        rows = np.ascontiguousarray(rows, dtype=np.int64)
        self.check_rows(table, rows)
        parts = list(self._chunks(allocation, rows))
        if not parts:
            return Lines(*(np.zeros(0, np.int64) for _ in range(8)))
        vectors, places, offsets = zip(*parts, strict=True)

        def column(name: str) -> Int64s:
            return np.concatenate([getattr(place, name) for place in places])

        return Lines(
            vector=np.concatenate(vectors),
            channel=column("channel"),
            rank=column("rank"),
            bankgroup=column("bankgroup"),
            bank=column("bank"),
            row=column("row"),
            column=column("column"),
            byte_offset=np.concatenate(offsets),
        )

    def check_rows(self, table: int, rows: Int64s) -> None:
        """Raise RecnmpError if table number `table` does not have all of `rows` int64 [n]."""
        owner = self._allocations[table].table
        if rows.size and (rows.min() < 0 or rows.max() >= owner.rows):
            bad = int(np.flatnonzero((rows < 0) | (rows >= owner.rows))[0])
            raise RecnmpError(
                f"table '{owner.name}': row {rows[bad]} at position {bad}, allowed 0 to {owner.rows - 1}"
            )

    def placer(self, table: int) -> Placer:
        """The places of a table's rows for kernels, the same as by `locate`."""
        its, memory = self._allocations[table], self.config.memory
        fixed = dict(zip(("channel", "rank"), self._rank_of(its.colour or 0), strict=True))
        return Placer(
            its.table.rows,
            its.table.row_bytes,
            its.stride,
            its.slots,
            its.first_page,
            [(COLUMNS[part], size) for part, size in self.map.digits(its.colour is not None)],
            {} if its.colour is None else fixed,
            memory.channels,
            memory.ranks,
            self._pages[its.colour or 0].network if self._pages else None,
            self.map.hashing(its.colour is not None),
        )

    def _chunks(
        self, allocation: _Allocation, rows: Int64s
    ) -> Iterator[tuple[Int64s, DramAddresses, Int64s]]:
        """Vector numbers, places and byte offsets, some thousand vectors at a time."""
        row_bytes = allocation.table.row_bytes
        for start in range(0, rows.size, _CHUNK):
            chunk = rows[start : start + _CHUNK]
            page = chunk // allocation.slots
            first_byte = (chunk - page * allocation.slots) * allocation.stride
            page += allocation.first_page
            if self._pages:
                page = self._pages[allocation.colour or 0](page)
            first_line = page * _PAGE_LINES + (first_byte >> 6)
            offset = first_byte & (BURST_BYTES - 1)
            number = np.arange(start, start + chunk.size)
            if allocation.stride % BURST_BYTES == 0:
                count = -(-row_bytes // BURST_BYTES)
                lines = (first_line[:, None] + np.arange(count)).reshape(-1)
                vector = np.repeat(number, count) if count > 1 else number
            else:
                counts = (offset + (row_bytes + BURST_BYTES - 1)) >> 6
                vector = np.repeat(number, counts)
                before = np.cumsum(counts) - counts
                lines = np.repeat(first_line - before, counts) + np.arange(vector.size)
            if allocation.colour is None:
                yield vector, self.map.locate(lines), offset
            else:
                channel, rank = self._rank_of(allocation.colour)
                yield vector, self.map.locate_in_rank(lines, channel, rank), offset

    def _rank_of(self, colour: int) -> tuple[int, int]:
        """Channel and rank of a colour: neighbouring colours are on different channels."""
        return colour % self.config.memory.channels, colour // self.config.memory.channels

    def _allocate(self, tables: Sequence[PlacedTable], region_pages: int) -> list[_Allocation]:
        allocations: list[_Allocation] = []
        used = [0] * max(1, self._colours)
        for number, table in enumerate(tables):
            stride = self._stride_of(table)
            slots = PAGE_BYTES // stride
            pages = -(-table.rows // slots)
            colour = number % self._colours if self._colours else None
            region = colour or 0
            allocations.append(_Allocation(table, stride, slots, used[region], pages, colour))
            used[region] += pages
        for region, pages in enumerate(used):
            if pages > region_pages:
                where = f"rank {self._rank_of(region)[1]} (page colouring)" if self._colours else "the memory"
                raise RecnmpError(
                    f"tables need {pages * PAGE_BYTES} bytes in 4 KiB pages, "
                    f"{where} has {region_pages * PAGE_BYTES} bytes"
                )
        return allocations

    def _stride_of(self, table: PlacedTable) -> int:
        """Stride of a table's rows, after all that D7 and D8 refuse."""
        unit = 4 if self.config.placement.stride == "packed" else BURST_BYTES
        stride = -(-table.row_bytes // unit) * unit
        where = f"table '{table.name}'"
        if stride > PAGE_BYTES:
            raise RecnmpError(f"{where}: a row takes {stride} bytes, more than a page of {PAGE_BYTES} (D7)")
        for part, what in (("Ch", "channels"), ("Ra", "ranks")):
            run = self.map.interleave(part)
            if self._straddles(run, stride, table.row_bytes):
                raise RecnmpError(
                    f"{where}: mapping '{self.map.mapping}' changes {what} every {run * BURST_BYTES} bytes, "
                    f"a vector of {table.row_bytes} bytes would straddle {what} (D7, D8)"
                )
            if self._colours and run % _PAGE_LINES:
                raise RecnmpError(
                    f"mapping '{self.map.mapping}' spreads a 4 KiB page over {what}: pages cannot be coloured"
                )
        return stride

    @staticmethod
    def _straddles(run_lines: int, stride: int, row_bytes: int) -> bool:
        """Does any row of a page lie on both sides of a change that comes every `run_lines` lines?"""
        if run_lines % _PAGE_LINES == 0:
            return False
        if _PAGE_LINES % run_lines:
            return True  # pages would begin anywhere in a run: no row is safe
        first = np.arange(PAGE_BYTES // stride) * stride
        run = run_lines * BURST_BYTES
        return bool(np.any(first // run != (first + row_bytes - 1) // run))
