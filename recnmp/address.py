"""Physical address -> DRAM address: plain orders of any sizes, and Skylake-like XOR hashing.

A *line* is a physical address divided by 64 (a burst). A plain order splits it into digits of mixed radix,
so that sizes need not be powers of two and nothing ever aliases.

The Skylake hash is that of one channel: with address bits in brackets, bank group 0 = (6, 13), then bank
group 1, the rank bits and both bank bits, each the XOR of its own bit and a low row bit. For one rank that
is (14, 17) (15, 18) (16, 19), for two (14, 18) (15, 19) (16, 20) (17, 21). These sets of pairs, the row mask
and the column mask (bits below 13) are measurements that public Rowhammer tools carry for single-channel
Skylake and its successors; compared with them when this was written. Recalled, not verified: which pair is
the rank and which a bank (the order of Pessl et al., USENIX Security 2016). This project's own: more than
two ranks continue the series. It needs powers of two and one channel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .config.order import PARTS, SKYLAKE, parse_order
from .config.system import SystemConfig
from .errors import RecnmpError

Int64s = npt.NDArray[np.int64]
# The parts of an address as attributes of DramAddresses, in its order.
COLUMNS = {"Ch": "channel", "Ra": "rank", "Bg": "bankgroup", "Ba": "bank", "Ro": "row", "Co": "column"}
_CHUNK = 1 << 15  # lines decoded at a time, so that all columns stay in the cache


@dataclass(frozen=True)
class DramAddresses:
    """Places in DRAM, one int64 entry a line.

    Attributes:
        channel: channel.
        rank: rank in the channel, DIMM * ranks_per_dimm + rank in the DIMM.
        bankgroup: bank group in the rank.
        bank: bank in the bank group.
        row: DRAM row in the bank.
        column: column in bursts of 64 bytes.
    """

    channel: Int64s
    rank: Int64s
    bankgroup: Int64s
    bank: Int64s
    row: Int64s
    column: Int64s


class AddressMap:
    """The mapping of a memory, in lines of 64 bytes.

    Args:
        mapping: its name, see `recnmp.config.order`.
        sizes: part ("Ch", "Ra", "Bg", "Ba", "Ro", "Co") -> how many there are in the next larger part.

    Raises:
        RecnmpError: the hash does not suit the geometry.
    """

    def __init__(self, mapping: str, sizes: Mapping[str, int]) -> None:
        self.mapping = mapping
        self.sizes = dict(sizes)
        self._hashed = self.mapping == SKYLAKE
        if self._hashed:
            self._check_hash()
            order: tuple[str, ...] = ("Ch", "Ro", "Ba", "Ra", "Bg", "Co")
        else:
            order = parse_order(self.mapping)
        self._low_first = order[::-1]
        self.rank_lines = 1
        for part, size in self.sizes.items():
            self.rank_lines *= size if part not in ("Ch", "Ra") else 1
        self.lines = self.rank_lines * self.sizes["Ch"] * self.sizes["Ra"]

    @staticmethod
    def of(config: SystemConfig) -> AddressMap:
        """The mapping of a system's memory."""
        devices = config.dram.devices()
        sizes = {
            "Ch": config.memory.channels,
            "Ra": config.memory.ranks,
            "Bg": devices.bankgroups,
            "Ba": devices.banks,
            "Ro": devices.rows,
            "Co": devices.bursts_per_row,
        }
        return AddressMap(config.placement.mapping, sizes)

    def interleave(self, part: str) -> int:
        """Lines that follow each other before `part` ("Ra", "Ch") changes; all lines if it never does."""
        if self.sizes[part] == 1:
            return self.lines
        run = 1
        for lower in self._low_first[: self._low_first.index(part)]:
            run *= self.sizes[lower]
        return run

    def locate(self, lines: Int64s) -> DramAddresses:
        """DRAM addresses of physical lines int64 [n] in 0..lines-1."""
        return self._decode(lines, None, None)

    def locate_in_rank(self, lines: Int64s, channel: int, rank: int) -> DramAddresses:
        """DRAM addresses of the lines int64 [n] of one rank, numbered 0..rank_lines-1 in address order."""
        return self._decode(lines, channel, rank)

    def number(self, places: DramAddresses) -> Int64s:
        """Physical lines int64 [n] of DRAM addresses: the inverse of `locate`.

        Of what `locate_in_rank` gave it is the line in the whole memory.
        """
        lines = np.zeros(places.row.size, np.int64)
        columns = (places.channel, places.rank, places.bankgroup, places.bank, places.row, places.column)
        for start in range(0, lines.size, _CHUNK):
            part_of = {
                part: column[start : start + _CHUNK].copy()
                for part, column in zip(COLUMNS, columns, strict=True)
            }
            if self._hashed:
                # it reads rows and columns, which are as they were: done again, it is undone
                self._hash(part_of, True)
            number = lines[start : start + _CHUNK]
            for part in reversed(self._low_first):
                number *= self.sizes[part]
                number += part_of[part]
        return lines

    def digits(self, in_rank: bool) -> list[tuple[str, int]]:
        """Parts of a physical line, or of a line in its rank, with how many of each there are; the lowest first."""
        kept = [part for part in self._low_first if not (in_rank and part in ("Ch", "Ra"))]
        return [(part, self.sizes[part]) for part in kept if self.sizes[part] > 1]

    def hashing(self, in_rank: bool) -> tuple[int, int, int, int, int] | None:
        """What `_hash` does, as kernels want it: mask of the row bits that flip bank groups (-1 for none), then
        shift and mask of those for ranks (not in one rank) and for banks; None for a plain order."""
        if not self._hashed:
            return None
        groups, ranks, banks = (self.sizes[part] for part in ("Bg", "Ra", "Ba"))
        rank_shift = max(groups // 2 - 1, 0).bit_length()
        bank_shift = rank_shift + (ranks - 1).bit_length()
        return groups // 2 - 1, rank_shift, 0 if in_rank else ranks - 1, bank_shift, banks - 1

    def _decode(self, lines: Int64s, channel: int | None, rank: int | None) -> DramAddresses:
        places = {part: np.zeros(lines.size, np.int64) for part in PARTS}
        fixed = {"Ch": channel, "Ra": rank}
        for part, value in fixed.items():
            if value is not None:
                places[part].fill(value)
        digits = [part for part, _ in self.digits(channel is not None)]
        for start in range(0, lines.size, _CHUNK):
            part_of = {part: column[start : start + _CHUNK] for part, column in places.items()}
            rest = lines[start : start + _CHUNK].copy()
            for part in digits[:-1]:
                _take_digit(rest, self.sizes[part], part_of[part])
            if digits:
                part_of[digits[-1]][:] = rest
            if self._hashed:
                self._hash(part_of, rank is None)
        return DramAddresses(*(places[part] for part in COLUMNS))

    def _check_hash(self) -> None:
        if self.sizes["Ch"] > 1:
            raise RecnmpError(
                f"mapping '{SKYLAKE}' is known for one channel, memory.channels = {self.sizes['Ch']}: "
                "use an order such as ChRoBaRaCo"
            )
        for part, size in self.sizes.items():
            if size & (size - 1):
                raise RecnmpError(
                    f"mapping '{SKYLAKE}' needs powers of two, and there are {size} of {PARTS[part]}: "
                    "use an order such as RoBaRaCoCh"
                )
        if self.sizes["Ro"] < self.sizes["Bg"] * self.sizes["Ra"] * self.sizes["Ba"] // 2:
            raise RecnmpError(
                f"mapping '{SKYLAKE}' needs more than the {self.sizes['Ro']} rows of a bank here"
            )

    def _hash(self, part_of: dict[str, Int64s], with_rank: bool) -> None:
        row = part_of["Ro"]
        shift = 0
        groups = self.sizes["Bg"]
        if groups > 1:
            part_of["Bg"] ^= part_of["Co"] & 1
            part_of["Bg"] ^= (row & (groups // 2 - 1)) << 1
            shift = (groups // 2 - 1).bit_length()
        if with_rank:
            part_of["Ra"] ^= (row >> shift) & (self.sizes["Ra"] - 1)
        shift += (self.sizes["Ra"] - 1).bit_length()
        part_of["Ba"] ^= (row >> shift) & (self.sizes["Ba"] - 1)


def _take_digit(rest: Int64s, size: int, digit: Int64s) -> None:
    """Split the lowest digit of radix `size` off `rest`, in place."""
    if size & (size - 1) == 0:
        np.bitwise_and(rest, size - 1, out=digit)
        rest >>= size.bit_length() - 1
        return
    quotient = rest // size
    np.subtract(rest, quotient * size, out=digit)
    rest[:] = quotient
