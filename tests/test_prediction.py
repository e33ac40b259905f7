"""The longer example of docs/microarchitecture.md, section 5: its clocks were worked out by hand from the page, before
anything was run. Here they are held against the naive machine and the kernel."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from machine_cases import Case, Encoder, Lookup, Packet, Run, is_lookup
from naive_machine import Machine
from naive_window import NEVER, Entry
from test_near_memory import COUNTERS, run_kernel

PAGE = (Path(__file__).resolve().parent.parent / "docs" / "microarchitecture.md").read_text()
SECTION = PAGE[PAGE.index("### A longer example") :].split("\n## ")[0]
NAMES = "abcdefghij"
COMMANDS = {0: "ACT", 1: "PRE", 3: "RD"}


def rows() -> dict[str, dict[str, str]]:
    """Lookup -> column -> cell."""
    lines = [line.strip("| ").split(" | ") for line in SECTION.splitlines() if line.startswith("|")]
    head = ["name", *lines[0]]
    return {line[0].strip("`"): dict(zip(head, line, strict=True)) for line in lines[2:]}


ROWS = rows()


def clocks(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"\d+", text)]


def column(title: str) -> dict[str, list[int]]:
    """Lookup -> clocks of the table's column."""
    return {name: clocks(row[title]) for name, row in ROWS.items()}


@cache
def example() -> Case:
    """The example, in the page's words."""
    lookups = {}
    for name, row in ROWS.items():
        place, _, start = row["rank, bank group, row, columns"].partition(", from byte ")
        rank, bankgroup, dram_row, *columns = clocks(place)
        run = Run(bankgroup, 0, dram_row, columns[0], len(columns))
        lookups[name] = Lookup(rank, (run,), byte_offset=(clocks(start) or [0])[0])

    def pooling(names: str) -> tuple[Lookup, ...]:
        return tuple(lookups[name] for name in names)

    packets = [
        Packet((pooling("ab"), pooling("cdefg"))),
        Packet((pooling("hi"), pooling("j")), 32, dtype=2, layout=1),
    ]
    batch = Encoder().encode(packets)
    local = np.flatnonzero(is_lookup(batch.stream) & (batch.stream["lookup"] != NAMES.index("c")))
    batch.stream["locality"][local] = 1
    words = {"dimms": 1, "ranks_per_dimm": 2, "window": 3, "rank_cache_bytes": 4096, "rank_cache_ways": 4}
    return Case(words, (batch,))


@cache
def twin() -> tuple[Machine, dict[str, tuple[int, Entry]]]:
    """The machine at its end, and of each lookup the clock of its decoding and its entry."""
    machine, entries = example().machine(), {}
    for rank in machine.ranks:

        def decoded(instruction, group, t, decode=rank.decoded):  # type: ignore[no-untyped-def]
            entry = decode(instruction, group, t)
            entries[NAMES[instruction.lookup]] = t, entry
            return entry

        rank.decoded = decoded  # type: ignore[method-assign]
    example().run(machine)
    return machine, entries


def of_entries(clocks_of) -> dict[str, list[int]]:  # type: ignore[no-untyped-def]
    return {name: clocks_of(*twin()[1][name]) for name in NAMES}


def test_what_happens_in_a_rank() -> None:
    """What only the naive machine tells."""
    assert of_entries(lambda t, entry: [t]) == column("decoded")
    probed = of_entries(lambda t, entry: [line.probed for line in entry.lines if line.probed < NEVER])
    assert probed == column("probed")
    offered = of_entries(
        lambda t, entry: [max(line.present_from for line in o.lines) for o in entry.operands]
    )
    assert offered == column("offered")
    assert of_entries(lambda t, entry: [operand.taken for operand in entry.operands]) == column("taken")
    assert of_entries(lambda t, entry: [entry.room]) == column("entry free")


@cache
def logs(machine: str) -> dict[str, list[tuple[int, ...]]]:
    if machine == "kernel":
        logs = run_kernel(example(), skip=True)
        return {name: [tuple(row) for row in rows] for name, rows in logs.items()}
    log = twin()[0].log
    bursts = [(clk, packet, dimm, tag, group) for clk, dimm, packet, tag, group in log.bursts]
    counters = [tuple(counters[name] for name in COUNTERS) for counters in log.counters]
    operands = sorted(row for rank in log.operands for row in rank)
    return {
        "sends": log.sends,
        "commands": log.commands,
        "operands": operands,
        "bursts": bursts,
        "ends": [(end,) for end in log.ends],
        "counters": counters,
    }


@pytest.mark.parametrize("machine", ["naive", "kernel"])
def test_clocks_of_the_page(machine: str) -> None:
    log, stream = logs(machine), example().stream
    sent = {NAMES[stream["lookup"][at]]: [clk] for clk, at in log["sends"] if stream["lookup"][at] >= 0}
    assert sent == column("sent")
    entered: dict[str, list[int]] = {}
    for clk, lookup, *_ in sorted(log["operands"]):
        entered.setdefault(NAMES[lookup], []).append(clk)
    assert entered == column("enters")

    predicted = set()
    for name, row in ROWS.items():
        rank, bankgroup, dram_row, *columns = clocks(row["rank, bank group, row, columns"].split(", from")[0])
        order = iter(columns[::-1])  # of `h` the line of the parameters, which is the last, goes first
        for command, clk in re.findall(r"([A-Z]+) (\d+)", row["commands"]):
            where = (-1 if command == "PRE" else dram_row, next(order) if command == "RD" else -1)
            predicted.add((int(clk), command, rank, bankgroup, 0, *where))
        assert (next(order, None) is None) == (name not in "ej")  # these hit, and read nothing
    found = {(clk, COMMANDS[code], *place) for clk, code, *place in log["commands"]}
    assert found == predicted


@pytest.mark.parametrize("machine", ["naive", "kernel"])
def test_results_of_the_page(machine: str) -> None:
    """Bursts and end as the last paragraph has them; `what it is` counted; two clocks of hazard."""
    log = logs(machine)
    text = SECTION[SECTION.index("The second packet enters the tree") :]
    start, *second, first_start, one, two, end = clocks(text)
    assert (start, first_start) == (93, 109)
    assert log["bursts"] == [
        *((clk, 1, 0, tag, group) for clk, (tag, group) in zip(second, np.ndindex(2, 2), strict=True)),
        (one, 0, 0, 0, 0),
        (two, 0, 0, 1, 0),
    ]
    assert log["ends"] == [(end,)]
    counted = [dict(zip(COUNTERS, row, strict=True)) for row in log["counters"]]
    assert counted == [
        {
            "wrong_predictions": 0,
            "cache_hits": 1,
            "cache_secondary_hits": 1,
            "cache_misses": 4,
            "cache_bypasses": 1,
            "cache_fills": 4,
            "hazard_clocks": 2,
        },
        {
            "wrong_predictions": 0,
            "cache_hits": 0,
            "cache_secondary_hits": 0,
            "cache_misses": 4,
            "cache_bypasses": 0,
            "cache_fills": 4,
            "hazard_clocks": 0,
        },
    ]


def test_done_of_the_page() -> None:
    text = SECTION[SECTION.index("`done` of the two packets") : SECTION.index("The second packet enters")]
    zero, one = (rank.done_since for rank in twin()[0].ranks)
    assert clocks(text) == [0, *zero, 1, *one]
