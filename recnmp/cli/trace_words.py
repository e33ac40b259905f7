"""What the sub-verbs of `recnmp trace` share: numbers read from words, progress, saving, a trace in a phrase."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

    from tqdm import tqdm

    from ..workload import Workload


LAYOUT_HELP = "of int8 and int4 rows: tail (scale and bias after the elements), head, head16 (tail)"
MODE_HELP = "what a pooling is: sum, mean (without weights), weighted-mean (with them) (sum)"
# of int() neither blanks nor the digits of other scripts; so many digits that it never takes long
_WHOLE = re.compile(r"([+-]?[0-9](?:_?[0-9]){0,99})([kMG]?)")


def whole(lowest: int) -> Callable[[str], int]:
    """A parser of whole numbers, `_` and the suffixes k, M and G allowed, from `lowest` on."""

    def parse(text: str) -> int:
        found = _WHOLE.fullmatch(text)
        if found is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number like 5000, 5_000, 200k, 1M or 2G"
            )
        number = int(found[1]) * {"": 1, "k": 1000, "M": 1000_000, "G": 1000_000_000}[found[2]]
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is below {lowest}")
        if number >= 1 << 63:
            raise argparse.ArgumentTypeError(f"{text!r} is beyond 2^63-1")
        return number

    return parse


def watching(total: int, what: str) -> tqdm[NoReturn]:
    """Progress with rate and time left, on a terminal only."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit=" lookups", unit_scale=True, disable=None, leave=False)


def save(workload: Workload, path: str) -> None:
    """Write a trace, with progress."""
    with watching(workload.lookups, "writing") as bar:
        workload.save(path, bar.update)


def shape(workload: Workload) -> str:
    """Counts and order of a trace, one phrase."""
    counts = (
        (workload.lookups, "lookup", "lookups"),
        (len(workload.tables), "table", "tables"),
        (workload.n_batches, "batch", "batches"),
    )
    words = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts]
    return ", ".join([*words, f"{workload.order} by {workload.order}"])
