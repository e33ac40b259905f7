"""What is shipped: nothing that the package needs may be missing from an sdist or a wheel."""

import fnmatch
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

MAPPED = ("traces", "rtl", "analysis")


@pytest.fixture(scope="module")
def project(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / "pyproject.toml").read_text())


def packages_on_disk(root: Path) -> dict[str, Path]:
    """Dotted name -> folder of every package, the mapped folders under their installed names."""
    found = {}
    for top, prefix in [("recnmp", "recnmp"), *((name, f"recnmp.{name}") for name in MAPPED)]:
        for init in (root / top).rglob("__init__.py"):
            inner = init.parent.relative_to(root / top).parts
            found[".".join((prefix, *inner))] = init.parent
    return found


def test_every_package_is_declared(root: Path, project: dict[str, Any]) -> None:
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(packages_on_disk(root))


def test_every_mapped_package_is_mapped_to_its_folder(root: Path, project: dict[str, Any]) -> None:
    mapping = project["tool"]["setuptools"]["package-dir"]
    for name, folder in packages_on_disk(root).items():
        parts = name.split(".")
        depth = next(n for n in range(len(parts), 0, -1) if ".".join(parts[:n]) in mapping)
        place = Path(mapping[".".join(parts[:depth])], *parts[depth:])
        assert (root / place).samefile(folder)


def test_every_data_file_is_package_data(root: Path, project: dict[str, Any]) -> None:
    data = project["tool"]["setuptools"]["package-data"]
    built = {".py", ".pyx", ".so", ".pyc"}
    missing = [
        str(path.relative_to(root))
        for name, folder in packages_on_disk(root).items()
        for path in folder.iterdir()
        if path.is_file() and path.suffix not in built
        if not any(fnmatch.fnmatch(path.name, pattern) for pattern in data.get(name, []))
    ]
    assert missing == []


def test_the_version_is_written_once(project: dict[str, Any]) -> None:
    assert "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "recnmp.__version__"}


def shipped(root: Path) -> set[str]:
    """Every file of the checkout that a source distribution must hold."""
    tops = [*MAPPED, "recnmp", "tests", "benchmarks", "docs"]
    built = {".so", ".pyc"}
    files = {
        path.relative_to(root).as_posix()
        for top in tops
        for path in (root / top).rglob("*")
        if path.is_file() and path.suffix not in built and "__pycache__" not in path.parts
    }
    loose = {"Makefile", "MANIFEST.in", "LICENSE", "CITATION.cff", "setup.py", "pyproject.toml"}
    return files | loose | {path.name for path in root.glob("*.md")}


@pytest.mark.slow
def test_an_sdist_holds_every_source_and_a_wheel_every_module(root: Path, tmp_path: Path) -> None:
    # from a copy, so that what the checkout has built neither helps nor changes
    copy = tmp_path / "copy"
    for name in shipped(root):
        target = copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((root / name).read_bytes())
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(copy)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr

    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert shipped(root) - inside == set()
    assert not [name for name in inside if name.endswith((".so", ".c", ".pyc"))]

    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    for package, folder in packages_on_disk(root).items():
        place = package.replace(".", "/")
        for path in folder.iterdir():
            if path.suffix in {".py", ".pyi", ".pxd", ".toml", ".json", ".typed"}:
                assert f"{place}/{path.name}" in inside
            if path.suffix == ".pyx":
                assert [name for name in inside if fnmatch.fnmatch(name, f"{place}/{path.stem}.*.so")]
    assert {name.split("/")[0] for name in inside if ".dist-info" not in name} == {"recnmp"}
