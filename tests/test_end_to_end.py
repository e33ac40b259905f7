"""From a stored trace through `recnmp simulate` to result.json: sums against NumPy, operations by hand."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recnmp.cli import main
from recnmp.values import HashValues
from recnmp.workload import Table, Workload

KINDS = [
    ("fp32", "plain"),
    ("fp16", "plain"),
    *((dtype, layout) for dtype in ("int8", "int4") for layout in ("tail", "head", "head16")),
]
BATCH = 6


def trace(dtype: str, layout: str, mode: str = "sum") -> Workload:
    """Two tables, two batches, poolings of 0 to 20, hot rows among them; weights are multiples of 1/4."""
    rng = np.random.Generator(np.random.PCG64(11))
    tables = [Table("a", 4000, 40, dtype, layout), Table("b", 300, 19, dtype, layout)]
    lengths = rng.integers(0, 21, 2 * 2 * BATCH)
    weights = rng.integers(-4, 5, lengths.sum()) / 4 if mode == "weighted-mean" else None
    ids = rng.integers(0, 300, lengths.sum())
    return Workload.from_arrays(
        ids, lengths=lengths, tables=tables, batch_size=BATCH, weights=weights, mode=mode
    )


def digest_of(workload: Workload) -> str:
    """All sums, batch by batch and table by table; exact in float64 and in any order, means divided once in float32."""
    values, digest = HashValues(workload.tables, seed=1), hashlib.sha256()
    for batch in workload.batches():
        for bag in range(len(batch.offsets) - 1):
            first, last = batch.offsets[bag], batch.offsets[bag + 1]
            rows = values.vectors(bag // BATCH, batch.indices[first:last]).astype(np.float64)
            if batch.weights is not None:
                rows *= batch.weights[first:last, None].astype(np.float64)
            total = rows.sum(0).astype(np.float32)
            if workload.mode != "sum":
                total /= np.float32(max(last - first, 1))
            digest.update(total.astype("<f4").tobytes())
    return digest.hexdigest()


def runs(workload: Workload, folder: Path, *words: str) -> list[dict[str, Any]]:
    workload.save(folder / "t.parquet")
    # a mapping that keeps each quantised row in one DRAM row
    words = ("--set", "placement.mapping=RoBaRaCoCh", "--out", str(folder / "out"), *words)
    assert main(["simulate", str(folder / "t.parquet"), *words]) == 0
    document = json.loads((folder / "out" / "result.json").read_text())
    return [run for run in document["runs"] if run["kind"] == "nmp"]


@pytest.mark.parametrize(("dtype", "layout"), KINDS)
def test_sums_are_those_of_numpy(dtype: str, layout: str, tmp_path: Path) -> None:
    workload = trace(dtype, layout)
    found = runs(workload, tmp_path, "--system", "recnmp-base", "recnmp-cache", "--values", "hash")
    assert [run["system"] for run in found] == ["recnmp-base", "recnmp-cache"]
    assert [run["sums_sha256"] for run in found] == [digest_of(workload)] * 2
    assert found[1]["hit_rate"] > 0


@pytest.mark.parametrize("mode", ["mean", "weighted-mean"])
def test_means_are_those_of_numpy(mode: str, tmp_path: Path) -> None:
    workload = trace("int8", "tail", mode)
    (run,) = runs(workload, tmp_path, "--system", "recnmp-cache", "--values", "hash")
    assert run["sums_sha256"] == digest_of(workload)


@pytest.mark.parametrize(("dtype", "quantised"), [("fp32", 0), ("fp16", 0), ("int8", 1), ("int4", 1)])
@pytest.mark.parametrize("weighted", [0, 1])
def test_operations_of_a_table_by_hand(dtype: str, quantised: int, weighted: int, tmp_path: Path) -> None:
    """Ten lookups of 24 elements on one rank, so that no tree adds: 240 additions to partial sums; of quantised rows as
    many biases and scales; weights are multiplications again. 7.89 and 25.2 pJ each."""
    ids, weights = np.arange(10), np.ones(10) if weighted else None
    workload = Workload.from_arrays(
        ids, lengths=[4, 0, 6], tables=[Table("q", 64, 24, dtype)], weights=weights
    )
    (run,) = runs(workload, tmp_path, "--system", "recnmp-base", "--memory", "1x1")
    adds, muls = 240 * (1 + quantised), 240 * (quantised + weighted)
    assert np.sum(run["counters"]["fp_adds"]) == adds
    assert np.sum(run["counters"]["fp_muls"]) == muls
    assert run["energy_pj"]["fp_add"] == pytest.approx(adds * 7.89)
    assert run["energy_pj"]["fp_mul"] == pytest.approx(muls * 25.2)


def test_trees_add_what_several_ranks_hold(tmp_path: Path) -> None:
    """Two poolings of 24 elements: those of one rank need no tree, of both ranks of a DIMM 24 additions more."""
    table = Table("q", 1 << 16, 24, "int8")
    workload = Workload.from_arrays([3, 3, 3], lengths=[3], tables=[table])
    (alone,) = runs(workload, tmp_path, "--system", "recnmp-base", "--memory", "1x2")
    assert np.sum(alone["counters"]["fp_adds"]) == 3 * 24 * 2
    ids = np.arange(0, 1 << 16, 64)  # so many that both ranks have some
    workload = Workload.from_arrays(ids, lengths=[len(ids)], tables=[table])
    (both,) = runs(workload, tmp_path, "--system", "recnmp-base", "--memory", "1x2")
    assert np.sum(both["counters"]["fp_adds"]) == len(ids) * 24 * 2 + 24
