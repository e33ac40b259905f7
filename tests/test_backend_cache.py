"""Where compiled circuits are kept: by content, safe with two processes, repaired, and clear about what is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pyrtl
import pytest
from recnmp.rtl.backend import build, compile_block

from recnmp.errors import RecnmpError

PROGRAM = """
import pyrtl, sys
from recnmp.rtl.backend import compile_block
pyrtl.Const(0, 1), [pyrtl.WireVector(1) for _ in range(int(sys.argv[1]))]  # other numbers in names
pyrtl.reset_working_block()
a, b = pyrtl.Input(32, "a"), pyrtl.Input(32, "b")
registers = [pyrtl.Register(32) for _ in range(12)]
for register, before in zip(registers, [a, *registers]):
    register.next <<= before * b
pyrtl.Output(32, "o").__ilshift__(registers[-1] + registers[2])
module = compile_block(pyrtl.working_block())
print("ready", flush=True)
sys.stdin.readline()
out = [module.instance().step(a=3, b=5)["o"] for _ in range(2)]
import hashlib
print(hashlib.sha256(module.text().encode()).hexdigest(), out)
"""


def adder(extra: int = 1) -> pyrtl.Block:
    block = pyrtl.Block()
    with pyrtl.set_working_block(block, no_sanity_check=True):
        pyrtl.Output(9, "o").__ilshift__(pyrtl.Input(8, "a") + pyrtl.Const(extra, 8))
    return block


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "cache"
    monkeypatch.setenv("RECNMP_CACHE", str(place))
    return place


def works(block: pyrtl.Block) -> bool:
    return compile_block(block).instance().step(a=3) == {"o": 4}


def test_a_circuit_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    told = build._told
    monkeypatch.setattr(build, "_told", lambda command: calls.append(command[-1]) or told(command))  # type: ignore[func-returns-value]
    assert works(adder())
    assert works(adder())
    assert sum(call.endswith("circuit.c") for call in calls) == 1
    assert len(list(folder.iterdir())) == 1, "nothing but the shared object is left"


def test_other_circuits_compilers_and_flags_have_other_files(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert works(adder())
    compile_block(adder(2)).instance()
    monkeypatch.setattr(build, "FLAGS", (*build.FLAGS, "-fno-plt"))
    assert works(adder())
    monkeypatch.setenv("CC", "gcc -DSOMETHING")
    assert works(adder())
    assert len(list(folder.glob("*.so"))) == 4


def test_the_text_is_the_same_in_every_process_and_two_may_build_at_once(folder: Path) -> None:
    """Seeds of hashing differ, and so do the numbers in PyRTL's own names."""
    running = []
    for number in (0, 95):
        environment = {**os.environ, "PYTHONHASHSEED": str(number)}
        running.append(
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(number)], env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            )
        )  # fmt: skip
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:  # both at once
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert said[0] == said[1]
    assert re.match(r"[0-9a-f]{64} \[0, 0\]", said[0])
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "foreign"])
def test_a_damaged_file_is_built_anew(folder: Path, damage: str) -> None:
    assert works(adder())
    (kept,) = folder.iterdir()
    whole = kept.read_bytes()
    middle = len(whole) // 2
    broken = {
        "empty": b"",
        "cut": whole[:middle],
        "flipped": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
        "foreign": Path(sys.executable).resolve().read_bytes()[:5000],
    }[damage]
    kept.unlink()  # not written over: this process has it in its memory
    kept.write_bytes(broken)
    assert works(adder())
    assert kept.read_bytes() != broken


def test_the_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RECNMP_CACHE", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert build.cache_folder() == tmp_path / ".cache" / "recnmp"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert build.cache_folder() == tmp_path / "x" / "recnmp"
    monkeypatch.setenv("RECNMP_CACHE", str(tmp_path / "y"))
    assert build.cache_folder() == tmp_path / "y"


def test_without_a_home_to_write_to_a_folder_of_this_process_serves(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.delenv("RECNMP_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # nothing can be made below a file
    assert works(adder())


def test_a_named_folder_that_cannot_be_written_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RECNMP_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(RecnmpError, match=r"RECNMP_CACHE: .*name a folder that can be written"):
        compile_block(adder()).instance()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("compiler", "said"),
    [
        (
            "no-such-compiler -q",
            r"no C compiler 'no-such-compiler': install one \(Debian: gcc\), or name it in CC",
        ),
        ("false", "the C compiler 'false' fails: it gives no reason"),
        ("true", "the C compiler 'true' made no library"),
    ],
)
def test_a_missing_compiler_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch, compiler: str, said: str
) -> None:
    monkeypatch.setenv("CC", compiler)
    with pytest.raises(RecnmpError, match=said) as caught:
        compile_block(adder()).instance()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("given", ["'", 'cc "', "cc \\"])
def test_a_compiler_that_is_no_command_is_told(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", given)
    with pytest.raises(RecnmpError, match=r"^CC: .* is no command: "):
        build.compiler_words()


def test_a_folder_in_the_place_of_a_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RECNMP_CACHE", str(tmp_path))
    compile_block(adder()).instance()
    (made,) = tmp_path.glob("*.so")
    made.unlink()
    made.mkdir()
    with pytest.raises(RecnmpError, match=f"^{re.escape(str(made))}: cannot be written: Is a directory"):
        compile_block(adder()).instance()


def test_a_compiler_without_a_place_for_temporary_files_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """GCC's own words, which have no `error` in them."""
    compiler = tmp_path / "compiler"
    compiler.write_text("#!/bin/sh\necho 'Cannot create temporary file in /gone/' >&2; exit 4\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(RecnmpError, match=r"fails: Cannot create temporary file in /gone/$"):
        compile_block(adder()).instance()
