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
from recnmp.workload import Workload

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
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, env=os.environ, text=True)
    for _ in range(600):
        if any(path.stat().st_size for path in tmp_path.iterdir()):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
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
