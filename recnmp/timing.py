"""The DDR4 rules as rows of data: who must wait how long for whom, and where.

A row says: at one place of a `level`, any command of `following` comes at least `clocks` after the
`window`-th last command of `preceding`. Both the kernels' tables and the slow twin are made from these rows.
Source: JEDEC JESD79-4 timing parameters in the form in which Ramulator 2.1 states them (docs/dram.md);
what differs from JEDEC is numbered in docs/deviations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .config.dram import RuleSet, Timing

Level = Literal["channel", "rank", "other_ranks", "bankgroup", "bank"]
Scope = Literal["host", "rank"]

# position = code in command logs; REF is REFab, all banks of a rank
COMMANDS = ("ACT", "PRE", "PREA", "RD", "WR", "RDA", "WRA", "REF")

READS = ("RD", "RDA")
WRITES = ("WR", "WRA")
COLUMN = READS + WRITES


@dataclass(frozen=True)
class Rule:
    """One row. `other_ranks` means: preceding in one rank, following in any other rank of the channel.

    `clocks` may be zero or negative (the row then never binds). `window` counts preceding commands at the
    place: 1 is the last one, 4 the fourth last.
    """

    level: Level
    preceding: tuple[str, ...]
    following: tuple[str, ...]
    clocks: int
    window: int = 1
    name: str = ""
    source: str = "JESD79-4"


def rules(timing: Timing, rule_set: RuleSet, scope: Scope) -> tuple[Rule, ...]:
    """All rows in force. Scope `host` is all of them; `rank` those inside a rank of a DIMM (D4).

    The rule sets differ in one row, the read-to-write turnaround between ranks (D-1).
    """
    t = timing
    read_to_write = t.nCL + t.nBL + 2 - t.nCWL
    write_to_pre = t.nCWL + t.nBL + t.nWR
    inside = (
        Rule("rank", READS, READS, t.nCCDS, name="CCD_S read"),
        Rule("rank", WRITES, WRITES, t.nCCDS, name="CCD_S write"),
        Rule("rank", READS, WRITES, read_to_write, name="read to write"),
        Rule("rank", WRITES, READS, t.nCWL + t.nBL + t.nWTRS, name="WTR_S"),
        Rule("rank", ("RD",), ("PREA",), t.nRTP, name="RTP all banks"),
        Rule("rank", ("WR",), ("PREA",), write_to_pre, name="WR all banks"),
        Rule("rank", ("ACT",), ("ACT",), t.nRRDS, name="RRD_S"),
        Rule("rank", ("ACT",), ("ACT",), t.nFAW, window=4, name="FAW"),
        Rule("rank", ("ACT",), ("PREA",), t.nRAS, name="RAS all banks"),
        Rule("rank", ("PREA",), ("ACT",), t.nRP, name="RP all banks"),
        Rule("rank", ("ACT",), ("REF",), t.nRC, name="RC to refresh"),
        Rule("rank", ("PRE", "PREA"), ("REF",), t.nRP, name="RP to refresh"),
        Rule("rank", ("RDA",), ("REF",), t.nRTP + t.nRP, name="read with precharge to refresh"),
        Rule("rank", ("WRA",), ("REF",), write_to_pre + t.nRP, name="write with precharge to refresh"),
        Rule("rank", ("REF",), ("ACT", "PREA"), t.nRFC, name="RFC"),
        Rule("bankgroup", READS, READS, t.nCCDL, name="CCD_L read"),
        Rule("bankgroup", WRITES, WRITES, t.nCCDL, name="CCD_L write"),
        Rule("bankgroup", WRITES, READS, t.nCWL + t.nBL + t.nWTRL, name="WTR_L"),
        Rule("bankgroup", ("ACT",), ("ACT",), t.nRRDL, name="RRD_L"),
        Rule("bank", ("ACT",), ("ACT",), t.nRC, name="RC"),
        Rule("bank", ("ACT",), COLUMN, t.nRCD, name="RCD"),
        Rule("bank", ("ACT",), ("PRE",), t.nRAS, name="RAS"),
        Rule("bank", ("PRE",), ("ACT",), t.nRP, name="RP"),
        Rule("bank", ("RD",), ("PRE",), t.nRTP, name="RTP"),
        Rule("bank", ("WR",), ("PRE",), write_to_pre, name="WR"),
        Rule("bank", ("RDA",), ("ACT",), t.nRTP + t.nRP, name="read with precharge to ACT"),
        Rule("bank", ("WRA",), ("ACT",), write_to_pre + t.nRP, name="write with precharge to ACT"),
    )
    if scope == "rank":
        return inside
    bus = t.nBL + t.nCS
    # D-1: the reference spaces RD -> WR of another rank by BL + CS, which lets two bursts overlap
    turnaround = bus if rule_set == "ramulator-2.1" else t.nCL + bus - t.nCWL
    reference = "Ramulator 2.1, see D-1" if rule_set == "ramulator-2.1" else "data bus occupancy, see D-1"
    return (
        Rule("channel", READS, READS, t.nBL, name="data bus read"),
        Rule("channel", WRITES, WRITES, t.nBL, name="data bus write"),
        Rule("other_ranks", READS, READS, bus, name="rank switch read"),
        Rule("other_ranks", READS, WRITES, turnaround, name="rank switch read to write", source=reference),
        Rule("other_ranks", WRITES, READS, t.nCWL + bus - t.nCL, name="rank switch write to read"),
        *inside,
    )
