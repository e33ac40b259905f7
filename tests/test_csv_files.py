"""CSV as RFC 4180 has it, of any size: nothing lost, nothing misread, and what is no CSV named."""

import csv
import gzip
import io
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recnmp.traces.columns import read_columns

from recnmp.errors import RecnmpError


def read(tmp_path: Path, content: str | bytes, name: str = "log.csv", **options: Any) -> dict[str, list[str]]:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    wanted = options.pop("wanted", ["a", "b"])
    return {name: column.to_pylist() for name, column in read_columns(path, wanted, **options).items()}


def refused(tmp_path: Path, content: str | bytes, *words: str, name: str = "log.csv", **options: Any) -> None:
    with pytest.raises(RecnmpError) as caught:
        read(tmp_path, content, name, **options)
    text = str(caught.value)
    assert "\n" not in text
    for word in (name, *words):
        assert word in text, text


texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\ufeff"), max_size=6)


@given(st.lists(st.tuples(texts, texts), max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_what_pythons_writer_quotes_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], ending: str, final: bool
) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator=ending)
    writer.writerows([("a", "b"), *rows])
    text = stream.getvalue() if final else stream.getvalue().removesuffix(ending)
    found = read(tmp_path_factory.mktemp("c"), text)
    assert list(zip(found["a"], found["b"], strict=True)) == rows


@pytest.mark.parametrize("packed", [False, True])
def test_line_breaks_within_quotes_whatever_the_size(tmp_path: Path, packed: bool) -> None:
    # more than one block of the reader, in a column that nobody asked for
    count = 300_000
    body = "a,title,b\n" + "".join(f'{k},"line one, of\nline two, more",{k % 7}\n' for k in range(count))
    content = gzip.compress(body.encode(), 1) if packed else body
    found = read(tmp_path, content)
    assert found == {"a": [str(k) for k in range(count)], "b": [str(k % 7) for k in range(count)]}


def test_a_record_larger_than_a_block(tmp_path: Path) -> None:
    long = "x" * (9 << 20)
    assert read(tmp_path, f"a,c,b\n1,{long},2\n3,short,4\n") == {"a": ["1", "3"], "b": ["2", "4"]}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("content", ["a,b", "a,b\n", "\ufeffa,b", '"a","b"', "a,b\r\n\r\n", "\na,b"])
def test_names_only_are_an_empty_log(tmp_path: Path, content: str, packed: bool) -> None:
    given = gzip.compress(content.encode()) if packed else content
    assert read(tmp_path, given) == {"a": [], "b": []}


def test_no_lines_at_all_where_names_are_given(tmp_path: Path) -> None:
    assert read(tmp_path, "", header=["a", "b"]) == {"a": [], "b": []}
    assert read(tmp_path, gzip.compress(b"\n"), header=["a", "b"]) == {"a": [], "b": []}
    refused(tmp_path, "", "is an empty file")
    refused(tmp_path, "\n \n", "is an empty file")
    refused(tmp_path, gzip.compress(b""), "is an empty file within gzip")


@pytest.mark.parametrize(
    "content", ['a,b\n1,"x\n2,3\n', 'a,b\n1,2\n3,"x', 'a,b\n"1,2\n3,4\n', 'a,b\n1,"2""\n', 'a,"b\n1,2\n']
)
def test_a_quote_that_is_never_closed_loses_nothing_unseen(tmp_path: Path, content: str) -> None:
    refused(tmp_path, content, wanted=["a"])


def test_a_quote_never_closed_in_a_large_file(tmp_path: Path) -> None:
    content = "a,b\n" + "1,2\n" * 1_000_000 + '1,"x\n' + "1,2\n" * 3_000_000
    refused(tmp_path, content, "record, 1000001, a quote is never closed")


def test_ragged_records_are_counted(tmp_path: Path) -> None:
    refused(tmp_path, "a,b\n1,2\n3\n4,5\n", "Row #3", "Expected 2 columns, got 1: 3")
    refused(tmp_path, "a,b\n1,2\n3,4," + "x" * 9999 + "\n", "Expected 2 columns, got 3")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
        (b"<!-- saved from url --><html>", "HTML page"),
        (b"<head><title>Sign in</title>", "HTML page"),
        (b"  \n<BODY>", "HTML page"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><Error>", "HTML page"),
        (b"<Error><Code>AccessDenied", "HTML page"),
        (b"PAR1....", "parquet file"),
        (b"PK\x03\x04....", "zip file"),
        (b"\x93NUMPY", "npy file"),
        (b"\x28\xb5\x2f\xfd....", "zstd file"),
        (b"BZh9....", "bzip2 file"),
        ("a,b\n1,2\n".encode("utf-16"), "utf-16 file"),
        ("a,b\n1,2\n".encode("utf-16-le"), "zero bytes"),
        ("a,b,caf\xe9\n1,2,3\n".encode("latin-1"), "not UTF-8"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_csv_is_named_within_gzip_too(
    tmp_path: Path, content: bytes, words: str, packed: bool
) -> None:
    if content.startswith(b"PAR1") and not packed:
        words = "Parquet file"
    refused(tmp_path, gzip.compress(content) if packed else content, words)


def test_damaged_gzip(tmp_path: Path) -> None:
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 100)
    for length in range(3, len(whole)):
        refused(tmp_path, whole[:length], "truncated or damaged gzip")
    refused(tmp_path, whole + b"more", "damaged gzip")
    assert len(read(tmp_path, whole + gzip.compress(b"3,4\n"))["a"]) == 101


@pytest.mark.parametrize("delimiter", ["", "::", "ü", '"', "\n", "\r", "\0"])
def test_delimiters_that_are_none(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(RecnmpError, match="one character"):
        read(tmp_path, "a,b\n1,2\n", delimiter=delimiter)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", " ", "\x01", "\x1e"])
def test_other_delimiters(tmp_path: Path, delimiter: str) -> None:
    content = "a,b\n1,2\n".replace(",", delimiter)
    assert read(tmp_path, content, delimiter=delimiter) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("a;b\n1;2\n", "log.csv", "parted by ';'"),
        ("a\tb\n1\t2\n", "log.csv", r"parted by '\t'"),
        ("a,b\n1,2\n", "log.tsv", "parted by ','"),
        ("1,2\n3,4\n", "log.csv", "give them as columns. There are: 1, 2"),
        ("c,d\n3,4\n", "log.csv", "no column 'a'. There are: c, d"),
        ('c,"d\ne"\n3,4\n', "log.csv", r"There are: c, 'd\ne'"),
        (",".join(f"c{k}" for k in range(99)) + "\n", "log.csv", "c19 and 79 more"),
    ],
)
def test_a_column_that_is_not_there(tmp_path: Path, content: str, name: str, words: str) -> None:
    refused(tmp_path, content, words, name=name)


def test_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff\xfe.csv")
    assert read(tmp_path, "a,b\n1,2\n", name) == {"a": ["1"], "b": ["2"]}


def test_pipes_are_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(RecnmpError, match="is a pipe"):
        read_columns(tmp_path / "pipe.csv", ["a"])
