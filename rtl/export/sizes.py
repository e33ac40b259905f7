"""How big the blocks are, before any synthesis."""

from __future__ import annotations

from collections.abc import Sequence

import pyrtl

from ..ports import Hardware


def sizes_table(blocks: Sequence[Hardware]) -> str:
    """A line a block: PyRTL nets, bits in registers and in memories, summary."""
    rows = [("block", "nets", "register bits", "memory bits", "what")]
    for hardware in blocks:
        circuit = hardware.circuit()
        registers = sum(len(register) for register in circuit.wirevector_subset(pyrtl.Register))
        memories = {net.op_param[1] for net in circuit.logic_subset("@")}
        bits = sum(memory.bitwidth << memory.addrwidth for memory in memories)
        nets = f"{len(circuit.logic):,}"
        rows.append((hardware.name, nets, f"{registers:,}", f"{bits:,}", hardware.summary))
    wide = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        f"{name:<{wide[0]}}  {nets:>{wide[1]}}  {registers:>{wide[2]}}  {memories:>{wide[3]}}  {what}"
        for name, nets, registers, memories, what in rows
    )
