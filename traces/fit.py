"""How well a generated trace meets its histogram: published, expected of this many lookups, and drawn.

Only for printing: these are floating-point numbers, nothing is drawn from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .generate import Recipe, plan
from .histograms import NAMES, RATE_UNIT, published
from .popularity import Groups

Float64 = npt.NDArray[np.float64]

_EDGES = np.array([0, *(2**k for k in range(16))], dtype=np.int64)
# above this rate a row's count is taken as certain: it leaves its bin with a probability of under 1 %
_CERTAIN = 1e5


@dataclass(frozen=True, eq=False)
class Fit:
    """Shares in the 17 bins of the reuse factor, [17] each, of rows touched and of lookups.

    published: of the published batch (None for uniform and zipf). expected: of the plan, over all seeds.
    drawn: of this trace. law: the thinned law's own shares at the published size, None if nothing is thinned.
    A variation is half the sum of absolute differences, None where there is nothing.
    """

    published: tuple[Float64, Float64] | None
    expected: tuple[Float64, Float64] | None
    drawn: tuple[Float64, Float64] | None
    law: tuple[Float64, Float64] | None

    @staticmethod
    def variation(
        one: tuple[Float64, Float64] | None, other: tuple[Float64, Float64] | None
    ) -> list[float] | None:
        """Total variation of rows and of lookups."""
        if one is None or other is None:
            return None
        return [float(np.abs(a - b).sum() / 2) for a, b in zip(one, other, strict=True)]


def fit(recipe: Recipe, rows: npt.ArrayLike, lookups: npt.ArrayLike) -> Fit:
    """Compare a drawn trace's rows and lookups in each bin (whole numbers, [17]) with what they should be."""
    made = plan(recipe)
    total = np.zeros((2, len(_EDGES)))
    known: dict[tuple[int, int], Float64] = {}
    for count, groups in zip(made.lookups, made.groups, strict=True):
        key = (id(groups), count)
        if key not in known:
            known[key] = _exact(groups) if made.method == "direct" else _thinned(groups, count)
        total += known[key]
    target = law = None
    if recipe.law in NAMES:
        histogram = published(recipe.law)
        target = _shares(histogram.rows_per_bin, histogram.lookups_per_bin)
        if made.method == "mixture":
            rates, counts = np.array(histogram.mixture, dtype=np.float64).T
            law = _shares(*_expected(rates / RATE_UNIT, counts))
    return Fit(target, _shares(total[0], total[1]), _shares(rows, lookups), law)


def _shares(rows: npt.ArrayLike, lookups: npt.ArrayLike) -> tuple[Float64, Float64] | None:
    one, other = np.asarray(rows, dtype=np.float64), np.asarray(lookups, dtype=np.float64)
    return (one / one.sum(), other / other.sum()) if one.sum() else None


def _exact(groups: Groups) -> Float64:
    result = np.zeros((2, len(_EDGES)))
    bins = np.searchsorted(_EDGES, groups.share, side="left") - 1
    np.add.at(result[0], bins, groups.rows)
    np.add.at(result[1], bins, groups.rows * groups.share)
    return result


def _thinned(groups: Groups, lookups: int) -> Float64:
    rates = groups.share.astype(np.float64) * (lookups / max(groups.total, 1))
    return _expected(rates, groups.rows.astype(np.float64))


def _expected(rates: Float64, numbers_of_rows: Float64) -> Float64:
    """Rows and lookups in each bin if the counts of so many rows are Poisson with these rates."""
    result = np.zeros((2, len(_EDGES)))
    top = min(float(rates.max(initial=0)), _CERTAIN)
    numbers = np.arange(int(top + 12 * top**0.5) + 64)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(numbers[1:]))])
    bins = np.searchsorted(_EDGES, numbers, side="left") - 1
    for rate, rows in zip(rates, numbers_of_rows, strict=True):
        if not rate:
            continue
        if rate > _CERTAIN:
            _place(
                result,
                np.array([np.searchsorted(_EDGES, rate) - 1]),
                np.array([rows]),
                np.array([rows * rate]),
            )
            continue
        low = max(int(rate - 12 * rate**0.5) - 32, 1)  # rows never drawn are in no bin
        high = int(rate + 12 * rate**0.5) + 64
        near = numbers[low:high]
        chance: Float64 = rows * np.exp(near * np.log(rate) - rate - log_factorial[low:high])
        _place(result, bins[low:high], chance, chance * near)
    return result


def _place(result: Float64, bins: npt.NDArray[np.intp], rows: Float64, lookups: Float64) -> None:
    result[0] += np.bincount(bins, rows, len(_EDGES))
    result[1] += np.bincount(bins, lookups, len(_EDGES))


def fit_table(result: Fit) -> str:
    """The comparison as text: a line a bin, in per cent, then the total variations."""
    names = [f"({low}, {high}]" for low, high in pairwise(_EDGES)] + [f"({_EDGES[-1]}, inf)"]
    columns: Sequence[tuple[str, tuple[Float64, Float64] | None]] = (
        ("published", result.published),
        ("expected", result.expected),
        ("drawn", result.drawn),
    )
    shown = [(name, shares) for name, shares in columns if shares is not None or name == "drawn"]
    head = "".join(f"{name:>11}" for name, _ in shown)
    lines = [
        f"{'':16}  {'rows, %':>{len(head)}}  {'lookups, %':>{len(head)}}",
        f"{'accesses a row':16}  {head}  {head}",
    ]
    for k, name in enumerate(names):
        cells = [
            "".join(
                f"{'-' if shares is None else format(100 * shares[side][k], '.2f'):>11}"
                for _, shares in shown
            )
            for side in (0, 1)
        ]
        lines.append(f"{name:16}  {cells[0]}  {cells[1]}")
    for name, shares in shown[:-1]:
        variation = Fit.variation(shares, result.drawn)
        text = "-" if variation is None else f"rows {variation[0]:.4f}, lookups {variation[1]:.4f}"
        lines.append(f"total variation, drawn against {name}: {text}")
    law = Fit.variation(result.law, result.published)
    if law is not None:
        lines.append(
            f"the law itself, at the published size: rows {law[0]:.4f}, lookups {law[1]:.4f}; "
            "with fewer or more lookups for its rows, a trace has other shares"
        )
    return "\n".join(lines)
