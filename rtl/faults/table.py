"""The known faults as a table: for the terminal and docs/hardware.md."""

from __future__ import annotations

from collections.abc import Sequence

from .fault import Fault


def text_table(faults: Sequence[Fault]) -> str:
    """Name and meaning, aligned."""
    wide = max((len(fault.name) for fault in faults), default=0)
    return "\n".join(f"{fault.name:<{wide}}  {fault.says}" for fault in faults)


def markdown_table(faults: Sequence[Fault]) -> str:
    """The table of a page."""
    rows = [f"| `{fault.name}` | {fault.says} |" for fault in faults]
    return "\n".join(["| fault | what is wrong |", "| --- | --- |", *rows])
