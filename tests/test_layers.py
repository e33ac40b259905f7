"""The checkers of layers and types are alive: each rejects a planted violation, and accepts the tree."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from checked_tree import kernel_imports, lay_out

BIN = Path(sys.executable).parent


def lint_imports(tree: Path, root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [BIN / "lint-imports", "--no-cache", "--no-logo", root / "pyproject.toml"],
        cwd=tree,
        env={"PYTHONPATH": str(root / "tests"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(path: Path, text: str) -> None:
    """Append to a copy of a file of the tree (the tree holds links: the checkout stays as it is)."""
    before = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    path.write_text(before + text)


def test_the_package_keeps_the_layers(tmp_path: Path, root: Path) -> None:
    lay_out(tmp_path)
    run = lint_imports(tmp_path, root)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("module", "line", "why"),
    [
        ("config/__init__.py", "from .. import cli", "config must not import cli"),
        ("analysis/planted.py", "from recnmp.rtl import x", "analysis must not import rtl"),
        ("traces/planted.py", "def f():\n    from ..config import x", "traces must not import config"),
        ("rtl/planted.py", "import recnmp.traces", "rtl must not import traces"),
        ("planted.py", "", "room 'planted' is not in the table"),
        ("kernels/planted.pyx", "from ..config cimport x", "kernels must not import config"),
        ("kernels/planted.pyx", "from recnmp.config import (", "kernels must not import config"),
        ("isa.py", "from .kernels.planted import Block", "isa must not import kernels"),
    ],
)
def test_a_planted_import_is_found(tmp_path: Path, root: Path, module: str, line: str, why: str) -> None:
    package = lay_out(tmp_path)
    planted = package / module
    if why.startswith("isa"):
        # what names a compiled module must count, though no checker reads a compiled module
        plant(package / "kernels" / "planted.py", "")
    if planted.suffix == ".pyx":
        planted, line = planted.with_suffix(".py"), "\n".join(kernel_imports(line))
    plant(planted, f"\n{line}\n")
    run = lint_imports(tmp_path, root)
    assert run.returncode == 1, run.stdout + run.stderr
    assert why in re.sub(r"\s+", " ", run.stdout)


def test_the_imports_of_cython_are_seen() -> None:
    source = (
        "cimport cython\nfrom libc.stdint cimport int64_t\nimport numpy as np\n"
        "from .dram cimport TimingTable, Device  # the shared vocabulary\n"
        "from . cimport vocabulary\n    from ..errors import RecnmpError\ncimport recnmp.host\n"
        "from .channel cimport (\n"
    )
    assert kernel_imports(source) == [
        "from .dram import TimingTable, Device",
        "from . import vocabulary",
        "from ..errors import RecnmpError",
        "import recnmp.host",
        "from .channel import *",
    ]


def test_the_tree_holds_every_module_of_the_checkout(tmp_path: Path, root: Path) -> None:
    package = lay_out(tmp_path)
    for folder in ("recnmp", "traces", "rtl", "analysis"):
        for path in (root / folder).rglob("*.py"):
            place = package if folder == "recnmp" else package / folder
            assert (place / path.relative_to(root / folder)).samefile(path)


def mypy(package: Path, root: Path, module: str) -> subprocess.CompletedProcess[str]:
    config = package.parent / "mypy.toml"
    settings = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]
    assert settings["strict"] is True
    config.write_text("[tool.mypy]\nstrict = true\nignore_missing_imports = true\n")
    return subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--config-file", config),
            *("--cache-dir", package.parent / "cache", "-m", module),
        ],
        cwd=package.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_planted_type_error_is_found(tmp_path: Path, root: Path) -> None:
    package = lay_out(tmp_path)
    clean = mypy(package, root, "recnmp.errors")
    assert clean.returncode == 0, clean.stdout
    plant(package / "errors.py", "\n\ndef clocks(x) -> int:\n    return str(x)\n")
    planted = mypy(package, root, "recnmp.errors")
    assert planted.returncode == 1
    assert "no-untyped-def" in planted.stdout
    assert "return-value" in planted.stdout
