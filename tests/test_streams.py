"""Standard output and error that are closed or full, and the command before it has begun."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_trace import trace

COMMAND = [sys.executable, "-m", "recnmp"]
FULL = Path("/dev/full")


def run(words: list[str], redirect: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    line = f'exec "$@" {redirect}'
    return subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *words],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )


@pytest.mark.parametrize("words", [["config", "list"], ["config", "show"], ["--help"], ["simulate", "-h"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_output_is_named(words: list[str], unbuffered: str) -> None:
    ended = run(words, ">/dev/full", unbuffered)
    assert ended.returncode == 2
    assert ended.stderr == "recnmp: error: standard output: No space left on device\n"


@pytest.mark.parametrize("words", [["config", "list"], ["--version"], ["simulate", "t.npz"]])
def test_a_closed_output_is_named(words: list[str]) -> None:
    ended = run(words, ">&-")
    assert ended.returncode == 2
    assert ended.stderr == "recnmp: error: standard output: closed\n"


def test_nothing_is_computed_for_a_closed_output(tmp_path: Path) -> None:
    trace(1).save(tmp_path / "t.npz")
    assert run(["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "o")], ">&-").returncode == 2
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
def test_errors_do_not_go_to_standard_output(redirect: str) -> None:
    ended = run(["config", "nope"], redirect)
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", "")


def test_a_run_without_standard_error_is_a_run(tmp_path: Path) -> None:
    trace(1).save(tmp_path / "t.npz")
    ended = run(["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "o")], "2>&-")
    assert ended.returncode == 0
    assert (tmp_path / "o" / "result.json").exists()


def test_an_error_is_one_line_whatever_was_given() -> None:
    ended = run(["config", "no\npe\x1b"], "")
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "no\\npe\\x1b" in ended.stderr


def test_names_of_any_bytes_are_printed(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/t\xff$\n.npz")
    trace(1).save(tmp_path / "t.npz")
    os.rename(tmp_path / "t.npz", name)
    ended = run(["simulate", name, "--out", str(tmp_path / "o\udcfe")], "")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("t?$?: 2 tables")
    ended = run(["trace", "info", name, "--plot", str(tmp_path / "p.png")], "")
    assert ended.returncode == 0
    assert ended.stderr.count("\n") == 1  # where the figure is


def test_ctrl_c_during_the_imports_is_quiet() -> None:
    code = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'argparse': raise KeyboardInterrupt\n"
        "sys.modules.pop('argparse', None)\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from recnmp.__main__ import start\n"
        "sys.exit(start())\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["rtl", "verify", "--block", "fp_add", "--fault", "fp_add_sticky_lost", "--clocks", "5k"], 1),
        (["rtl", "verify", "--block", "widen", "--block", "fp_add", "--clocks", "5k"], 0),
        (["validate", "dram", "CASES"], 2),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_verdict_is_reached_though_nobody_reads_on(
    tmp_path: Path, words: list[str], code: int, unbuffered: str
) -> None:
    """The reader has gone before anything is said; the exit code is the verdict all the same."""
    cases = tmp_path / "cases"
    cases.mkdir()
    (cases / "broken.npz").write_text("no archive")
    (cases / "broken.json").write_text("{}")
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*COMMAND, *(str(cases) if word == "CASES" else word for word in words)],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
    )
    os.close(writing)
    assert ended.returncode == code
    assert "Traceback" not in ended.stderr
    assert code == 2 or ended.stderr == ""
