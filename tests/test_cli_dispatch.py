"""The door of the command line: verbs, exit codes, and how errors are said."""

import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable

import pytest

import recnmp
from recnmp import RecnmpError, cli


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., int]], None]:
    """Install a function as the verb `probe`, with an option --size and a sub-verb `part`."""

    def install(run: Callable[..., int]) -> None:
        module = types.ModuleType("recnmp.cli.probe")
        module.HELP = "a verb of the tests"  # type: ignore[attr-defined]
        module.run = run  # type: ignore[attr-defined]

        def add_arguments(parser) -> None:  # type: ignore[no-untyped-def]
            parser.add_argument("--size", type=int, default=3)
            part = parser.add_subparsers().add_parser("part")
            part.add_argument("--depth", type=int)
            part.set_defaults(run=lambda args: args.depth)

        module.add_arguments = add_arguments  # type: ignore[attr-defined]
        monkeypatch.setitem(cli.VERBS, "probe", "a verb of the tests")
        monkeypatch.setitem(sys.modules, "recnmp.cli.probe", module)

    return install


def raiser(error: BaseException) -> Callable[..., int]:
    def run(args: object) -> int:
        raise error

    return run


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    """What went to standard error, which must be a single line; nothing went to standard output."""
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("recnmp: ")
    assert said.err.count("\n") == 1
    return said.err


@pytest.mark.parametrize("code", [0, 1])
def test_a_verb_returns_its_exit_code(verb, code: int) -> None:
    verb(lambda args: code)
    assert cli.main(["probe"]) == code


def test_a_sub_verb_has_its_own_run(verb) -> None:
    verb(raiser(AssertionError("the sub-verb's run was not taken")))
    assert cli.main(["probe", "part", "--depth", "1"]) == 1


def test_bad_input_is_one_line_and_exit_code_2(verb, capsys) -> None:
    verb(raiser(RecnmpError("trace.npz: index 7 at position 2 of table 0: allowed 0..6")))
    assert cli.main(["probe"]) == 2
    assert one_line(capsys) == "recnmp: error: trace.npz: index 7 at position 2 of table 0: allowed 0..6\n"


@pytest.mark.parametrize(
    "words", [["--debug", "probe"], ["probe", "--debug"], ["probe", "--size", "2", "--debug"]]
)
def test_debug_anywhere_adds_the_traceback(verb, capsys, words: list[str]) -> None:
    verb(raiser(RecnmpError("no such thing")))
    assert cli.main(words) == 2
    said = capsys.readouterr().err
    assert said.startswith("Traceback")
    assert said.endswith("recnmp: error: no such thing\n")


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), KeyError("gone"), RuntimeError("a\nb")])
def test_a_fault_of_the_program_itself_is_70_with_its_traceback(verb, capsys, error: Exception) -> None:
    """Not 1, which would say that a difference was found."""
    verb(raiser(error))
    assert cli.main(["probe"]) == 70
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("Traceback")
    last = said.err.splitlines()[-1]
    assert last.startswith(f"recnmp: this is a fault of recnmp, please report it: {type(error).__name__}: ")


def test_the_system_saying_no_is_bad_input(verb, capsys, tmp_path) -> None:
    verb(lambda args: len((tmp_path / "missing.npz").read_bytes()))
    assert cli.main(["probe"]) == 2
    assert one_line(capsys) == f"recnmp: error: {tmp_path}/missing.npz: No such file or directory\n"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("Unable to allocate 1.46 TiB"), "not enough memory: Unable to allocate 1.46 TiB"),
        (MemoryError(), "not enough memory"),
        (OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_a_lack_of_resources_is_one_line(verb, capsys, error: BaseException, words: str) -> None:
    verb(raiser(error))
    assert cli.main(["probe"]) == 2
    assert one_line(capsys) == f"recnmp: error: {words}\n"


def test_a_name_with_a_line_break_is_still_one_line(verb, capsys) -> None:
    verb(raiser(RecnmpError("a\nb.csv: is an empty file")))
    assert cli.main(["probe"]) == 2
    assert one_line(capsys) == "recnmp: error: a\\nb.csv: is an empty file\n"


def test_nothing_runs_whose_output_nobody_would_see(verb, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    verb(raiser(AssertionError("ran although standard output is closed")))
    assert cli.main(["probe"]) == 2


def test_names_are_printed_in_any_locale() -> None:
    run = "def run(args):\n    print(chr(0x5546), chr(0xDCFF)); return 0"
    child = subprocess.run(
        [sys.executable, "-c", CHATTER.format(run=run)],
        env=os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
        capture_output=True,
        check=False,
    )
    assert (child.returncode, child.stdout) == (0, b"\\u5546 \\udcff\n"), child.stderr


def test_ctrl_c_is_130(verb, capsys) -> None:
    verb(raiser(KeyboardInterrupt()))
    assert cli.main(["probe"]) == 130
    assert "interrupted" in one_line(capsys)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["simulat", "x.npz"], "no verb 'simulat'; did you mean 'simulate'?"),
        (["qqq"], "no verb 'qqq'; there are: simulate, trace"),
        (["--sise"], "unrecognized arguments: --sise"),
        (["probe", "part", "--sise", "4"], "unrecognized arguments: --sise 4"),
        (["probe", "--siz=4"], "unrecognized arguments: --siz=4"),
        (["probe", "--size", "four"], "argument --size: invalid int value: 'four'"),
        (["probe", "port"], "invalid choice: 'port'"),
        (["probe", "part", "--depth", "x"], "`recnmp probe part --help` tells more"),
    ],
)
def test_a_wrong_word_is_one_line_with_the_way_out(verb, capsys, words: list[str], part: str) -> None:
    verb(raiser(AssertionError("ran in spite of wrong words")))
    assert cli.main(words) == 2
    assert part in one_line(capsys)


@pytest.mark.parametrize("words", [[], ["--help"], ["--debug"]])
def test_the_overview_names_every_verb_and_imports_none(capsys, monkeypatch, words: list[str]) -> None:
    monkeypatch.setattr(cli.importlib, "import_module", raiser(AssertionError("a verb was imported")))
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    assert left.value.code == 0
    said = capsys.readouterr().out
    assert all(f"  {verb} " in said for verb in cli.VERBS)


def test_the_version_is_the_package_s(capsys) -> None:
    with pytest.raises(SystemExit):
        cli.main(["--version"])
    assert capsys.readouterr().out == f"recnmp {recnmp.__version__}\n"


@pytest.mark.parametrize("verb_name", sorted(cli.VERBS))
def test_every_verb_has_help(verb_name: str, capsys) -> None:
    with pytest.raises(SystemExit) as left:
        cli.main([verb_name, "--help"])
    assert left.value.code == 0
    assert f"usage: recnmp {verb_name}" in capsys.readouterr().out


def test_the_door_is_light() -> None:
    # figures and hardware are loaded by the verbs that draw and build, not by whoever asks for the version
    heavy = "{'matplotlib', 'pyrtl'} & set(sys.modules)"
    code = f"import sys; import recnmp.cli; left = {heavy}; sys.exit(bool(left) and str(left))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


CHATTER = (
    "import sys, types; from recnmp import cli\n"
    "m = types.ModuleType('recnmp.cli.probe'); m.HELP = ''; m.add_arguments = lambda p: None\n"
    "{run}\n"
    "m.run = run; cli.VERBS['probe'] = ''; sys.modules['recnmp.cli.probe'] = m\n"
    "sys.exit(cli.main(['probe']))\n"
)


def test_a_reader_that_leaves_is_no_error() -> None:
    run = "def run(args):\n    while True: print('clock')"
    child = subprocess.Popen(
        [sys.executable, "-c", CHATTER.format(run=run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell's background job ignores Ctrl-C and hands that on: a user's does not
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdout is not None
    assert child.stderr is not None
    assert child.stdout.readline() == b"clock\n"
    child.stdout.close()
    assert child.wait(timeout=30) == 0
    assert child.stderr.read() == b""


def test_a_short_output_to_a_reader_that_left_is_no_error() -> None:
    # fits the buffer: the pipe breaks only when it is flushed
    run = "def run(args):\n    sys.stdin.read(); print('done'); return 0"
    child = subprocess.Popen(
        [sys.executable, "-c", CHATTER.format(run=run)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.close()
    child.stdin.close()
    assert child.wait(timeout=30) == 0
    assert child.stderr.read() == b""


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_the_signals_of_ctrl_c_and_kill_end_a_run(number: int, code: int, word: str) -> None:
    run = "def run(args):\n    print('on', flush=True)\n    while True: pass"
    child = subprocess.Popen(
        [sys.executable, "-c", CHATTER.format(run=run)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # a shell's background job ignores Ctrl-C and hands that on: a user's does not
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert child.stdout is not None
    child.stdout.readline()
    os.kill(child.pid, number)
    try:
        _, said = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == code
    assert said == f"recnmp: {word}, nothing was left half written\n".encode()


def test_the_module_is_the_command() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "recnmp", "nope"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert run.stderr.startswith("recnmp: error: no verb 'nope'")
