"""What docs/hardware.md shows of the program: tables from the builders, output of its commands, an excerpt of Verilog.

`python tests/hardware_page.py` writes it into the page; a test holds page and program equal.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.export.port_tables import markdown_table
from recnmp.rtl.export.verilog import module
from recnmp.rtl.faults import FAULTS
from recnmp.rtl.faults.table import markdown_table as faults_table

PAGE = Path(__file__).resolve().parent.parent / "docs" / "hardware.md"
# commands, and what they print; a command without the word `run` is run for its output only
SHOWN = re.compile(r"^```sh( run)?\n(.*?)^```\n\n```text\n(.*?)^```$", re.M | re.S)
EXCERPT = (" fp_add__guard =", " fp_add__rounded =")


def between(text: str, what: str, content: str) -> str:
    """The text with `content` between the markers of `what`. Raises ValueError if they are not there once."""
    begin, end = f"<!-- {what}: begin -->", f"<!-- {what}: end -->"
    if text.count(begin) != 1 or text.count(end) != 1:
        raise ValueError(f"the page must have the markers of {what} once")
    head, rest = text.split(begin)
    return f"{head}{begin}\n{content}\n{end}{rest.split(end)[1]}"


def with_tables(text: str) -> str:
    """Port tables and faults."""
    for name, hardware in BLOCKS.items():
        text = between(text, f"ports of {name}", markdown_table(hardware))
    return between(text, "faults", faults_table(list(FAULTS.values())))


def with_excerpt(text: str) -> str:
    """The one block of Verilog: some lines of fp_add."""
    lines = module(BLOCKS["fp_add"], BLOCKS["fp_add"].circuit()).splitlines()
    first, last = (next(i for i, line in enumerate(lines) if word in line) for word in EXCERPT)
    excerpt = "\n".join(line.removeprefix("    ") for line in lines[first : last + 1])
    return re.sub(r"(?<=^```verilog\n).*?(?=^```$)", lambda _: f"{excerpt}\n", text, flags=re.M | re.S)


def with_outputs(text: str) -> str:
    """What the commands print, run in order in one empty folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:

        def shown(found: re.Match[str]) -> str:
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", found[2]],
                cwd=folder,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                check=False,
            )
            if run.returncode:
                raise ValueError(f"{found[2]}{run.stdout}{run.stderr}")
            return f"```sh{found[1] or ''}\n{found[2]}```\n\n```text\n{run.stdout}```"

        return SHOWN.sub(shown, text)


if __name__ == "__main__":
    PAGE.write_text(with_outputs(with_excerpt(with_tables(PAGE.read_text()))))
