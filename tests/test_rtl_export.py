"""`recnmp rtl export | ports | list | faults` as a user meets them."""

from __future__ import annotations

from pathlib import Path

import pytest
from recnmp.rtl.blocks import BLOCKS
from recnmp.rtl.faults import FAULTS
from simulators import need, replay, run

import recnmp
from recnmp.cli import main


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, list[str], str]:
    code = main(["rtl", *words])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def test_export_writes_three_files_and_says_how_to_replay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = said(
        capsys, "export", "--block", "widen", "-o", "half.v", "--clocks", "70", "--seed", "5"
    )
    assert (code, err) == (0, "")
    assert out[0] == "half.v, half_tb.v, half.vec: 582 clocks of vectors"  # 512 of special values first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["half.v", "half.vec", "half_tb.v"]
    text = (tmp_path / "half.v").read_text()
    command = "recnmp rtl export --block widen -o FILE.v --clocks 70 --seed 5"
    assert f"// Written by recnmp {recnmp.__version__}: {command}\n" in text
    assert "\nmodule widen (\n" in text
    assert out[1].removeprefix("replay: ") in (tmp_path / "half_tb.v").read_text()
    assert replay(tmp_path, "half").stdout == "PASS widen: 1 output equal in each of 582 clocks\n"


@pytest.mark.parametrize("folder", ["sub/deep", "a folder; of $HOME's", "-x"])
def test_the_replay_line_works_where_it_was_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    need("iverilog", "vvp")
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir(parents=True)
    for target in (f"./{folder}/half.v", str(tmp_path / folder / "half.v")):
        _, out, _ = said(capsys, "export", "--block", "widen", f"--out={target}", "--clocks", "70")
        ended = run(tmp_path, out[1].removeprefix("replay: "))
        assert (ended.returncode, ended.stderr) == (0, "")
        assert ended.stdout.startswith("PASS widen: ")


def test_the_same_command_writes_the_same_bytes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = []
    for _ in range(2):
        said(capsys, "export", "--block", "lane", "-o", str(tmp_path / "lane.v"), "--clocks", "50")
        written.append({path.name: path.read_bytes() for path in tmp_path.iterdir()})
    assert written[0] == written[1]
    said(capsys, "export", "--block", "lane", "-o", str(tmp_path / "lane.v"), "--clocks", "50", "--seed", "2")
    assert (tmp_path / "lane.vec").read_bytes() != written[0]["lane.vec"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["export", "--block", "fp_ad", "-o", "x.v"], "no block 'fp_ad'; did you mean 'fp_add'?"),
        (["export", "--block", "zzz", "-o", "x.v"], f"no block 'zzz'; there are: {', '.join(BLOCKS)}"),
        (["ports", "--block", "lan"], "no block 'lan'; did you mean 'lane'?"),
        (["faults", "--block", "lan"], "no block 'lan'; did you mean 'lane'?"),
        (["export", "--block", "lane", "-o", "x.vhdl"], "x.vhdl: give a name like fp_add.v"),
        (["export", "--block", "lane", "-o", ""], "-o: give the name of the file to write"),
        (["export", "--block", "lane", "-o", "gone/x.v"], "gone/x.v: cannot be written: No such file"),
        (["export", "--block", "lane", "-o", "x.v", "--clocks", "0"], "argument --clocks: '0' is below 1"),
        (["export", "--block", "lane"], "the following arguments are required: -o/--out"),
        (["ports", "--bloc", "lane"], "unrecognized arguments: --bloc lane"),
        (["ports", "lane"], "unrecognized arguments: lane (`recnmp rtl ports --help` tells more)"),
        (["verifi"], "argument WHAT: invalid choice: 'verifi'"),
        ([], "the following arguments are required: WHAT"),
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    error: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, [])
    assert err.startswith(f"recnmp: error: {error}")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("word", "meant"), [("verifi", "verify"), ("Export", "export")])
def test_the_nearest_sub_verb_is_told(capsys: pytest.CaptureFixture[str], word: str, meant: str) -> None:
    assert f"; did you mean {meant!r}?" in said(capsys, word)[2]


def test_ports_are_those_of_the_declarations(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "ports", "--block", "lane")
    rows = [line.split() for line in out[2:]]
    lane = BLOCKS["lane"]
    ports = [(port, "in") for port in lane.inputs] + [(port, "out") for port in lane.outputs]
    assert code == 0
    assert [row[:3] for row in rows] == [[port.name, str(port.bits), way] for port, way in ports]
    assert out[0] == f"lane: {lane.summary}"
    _, out, _ = said(capsys, "ports")
    assert [line.split(":")[0] for line in out if ": " in line and line.split(":")[0] in BLOCKS] == list(
        BLOCKS
    )
    _, out, _ = said(capsys, "ports", "--markdown", "--block", "widen")
    assert out[0] == "### widen"
    assert out[4].startswith("| half | 16 | in | ")


def test_list_and_faults_name_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "list")
    assert code == 0
    assert [line.split()[0] for line in out[1:]] == list(BLOCKS)
    assert out[-1].split()[3] == f"{16 * 8 * 32:,}", "the lane's partial sums"
    code, out, _ = said(capsys, "faults")
    assert code == 0
    assert [line.split()[0] for line in out] == list(FAULTS)
    _, out, _ = said(capsys, "faults", "--block", "widen")
    assert [line.split()[0] for line in out] == ["widen_subnormal", "widen_nan"]
