"""Dynamic energy: counts times the energy of an event (docs/measures.md).

No background and no refresh energy: REF commands, and the PREA before them, are charged to nobody.
"""

from __future__ import annotations

from collections.abc import Mapping

from .config.system import BURST_BYTES, EnergyTable, SystemConfig
from .stats import INSTRUCTIONS, total

PARTS = (
    "activate",
    "data_read",
    "data_write",
    "io_data",
    "io_command",
    "rank_cache",
    "fp_add",
    "fp_mul",
)
# a probe of each line that does not bypass, and a fill
_CACHE_ACCESSES = ("cache_hits", "cache_secondary_hits", "cache_misses", "cache_fills")
_BURST_BITS = BURST_BYTES * 8


def energy_pj(config: SystemConfig, counters: Mapping[str, int]) -> dict[str, float]:
    """Energy of a run by part and its `total`, in pJ.

    Args:
        config: the system; its section energy is the table, its kind tells what crosses the channel.
        counters: what the engine counted (recnmp.stats.COUNTERS).

    Returns:
        PARTS and `total` -> pJ. data_*: inside the DRAM devices. io_data: bursts that crossed the channel
        (host: every read and write; near memory: results, and buffer IO when its constant is not 0).
        (host reads beside the near-memory work included.) io_command: host_command_bits an ACT, PRE, RD or WR of a
        host, or a plain DDR command of near-memory units; or the bits of each NMP instruction.
    """
    table = config.energy
    reads, writes = total(counters, "rd"), total(counters, "wr")
    if config.kind == "host":
        io_bits = (reads + writes) * _BURST_BITS
        command_bits = _host_command_bits(table, counters)
        buffer_bits = 0
    else:
        io_bits = (total(counters, "result_bursts") + total(counters, "host_lines")) * _BURST_BITS
        command_bits = _instruction_bits(table, counters)
        if config.units.command_mode == "ddr":
            command_bits = total(counters, "ca_commands") * table.host_command_bits
        buffer_bits = reads * _BURST_BITS
    parts = {
        "activate": total(counters, "act") * table.activate_pj,
        "data_read": reads * _BURST_BITS * table.read_pj_per_bit,
        "data_write": writes * _BURST_BITS * table.write_pj_per_bit,
        "io_data": io_bits * table.io_pj_per_bit + buffer_bits * table.buffer_io_pj_per_bit,
        "io_command": command_bits * table.io_pj_per_bit if table.command_io else 0.0,
        "rank_cache": sum(total(counters, name) for name in _CACHE_ACCESSES) * table.rank_cache_pj,
        "fp_add": total(counters, "fp_adds") * table.fp_add_pj,
        "fp_mul": total(counters, "fp_muls") * table.fp_mul_pj,
    }
    return {**parts, "total": sum(parts.values())}


def what_counts(config: SystemConfig) -> str:
    """One sentence that says what the energy of this system includes, for every table and figure."""
    table = config.energy
    if config.kind == "host":
        what, bits = "host: activate, data, data IO", f"{table.host_command_bits} bits a command"
        # no source known to us gives a number
        buffer = "last-level cache not charged (unsourced); " if config.has_llc else ""
    else:
        cache = "RankCache, " if config.nmp is not None and config.nmp.rank_cache_bytes else ""
        what = f"near memory: activate, data, data IO, {cache}FP operations"
        bits = (
            f"{table.instruction_bits} bits an instruction ({table.offset_instruction_bits} with ByteOffset)"
        )
        if config.units.command_mode == "ddr":
            bits = f"{table.host_command_bits} bits a plain DDR command"
        if config.reads_per_1000_clocks:
            what += ", host reads included"
        unsourced = "" if table.buffer_io_pj_per_bit else " (unsourced)"
        buffer = f"DRAM-to-buffer IO {table.buffer_io_pj_per_bit:g} pJ/bit{unsourced}; "
    commands = f"counted, {bits}" if table.command_io else "not counted"
    return f"dynamic energy, {what}; command IO {commands}; {buffer}no background, no refresh"


def _host_command_bits(table: EnergyTable, counters: Mapping[str, int]) -> int:
    return sum(total(counters, name) for name in ("act", "pre", "rd", "wr")) * table.host_command_bits


def _instruction_bits(table: EnergyTable, counters: Mapping[str, int]) -> int:
    with_offset = total(counters, "offset_instructions")
    plain = sum(total(counters, name) for name in INSTRUCTIONS) - with_offset
    return plain * table.instruction_bits + with_offset * table.offset_instruction_bits
