"""`--mode` and `--positional-weights` of `recnmp trace`: what reaches the trace, worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recnmp.cli import main
from recnmp.workload import Workload


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Arrays of two tables, bags of 2, 0, 1 and 2; weights by place, the same for both tables and a line a table."""
    monkeypatch.chdir(tmp_path)
    np.savez("arrays.npz", indices=[1, 2, 0, 2, 3], offsets=[0, 2, 2, 3, 5])
    np.savez("hot.npz", **{"0": np.array([[1, 2], [0, 0], [2, 1]]), "1": np.array([[4], [5], [6]])})
    pq.write_table(pa.table({"a": [[1, -1, 2], [3]], "b": [[], [4]]}), "lists.parquet")
    np.save("flat.npy", np.array([5.0, 6, 7]))
    np.savez("lines.npz", np.array([[1, 2, 3], [10, 20, 30]], np.int32))
    Path("log.csv").write_text("user,item\n1,2\n1,3\n")
    return tmp_path


def made(*words: str) -> Workload:
    assert main(["trace", *words, "-o", "out.parquet"]) == 0
    return Workload.load("out.parquet")


def weights(workload: Workload) -> list[list[float]]:
    return [[] if batch.weights is None else batch.weights.tolist() for batch in workload.batches()]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["arrays.npz", "--tables", "2", "--positional-weights", "flat.npy"], [[5, 6, 5, 5, 6]]),
        (["arrays.npz", "--tables", "2", "--positional-weights", "lines.npz"], [[1, 2, 10, 10, 20]]),
        # bags in each batch are those of table 0, then those of table 1
        (["hot.npz", "--positional-weights", "lines.npz", "--batch-size", "2"], [[1, 2, 1, 2, 10, 10], [1, 2, 10]]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["sum", "weighted-mean"])
def test_weights_by_place(folder: Path, words: list[str], expected: list[list[float]], mode: str) -> None:
    trace = made("import", *words, "--mode", mode)
    assert weights(trace) == expected
    assert (trace.mode, trace.weighted) == (mode, True)


def test_a_pruned_row_keeps_its_place(folder: Path) -> None:
    assert weights(made("import", "lists.parquet", "--pruned", "--positional-weights", "flat.npy")) == [
        [5, 7, 5, 5]
    ]


@pytest.mark.parametrize(
    "words",
    [
        ["import", "arrays.npz", "--tables", "2"],
        ["import", "hot.npz"],
        ["import", "log.csv", "--user", "user", "--item", "item"],
        ["generate", "uniform", "--tables", "1", "--batches", "1", "--batch-size", "2", "--pooling", "3"],
    ],
)
def test_means_without_weights(folder: Path, words: list[str]) -> None:
    mean, plain = made(*words, "--mode", "mean"), made(*words)
    assert (mean.mode, mean.weighted, plain.mode) == ("mean", False, "sum")
    assert [b.indices.tolist() for b in mean.batches()] == [b.indices.tolist() for b in plain.batches()]


def test_a_generated_weighted_mean(folder: Path) -> None:
    words = ["generate", "zipf", "--tables", "1", "--batches", "1", "--batch-size", "2", "--weighted"]
    mean, plain = made(*words, "--mode", "weighted-mean"), made(*words)
    assert (mean.mode, plain.mode) == ("weighted-mean", "sum")
    assert weights(mean) == weights(plain)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["hot.npz", "--mode", "weighted-mean"], "hot.npz: mode weighted-mean without weights"),
        (["hot.npz", "--mode", "mean", "--positional-weights", "flat.npy"], "hot.npz: weights with mode mean"),
        (["lists.parquet", "--pruned", "--mode", "mean"], "lists.parquet: batch 0: pruned rows (-1) in a mean"),
        (["hot.npz", "--positional-weights", "one.npy"],
         "hot.npz: batch 0: bag 0 (table 'table0') has 2 lookups, there are positional weights for 1"),
        (["both.npz", "--rows", "9,9", "--positional-weights", "flat.npy"], "either weights or positional weights"),
        (["hot.npz", "--positional-weights", "names.npy"], "weights are of type <U1, allowed are real numbers"),
        (["hot.npz", "--positional-weights", "gone.npy"], "gone.npy: cannot be read"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    np.save("one.npy", np.ones(1))
    np.save("names.npy", np.array(["a", "b"]))
    np.savez("both.npz", indices=[1, 2], offsets=[0, 1, 2], weights=[1.0, 2.0])
    assert main(["trace", "import", *words, "-o", "out.npz"]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert not Path("out.npz").exists()
