"""The bad-input table, part two: files that are not what their name says, or not whole."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from workload_cases import build

from recnmp.errors import RecnmpError
from recnmp.workload import Workload

CASE = build([[[[1, 2], []], [[0], [2, 2]]], [[[1], [0]], [[], [1]]]], [3, 3], weights=True)


def refused(path: Path, *words: str) -> None:
    with pytest.raises(RecnmpError) as caught:
        for _ in Workload.load(path).pieces():
            pass
    text = str(caught.value)
    assert "\n" not in text
    for word in (str(path), *words):
        assert word in text, text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n",
            ["Git LFS pointer", "git lfs pull"],
        ),
        (b"\n<!DOCTYPE html><html><body>Sign in", ["HTML page"]),
        (b"\xef\xbb\xbf<html>", ["HTML page"]),
        (b"", ["empty file"]),
        (b"1,2,3\n", ["neither Parquet nor .npz", "trace import"]),
        (b"\x1f\x8b\x08\x00", ["gzip"]),
        (b"PAR1", ["truncated or damaged Parquet"]),
        (b"PK\x03\x04garbage", ["truncated or damaged .npz"]),
    ],
)
@pytest.mark.parametrize("name", ["t.parquet", "t.npz"])
def test_files_that_are_something_else(tmp_path: Path, name: str, content: bytes, words: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    refused(path, *words)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refused(tmp_path / "none.parquet", "No such file")
    refused(tmp_path, "cannot be read")


@pytest.mark.parametrize("name", ["t.parquet", "t.npz"])
def test_a_file_cut_anywhere_never_gives_half_a_trace(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    CASE.workload.save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 37):
        path.write_bytes(whole[:length])
        refused(path)


def test_a_damaged_npz_member(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    CASE.workload.save(path)
    data = bytearray(path.read_bytes())
    at = data.index(b"indices.npy") + 40
    data[at] ^= 0xFF
    path.write_bytes(bytes(data))
    refused(path, "damaged")


def test_objects_in_an_npz_are_never_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, header=np.array("{}"), indices=np.array([{}], dtype=object))
    refused(path, "not a plain array")


def rewritten(tmp_path: Path, change: object) -> Path:
    """The saved trace as npz arrays, changed by a function, saved again."""
    path = tmp_path / "t.npz"
    CASE.workload.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)  # type: ignore[operator]
    np.savez(path, **arrays)
    return path


def test_an_npz_that_contradicts_itself(tmp_path: Path) -> None:
    refused(rewritten(tmp_path, lambda a: a.pop("header")), "not a recnmp trace", "import")
    refused(rewritten(tmp_path, lambda a: a.pop("weights")), "'weights' is missing")
    refused(rewritten(tmp_path, lambda a: a.update(indices=a["indices"][1:])), "7 lookups, 8 announced")
    refused(rewritten(tmp_path, lambda a: a.update(indices=a["indices"] + 1)), "table 0", "row 3", "0..2")
    refused(rewritten(tmp_path, lambda a: a.update(offsets=a["offsets"][:-1])), "offsets")


def header_changed(tmp_path: Path, **fields: object) -> Path:
    def change(arrays: dict[str, np.ndarray]) -> None:
        said = json.loads(str(arrays["header"])) | fields
        arrays["header"] = np.array(json.dumps(said))

    return rewritten(tmp_path, change)


def test_headers_of_another_kind(tmp_path: Path) -> None:
    refused(header_changed(tmp_path, version=3), "format 3", "reads formats 1 to 2")
    refused(header_changed(tmp_path, colour="red"), "damaged", "colour")
    refused(header_changed(tmp_path, order="row"), "order is 'row'")
    refused(header_changed(tmp_path, batch_sizes=[-1]), "batch size is -1")
    refused(rewritten(tmp_path, lambda a: a.update(header=np.array("{"))), "damaged")


def parquet_changed(tmp_path: Path, change: object) -> Path:
    path = tmp_path / "t.parquet"
    CASE.workload.save(path)
    table = pq.read_table(path)
    said = pq.ParquetFile(path).metadata.metadata
    table = change(table)  # type: ignore[operator]
    pq.write_table(table.replace_schema_metadata({b"recnmp": said[b"recnmp"]}), path)
    return path


def test_parquet_that_contradicts_itself(tmp_path: Path) -> None:
    refused(
        parquet_changed(tmp_path, lambda t: t.take([1, 0, *range(2, 8)])),
        "row 0",
        "sample is 1",
        "expected is 0",
    )
    refused(parquet_changed(tmp_path, lambda t: t.slice(0, 7)), "ends at batch 1", "7 bags of 8 announced")
    refused(parquet_changed(tmp_path, lambda t: pa.concat_tables([t, t])), "more bags than the 8")
    refused(parquet_changed(tmp_path, lambda t: t.drop(["weights"])), "'weights' is missing")
    floats = pa.array([[1.0, 2.0]] * 8, pa.large_list(pa.float64()))
    refused(parquet_changed(tmp_path, lambda t: t.set_column(3, "indices", floats)), "'indices' is", "int64")
    nulls = pa.array([[1, None], [], [0], [2, 2], [1], [0], [], [1]], pa.large_list(pa.int64()))
    refused(parquet_changed(tmp_path, lambda t: t.set_column(3, "indices", nulls)), "nulls")
    short = pa.array([[1.0]] * 8, pa.large_list(pa.float32()))
    refused(
        parquet_changed(tmp_path, lambda t: t.set_column(4, "weights", short)),
        "row 0",
        "1 weights for 2 lookups",
    )
    wrong = pa.array([[1, 2], [], [3], [2, 2], [1], [0], [], [1]], pa.large_list(pa.int64()))
    refused(
        parquet_changed(tmp_path, lambda t: t.set_column(3, "indices", wrong)),
        "table 1 ('t1')", "batch 0", "sample 0", "position 0", "row 3", "0..2",
    )  # fmt: skip


def test_parquet_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    refused(path, "not a recnmp trace", "trace import")


@pytest.mark.parametrize("name", ["t.parquet", "t.npz"])
def test_a_flipped_bit_is_found_or_changes_nothing(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    CASE.workload.save(path)
    whole, wanted = path.read_bytes(), CASE.workload.content_hash()
    for at in range(0, len(whole), 5):
        data = bytearray(whole)
        data[at] ^= 1 << at % 8
        path.write_bytes(bytes(data))
        with contextlib.suppress(RecnmpError):
            assert Workload.load(path).content_hash() == wanted, at


def test_a_null_is_placed(tmp_path: Path) -> None:
    nulls = pa.array([[1, 2], [], [0], [2, None], [1], [0], [], [1]], pa.large_list(pa.int64()))
    changed = parquet_changed(tmp_path, lambda t: t.set_column(3, "indices", nulls))
    refused(changed, "row 3, position 1", "indices holds nulls")
    none = pa.array([[1, 2], [], [0], None, [1], [0], [], [1]], pa.large_list(pa.int64()))
    refused(
        parquet_changed(tmp_path, lambda t: t.set_column(3, "indices", none)), "row 3: indices holds nulls"
    )
    batch = pa.array([0, 0, 0, 0, None, 1, 1, 1], pa.int32())
    refused(parquet_changed(tmp_path, lambda t: t.set_column(0, "batch", batch)), "row 4: batch is missing")


def test_a_header_without_a_key_is_damaged(tmp_path: Path) -> None:
    for key in ("tables", "batch_sizes", "lookups", "version"):

        def change(arrays: dict[str, np.ndarray], key: str = key) -> None:
            said = json.loads(str(arrays["header"]))
            del said[key]
            arrays["header"] = np.array(json.dumps(said))

        refused(rewritten(tmp_path, change), "damaged", key)
