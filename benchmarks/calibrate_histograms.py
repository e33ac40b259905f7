"""Derive traces/histograms.json from the published reuse histograms; run by hand when the targets change.

    python benchmarks/calibrate_histograms.py TARGETS.json LICENCE traces/histograms.json

TARGETS.json holds, for each published trace, N lookups, U rows touched, T tables and, for each of 17 bins of
the reuse factor ((0,1], (1,2], (2,4] ... (32768,inf)), rows_per_bin and mean_per_bin. Two laws are derived
from it, both of integers only, so that drawing from them gives the same bits everywhere:

* `mixture`, for thinned traces: each row's accesses are Poisson with one of 70 log-spaced rates (accesses in
  the published batch); how many rows have which rate is a non-negative least-squares fit to the shares of
  rows and lookups in each bin. Rates below 0.3 cannot be told from rows never seen: 0.3 is the lowest.
* `direct`, for large traces: how many rows have exactly which count. Within a bin, counts (at most 16 of
  them) follow a power law whose exponent gives the bin's mean.

Needs scipy, which the package itself does not.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import brentq, nnls
from scipy.stats import poisson

EDGES = [0, *(2**k for k in range(16))]  # a bin is (EDGES[k], EDGES[k+1]], the last one open
LOWEST, HIGHEST, RATES = 0.3, 2.0**17, 70
RATE_UNIT = 2**16
ROW_UNIT = 2**10
COUNTS_A_BIN = 16


def mixture(target: dict[str, Any]) -> tuple[list[list[int]], float, float]:
    """[[rate * 2^16, rows * 2^10], ...] from the most popular, and total variation of rows and of lookups."""
    rates = np.geomspace(LOWEST, HIGHEST, RATES)
    edges = np.array([*EDGES, np.inf])
    in_bin = np.diff([poisson.cdf(edges, rate) for rate in rates], axis=1).T
    below = np.array([poisson.cdf(edges - 1, rate) for rate in rates])
    below[:, 0] = 0
    lookups_in_bin = (np.diff(below, axis=1) * rates[:, None]).T
    rows = np.array(target["rows_per_bin"])
    lookups = rows * np.array(target["mean_per_bin"])
    system = np.vstack([in_bin / rows.sum(), lookups_in_bin / lookups.sum()])
    wanted = np.concatenate([rows / rows.sum(), lookups / lookups.sum()])
    found, _ = nnls(system * rows.sum(), wanted, maxiter=100_000)
    found *= rows.sum()
    law = [[round(rate * RATE_UNIT), round(n * ROW_UNIT)] for rate, n in zip(rates, found, strict=True)]
    got = np.array([n / ROW_UNIT for _, n in law])
    variation = [
        float(np.abs(a / a.sum() - b / b.sum()).sum() / 2)
        for a, b in ((in_bin @ got, rows), (lookups_in_bin @ got, lookups))
    ]
    return [entry for entry in reversed(law) if entry[1]], variation[0], variation[1]


def direct(target: dict[str, Any]) -> list[list[int]]:
    """[[count, rows * 2^10], ...] from the most popular."""
    law: list[list[int]] = []
    uppers = [*EDGES[1:], 2 * EDGES[-1]]
    for low, high, rows, mean in zip(
        EDGES, uppers, target["rows_per_bin"], target["mean_per_bin"], strict=True
    ):
        span = high - low
        steps = min(span, COUNTS_A_BIN)
        counts = np.array([low + 1 + (span - 1) * k // max(steps - 1, 1) for k in range(steps)])
        shares = np.ones(steps)
        if steps > 1:

            def shares_at(power: float, counts: Any = counts, high: int = high) -> Any:
                raw = (counts / high) ** -power
                return raw / raw.sum()

            power = brentq(lambda a, c=counts, m=mean, f=shares_at: float(f(a) @ c) - m, -60, 60)
            shares = shares_at(power)
        law += [[int(c), round(rows * s * ROW_UNIT)] for c, s in zip(counts, shares, strict=True)]
    return [entry for entry in reversed(law) if entry[1]]


def main(targets: str, licence: str, out: str) -> None:
    """Write the file, and print how well each law meets its target."""
    result: dict[str, Any] = {
        "source": "reuse histograms of facebookresearch/dlrm_datasets, and laws derived from them",
        "licence": Path(licence).read_text(encoding="utf-8").strip(),
        "bin_edges": EDGES,
        "rate_unit": RATE_UNIT,
        "row_unit": ROW_UNIT,
        "histograms": {},
    }
    for name, target in json.loads(Path(targets).read_text(encoding="utf-8")).items():
        law, rows, lookups = mixture(target)
        print(f"{name}: mixture of {len(law)} rates, total variation rows {rows:.4f}, lookups {lookups:.4f}")
        scale = [round(n) for n in target["rows_per_bin"]]
        result["histograms"][name] = {
            "tables": target["T"],
            "batch_size": target["B"],
            "lookups": target["N"],
            "rows_touched": target["U"],
            "rows_per_bin": scale,
            "lookups_per_bin": [round(n * m) for n, m in zip(scale, target["mean_per_bin"], strict=True)],
            "mixture": law,
            "direct": direct(target),
        }
    text = json.dumps(result, indent=1)
    for spread, tight in ((r"\[\s+(\d)", r"[\1"), (r"(\d),\s+(\d)", r"\1, \2"), (r"(\d)\s+\]", r"\1]")):
        text = re.sub(spread, tight, text)  # lists of numbers on one line
    Path(out).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:4])
