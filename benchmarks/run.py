"""Measure everything: `make bench`, or `python benchmarks/run.py [NAME ...] [--no-write]`.

Each `bench_NAME.py` beside this file offers `rows() -> list[dict]`, one figure a row with the keys name,
value, unit and note. All figures go to one table on standard output and, with the machine, the versions
and the command, between the marks of docs/performance.md.
"""

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "performance.md"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
KEYS = ("name", "value", "unit", "note")


def find(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """The benchmark files of a folder; `names` are the parts after `bench_`, none meaning all."""
    found = {path.stem.removeprefix("bench_"): path for path in sorted(folder.glob("bench_*.py"))}
    if unknown := [name for name in names if name not in found]:
        raise SystemExit(f"no benchmark {unknown[0]!r}; there are: {', '.join(found)}")
    return [path for name, path in found.items() if not names or name in names]


def measure(path: Path) -> list[dict[str, Any]]:
    """The rows of one benchmark file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rows = list(module.rows())
    for row in rows:
        if set(row) != set(KEYS):
            raise SystemExit(f"{path.name}: a row has the keys {sorted(row)}, not {sorted(KEYS)}")
    return rows


def written(value: object) -> str:
    """Three figures are what a timing on a shared machine is worth; counts are given whole."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def aligned(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    cells = [KEYS, *[tuple(written(row[key]) for key in KEYS) for row in rows]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(KEYS))]
    for name, value, unit, note in cells:
        line = f"{name:<{widths[0]}}  {value:>{widths[1]}}  {unit:<{widths[2]}}  {note}"
        yield line.rstrip()


def markdown(rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "| what | value | unit | note |"
    yield "| --- | ---: | --- | --- |"
    for row in rows:
        yield "| " + " | ".join(written(row[key]).replace("|", "\\|") for key in KEYS) + " |"


def processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists() and (model := re.search(r"^model name\s*: (.*)$", info.read_text(), re.M)):
        return model[1]
    return platform.processor() or platform.machine()


def compiler() -> str:
    command = shlex.split(os.environ.get("CC", "cc"))
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown compiler"
    return said.splitlines()[0]


def provenance(command: str) -> Iterator[str]:
    versions = [f"{name} {importlib.metadata.version(name)}" for name in ("recnmp", "numpy", "cython")]
    yield f"Measured {time.strftime('%Y-%m-%d')} by `{command}`."
    yield ""
    yield f"* Machine: {processor()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}."
    yield f"* Versions: Python {platform.python_version()}, {', '.join(versions)}; {compiler()}."


def rewrite(page: str, lines: Sequence[str]) -> str:
    """The page with `lines` between its two marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"the page has no marks {BEGIN} and {END}")
    return "\n".join([head + BEGIN, *lines, END + tail])


def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only bench_NAME.py (then nothing is written)"
    )
    parser.add_argument("--no-write", action="store_true", help="leave docs/performance.md as it is")
    args = parser.parse_args(words)
    rows: list[dict[str, Any]] = []
    for path in find(HERE, args.names):
        print(f"{path.stem} ...", file=sys.stderr, flush=True)
        rows += measure(path)
    if not rows:
        raise SystemExit("no benchmark gave a figure")
    print(*aligned(rows), sep="\n")
    if not args.no_write and not args.names:
        lines = [*provenance("make bench"), "", *markdown(rows)]
        PAGE.write_text(rewrite(PAGE.read_text(), lines))
        print(f"written into {PAGE.relative_to(HERE.parent)}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
