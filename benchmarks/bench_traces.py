"""How fast traces are drawn, written, read and hashed."""

import tempfile
from pathlib import Path
from typing import Any

from recnmp.traces.generate import Recipe, generate
from stopwatch import quickest

from recnmp.workload import Workload


def _exhaust(workload: Workload) -> None:
    for _ in workload.pieces():
        pass


def rows() -> list[dict[str, Any]]:
    """One figure a row: name, value, unit, note."""
    result = []
    recipes = {
        "uniform": Recipe("uniform", batches=16),
        "zipf": Recipe("zipf", batches=16),
        "2021-x16, thinned mixture": Recipe("2021-x16", batches=16, method="mixture"),
        "2021-x16, drawn directly": Recipe("2021-x16", batches=16, method="direct"),
        "2021-x16, clustered": Recipe("2021-x16", batches=16, method="mixture", cluster="0.6"),
    }
    for name, recipe in recipes.items():
        made = generate(recipe)
        took = quickest(lambda made=made: _exhaust(made))  # type: ignore[misc]
        result.append(_row(f"draw {name}", made.lookups / took, "8 tables x 1 M rows, in memory"))
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "npz"):
            path = Path(folder) / f"trace.{ending}"
            pieces = list(made.pieces())
            held = Workload(made.header, lambda pieces=pieces: iter(pieces))  # type: ignore[misc]
            took = quickest(lambda held=held, path=path: held.save(path))  # type: ignore[misc]
            size = path.stat().st_size / held.lookups
            result.append(_row(f"write .{ending}", held.lookups / took, f"{size:.2f} bytes a lookup"))
            took = quickest(lambda path=path: _exhaust(Workload.load(path)))  # type: ignore[misc]
            result.append(_row(f"read and check .{ending}", held.lookups / took, ""))
        took = quickest(held.content_hash)
        result.append(_row("content hash", held.lookups / took, "SHA-256"))
    return result


def _row(name: str, rate: float, note: str) -> dict[str, Any]:
    return {"name": name, "value": round(rate / 1e6, 2), "unit": "M lookups/s", "note": note}
