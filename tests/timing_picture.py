"""Draws the worked example of docs/microarchitecture.md, section 4, from its table: miss, secondary hit, bypass, hit.

`python tests/timing_picture.py` writes docs/images/example.svg; a test holds the picture to the page, and
tests/test_rank_cache.py holds the page's clocks to the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
PAGE = DOCS / "microarchitecture.md"
PICTURE = DOCS / "images" / "example.svg"

COLOURS = {"a": "#0072b2", "b": "#d55e00", "c": "#009e73", "d": "#cc79a7", "": "#888888"}
LANES = (
    "bus",
    "decode",
    "RankCache",
    "DDR commands",
    "rank's DQ",
    "operand register",
    "pipeline",
    "done",
)
CL, BL, PIPELINE = 16, 4, 14  # of the example
LEFT, TOP, WIDE, HIGH, BAR = 130, 58, 10, 34, 20


@dataclass(frozen=True)
class Bar:
    """What a lane does in clocks first .. last."""

    lane: str
    first: int
    last: int
    lookup: str
    text: str


def table(page: str) -> dict[str, dict[str, int]]:
    """Row of the example's table -> lookup -> clock; cells without one are left out."""
    lines = page[page.index("| clock | `a`: a miss") :].split("\n\n")[0].splitlines()
    rows = {}
    for line in lines[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        found = {lookup: re.match(r"\d+", cell) for lookup, cell in zip("abcd", cells, strict=True)}
        rows[name] = {lookup: int(match[0]) for lookup, match in found.items() if match}
    return rows


def prose(page: str) -> list[int]:
    """Clocks that stand below the table: END popped (2), done (2), result bursts (3), ends of batches (2)."""
    text = page[page.index("END is popped in") :].split("\n\n")[0]
    return [int(number) for number in re.findall(r"\b\d+\b", text)]


def bars(page: str) -> list[Bar]:
    """Everything that the picture shows."""
    rows = table(page)
    ended, _, done, again, first, second, third, *_ = prose(page)
    popped_again = prose(page)[1]
    kinds = {"a": "miss", "b": "2nd", "c": "", "d": "hit"}
    shown = []
    for lookup, sent in rows["sent"].items():
        if lookup != "c":  # b and c cross in the same clock
            shown.append(Bar("bus", sent, sent, lookup, {"a": "a", "b": "b c", "d": "d"}[lookup]))
    shown += [Bar("decode", clk, clk, lookup, lookup) for lookup, clk in rows["decoded"].items()]
    shown += [Bar("decode", clk, clk, "", "END") for clk in (ended, popped_again)]
    shown += [Bar("RankCache", clk, clk, lookup, kinds[lookup]) for lookup, clk in rows["probed"].items()]
    for command in ("ACT", "RD"):
        shown += [Bar("DDR commands", clk, clk, lookup, command) for lookup, clk in rows[command].items()]
    for lookup, clk in rows["RD"].items():
        shown.append(Bar("rank's DQ", clk + CL, clk + CL + BL - 1, lookup, f"burst of {lookup}"))
    shown.append(Bar("RankCache", rows["RD"]["a"] + CL + BL, rows["RD"]["a"] + CL + BL, "a", "fill"))
    for lookup, enters in rows["enters the pipeline"].items():
        shown.append(Bar("operand register", rows["taken"][lookup] + 1, enters, lookup, lookup))
        shown.append(Bar("pipeline", enters, enters + PIPELINE - 1, lookup, lookup))
    shown += [Bar("done", clk, clk, "", "set") for clk in (done, again)]
    shown += [Bar("bus", clk, clk + 3, "", "result") for clk in (first, second, third)]
    return shown


def draw(page: str) -> str:
    """The picture as SVG."""
    shown = bars(page)
    stacks = {name: _stacked([bar for bar in shown if bar.lane == name]) for name in LANES}
    heights = {name: HIGH + BAR * (max((at for _, at in stack), default=0)) for name, stack in stacks.items()}
    last = max(bar.last for bar in shown) + 1
    width, height = _x(last) + 60, TOP + sum(heights.values()) + 52
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="DejaVu Sans, Verdana, sans-serif" font-size="11">',
        "<title>Worked example of section 4: a miss, a secondary hit, a bypass and a hit, clock by clock</title>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    words = {"a": "a: miss", "b": "b: secondary hit", "c": "c: bypass", "d": "d: hit"}
    for number, (lookup, text) in enumerate(words.items()):
        at = LEFT + 140 * number
        out.append(f'<rect x="{at}" y="12" width="14" height="14" fill="{COLOURS[lookup]}"/>')
        out.append(f'<text x="{at + 20}" y="23">{text}</text>')
    out.append(f'<text x="{LEFT - 12}" y="{TOP - 8}" text-anchor="end">clock (tCK)</text>')
    for clk in range(0, last + 1, 4):
        out.append(f'<path d="M{_x(clk)},{TOP} V{height - 52}" stroke="#ddd"/>')
        out.append(
            f'<text x="{_x(clk) + WIDE // 2}" y="{TOP - 8}" text-anchor="middle" fill="#444">{clk}</text>'
        )
    y = TOP
    for name in LANES:
        out.append(f'<path d="M0,{y + heights[name]} H{width}" stroke="#bbb"/>')
        out.append(f'<text x="{LEFT - 12}" y="{y + 21}" text-anchor="end">{name}</text>')
        for bar, at in stacks[name]:
            out += _drawn(bar, y + 7 + BAR * at)
        y += heights[name]
    batch = prose(page)[-2]
    out += [
        f'<path d="M{_x(batch)},{TOP} V{y + 6}" stroke="#333" stroke-dasharray="3 3"/>',
        f'<text x="{_x(batch)}" y="{y + 18}" text-anchor="middle">{batch}: second batch</text>',
        f'<text x="12" y="{height - 10}" fill="#444">One rank; CL 16, BL 4, tRCD 16. A bar begins at the left edge of '
        "its first clock. In the register, b waits a clock for the adder.</text>",
    ]
    return "\n".join([*out, "</svg>", ""])


def _x(clk: int) -> int:
    """Left edge of a clock."""
    return LEFT + WIDE * clk


def _label_width(bar: Bar) -> int:
    return 7 * len(bar.text) + 4


def _stacked(of: list[Bar]) -> list[tuple[Bar, int]]:
    """Each bar with its line in the lane, the first on which neither it nor its label meets another."""
    placed: list[tuple[Bar, int]] = []
    ends: list[int] = []
    for bar in sorted(of, key=lambda one: (one.first, one.lookup)):
        inside = _label_width(bar) <= _x(bar.last) + WIDE - _x(bar.first)
        end = _x(bar.last) + WIDE + (0 if inside else _label_width(bar))
        line = next((i for i, taken in enumerate(ends) if taken <= _x(bar.first)), len(ends))
        ends[line:] = [end, *ends[line + 1 :]]
        placed.append((bar, line))
    return placed


def _drawn(bar: Bar, y: int) -> list[str]:
    """A bar, with its label inside where there is room, else to its right."""
    x, width = _x(bar.first), _x(bar.last) + WIDE - _x(bar.first)
    inside = _label_width(bar) <= width
    at, anchor, colour = (x + width / 2, "middle", "#fff") if inside else (x + width + 2, "start", "#222")
    return [
        f'<rect x="{x}" y="{y}" width="{width}" height="{BAR - 4}" fill="{COLOURS[bar.lookup]}"/>',
        f'<text x="{at:g}" y="{y + 12}" text-anchor="{anchor}" fill="{colour}">{bar.text}</text>',
    ]


if __name__ == "__main__":
    PICTURE.write_text(draw(PAGE.read_text()))
