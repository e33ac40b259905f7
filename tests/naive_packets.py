"""Packets of the naive machine: what the host knows of one, and how they are read from a batch's stream."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from naive_window import Instruction


@dataclass(eq=False)
class Packet:
    """The host's knowledge of a packet in flight."""

    number: int  # name in the logs
    age: int  # counts packets in the order in which they started
    dim: int
    dtype: int
    layout: int
    group: int = -1
    expected: set = field(default_factory=set)  # (dimm, tag) of which a LOOKUP was sent
    crossed: int = 0  # result bursts sent so far
    end_sent: bool = False

    @property
    def bursts_a_tag(self) -> int:
        return -(-self.dim // 16)


def read_packets(stream: np.ndarray, bounds: np.ndarray, poolings_per_packet: int):
    """Each packet of a batch with its instructions, in stream order."""
    packets = []
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        config = {name: int(stream[first][name]) for name in ("packet", "dim", "dtype", "layout")}
        packet = Packet(config["packet"], -1, config["dim"], config["dtype"], config["layout"])
        instructions = []
        for index in range(first, last):
            record = stream[index]
            opcode = int(record["opcode"])
            instructions.append(
                Instruction(
                    kind={1: "CONFIG", 2: "END"}.get(opcode, "LOOKUP"),
                    index=index,
                    packet=packet,
                    lookup=int(record["lookup"]),
                    rank=int(record["rank"]),
                    bankgroup=int(record["bankgroup"]),
                    bank=int(record["bank"]),
                    row=int(record["row"]),
                    column=int(record["column"]),
                    bursts=int(record["bursts"]),
                    tag=int(record["tag"]),
                    first_line=8 if opcode == 4 else opcode - 8,
                    ddr_cmd=int(record["ddr_cmd"]),
                    locality=bool(record["locality"]),
                    byte_offset=4 * int(record["byte_offset"]),
                    closes_batch=index == bounds[-1] - 1,
                )
            )
        kinds = [instruction.kind for instruction in instructions]
        assert kinds == ["CONFIG"] + ["LOOKUP"] * (len(kinds) - 2) + ["END"]
        assert len(kinds) > 2, "a packet without any LOOKUP is not sent"
        assert all(0 <= i.tag < poolings_per_packet for i in instructions if i.kind == "LOOKUP")
        packets.append((packet, instructions))
    return packets
