"""Logs of one system as Parquet files: commands, packets, instructions (docs/observers.md).

Written batch after batch: memory holds one batch's log and at most one row group. The metadata has, under the key
`recnmp`, JSON with the schema's name and what the caller says of the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from . import isa
from .host import to_wire
from .observe import Logs
from .observed_packets import COLUMNS, PacketBooks
from .packets import Packets
from .timing import COMMANDS

KEY = b"recnmp"
SCHEMA = "recnmp.log/1"
KINDS = ("commands", "packets", "instructions")
OPCODES = ("CONFIG", "LOOKUP", "END")
GROUP_ROWS = 1 << 18  # of a row group, at most

_DEVICE_COLUMNS = 8  # of a burst
_NAMES = pa.dictionary(pa.int8(), pa.string())
_BITS = (
    ("ddr_cmd", pa.int8()),
    ("locality", pa.int8()),
    ("byte_offset", pa.int8()),
    ("weight", pa.float32()),
)
_PLACE = (("bankgroup", pa.int8()), ("bank", pa.int8()), ("row", pa.int32()), ("column", pa.int32()))
FIELDS: dict[str, tuple[tuple[str, Any], ...]] = {
    "commands": (
        ("clk", pa.int64()),
        ("command", _NAMES),
        ("channel", pa.int16()),
        ("rank", pa.int16()),
        *_PLACE,
    ),
    "packets": (
        ("channel", pa.int16()),
        *((name, pa.int32() if name in ("batch", "table") else pa.int64()) for name in COLUMNS),
    ),
    "instructions": (
        ("clk", pa.int64()),
        ("opcode", _NAMES),
        ("channel", pa.int16()),
        ("batch", pa.int32()),
        ("packet", pa.int64()),
        ("tag_group", pa.int8()),
        ("lookup", pa.int64()),
        ("tag", pa.int8()),
        ("rank", pa.int16()),
        *_PLACE,
        ("bursts", pa.int8()),
        ("first_line", pa.int8()),
        *_BITS,
        ("dim", pa.int16()),
        ("weighted", pa.int8()),
        ("word_low", pa.uint64()),
        ("word_high", pa.uint64()),
    ),
}


class ParquetLog:
    """One file, in row groups of at most GROUP_ROWS rows."""

    def __init__(self, path: Path, kind: str, said: Mapping[str, Any]) -> None:
        text = json.dumps({"schema": SCHEMA, "log": kind, **said}, sort_keys=True, allow_nan=False)
        self._schema = pa.schema(FIELDS[kind]).with_metadata({KEY: text.encode()})
        self._stream = path.open("wb")
        self._writer = pq.ParquetWriter(
            self._stream, self._schema, compression="zstd", write_page_checksum=True
        )
        self._waiting: list[Any] = []
        self._rows = 0

    def add(self, columns: Mapping[str, Any]) -> None:
        """Rows, by column: arrays, or pairs of codes and their names."""
        arrays = []
        for field in self._schema:
            column = columns[field.name]
            if isinstance(column, tuple):
                codes, names = column
                arrays.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(names)))
            else:
                arrays.append(pa.array(np.ascontiguousarray(column), field.type))
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._waiting.append(table)
        self._rows += len(table)
        if self._rows >= GROUP_ROWS:
            self._write()

    def _write(self) -> None:
        if self._rows:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=GROUP_ROWS)
        self._waiting, self._rows = [], 0

    def finish(self) -> None:
        """The file is whole after this."""
        self._write()
        self._writer.close()
        self._stream.close()

    def abandon(self) -> None:
        """Let go of the file, whatever is in it; nothing after `finish`."""
        with suppress(OSError, ValueError, pa.ArrowException):  # of a full disk, a second time
            self._writer.close()
        with suppress(OSError):
            self._stream.close()


class SystemLogs:
    """The logs of one system, as an observer. poolings_per_packet: P of D6; 0 for a host."""

    def __init__(self, logs: Mapping[str, ParquetLog], poolings_per_packet: int) -> None:
        self._logs = logs
        self._poolings = poolings_per_packet
        self._books: dict[int, PacketBooks] = {}

    def wants_logs(self, clock: int) -> bool:
        """Commands and sends are told of only where the kernel keeps logs."""
        return "commands" in self._logs or "instructions" in self._logs

    def near_memory(self, channel: int, packets: Packets, logs: Logs) -> None:
        """Write what a batch left behind."""
        books = self._books.setdefault(channel, PacketBooks())
        ended = books.sent(packets, logs)
        if "commands" in self._logs:
            names = ("clk", "command", "rank", "bankgroup", "bank", "row", "column")
            self._commands(channel, {name: logs.commands[name] for name in names})
        if "packets" in self._logs:
            columns = {name: ended[:, at] for at, name in enumerate(COLUMNS)}
            self._logs["packets"].add({**columns, "channel": np.full(len(ended), channel)})
        if "instructions" in self._logs:
            self._logs["instructions"].add(self._instructions(channel, books.batch, logs))

    def host(self, channel: int, commands: npt.NDArray[np.int64]) -> None:
        """Write a host's commands; its columns become bursts."""
        if "commands" in self._logs:
            names = ("clk", "command", "rank", "bankgroup", "bank", "row", "column")
            columns = dict(zip(names, commands.T, strict=True))
            column = columns["column"]
            columns["column"] = np.where(column < 0, column, column // _DEVICE_COLUMNS)
            self._commands(channel, columns)

    def _commands(self, channel: int, columns: dict[str, npt.NDArray[Any]]) -> None:
        codes = columns["command"]
        self._logs["commands"].add(
            {**columns, "command": (codes, COMMANDS), "channel": np.full(len(codes), channel)}
        )

    def _instructions(self, channel: int, batch: int, logs: Logs) -> dict[str, Any]:
        """In the order in which they crossed the channel; -1 where an instruction has no such field."""
        sent = logs.stream[logs.sends["position"]]
        lookup = isa.is_lookup(sent["opcode"])
        first_line = np.where(sent["opcode"] >= isa.LOOKUP, sent["opcode"] - isa.LOOKUP, isa.MAX_BURSTS)
        words = to_wire(sent, self._poolings)
        codes = np.where(lookup, 1, np.where(sent["opcode"] == isa.CONFIG, 0, 2))
        only = ("rank", "bankgroup", "bank", "row", "column", "bursts", "ddr_cmd", "locality", "byte_offset")
        config = sent["opcode"] == isa.CONFIG
        return {
            "clk": logs.sends["clk"],
            "opcode": (codes, OPCODES),
            "channel": np.full(len(sent), channel),
            "batch": np.full(len(sent), batch),
            "packet": sent["packet"],
            "tag_group": sent["group"],
            "lookup": sent["lookup"],
            "tag": np.where(lookup, sent["group"].astype(np.int64) * self._poolings + sent["tag"], -1),
            **{name: np.where(lookup, sent[name], -1) for name in only},
            "first_line": np.where(lookup, first_line, -1),
            "weight": np.where(lookup, sent["weight"], np.float32(0)),
            "dim": np.where(config, sent["dim"], -1),
            "weighted": np.where(config, sent["weighted"], -1),
            "word_low": words[:, 0],
            "word_high": words[:, 1],
        }


def is_log(path: Path) -> bool:
    """Is the file a log that `ParquetLog` wrote?"""
    try:
        said = json.loads((pq.read_schema(path).metadata or {}).get(KEY, b""))
    except (OSError, ValueError, RecursionError, pa.ArrowException):
        return False
    return isinstance(said, dict) and str(said.get("schema", "")).startswith("recnmp.log/")
