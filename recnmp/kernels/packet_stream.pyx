"""What a stream of instructions must be before a channel takes it (docs/microarchitecture.md, section 2)."""

import numpy as np

from .vocabulary cimport CONFIG, END, LOOKUP, Instruction
from .window_entries cimport LINES


def check_stream(const Instruction[::1] stream, int ranks, int bankgroups, int banks, int tags):
    """Raise ValueError unless it is a sequence of packets and every field is one that the machine can hold.

    stream: dtype `instruction_dtype`. ranks, bankgroups, banks, tags: how many there are; of tags, of one packet.
    """
    fields = np.asarray(stream)
    lookup = fields["opcode"] >= LOOKUP
    limits = {"rank": ranks, "bankgroup": bankgroups, "bank": banks, "tag": tags}
    for name, limit in limits.items():
        wrong = np.flatnonzero(lookup & ((fields[name] < 0) | (fields[name] >= limit)))
        if wrong.size:
            raise ValueError(f"instruction {wrong[0]}: {name} {fields[name][wrong[0]]} is not in 0 to {limit - 1}")
    last = fields["opcode"].astype(np.int64) - LOOKUP + fields["bursts"]
    wrong = np.flatnonzero(lookup & ((fields["bursts"] < 1) | (last > LINES)))
    if wrong.size:
        first = fields["opcode"][wrong[0]] - LOOKUP
        raise ValueError(
            f"instruction {wrong[0]}: {fields['bursts'][wrong[0]]} bursts from element group {first} on, "
            f"there are {LINES} groups"
        )
    config, end = np.flatnonzero(fields["opcode"] == CONFIG), np.flatnonzero(fields["opcode"] == END)
    if (
        len(config) != len(end)
        or np.count_nonzero(lookup) + len(config) + len(end) != len(fields)
        or np.any(end <= config + 1)
        or np.any(np.append(config, len(fields)) != np.insert(end + 1, 0, 0))
        or np.any(np.diff(fields["packet"][config]) != 1)
        or np.any(fields["packet"] != np.repeat(fields["packet"][config], end - config + 1))
    ):
        raise ValueError("the stream is not CONFIG, LOOKUPs (at least one), END, packet by packet")
