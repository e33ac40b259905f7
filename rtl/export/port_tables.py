"""The ports of a block as a table, from its one declaration: for Verilog's head, the terminal and docs/hardware.md."""

from __future__ import annotations

import textwrap

from ..ports import Hardware

VERILOG_PORTS = (
    ("clk", "1", "in", "clock, rising edge"),
    ("rst", "1", "in", "reset, synchronous, active high"),
)


def _rows(hardware: Hardware) -> list[tuple[str, str, str, str]]:
    inputs = [(port.name, str(port.bits), "in", port.meaning) for port in hardware.inputs]
    return inputs + [(port.name, str(port.bits), "out", port.meaning) for port in hardware.outputs]


def text_table(hardware: Hardware, form: str = "PyRTL", columns: int = 106) -> str:
    """Aligned columns, long meanings wrapped. In the form "Verilog" with clock and reset."""
    rows = [
        ("port", "bits", "way", "meaning"),
        *(VERILOG_PORTS if form == "Verilog" else ()),
        *_rows(hardware),
    ]
    wide = max(len(row[0]) for row in rows)
    lines = []
    for name, bits, way, meaning in rows:
        head = f"{name:<{wide}}  {bits:>4}  {way:<3}  "
        lines += textwrap.wrap(meaning, columns, initial_indent=head, subsequent_indent=" " * len(head)) or [
            head.rstrip()
        ]
    return "\n".join(lines)


def markdown_table(hardware: Hardware) -> str:
    """The table of a page."""
    rows = [f"| {name} | {bits} | {way} | {meaning} |" for name, bits, way, meaning in _rows(hardware)]
    return "\n".join(["| port | bits | way | meaning |", "| --- | --- | --- | --- |", *rows])
