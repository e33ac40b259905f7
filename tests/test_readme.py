"""Prose is executable: fenced blocks marked `sh run` or `python run` are run as a reader would.

The blocks of one document run in order in one empty folder, with the environment's commands on the path.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

MARKED = re.compile(r"^```(sh|python) run\n(.*?)^```$", re.M | re.S)


def blocks(text: str) -> list[tuple[str, str]]:
    return [(language, body) for language, body in MARKED.findall(text)]


def run_blocks(text: str, folder: Path) -> int:
    """Run a document's marked blocks in `folder`; returns how many there were."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for language, body in blocks(text):
        command = (
            ["bash", "-euo", "pipefail", "-c", body] if language == "sh" else [sys.executable, "-c", body]
        )
        run = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PATH": path, "MPLBACKEND": "agg"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert run.returncode == 0, f"{body}\nsaid:\n{run.stdout}{run.stderr}"
    return len(blocks(text))


def documents() -> list[Path]:
    root = Path(__file__).resolve().parent.parent
    return [path for path in (*root.glob("*.md"), *(root / "docs").rglob("*.md")) if blocks(path.read_text())]


@pytest.mark.parametrize("document", documents(), ids=lambda path: path.name)
def test_the_marked_blocks_run(document: Path, tmp_path: Path) -> None:
    assert run_blocks(document.read_text(), tmp_path) > 0


def test_the_readme_has_marked_blocks_and_names_what_make_offers(root: Path) -> None:
    readme = (root / "README.md").read_text()
    assert {language for language, _ in blocks(readme)} == {"sh", "python"}
    targets = set(re.findall(r"^([a-z-]+):", (root / "Makefile").read_text(), re.M))
    named = set(re.findall(r"\bmake ([a-z-]+)", readme))
    assert named <= targets
    assert {"demo", "test"} <= named


def test_a_failing_block_is_found(tmp_path: Path) -> None:
    text = "```sh run\ntrue | false | true\n```\n"
    with pytest.raises(AssertionError, match="false"):
        run_blocks(text, tmp_path)
