"""`recnmp trace`: what is printed, exit codes, nothing half written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from recnmp.cli import main
from recnmp.workload import Table, Workload

EXCERPT = Path(__file__).parent / "data" / "openbandit-excerpt.csv"
SMALL = ["--tables", "2", "--rows", "1k", "--pooling", "2:6", "--batch-size", "8", "--batches", "2"]


def said(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    assert main(["trace", *map(str, words)]) == code
    captured = capsys.readouterr()
    if code:
        assert captured.out == ""
        assert captured.err.startswith("recnmp: error: ")
        assert captured.err.count("\n") == 1
        return captured.err
    return captured.out


@pytest.mark.parametrize("law", ["uniform", "zipf", "2021-base", "2021-x16", "2022"])
@pytest.mark.parametrize("ending", ["parquet", "npz"])
def test_generate(capsys: pytest.CaptureFixture[str], tmp_path: Path, law: str, ending: str) -> None:
    out = tmp_path / f"t.{ending}"
    text = said(
        capsys, "generate", law, *SMALL, "--order", "sample", "--cluster", ".5", "--weighted", "-o", out
    )
    workload = Workload.load(out)
    assert (workload.n_batches, len(workload.tables), workload.order, workload.weighted) == (
        2,
        2,
        "sample",
        True,
    )
    assert f"{workload.lookups:,} lookups" in text
    assert "active rows a table: 1,000" in text
    assert "total variation, drawn against expected" in text
    assert ("published" in text) == law.startswith("20")
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_same_seed_same_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    hashes = []
    for name, seed in (("a.npz", 5), ("b.parquet", 5), ("c.npz", 6)):
        said(capsys, "generate", "2021-x16", *SMALL, "--seed", seed, "-o", tmp_path / name)
        hashes.append(Workload.load(tmp_path / name).content_hash())
    assert hashes[0] == hashes[1] != hashes[2]


def test_info(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    said(capsys, "generate", "zipf", *SMALL, "-o", out)
    text = said(capsys, "info", out, "--cache-sizes", "1K,64KiB,1MiB", "--plot", tmp_path / "p.png")
    for word in (
        "row bytes",
        "(32768, inf)",
        "duplicates in a bag",
        "1 KiB",
        "64 KiB",
        "1 MiB",
        "if shuffled",
    ):
        assert word in text
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    info = json.loads(said(capsys, "info", out, "--json", "--no-shuffle", "--plot", tmp_path / "p.svg"))
    assert info["content_hash"] == Workload.load(out).content_hash()
    assert info["hit_curve"][0]["shuffled_hits"] is None
    assert info["origin"]["generator"]["law"] == "zipf"
    first = (tmp_path / "p.svg").read_bytes()
    said(capsys, "info", out, "--no-shuffle", "--plot", tmp_path / "p.svg")
    assert (tmp_path / "p.svg").read_bytes() == first, "the same trace gives the same figure"


def test_info_of_nothing_says_dashes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "t.npz"
    said(capsys, "generate", "uniform", "--batches", 0, "-o", out)
    text = said(capsys, "info", out, "--plot", tmp_path / "p.pdf")
    assert "nan" not in text.lower().replace("nan or infinite", "")
    assert "- mean" in text
    info = json.loads(said(capsys, "info", out, "--json"))
    assert info["pooling"]["mean"] is None


def test_import_a_log(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "t.parquet"
    users = ",".join(f"user_feature_{k}" for k in range(4))
    for query in ("request", "session"):
        text = said(capsys, "import", EXCERPT, "--user", users, "--item", "item_id", "--time", "timestamp",
                    "--table", "position", "--query", query, "-o", out)  # fmt: skip
        assert "1,500 interactions gave" in text
        assert "table position: 3 ids" in text
        assert [table.name for table in Workload.load(out).tables] == ["user", "item_id", "position"]


def test_import_arrays(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    source, out = tmp_path / "in.npz", tmp_path / "out.parquet"
    np.savez(source, indices=[1, -1, 9, 4], offsets=[0, 2, 4])
    text = said(
        capsys,
        "import",
        source,
        "--tables",
        2,
        "--rows",
        "5",
        "--out-of-range",
        "clamp",
        "--pruned",
        "-o",
        out,
    )
    assert "1 clamped, 0 taken modulo rows, 1 pruned" in text
    assert "table table0: 5 rows of 128 bytes" in text
    assert next(Workload.load(out).batches()).indices.tolist() == [1, 4, 4]
    again = tmp_path / "again.npz"
    said(capsys, "import", out, "-o", again)
    assert Workload.load(again).content_hash() == Workload.load(out).content_hash()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["info", "none.parquet"], "none.parquet"),
        (["info", EXCERPT], "neither Parquet nor .npz"),
        (["info", EXCERPT, "--plot", "p.txt"], ".png, .svg or .pdf"),
        (["generate", "unifrm", "-o", "t.npz"], "law is 'unifrm'"),
        (["generate", "uniform", "--exponent", "1", "-o", "t.npz"], "--exponent is of zipf"),
        (["generate", "uniform", "--cluster-gap", "16", "-o", "t.npz"], "without --cluster"),
        (["generate", "uniform", "--cluster", "x", "-o", "t.npz"], "decimal number"),
        (["generate", "uniform", "--cluster-gap", "1M", "--cluster", "1", "-o", "t.npz"], "1..65536"),
        (["generate", "uniform", "--mode", "max", "-o", "t.npz"], "mode is 'max', allowed: sum, mean, weighted-mean"),
        (["generate", "uniform", "--mode", "mean", "--weighted", "-o", "t.npz"], "a mean takes no weights"),
        (["generate", "uniform", "--mode", "weighted-mean", "-o", "t.npz"], "weighted-mean without weights"),
        (["info", EXCERPT, "--cache-sizes", "9999999999G"], "below 2^63"),
        (["generate", "uniform", "-o", "t.csv"], "ends in .parquet or .npz"),
        (["generate", "2022", "--method", "direct", "--rows", "9", "-o", "t.npz"], "more rows"),
        (["import", EXCERPT, "-o", "t.npz"], "needs --user and --item"),
        (["import", EXCERPT, "--user", "u", "--item", "item_id", "-o", "t.npz"], "no column 'u'"),
        (["import", EXCERPT, "--user", "u", "--item", "i", "--rows", "9", "-o", "t.npz"], "--rows is for"),
    ],
)  # fmt: skip
def test_what_a_user_does_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[object],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in said(capsys, *words, code=2)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A log, arrays and a trace of ours in one folder."""
    (tmp_path / "log.csv").write_text("user,item,time\n1,2,3\n1,3,4\n")
    np.savez(tmp_path / "theirs.npz", indices=[1, 2, 0, 3], offsets=[0, 2, 2, 3, 4])
    np.save(tmp_path / "one.npy", np.arange(3))
    (tmp_path / "cut.npy").write_bytes((tmp_path / "one.npy").read_bytes()[:-3])
    np.savez(tmp_path / "odd.npz", np.ones((3, 2)))
    tables = [Table("a", 9, 8), Table("b", 9, 8)]
    Workload.from_arrays([1, 2, 0, 3], [0, 2, 2, 3, 4], tables=tables).save(tmp_path / "ours.npz")
    return tmp_path


LOG_WORDS = ["log.csv", "--user", "user", "--item", "item"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        *(
            (["theirs.npz", "--tables", "2", *option], f"{option[0]} is for interactions")
            for option in (
                ["--time", "t"], ["--split", "a=b"], ["--query", "request"], ["--requests", "0"],
                ["--history", "50"], ["--session-gap", "1800"], ["--seed", "0"], ["--delimiter", ","],
                ["--columns", "a"],
            )
        ),
        *(
            ([*LOG_WORDS, *option], f"{option[0]} is for arrays")
            for option in (
                ["--tables", "2"], ["--rows", "9"], ["--out-of-range", "error"], ["--pruned"],
                ["--positional-weights", "w.npy"],
            )
        ),
        *(
            (["ours.npz", *option], f"ours.npz: {option[0][2:]}")
            for option in (
                ["--order", "table"], ["--dim", "8"], ["--dtype", "fp32"], ["--rows", "9"], ["--tables", "2"],
                ["--batch-size", "1"], ["--out-of-range", "error"], ["--table", "a"],
                ["--mode", "sum"], ["--positional-weights", "one.npy"],
            )
        ),
        (["ours.npz", "--pruned"], "pruned: no option of a trace of this program"),
        (["theirs.npz", "--table", "a"], "table: no option of .npz"),
        ([*LOG_WORDS, "--mode", "weighted-mean"], "mode weighted-mean without weights"),
        (["theirs.npz", "--tables", "2", "--mode", "max"], "theirs.npz: mode is 'max', allowed: sum"),
        (["theirs.npz", "--tables", "2", "--mode", "weighted-mean"], "theirs.npz: mode weighted-mean without"),
        (["theirs.npz", "--tables", "2", "--positional-weights", "none.npy"], "none.npy: cannot be read"),
        (["theirs.npz", "--tables", "2", "--positional-weights", "log.csv"], "log.csv: is a text file, allowed"),
        (["theirs.npz", "--tables", "2", "--positional-weights", "theirs.npz"], "has arrays indices, offsets, allowed"),
        (["theirs.npz", "--tables", "2", "--positional-weights", "cut.npy"], "cut.npy: holds what is not a plain"),
        (["theirs.npz", "--tables", "2", "--positional-weights", "odd.npz"], "shape [3, 2], allowed is [positions]"),
        ([*LOG_WORDS, "--session-gap", "5"], "session-gap has no effect on requests"),
        ([*LOG_WORDS, "--time", "time", "--query", "session", "--seed", "0"], "seed has no effect on sessions"),
        ([*LOG_WORDS, "--delimiter", "ü"], "one character"),
        ([*LOG_WORDS[:1], "--user", ",", "--item", "item"], "a column's name is empty"),
        ([*LOG_WORDS, "--table", "a,,b"], "a column's name is empty"),
        ([*LOG_WORDS, "--columns", ""], "a column's name is empty"),
        ([*LOG_WORDS, "--requests", "100G"], "not enough memory"),
        ([*LOG_WORDS, "--requests", "9000000000G"], "requests are"),
        ([*LOG_WORDS, "--requests", "99999999999G"], "beyond 2^63-1"),
        (["one.npy"], "is a npy file, allowed are CSV (also .gz), Parquet and .npz"),
        (["one.npy", *LOG_WORDS[1:]], "is a npy file"),
        (["theirs.npz", "--tables", "2", "--rows", "4", "--batch-size", "1"], ""),
    ],
)  # fmt: skip
def test_options_without_effect_are_refused_by_name(
    capsys: pytest.CaptureFixture[str],
    inputs: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(inputs)
    assert expected in said(capsys, "import", *words, "-o", "out.npz", code=2 if expected else 0)
    assert (inputs / "out.npz").exists() == (not expected)


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([0, 2, 2, 3], "there are 4 offsets"),
        ([0, 2, 2, 3], "the last one, N, was left out"),
        ([2, 0, 1, 1], "look like lengths"),
    ],
)
@pytest.mark.parametrize(
    "words", [["--tables", "2"], ["--batch-size", "2"], ["--tables", "2", "--batch-size", "2"]]
)
def test_what_offsets_look_like_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, offsets: list[int], expected: str, words: list[str]
) -> None:
    np.savez(tmp_path / "n.npz", indices=[0, 1, 2, 3], offsets=offsets)
    text = said(capsys, "import", tmp_path / "n.npz", *words, "--rows", 4, "-o", tmp_path / "o.npz", code=2)
    assert expected in text


def test_delimiter_of_tabs_as_typed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("user\titem\n1\t2\n")
    text = said(capsys, "import", tmp_path / "log.txt", *LOG_WORDS[1:], "--delimiter", r"\t", "-o",
                tmp_path / "o.npz")  # fmt: skip
    assert "1 interactions" in text


def test_a_name_that_is_not_utf_8(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    odd = os.fsdecode(bytes(tmp_path) + b"/\xff$x$")
    Path(odd + ".csv").write_text("user,item\n1,2\n")
    for ending in (".npz", ".parquet"):
        said(capsys, "import", odd + ".csv", *LOG_WORDS[1:], "-o", odd + ending)
        text = said(capsys, "info", odd + ending, "--plot", odd + ".png")
        assert "lookups" in text
        said(capsys, "import", odd + ending, "-o", tmp_path / "copy.npz")


def test_rows_beyond_32_bits_of_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "g.npz"
    for dim in ("100G", "2000000000G"):
        said(capsys, "generate", "uniform", *SMALL, "--dim", dim, "-o", out)
        info = json.loads(said(capsys, "info", out, "--json"))
        assert info["hit_curve"][-1]["hits"] == 0
    assert info["tables"][0]["row_bytes"] == 8 * 10**18
    assert info["rows_touched_bytes"] == info["rows_touched"] * 8 * 10**18


@pytest.mark.parametrize(
    "words",
    [["--pooling", "99999999999999999999"], ["--pooling", "5G:6G", "--batches", "9G"], ["--tables", "100G"],
     ["--batch-size", "100G"], ["--batches", "100G"], ["--dim", "99999999999G"]],
)  # fmt: skip
def test_sizes_beyond_all_memory_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str]
) -> None:
    said(capsys, "generate", "uniform", *words, "-o", tmp_path / "t.npz", code=2)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_figure_is_said_first(capsys: pytest.CaptureFixture[str], inputs: Path) -> None:
    text = said(capsys, "info", inputs / "ours.npz", "--plot", inputs / "none" / "p.png", code=2)
    assert "cannot be written" in text


def test_links_and_modes_of_targets_stay(capsys: pytest.CaptureFixture[str], inputs: Path) -> None:
    real, link = inputs / "real.npz", inputs / "link.npz"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to("real.npz")
    said(capsys, "import", inputs / "ours.npz", "-o", link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert Workload.load(real).lookups == 4


def test_a_full_disk_names_the_target(capsys: pytest.CaptureFixture[str], inputs: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        for name in ("out.npz", "out.parquet"):
            text = said(capsys, "import", inputs / "ours.npz", "-o", inputs / name, code=2)
            assert f"{name}: cannot be written: File too large" in text
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert not [path for path in inputs.iterdir() if "out" in path.name]


def test_a_bad_file_leaves_the_old_trace(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, bad = tmp_path / "t.npz", tmp_path / "bad.csv"
    out.write_bytes(b"old")
    bad.write_text("user,item\n1,2\n3\n")
    said(capsys, "import", bad, "--user", "user", "--item", "item", "-o", out, code=2)
    assert out.read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.csv", "t.npz"]


def test_ctrl_c_while_generating_leaves_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "recnmp",
        "trace",
        "generate",
        "uniform",
        "--batches",
        "2000",
        "-o",
        "t.parquet",
    ]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env=os.environ,
        text=True,
        # a shell's background job ignores Ctrl-C and hands that on: a user's does not
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    for _ in range(600):
        if any(path.stat().st_size for path in tmp_path.iterdir()):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    try:
        _, complaint = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert complaint == "recnmp: interrupted, nothing was left half written\n"
    assert list(tmp_path.iterdir()) == []


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from recnmp.cli import main\n"
        "try: main(['trace', 'generate', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'pyarrow', 'matplotlib', 'recnmp.workload'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
