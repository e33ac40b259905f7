"""`recnmp rtl verify` as a user meets it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from functools import partial

import pyrtl
import pytest
from lockstep_toys import COUNTER, CounterKernel, counter, counter_inputs
from recnmp.rtl import blocks, faults
from recnmp.rtl.faults import patch
from recnmp.rtl.lockstep import pair as pairs
from recnmp.rtl.lockstep.pair import Pair

from recnmp.cli import main

VERIFY = ["rtl", "verify"]


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks: `counter` is right, the kernel of `miscounter` is wrong after 2 and 1."""
    wrong = counter("miscounter")
    toys = {pair.name: pair for pair in (COUNTER, Pair(wrong, lambda: CounterKernel((2, 1)), counter_inputs))}
    monkeypatch.setattr(blocks, "BLOCKS", {name: pair.hardware for name, pair in toys.items()})
    monkeypatch.setattr(pairs, "PAIRS", toys)


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    code = main([*VERIFY, *words])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def test_equal(toys: None, capsys: pytest.CaptureFixture[str]) -> None:
    line = "counter             20,000 clocks  2 signals  equal"
    for words in (["--block", "counter"], ["--block", "counter", "--block", "counter"]):
        assert told(capsys, *words, "--clocks", "20k") == (0, [line], "")


def test_the_first_difference_ends_it(toys: None, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, err = told(capsys, "--clocks", "40k", "--seed", "3")
    assert (code, err) == (1, "")
    assert lines[0] == "counter             40,000 clocks  2 signals  equal"
    assert lines[1].split()[0] == "miscounter"
    assert lines[1].endswith("DIFFERS")
    clock = int(lines[1].split()[1].replace(",", "")) - 1
    assert lines[2].startswith(f"miscounter, clock {clock:,}, total_out: kernel 0x")
    assert len(lines[3:21]) == 18  # two lines of heading and sixteen clocks
    assert lines[20].split()[0] == f"{clock:,}"
    assert lines[20].count("*") == 2
    at = lines.index("shortest inputs found, from reset (3 clocks):")
    assert lines[at + 1] == "miscounter, clock 2, total_out: kernel 0x0004, circuit 0x0003"
    assert [line.split()[1:3] for line in lines[at + 4 : at + 7]] == [["1", "02"], ["1", "01"], ["0", "00"]]
    # the same command says the same
    assert told(capsys, "--clocks", "40k", "--seed", "3") == (1, lines, "")
    assert told(capsys, "--clocks", "40k", "--seed", "4")[1] != lines
    assert told(capsys, "--clocks", str(clock), "--seed", "3")[0] == 0


def test_a_fault(toys: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One that shows in clock 2 and one that never does."""

    def harmless(block: pyrtl.Block) -> None:
        pass

    def harmful(block: pyrtl.Block) -> None:
        patch.stuck(block, "total_is_0", 1)

    table = {
        "nothing": faults.Fault("nothing", "counter", "nothing is wrong", harmless, ()),
        "always_zero": faults.Fault("always_zero", "counter", "zero is always 1", harmful, ("zero",)),
    }
    monkeypatch.setattr(faults, "FAULTS", table)
    code, lines, _ = told(capsys, "--fault", "nothing", "--clocks", "5k")
    assert code == 0
    assert lines == [
        "fault nothing: nothing is wrong",
        "counter              5,000 clocks  2 signals  equal",
        "fault nothing was not found in 5,000 clocks",
    ]
    code, lines, _ = told(capsys, "--fault", "always_zero")
    assert code == 1
    assert lines[0] == "fault always_zero: zero is always 1"
    assert lines[1].endswith("DIFFERS")
    assert "counter, clock 1, zero: kernel 0x0, circuit 0x1" in lines
    code, _, err = told(capsys, "--fault", "always_zer")
    assert (code, err) == (2, "recnmp: error: no fault 'always_zer'; did you mean 'always_zero'?\n")
    code, _, err = told(capsys, "--fault", "always_zero", "--block", "miscounter")
    assert (code, err) == (2, "recnmp: error: --block miscounter: fault always_zero is one of counter\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--block", "lone"], "no block 'lone'; did you mean 'lane'?"),
        (["--block", "qqq"], "no block 'qqq'; there are: fp_add, fp_mul, widen, dequantise, lane"),
        (["--block", "LANE"], "no block 'LANE'; did you mean 'lane'?"),
        (["--fault", "Lane_Hazard_Short"], "did you mean 'lane_hazard_short'?"),
        (
            ["--clocks", "1e6"],
            "argument --clocks: '1e6' is not a whole number like 5000, 5_000, 200k, 1M or 2G",
        ),
        (["--clocks", "\u0661\u0662"], "is not a whole number"),
        (["--clocks", " 5"], "argument --clocks: ' 5' is not a whole number"),
        (["--clocks", "1 k"], "argument --clocks: '1 k' is not a whole number"),
        (["--clocks", "0"], "argument --clocks: '0' is below 1"),
        (["--clocks", "many"], "argument --clocks: 'many' is not a whole number"),
        (["--seed", "-1"], "argument --seed: '-1' is below 0"),
    ],
)
def test_bad_words(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, lines, err = told(capsys, *words)
    assert (code, lines) == (2, [])
    assert message in err
    assert err.count("\n") == 1


def test_a_long_run_is_seen_to_move_and_can_be_ended() -> None:
    """Rate and time left on a terminal, and Ctrl-C is answered."""
    master, slave = pty.openpty()
    words = [sys.executable, "-m", "recnmp", *VERIFY, "--block", "fp_mul", "--clocks", "100G"]
    # a shell may have told its background jobs to ignore Ctrl-C
    heeding = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=slave, preexec_fn=heeding)
    os.close(slave)
    said = b""
    while b"clocks/s" not in said or b"<" not in said:
        said += os.read(master, 1 << 12)
    run.send_signal(signal.SIGINT)
    try:
        out, _ = run.communicate(timeout=20)
    finally:
        run.kill()
        os.close(master)
    assert run.returncode == 130
    assert out == b""
