"""Lay out the package as it is installed, for the checkers of types and layers.

    python tests/checked_tree.py build/tree

Neither mypy nor import-linter follows the folder mapping of an editable install (traces/, rtl/ and
analysis/ are recnmp.traces, .rtl, .analysis), so they are shown a tree of symbolic links. Neither reads
Cython either: beside a kernel's .pyi (which mypy prefers) stands a .py that holds nothing but the
kernel's imports of other parts of recnmp, so that the layers of kernels are checked too. To mypy a kernel
without a .pyi is an empty module.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MAPPED = ("traces", "rtl", "analysis")
SHOWN = {".py", ".pyi", ".pxd", ".pyx", ".toml", ".json", ".typed"}
# `from .dram cimport X`, `from ..errors import Y`, `from recnmp.z cimport W`, also indented
INTERNAL = re.compile(r"^\s*from\s+(\.[\w.]*|recnmp[\w.]*)\s+c?import\s+(.+?)\s*$")
ABSOLUTE = re.compile(r"^\s*c?import\s+(recnmp[\w.]*)")


def kernel_imports(source: str) -> list[str]:
    """The imports of other recnmp modules in a Cython source, as Python lines."""
    lines = []
    for line in source.splitlines():
        if found := INTERNAL.match(line):
            # names do not matter to a layer; one that is a module's (`from . cimport dram`) does
            names = re.sub(r"[(#].*", "", found[2]).strip(" ,")
            lines.append(f"from {found[1]} import {names or '*'}")
        elif found := ABSOLUTE.match(line):
            lines.append(f"import {found[1]}")
    return lines


def lay_out(target: Path, root: Path = ROOT) -> Path:
    """Make `target`/recnmp anew from the checkout at `root`; returns it."""
    package = target / "recnmp"
    if package.exists():
        shutil.rmtree(package)
    sources = [(root / "recnmp", package)] + [(root / name, package / name) for name in MAPPED]
    for source, place in sources:
        for path in sorted(source.rglob("*")):
            if path.suffix in SHOWN and "__pycache__" not in path.parts:
                link = place / path.relative_to(source)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
    for kernel in sorted((package / "kernels").glob("*.pyx")):
        header = kernel.with_suffix(".pxd")
        text = kernel.read_text() + (header.read_text() if header.exists() else "")
        lines = ["# mypy: ignore-errors", *kernel_imports(text)]
        kernel.with_suffix(".py").write_text("".join(f"{line}\n" for line in lines))
    return package


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tests/checked_tree.py FOLDER")
    print(lay_out(Path(sys.argv[1])))
