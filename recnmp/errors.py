"""What a user did wrong, said in one line; the command line turns it into exit code 2."""

from collections.abc import Iterable
from difflib import get_close_matches


class RecnmpError(Exception):
    """Bad input or an impossible request: names file, place, value and allowed range, in one line."""


def hint(name: str, names: Iterable[str]) -> str:
    """What to say of a name that is none of `names`: the nearest, in whatever case, or all of them."""
    known = {other.lower(): other for other in names}
    near = get_close_matches(name.lower(), known, n=1)
    return f"did you mean {known[near[0]]!r}?" if near else "there are: " + ", ".join(known.values())
