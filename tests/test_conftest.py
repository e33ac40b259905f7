"""Missing references: a daily run skips, a CI run must not pass for lack of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("ci", "code", "said"), [("", 0, "1 skipped"), ("true", 1, "1 error")])
def test_missing_references(root: Path, tmp_path: Path, ci: str, code: int, said: str) -> None:
    shutil.copy(root / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_it.py").write_text("def test_it(shared):\n    assert shared.is_dir()\n")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", str(tmp_path), "--rootdir", str(tmp_path)],
        env={**os.environ, "CI": ci, "RECNMP_SHARED": str(tmp_path / "nowhere")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == code, run.stdout
    assert said in run.stdout
    assert f"no recorded references at {tmp_path / 'nowhere'}" in run.stdout
