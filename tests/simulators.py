"""Icarus Verilog and Verilator for the tests: absent, a daily run skips, and a CI run fails."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

LINT = ("verilator", "--lint-only", "--timing", "-Wall", "-Wno-DECLFILENAME", "-Wno-UNUSEDSIGNAL")


def need(*programs: str) -> None:
    """Skip, or fail under CI, where one of these is not installed."""
    missing = [program for program in programs if shutil.which(program) is None]
    if missing and os.environ.get("CI"):
        pytest.fail(f"a CI run must have {', '.join(missing)}")
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def run(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command line as a reader of the testbench gives it, in the folder of the files."""
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )


def replay(folder: Path, stem: str) -> subprocess.CompletedProcess[str]:
    """The testbench in Icarus, by the command that stands at its top."""
    need("iverilog", "vvp")
    text = (folder / f"{stem}_tb.v").read_text()
    command = next(line for line in text.splitlines() if "iverilog" in line).removeprefix(" * ").strip()
    return run(folder, command)


def warnings(folder: Path, *words: str, top: str) -> str:
    """What Verilator's lint says of files: nothing, if clean. Words may be options too."""
    need("verilator")
    said = run(folder, " ".join([*LINT, "--top-module", top, *words]))
    return said.stdout + said.stderr
