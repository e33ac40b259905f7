"""The rules of the house that a machine can check: sizes, names, links, leftovers."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

LONGEST = 400
CODE = ("*.py", "*.pyx", "*.pxd", "*.pyi")
FOLDERS = ("recnmp", "traces", "rtl", "analysis", "tests", "benchmarks", "docs")
# one word for one thing, and no drawers
DRAWERS = {"utils", "util", "common", "helpers", "helper", "misc", "tools"}
FOSSIL = re.compile(r"(^|_)(old|new|v\d+|backup|copy)$")
LEFTOVER = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
# a path of somebody's machine: an absolute one below a home-like folder
PRIVATE_PATH = re.compile(r"(?<![\w.$}/])/(home|root|work|Users)/\w")


def files(root: Path, *patterns: str) -> Iterator[Path]:
    for folder in FOLDERS:
        for pattern in patterns:
            yield from sorted((root / folder).rglob(pattern))


def documents(root: Path) -> list[Path]:
    return [*sorted(root.glob("*.md")), *files(root, "*.md")]


def test_no_file_is_long(root: Path) -> None:
    lengths = {str(p.relative_to(root)): len(p.read_text().splitlines()) for p in files(root, *CODE)}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST} == {}


def test_no_drawers_and_no_fossils(root: Path) -> None:
    stems = {str(path.relative_to(root)): path.stem for path in files(root, *CODE)}
    assert [n for n, stem in stems.items() if stem in DRAWERS or FOSSIL.search(stem)] == []


def test_nothing_is_left_for_later_or_for_one_machine_only(root: Path) -> None:
    texts = [*files(root, *CODE, "*.toml"), *documents(root), root / "Makefile", root / "pyproject.toml"]
    found = [
        f"{path.relative_to(root)}:{number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if LEFTOVER.search(line) or PRIVATE_PATH.search(line)
    ]
    assert found == []


def test_no_code_is_made_from_text(root: Path) -> None:
    dynamic = re.compile(r"(?<![\w.])(eval|exec)\(")
    inside = [path for path in files(root, *CODE) if "tests" not in path.parts]
    assert [str(path.relative_to(root)) for path in inside if dynamic.search(path.read_text())] == []


def anchors(text: str) -> set[str]:
    """Headings as a reader of Markdown addresses them."""
    heads = re.findall(r"^#+ +(.*?)\s*$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", head.replace("`", "").lower()).replace(" ", "-") for head in heads}


def broken_links(document: Path) -> list[str]:
    text = document.read_text()
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.S)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"https?:|mailto:", link):
            continue
        place, _, anchor = link.partition("#")
        target = document.parent / place if place else document
        if not target.exists() or (anchor and anchor not in anchors(target.read_text())):
            broken.append(link)
    return broken


def test_every_link_of_the_documents_leads_somewhere(root: Path) -> None:
    broken = {str(d.relative_to(root)): broken_links(d) for d in documents(root)}
    assert {name: links for name, links in broken.items() if links} == {}


def test_a_broken_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# The one\n[a](page.md#the-one) [b](#the-two) [c](gone.md) `[d](code.md)`\n")
    assert broken_links(page) == ["#the-two", "gone.md"]


def test_every_document_is_in_the_index(root: Path) -> None:
    index = (root / "docs" / "README.md").read_text()
    pages = {path.relative_to(root / "docs").as_posix() for path in (root / "docs").rglob("*.md")}
    assert [page for page in sorted(pages - {"README.md"}) if f"]({page})" not in index] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CITATION.cff", "LICENSE"])
def test_what_a_stranger_looks_for_is_there(root: Path, name: str) -> None:
    assert (root / name).stat().st_size > 200


def test_the_changelog_and_the_citation_name_this_version(root: Path) -> None:
    import recnmp

    assert f"\nversion: {recnmp.__version__}\n" in (root / "CITATION.cff").read_text()
    changes = (root / "CHANGELOG.md").read_text()
    assert f"## [{recnmp.__version__}]" in changes or "## [Unreleased]" in changes
