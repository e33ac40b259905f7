"""Logs of interactions: queries as told, ids dense, and every damaged file named."""

import gzip
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interaction_logs import BASIC, LOG, imported, queries
from recnmp.traces.interactions import InteractionOptions, import_interactions

from recnmp.errors import RecnmpError
from recnmp.locality import count_rows, hit_curve
from recnmp.workload import Table, Workload

EXCERPT = Path(__file__).parent / "data" / "openbandit-excerpt.csv"
USERS = tuple(f"user_feature_{k}" for k in range(4))


def test_sessions_by_hand(tmp_path: Path) -> None:
    result = imported(tmp_path, LOG, query="session", session_gap=60)
    # items 10, 17, 31 are rows 0, 1, 2; users 1, 2 are rows 0, 1; a pause of 60 s does not end a session
    assert queries(result.workload) == [[[1], [2, 0]], [[0], [2, 1]], [[0], [2]]]
    assert result.mapping == {"user": 2, "item": 3}
    assert (result.events, result.queries, result.cut) == (5, 3, 0)
    assert [table.rows for table in result.workload.tables] == [2, 3]


events = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 40)), max_size=40)


@given(events, st.integers(0, 12), st.integers(1, 5), st.integers(1, 4))
def test_sessions_equal_the_plain_twin(
    tmp_path_factory: pytest.TempPathFactory,
    log: list[tuple[int, int, int]],
    gap: int,
    history: int,
    size: int,
) -> None:
    text = "user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in log)
    result = imported(tmp_path_factory.mktemp("s"), text, query="session", session_gap=gap, history=history,
                      batch_size=size)  # fmt: skip
    of_user = defaultdict(list)
    for user, item, time in log:
        of_user[user].append((time, item))
    sessions = []
    for user in sorted(of_user):
        last = None
        for time, item in sorted(of_user[user], key=lambda event: event[0]):
            if last is None or time - last > gap:
                sessions.append([time, user, []])
            sessions[-1][0] = last = time
            sessions[-1][2].append(item)
    sessions.sort(key=lambda session: session[0])
    users, items = sorted({u for u, _, _ in log}), sorted({i for _, i, _ in log})
    expected = [
        [[users.index(user)], [items.index(item) for item in found[-history:]]] for _, user, found in sessions
    ]
    assert queries(result.workload) == expected
    assert result.cut == sum(len(found) > history for _, _, found in sessions)


@given(events, st.integers(0, 30), st.integers(1, 5), st.integers(0, 9))
def test_requests_are_ends_of_some_users_history(
    tmp_path_factory: pytest.TempPathFactory,
    log: list[tuple[int, int, int]],
    count: int,
    history: int,
    seed: int,
) -> None:
    text = "user,item,time\n" + "".join(f"{u},{i},{t}\n" for u, i, t in log)
    options = {"requests": count, "history": history, "seed": seed}
    result = imported(tmp_path_factory.mktemp("r"), text, **options)
    users, items = sorted({u for u, _, _ in log}), sorted({i for _, i, _ in log})
    past = [
        [
            items.index(i)
            for _, i, _ in sorted(((t, i, u) for u, i, t in log if u == user), key=lambda e: e[0])
        ]
        for user in users
    ]
    found = queries(result.workload)
    assert len(found) == (count if log else 0)
    for (user,), bag in found:
        assert 1 <= len(bag) <= history
        ends = [past[user][max(end - history, 0) : end] for end in range(1, len(past[user]) + 1)]
        assert bag in ends


def test_requests_reach_all_users_and_moments(tmp_path: Path) -> None:
    found = queries(imported(tmp_path, LOG, requests=400).workload)
    kinds = {(query[0][0], tuple(query[1])) for query in found}
    assert kinds == {(0, (2,)), (0, (2, 1)), (0, (2, 1, 2)), (1, (2,)), (1, (2, 0))}
    share = sum(query[0] == [0] for query in found) / 400
    assert 0.4 < share < 0.6, "users are drawn evenly, however long their histories"


def test_the_trap_of_one_query_for_each_event(tmp_path: Path) -> None:
    """Bags of consecutive events of one history overlap: a false hit rate, which requests do not show."""
    random = np.random.default_rng(3)
    users, items = np.repeat(np.arange(40), 100), random.integers(0, 100_000, 4000)
    text = "user,item,time\n" + "".join(
        f"{u},{i},{t}\n" for t, (u, i) in enumerate(zip(users, items, strict=True))
    )
    bags = [
        items[max(end - 50, u * 100) : end] for u in range(40) for end in range(u * 100 + 1, u * 100 + 101)
    ]
    trap = Workload.from_arrays(
        np.concatenate(bags), lengths=[len(bag) for bag in bags], tables=[Table("item", 100_000, 16)]
    )
    fair = imported(tmp_path, text, history=50, dim=16).workload
    shares = [hit_curve(w, count_rows(w), [8192], shuffled=False).hits[0] / w.lookups for w in (trap, fair)]
    assert shares[0] > 0.97
    assert shares[1] < 0.3


def test_further_columns_are_of_the_last_event(tmp_path: Path) -> None:
    text = "user,item,time,place,tags\n1,5,1,x,a|b\n1,6,2,y,\n1,7,3,x,c\n"
    result = imported(tmp_path, text, tables=("place", "tags"), split={"tags": "|"}, query="session")
    assert queries(result.workload) == [[[0], [0, 1, 2], [0], [2]]]
    assert result.mapping == {"user": 1, "item": 3, "place": 2, "tags": 3}
    first = imported(tmp_path, text.replace("1,7,3,x,c\n", ""), tables=("tags",), split={"tags": "|"})
    assert sorted({tuple(query[2]) for query in queries(first.workload)}) in ([()], [(0, 1)], [(), (0, 1)])
    split_items = imported(tmp_path, text, item="tags", split={"tags": "|"}, query="session")
    assert queries(split_items.workload) == [[[0], [0, 1, 2]]]


def test_several_user_columns_are_one_key(tmp_path: Path) -> None:
    text = "a,b,item,time\n1,1,5,1\n1,2,6,2\n2,1,7,3\n1,1,8,4\n"
    result = imported(tmp_path, text, user=("a", "b"), query="session")
    assert result.mapping == {"user": 3, "item": 4}
    assert queries(result.workload) == [[[1], [1]], [[2], [2]], [[0], [0, 3]]]


@pytest.mark.parametrize(
    "times",
    [
        ["100", "110", "160", "90", "5000"],
        ["100.0", "110.5", "160.25", "90", "5e3"],
        ["1970-01-01T00:01:40", "1970-01-01 00:01:50", "1970-01-01T00:02:40", "1970-01-01T00:01:30.5",
         "1970-01-01T01:23:20"],
        ["1970-01-01T00:01:40Z", "1970-01-01T01:01:50+01:00", "1970-01-01T00:02:40Z",
         "1970-01-01T00:01:30+00:00",
         "1970-01-01T01:23:20.123456+00:00"],
    ],
)  # fmt: skip
def test_times_of_every_kind(tmp_path: Path, times: list[str]) -> None:
    lines = [line.split(",") for line in LOG.splitlines()[1:]]
    text = "user,item,time\n" + "".join(f"{u},{i},{t}\n" for (u, i, _), t in zip(lines, times, strict=True))
    result = imported(tmp_path, text, query="session", session_gap=60.5)
    assert queries(result.workload) == queries(
        imported(tmp_path, LOG, query="session", session_gap=60).workload
    )


def test_without_times_the_files_order_counts(tmp_path: Path) -> None:
    found = {tuple(query[1]) for query in queries(imported(tmp_path, LOG, time=None, requests=99).workload)}
    assert found == {(2,), (2, 1), (2, 1, 2), (0,), (0, 2)}


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\ufeff" + text.replace("\n", "\r\n").rstrip(),
        lambda text: text + "\n\n",
        lambda text: text.replace("2,10,110", '"2","10","110"'),
    ],
    ids=[
        "crlf",
        "bom",
        "no final newline",
        "blank lines",
        "bom, crlf, no final newline",
        "blank end",
        "quotes",
    ],
)
def test_forms_of_csv_that_are_all_right(tmp_path: Path, change: Any) -> None:
    plain = imported(tmp_path, LOG, query="session").workload
    other = imported(tmp_path, change(LOG), query="session")
    assert other.events == 5
    assert other.workload.content_hash() == plain.content_hash()


def test_other_containers_give_the_same(tmp_path: Path) -> None:
    plain = imported(tmp_path, LOG, query="session").workload.content_hash()
    packed = imported(tmp_path, gzip.compress(LOG.encode()), "log.csv.gz", query="session")
    tabbed = imported(tmp_path, LOG.replace(",", "\t"), "log.tsv", query="session")
    bare = imported(tmp_path, LOG.split("\n", 1)[1], query="session", header=("user", "item", "time"))
    dotted = imported(tmp_path, LOG.replace(",", ";"), query="session", delimiter=";")
    rows = [[int(word) for word in line.split(",")] for line in LOG.splitlines()[1:]]
    columns = dict(zip(("user", "item", "time"), zip(*rows, strict=True), strict=True))
    hashes = [result.workload.content_hash() for result in (packed, tabbed, bare, dotted)]
    for kinds in (
        {},
        {"user": pa.int32(), "item": pa.uint64(), "time": pa.timestamp("s")},
        {"item": pa.string()},
    ):
        typed = {}
        for name, values in columns.items():
            kind = kinds.get(name)
            typed[name] = pa.array(map(str, values) if kind == pa.string() else values, kind)
        table = pa.table(typed)
        pq.write_table(table, tmp_path / "log.parquet")
        options = InteractionOptions(**BASIC, query="session")
        hashes.append(import_interactions(tmp_path / "log.parquet", options).workload.content_hash())
    assert set(hashes) == {plain}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n", ["Git LFS pointer"]),
        ("<!DOCTYPE html>\n<html><body>Sign in</body></html>", ["HTML page"]),
        ("", ["empty file"]),
        (gzip.compress(LOG.encode() * 200)[:90], ["truncated or damaged gzip"]),
        (gzip.compress(LOG.encode())[:-5], ["truncated or damaged gzip"]),
        ("user,item,time\n1,31,100\n2,10\n", ["not a whole CSV", "Expected 3 columns, got 2"]),
        ("user,item,time\n1,31,100\n2,10,11,12\n", ["not a whole CSV", "Expected 3 columns, got 4"]),
        ("user,item,time\n1,31,100\n2,,110\n", ["'item'", "record 2", "missing"]),
        ("user,item,time\n1,31,100\n2,NaN,110\n", ["'item'", "record 2", "missing", "NaN"]),
        ("user,item,time\n1,31.0,100\n2,,110\n", ["'item'", "missing"]),
        ("user,item,time\n1,31,100\n2.0,10,110\n", ["'user'", "record 2", "fraction", "2.0"]),
        ("user,item,time\n1,31,100\n2,1e3,110\n", ["'item'", "record 2", "fraction", "1e3"]),
        ("user,item,time\n1,9223372036854775808,1\n", ["'item'", "record 1", "id 9223372036854775808"]),
        ("user,item,time\n1,31,100\n2,10,\n", ["'time'", "record 2"]),
        ("user,item,time\n1,31,100\n2,10,soon\n", ["'time'", "record 2", "soon", "ISO 8601"]),
        ("user,item,time\n1,31,2024-01-01T00:00\n2,10,2024-01-01T00:00Z\n", ["record 2", "like the first"]),
        ("user,item,time\n1,31,nan\n", ["'time'", "record 1"]),
        ("user,thing,time\n1,31,100\n", ["no column 'item'", "user, thing, time"]),
        ("user,Item,time\n1,31,100\n", ["no column 'item'", "did you mean 'Item'"]),
        ("user,item,time,item\n1,31,100,4\n", ["'item' is there 2 times"]),
        (b"user,item,time\n1,\xff\xfe,100\n", ["not a whole CSV"]),
        (b"PAR1 and then nothing", ["truncated or damaged Parquet"]),
        (b"PK\x03\x04", ["zip"]),
    ],
)  # fmt: skip
def test_bad_logs_are_named(tmp_path: Path, content: str | bytes, words: list[str]) -> None:
    with pytest.raises(RecnmpError) as caught:
        imported(tmp_path, content)
    text = str(caught.value)
    assert "\n" not in text
    for word in ("log.csv", *words):
        assert word in text, text


def test_bad_parquet_columns(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    base = {"user": [1, 2], "item": [3, 4], "time": [5, 6]}
    for name, column, words in (
        ("item", pa.array([3.0, None]), ["'item'", "double", "record 2 is missing"]),
        ("item", pa.array([3.0, float("nan")]), ["record 2 is missing"]),
        ("item", pa.array([3, None]), ["'item'", "record 2", "missing"]),
        ("item", pa.array([3, 2**63], pa.uint64()), ["record 2", "9223372036854775808"]),
        ("item", pa.array([True, False]), ["'item'", "bool"]),
        ("time", pa.array([5, None]), ["'time'", "record 2"]),
        ("time", pa.array([True, False]), ["'time'", "bool"]),
    ):
        pq.write_table(pa.table(base | {name: column}), path)
        with pytest.raises(RecnmpError) as caught:
            import_interactions(path, InteractionOptions(**BASIC))
        for word in (str(path), *words):
            assert word in str(caught.value)


def test_an_empty_log_is_an_empty_trace(tmp_path: Path) -> None:
    for query in ("request", "session"):
        result = imported(tmp_path, "user,item,time\n", query=query)
        assert (result.queries, result.workload.lookups, result.workload.n_batches) == (0, 0, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"query": "event"}, "allowed: request, session"),
        ({"query": "session", "time": None}, "need a time column"),
        ({"history": 0}, "history is 0"),
        ({"session_gap": -1.0}, "session gap is -1.0"),
        ({"session_gap": float("nan")}, "session gap is nan"),
        ({"split": {"other": "|"}}, "'other' is to be split"),
        ({"delimiter": "::"}, "one character"),
        ({"user": ()}, "no column names the user"),
        ({"session_gap": 60.0}, "session-gap has no effect on requests"),
        ({"session_gap": float("inf")}, "session gap is inf"),
        ({"query": "session", "seed": 0}, "seed has no effect on sessions"),
        ({"query": "session", "requests": 5}, "requests has no effect on sessions"),
        ({"requests": -1}, "requests are -1"),
        ({"requests": 2**62}, "requests are"),
        ({"dtype": "fp99"}, "log.csv: table 'user': dtype 'fp99'"),
    ],
)
def test_options_out_of_range(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(RecnmpError, match=words):
        imported(tmp_path, LOG, **options)


def test_ids_keep_their_order_by_value_or_text(tmp_path: Path) -> None:
    text = "user,item,time\n1,9,1\n1,10,2\n1,-3,3\n"
    assert queries(imported(tmp_path, text, query="session").workload) == [[[0], [1, 2, 0]]]
    text = text.replace("-3", "x")
    assert queries(imported(tmp_path, text, query="session").workload) == [[[0], [1, 0, 2]]]


def test_the_excerpt_of_a_real_log() -> None:
    options = InteractionOptions(
        user=USERS, item="item_id", time="timestamp", tables=("position",), query="session", batch_size=64
    )
    result = import_interactions(EXCERPT, options)
    assert result.events == 1500
    assert result.mapping["position"] == 3
    assert result.workload.tables[0].name == "user"
    items = sum(len(query[1]) for query in queries(result.workload))
    assert items == 1500 or result.cut


def test_the_whole_open_bandit_log(shared: Path) -> None:
    options = InteractionOptions(user=USERS, item="item_id", time="timestamp", tables=("position",))
    result = import_interactions(shared / "data/openbandit/obd_small_bts_all.csv", options)
    assert result.events == 10_000
    assert result.mapping == {"user": result.queries, "item_id": 80, "position": 3}


@pytest.mark.parametrize("query", ["request", "session"])
def test_movielens(shared: Path, query: str) -> None:
    options = InteractionOptions(
        user=("userId",), item="movieId", time="timestamp", query=query, requests=None
    )
    result = import_interactions(shared / "data/movielens/ml-latest-small-2016_ratings.csv", options)
    # counts that GroupLens publishes of this version: 100,004 ratings, 671 users, 9,066 of its films rated
    assert (result.events, result.mapping) == (100_004, {"userId": 671, "movieId": 9066})
    w = result.workload
    share = hit_curve(w, count_rows(w), [8192], shuffled=False).hits[0] / w.lookups
    assert share < 0.5


def test_movie_genres_split(shared: Path) -> None:
    options = InteractionOptions(user=("movieId",), item="genres", split={"genres": "|"})
    result = import_interactions(shared / "data/movielens/ml-latest-small-2016_movie_genres.csv", options)
    assert result.mapping["genres"] == 20
