"""The figure of a comparison: legible with long names, and clear about what there is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from recnmp.analysis.summary_plot import draw, summary
from recnmp.analysis.summary_table import heading, render
from small_trace import system, trace

from recnmp.simulate import compare
from recnmp.workload import Table, Workload


def document(*systems: Any, workload: Workload | None = None, name: str = "t") -> dict[str, Any]:
    comparison = compare(list(systems), trace() if workload is None else workload, name)
    return json.loads(comparison.text())  # type: ignore[no-any-return]


def named(name: str, *words: str) -> Any:
    return system(*words, name="recnmp-base").model_copy(update={"name": name})


def all_text(figure: Figure) -> list[str]:
    panels = [text.get_text() for axes in figure.axes for text in axes.texts]
    return [*panels, *(text.get_text() for text in figure.texts)]


@pytest.mark.parametrize("length", [4, 25, 40])
@pytest.mark.parametrize("count", [1, 4, 8])
def test_names_are_whole_apart_and_inside(length: int, count: int) -> None:
    names = [f"{'a' * (length - 2)}.{number}" for number in range(count)]
    figure = summary(document(*(named(name) for name in names)))
    figure.draw_without_rendering()
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in labels] == ["host", *names]
    boxes = [label.get_window_extent() for label in labels]
    edge = figure.axes[0].get_window_extent().x0
    for box in boxes:
        assert 0 <= box.x0 < box.x1 <= edge
    for one, other in combinations(boxes, 2):
        assert not one.overlaps(other)
    # the panels keep most of the width
    assert sum(axes.get_window_extent().width for axes in figure.axes) > 0.5 * figure.bbox.width


def test_text_stays_inside_the_figure() -> None:
    systems = [named(f"{'b' * 38}.{n}", f"nmp.poolings_per_packet={n + 1}") for n in range(4)]
    figure = summary(document(*systems, named("c", "memory.dimms=1"), name="trace" * 60))
    figure.draw_without_rendering()
    assert figure.get_suptitle() == figure.texts[0].get_text()
    for text in figure.texts:
        box = text.get_window_extent()
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
    assert figure.texts[0].get_window_extent().y0 > figure.axes[0].title.get_window_extent().y1


def test_settings_that_differ_are_said_with_their_systems() -> None:
    same = document(named("one"), named("two"))
    assert len(heading(same)) == 1
    assert "8 poolings a packet, 2 packets in flight" in heading(same)[0]
    other = document(named("one"), named("two", "nmp.poolings_per_packet=1"))
    assert heading(other)[1:] == [
        "one: 8 poolings a packet, 2 packets in flight, 8 threads, round-robin",
        "two: 1 pooling a packet, 16 packets in flight, 8 threads, round-robin",
    ]
    memories = heading(document(named("one"), named("two", "memory.dimms=1")))
    assert any(line.startswith("host, one: 4x2 ") for line in memories)
    assert any(line.startswith("host (two), two: 1x2 ") for line in memories)


def test_a_trace_without_lookups_is_said_to_have_none() -> None:
    for lengths in ([], [0, 0]):
        nothing = Workload.from_arrays([], lengths=lengths, tables=[Table("a", 10, 16)])
        figure = summary(document(named("near"), workload=nothing))
        assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["no lookups"] * 3
        assert [len(axes.get_xticks()) for axes in figure.axes] == [0, 0, 0]
        assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["host", "near"]


def test_streams_are_said_to_have_no_latency() -> None:
    stream = summary(document(named("near", "run.mode=stream")))
    words = [text.get_text() for text in stream.axes[0].texts]
    assert words == ["none of its own: stream mode"] * 2
    assert len(stream.axes[0].get_xticks()) == 0
    mixed = summary(document(named("near", "run.mode=stream"), named("closed")))
    words = [text.get_text() for text in mixed.axes[0].texts]
    assert words.count("none of its own: stream mode") == 2
    assert sum(word.startswith("mean ") for word in words) == 2


def test_a_host_alone_speaks_of_no_instructions() -> None:
    alone = document(system())
    assert not any("bits an instruction" in text for text in all_text(summary(alone)))
    assert "bits an instruction" not in render(alone)
    assert "bits an instruction" in render(document(named("near")))


@pytest.mark.parametrize("name", ["a$\\broken$ name", "ψ 漢字", "x\udcff", "two\nlines"])
def test_any_name_of_a_trace_is_drawn(name: str, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        draw(document(system(), name=name), tmp_path / "f.png", "recnmp")
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")


def test_a_home_that_cannot_be_written_to_is_no_warning(tmp_path: Path) -> None:
    trace(1).save(tmp_path / "t.npz")
    gone = {"MPLCONFIGDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"}
    home = {name: value for name, value in os.environ.items() if name not in gone}
    words = ["simulate", str(tmp_path / "t.npz"), "--out", str(tmp_path / "o")]
    run = subprocess.run(
        [sys.executable, "-m", "recnmp", *words],
        env=home | {"HOME": "/dev/null"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (run.returncode, run.stderr) == (0, "")
