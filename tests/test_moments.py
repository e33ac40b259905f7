"""Times of every kind become comparable numbers; those that are none are named with what is allowed."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recnmp.traces.columns import _plain
from recnmp.traces.moments import times

from recnmp.errors import RecnmpError


def seconds(values: Any, kind: Any = None) -> list[float]:
    array = values if isinstance(values, pa.Array) else pa.array(values, kind or pa.large_string())
    found, unit = times(_plain(pa.chunked_array([array])), "time", "log")
    return [int(value) / unit if found.dtype.kind in "iu" else float(value) / unit for value in found]


def refused(values: Any, *words: str, kind: Any = None) -> None:
    with pytest.raises(RecnmpError) as caught:
        seconds(values, kind)
    for word in ("log: column 'time'", *words):
        assert word in str(caught.value)


@given(
    st.lists(st.datetimes(), min_size=1, max_size=5),
    st.sampled_from(["T", " "]),
    st.sampled_from(["", "Z", "+02:30"]),
)
def test_iso_texts_of_all_years(moments: list[datetime], between: str, zone: str) -> None:
    found, unit = times(pa.array([m.isoformat(between) + zone for m in moments], pa.large_string()), "t", "f")
    shift = timedelta(hours=2, minutes=30) if zone.startswith("+") else timedelta()
    # whole microseconds, by Python's own calendar
    expected = [(m - shift - datetime(1970, 1, 1)) // timedelta(microseconds=1) for m in moments]
    assert unit in (10**6, 10**9)
    assert [int(value) // (unit // 10**6) for value in found] == expected


def test_fractions_are_exact_to_the_nanosecond_and_rounded_down_beyond() -> None:
    texts = [
        "2024-01-01T00:00:00.123456789",
        "1969-12-31T23:59:59.9999999999",
        "2024-01-01",
        "2024-01-01T05:30",
    ]
    found, unit = times(pa.array(texts, pa.large_string()), "t", "f")
    start = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp()) * 10**9
    assert (unit, found.tolist()) == (10**9, [start + 123456789, -1, start, start + 19800 * 10**9])
    found, unit = times(pa.array([*texts, "9999-12-31"], pa.large_string()), "t", "f")
    assert (unit, found.tolist()[:2]) == (10**6, [start // 1000 + 123456, -1])


def test_numbers() -> None:
    assert seconds(["1", "+5", "-3", "007"]) == [1, 5, -3, 7]
    assert seconds(["1", "2.5", ".5", "5e3", "3."]) == [1, 2.5, 0.5, 5000, 3]
    assert seconds([str(2**63)]) == [2.0**63]


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()]
)
def test_numbers_of_every_width(kind: Any) -> None:
    values = np.array([0, 100, 7], dtype=kind.to_pandas_dtype())
    found, unit = times(pa.array(values, kind), "t", "f")
    assert (found.tolist(), unit) == ([0, 100, 7], 1)
    assert found.dtype.itemsize == 8


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
def test_timestamps_in_their_own_unit(unit: str, zone: str | None) -> None:
    factor = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    top = 253402300799 if unit != "ns" else 9_000_000_000
    values = pa.array([0, -5 * factor, top * factor], pa.timestamp(unit, zone))
    assert seconds(values) == [0, -5, top]
    extreme = pa.array([-(2**63), 2**63 - 1], pa.timestamp(unit, zone))
    assert times(extreme, "t", "f")[0].tolist() == [-(2**63), 2**63 - 1]


def test_other_ways_to_hold_the_same() -> None:
    texts = ["1970-01-01T00:00:05", "1970-01-01T00:00:01"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert seconds(pa.array(texts, kind)) == [5, 1]
    assert seconds(pa.array(texts).dictionary_encode()) == [5, 1]
    days = [date(1970, 1, 2), date(9999, 12, 31)]
    for kind in (pa.date32(), pa.date64()):
        assert seconds(pa.array(days, kind)) == [86400, 253402214400]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["1", "0x10"], ["record 2", "'0x10'", "numbers (seconds)", "years 0001 to 9999"]),
        (["0x10"], ["record 1", "'0x10'"]),
        (["1", "nan"], ["record 2"]),
        (["1", "1e999"], ["record 2", "1e999", "finite"]),
        (["20240101T010203Z"], ["record 1", "2024-05-01T08:00:00.25"]),
        (["2024-01-01", "2024-02-30"], ["record 2", "'2024-02-30' does not exist"]),
        (["2024-01-01T23:59:60"], ["record 1", "does not exist"]),
        (["2024-01-01T00:00", "2024-01-01T00:00Z"], ["record 2", "at all or at none", "like the first"]),
        (["5", "2024-01-01T00:00Z"], ["record 2", "like the first, '5'"]),
        (["12024-01-01"], ["record 1", "years"]),
        (["2024-01-01", ""], ["record 2", "''"]),
        (["2024-01-01", None], ["record 2", "missing"]),
    ],
)
def test_what_is_no_time(values: list[str | None], words: list[str]) -> None:
    refused(values, *words)


def test_columns_that_hold_no_times() -> None:
    refused([5, None], "record 2", "missing", kind=pa.int64())
    refused([5.0, float("inf")], "record 2", "inf", kind=pa.float64())
    refused([timedelta(5)], "duration", kind=pa.duration("s"))
    refused([[1]], "list", kind=pa.list_(pa.int64()))
    refused([True], "bool", kind=pa.bool_())


def test_the_odd_one_among_many_is_found_at_once() -> None:
    values = ["2024-01-01T00:00:00"] * 1_000_000
    values[777_777] = "2024-01-01T25:00:00"
    refused(values, "record 777778")
