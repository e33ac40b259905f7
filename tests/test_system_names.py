"""Names of systems: checked, unlike that of any baseline, and never shared by two runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_trace import system, trace

from recnmp.cli import main
from recnmp.config.load import load_system, parse_setting
from recnmp.config.system import SystemConfig
from recnmp.errors import RecnmpError
from recnmp.simulate import compare, with_baselines


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", ["", "a b", "a.b c=\n[x]", "host (x)", "x" * 41, "µ", "a\n", "a/b", "$x$"])
def test_names_that_cannot_be_shown_are_refused(name: str, tmp_path: Path) -> None:
    file = write(tmp_path, "s.toml", f"kind = 'nmp'\nname = {json.dumps(name)}\n")
    with pytest.raises(RecnmpError, match="1 to 40 letters, digits and") as caught:
        load_system(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a", "x" * 40, "4x2.fifo-64_b+cache", "2"])
def test_other_names_are_taken(name: str, tmp_path: Path) -> None:
    assert load_system(write(tmp_path, f"{name}.toml", "kind = 'host'\n")).name == name


def test_a_file_s_name_must_do_as_well(tmp_path: Path) -> None:
    file = write(tmp_path, "my system (2).toml", "kind = 'nmp'\n")
    with pytest.raises(RecnmpError, match="a file without `name`"):
        load_system(file)


def test_only_a_host_is_called_host(tmp_path: Path) -> None:
    for file in (
        write(tmp_path, "n2.toml", 'name = "host"\nkind = "nmp"\n'),
        write(tmp_path, "host.toml", 'kind = "nmp"\n'),
    ):
        with pytest.raises(RecnmpError, match=r"\.toml: system 'host' has near-memory units"):
            load_system(file)
    write(tmp_path, "host.toml", 'kind = "host"\n[memory]\ndimms = 1\n')
    assert load_system(str(tmp_path / "host.toml")).name == "host"


def test_no_run_takes_the_place_of_another() -> None:
    """Whatever the API is handed: a name that a baseline has, or will get, is refused before anything runs."""
    near = system(name="recnmp-base")
    disguised = near.model_copy(update={"name": "host"})
    small = system("memory.dimms=1", name="recnmp-base").model_copy(update={"name": "zz"})
    taken = near.model_copy(update={"name": "host (zz)"})
    for configs in ([disguised], [near, small, taken], [near, near], [system(), system()]):
        with pytest.raises(RecnmpError, match="same name"):
            compare(configs, trace(1), "t")


_NAMES = st.from_regex(r"[a-z.+-]{1,4}", fullmatch=True).filter(lambda name: name != "host")


@given(st.lists(st.tuples(_NAMES, st.sampled_from([1, 2, 4])), unique_by=lambda pair: pair[0]), st.booleans())
def test_every_system_has_a_baseline_of_its_memory(systems: list[tuple[str, int]], host: bool) -> None:
    configs = [
        SystemConfig.model_validate({"name": name, "memory": {"dimms": dimms}}) for name, dimms in systems
    ]
    ordered, base_of = with_baselines([*configs, *([load_system("host")] if host else [])])
    by_name = {config.name: config for config in ordered}
    assert len(by_name) == len(ordered)
    assert set(base_of) == set(by_name)
    for config in configs:
        assert by_name[base_of[config.name]].memory == config.memory
        assert by_name[base_of[config.name]].kind == "host"


def test_settings_find_the_longest_name() -> None:
    names = ["a", "a.nmp", "a.nmp.b", "host"]
    assert parse_setting("a.nmp.window=3", names).system == "a"
    assert parse_setting("a.nmp.nmp.window=3", names).system == "a.nmp"
    assert parse_setting("a.nmp.b.nmp.window=3", names).system == "a.nmp.b"
    assert parse_setting("nmp.window=3", [*names, "nmp"]).system is None


def test_two_files_of_one_name_are_refused_before_the_trace_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "d").mkdir()
    texts = {"x.toml": "kind = 'nmp'\n", "d/x.toml": "kind = 'nmp'\n[memory]\ndimms = 1\n"}
    files = [write(tmp_path, name, text) for name, text in texts.items()]
    assert main(["simulate", str(tmp_path / "none.npz"), "--system", *files]) == 2
    assert "systems have the same name" in capsys.readouterr().err
