"""Columns of a log: which ids are numbers, which texts, and times of every kind of Parquet."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interaction_logs import BASIC, LOG, imported, queries
from recnmp.traces.interactions import InteractionOptions, import_interactions

from recnmp.errors import RecnmpError


def test_a_column_is_numeric_only_if_every_value_is_plain(tmp_path: Path) -> None:
    def mapped(*ids: str) -> list[list[list[int]]]:
        text = "user,item,time\n" + "".join(f"1,{item},{at}\n" for at, item in enumerate(ids))
        return queries(imported(tmp_path, text, query="session").workload)

    # hashes as Criteo has them: one that looks like a number in exponent form, one of digits only
    assert mapped("05db9164", "68fd1e64", "12345e67", "12345678") == [[[0], [0, 3, 2, 1]]]
    # zero-padded numbers are names: 007 and 7 are two items, and so are +7 and 7
    assert mapped("7", "007", "10", "7") == [[[0], [2, 0, 1, 2]]]
    assert mapped("7", "+7", "7") == [[[0], [1, 0, 1]]]
    assert mapped("x", "3.0") == [[[0], [1, 0]]]
    with pytest.raises(RecnmpError, match=r"record 2: the id is a fraction \('12345e67'\)"):
        mapped("12345678", "12345e67")
    with pytest.raises(
        RecnmpError, match=r"record 2: id 9{40}\.\.\. \(5000 digits\), allowed is up to 2\^63-1"
    ):
        mapped("5", "9" * 5000)
    assert len(mapped("-9223372036854775808", "9223372036854775807")[0][1]) == 2


def test_ids_that_are_split_name_their_record(tmp_path: Path) -> None:
    options = {"tables": ("tags",), "split": {"tags": "|"}}
    text = "user,item,time,tags\n1,5,1,a|b\n1,6,2,c||d\n"
    with pytest.raises(RecnmpError, match="'tags', record 2: the id is missing"):
        imported(tmp_path, text, **options)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_every_kind_of_parquet(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "log.parquet"
    columns = {
        "user": ["a", "b", "a"],
        "item": ["x", "y", "z"],
        "time": ["2024-01-01", "2024-01-03", "2024-01-02"],
    }
    pq.write_table(pa.table({name: pa.array(column).cast(kind) for name, column in columns.items()}), path)
    result = import_interactions(path, InteractionOptions(**BASIC, query="session"))
    assert queries(result.workload) == [[[0], [0]], [[0], [2]], [[1], [1]]]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_timestamps_that_mean_never(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "log.parquet"
    never = 253402300799 * {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    columns = {"user": [1, 1], "item": [3, 4], "time": pa.array([never, 0], pa.timestamp(unit))}
    pq.write_table(pa.table(columns), path)
    result = import_interactions(path, InteractionOptions(**BASIC, query="session"))
    assert queries(result.workload) == [[[0], [1]], [[0], [0]]]


@pytest.mark.parametrize(
    ("times", "sessions"),
    [
        ([2**63 - 1, -(2**63), 3600], 3),
        ([2**63 - 1, -(2**63)], 2),
        ([2**64 - 1, 0, 100], 2),
    ],
)
def test_pauses_longer_than_64_bits_hold(tmp_path: Path, times: list[int], sessions: int) -> None:
    path = tmp_path / "log.parquet"
    kind = pa.uint64() if max(times) >= 2**63 else pa.int64()
    columns = {"user": [1] * len(times), "item": [3] * len(times), "time": pa.array(times, kind)}
    pq.write_table(pa.table(columns), path)
    assert import_interactions(path, InteractionOptions(**BASIC, query="session")).queries == sessions


def test_narrow_times_do_not_overflow(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": [1, 1], "item": [3, 4], "time": pa.array([-100, 100], pa.int8())}), path)
    assert (
        import_interactions(path, InteractionOptions(**BASIC, query="session", session_gap=150)).queries == 2
    )


def test_options_of_csv_are_refused_for_parquet(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pq.write_table(pa.table({"user": [1], "item": [3], "time": [5]}), path)
    for option, word in ({"delimiter": ","}, "delimiter"), ({"header": ("user",)}, "columns"):
        with pytest.raises(RecnmpError, match=f"log.parquet: {word}.*: no option of Parquet"):
            import_interactions(path, InteractionOptions(**BASIC | option))


def test_milliseconds_taken_as_seconds_are_doubted(tmp_path: Path) -> None:
    late = LOG.replace(",5000", ",1700000000000").replace(",100", ",1700000000100")
    assert imported(tmp_path, late, query="session").doubt is None
    every = "user,item,time\n1,2,1700000000000\n1,3,1700000005000\n"
    assert "milliseconds" in str(imported(tmp_path, every, query="session").doubt)
