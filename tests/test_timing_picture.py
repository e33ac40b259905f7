"""The picture of the worked example is drawn from the page's clocks, and shows all that the example has."""

from __future__ import annotations

import pytest
from timing_picture import PAGE, PICTURE, bars, draw, table

TEXT = PAGE.read_text()


def test_the_picture_is_that_of_the_page() -> None:
    assert draw(TEXT) == PICTURE.read_text(), "run python tests/timing_picture.py"


def test_another_clock_gives_another_picture() -> None:
    assert TEXT.count("| RD | 20 | - | 24 | - |") == 1
    assert draw(TEXT.replace("| RD | 20 | - | 24 | - |", "| RD | 21 | - | 24 | - |")) != draw(TEXT)


@pytest.mark.parametrize(
    ("lookup", "kind", "commands"),
    [("a", "miss", ["ACT", "RD"]), ("b", "2nd", []), ("c", None, ["ACT", "RD"]), ("d", "hit", [])],
)
def test_each_kind_of_access_is_shown(lookup: str, kind: str | None, commands: list[str]) -> None:
    mine = [bar for bar in bars(TEXT) if bar.lookup == lookup]
    probes = [bar.text for bar in mine if bar.lane == "RankCache" and bar.text != "fill"]
    assert probes == ([kind] if kind else [])
    assert [bar.text for bar in mine if bar.lane == "DDR commands"] == commands
    enters = table(TEXT)["enters the pipeline"][lookup]
    assert [(bar.first, bar.last) for bar in mine if bar.lane == "pipeline"] == [(enters, enters + 13)]


def test_nothing_of_a_lane_overlaps_on_a_line() -> None:
    """Commands and probes of one rank: one a clock."""
    for lane in ("RankCache", "DDR commands", "decode"):
        clocks = [bar.first for bar in bars(TEXT) if bar.lane == lane]
        assert len(set(clocks)) == len(clocks) > 0
