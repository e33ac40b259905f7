"""Progress of long runs: inside a batch, in stream mode, monotone, and exact at the end."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trace import system, trace

from recnmp import baseline, host
from recnmp.cli import main
from recnmp.placement import Placement
from recnmp.progress import Meter
from recnmp.simulate import compare, make_engine, simulate
from recnmp.values import HashValues
from recnmp.workload import Table, Workload

RUNS = [
    ("host", []),
    ("host", ["run.mode=stream"]),
    ("host", ["memory.channels=2", "placement.mapping=RoBaRaCoCh"]),
    ("recnmp-base", []),
    ("recnmp-base", ["run.mode=stream"]),
    ("recnmp-base", ["memory.channels=2", "placement.mapping=RoBaRaCoCh"]),
]


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places few lookups at a time, as it is with batches of millions."""
    for module in (baseline, host):
        monkeypatch.setattr(module, "_PIECE", 7)


@pytest.mark.parametrize(("name", "words"), RUNS)
@pytest.mark.parametrize("order", ["table", "sample"])
def test_a_single_batch_is_seen_to_move(name: str, words: list[str], order: str, small_pieces: None) -> None:
    workload = trace(1, order=order)
    (batch,) = workload.batches()
    config = system(*words, name=name)
    told: list[int] = []
    engine = make_engine(config, workload.tables, Placement(config, workload.tables), None)
    if config.run.mode == "stream":
        engine.run_stream([batch], order, 0, told.append)
    else:
        engine.run_batch(batch, order, 0, told.append)
    assert sum(told) == batch.lookups
    assert min(told) > 0
    # the kernels of so small a batch answer once, at its end: what comes before is the placing
    assert len(told) >= 4
    assert max(told) < batch.lookups


@pytest.mark.parametrize(("name", "words"), RUNS)
def test_small_pieces_change_nothing(name: str, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for order in ("table", "sample"):
        workload = trace(3, dim=16 if "memory.channels=2" in words else 48, order=order)
        config = system(*words, name=name)
        whole = simulate(config, workload)
        with monkeypatch.context() as patch:
            for module in (baseline, host):
                patch.setattr(module, "_PIECE", 5)
            assert simulate(config, workload) == whole


@pytest.mark.parametrize("words", [[], ["run.mode=stream"]])
@pytest.mark.parametrize("with_values", [False, True])
@pytest.mark.parametrize("warmup", [0, 1])
def test_all_lookups_of_all_runs_are_reported(words: list[str], with_values: bool, warmup: int) -> None:
    workload = trace(3)
    values = HashValues(workload.tables, 1) if with_values else None
    told: list[int] = []
    compare([system(*words, name="recnmp-base")], workload, "t", warmup, values, told.append)
    assert sum(told) == 2 * workload.lookups


def test_a_trace_without_lookups_reports_none() -> None:
    nothing = Workload.from_arrays([], lengths=[0, 0], tables=trace().tables[:1])
    told: list[int] = []
    compare([system(name="recnmp-base")], nothing, "t", progress=told.append)
    assert told == []


def test_long_kernel_runs_report_between_their_chunks() -> None:
    """A hundred thousand rows of four lines each take the channel more than one chunk of clocks."""
    rows = np.random.Generator(np.random.PCG64(1)).integers(0, 50_000, 100_000)
    big = Workload.from_arrays(rows, lengths=[100] * 1000, tables=[Table("a", 50_000, 64)], batch_size=1000)
    config = system(name="recnmp-base")
    told: list[int] = []
    engine = make_engine(config, big.tables, Placement(config, big.tables), None)
    (batch,) = big.batches()
    engine.run_batch(batch, "table", 0, told.append)
    assert sum(told) == batch.lookups
    assert len(told) >= 4  # placed, put into packets, and the channel more than once


@given(st.lists(st.integers(0, 50)), st.integers(1, 5))
def test_a_meter_never_says_too_much(lookups: list[int], steps: int) -> None:
    told: list[int] = []
    meter = Meter(steps, told.append)
    for _ in range(steps):
        for count in lookups:
            meter.step(count)
    assert sum(told) == sum(lookups)
    assert 0 not in told


@given(st.integers(0, 1000), st.lists(st.integers(1, 40), min_size=1))
def test_a_following_callback_ends_at_all(lookups: int, parts: list[int]) -> None:
    told: list[int] = []
    reached = Meter(1, told.append).following(lookups, sum(parts))
    for count in range(len(parts) + 1):
        reached(sum(parts[:count]))
    assert sum(told) == lookups


def test_the_bar_is_on_a_terminal_even_one_without_a_size(tmp_path: Path) -> None:
    trace(40).save(tmp_path / "t.npz")
    words = [
        sys.executable,
        "-m",
        "recnmp",
        "simulate",
        str(tmp_path / "t.npz"),
        "--out",
        str(tmp_path / "o"),
    ]
    master, slave = pty.openpty()  # 0 columns and 0 lines until somebody says otherwise
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=slave, check=False)
    os.close(slave)
    try:
        said = os.read(master, 1 << 16).decode()
    except OSError:  # nobody has written
        said = ""
    os.close(master)
    assert run.returncode == 0
    assert "lookups/s" in said  # rate
    assert "<" in said  # time left
    assert b"lookups/s]" not in run.stdout


def test_there_is_no_bar_elsewhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    trace().save(tmp_path / "t.npz")
    assert main(["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "o")]) == 0
    assert capfd.readouterr().err == ""
