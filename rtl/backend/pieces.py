"""A long C body as several functions: a compiler's time grows faster than the length of one."""

from __future__ import annotations

import re

# lines of a function; twice as many stay in one
LENGTH = 4000
NAME = re.compile(r"\bv\d+\b")
DEFINED = re.compile(r"const W (v\d+) = ")
TAKEN = {"clock": "s, in, out", "advance": "s, in", "outputs": "s, out"}
PARAMETERS = {
    "clock": "uint64_t *restrict s, const uint64_t *restrict in, uint64_t *restrict out",
    "advance": "uint64_t *restrict s, const uint64_t *restrict in",
    "outputs": "const uint64_t *restrict s, uint64_t *restrict out",
}


def pieces(kind: str, body: list[str]) -> tuple[list[str], list[str]]:
    """Functions that stand before, and the body that calls them; a short body stays as it is.

    A value that a later piece wants is kept in an array `kept` that all have.
    """
    if len(body) <= 2 * LENGTH:
        return [], body
    parts = [body[at : at + LENGTH] for at in range(0, len(body), LENGTH)]
    home: dict[str, int] = {}
    wanted: list[list[str]] = []  # by each piece, of what earlier ones made
    place: dict[str, int] = {}
    for number, part in enumerate(parts):
        early: dict[str, None] = {}
        for line in part:
            if made := DEFINED.match(line):
                home[made[1]] = number
            early.update((name, None) for name in NAME.findall(line) if home[name] < number)
        wanted.append(list(early))
        for name in early:
            place.setdefault(name, len(place))
    functions: list[str] = []
    calls = [f"W kept[{max(1, len(place))}];"]
    for number, part in enumerate(parts):
        functions += [
            f"static __attribute__((noinline)) int64_t {kind}{number}"
            f"({PARAMETERS[kind]}, W *restrict kept, int copy, int64_t failed) {{",
            *(f"const W {name} = kept[{place[name]}];" for name in wanted[number]),
            *part,
            *(f"kept[{at}] = {name};" for name, at in place.items() if home[name] == number),
            "return failed;",
            "}",
        ]
        result = "" if kind == "outputs" else "failed = "
        calls.append(
            f"{result}{kind}{number}({TAKEN[kind]}, kept, copy, {'0' if kind == 'outputs' else 'failed'});"
        )
    return functions, calls
