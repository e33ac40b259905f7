"""What every cache of a configuration has: a size as people write it, ways, and a replacement policy."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

from ..errors import RecnmpError

LINE_BYTES = 64
MOST_WAYS = 16
MOST_BYTES = 1 << 32  # its tags and ages take a seventh of that
# what each does is docs/caches.md
CachePolicy = Literal["lru", "fifo", "random", "tree-plru"]

_SIZE = re.compile(r"([0-9]{1,18})(?:([KMG])(?:i?B)?|B)?", re.IGNORECASE)
_SHIFTS = {"K": 10, "M": 20, "G": 30}


def size_bytes(word: str) -> int:
    """`8388608`, `8192K`, `8M` or `8MiB` -> bytes; units are binary.

    Raises:
        ValueError: anything else.
    """
    match = _SIZE.fullmatch(word.strip())
    if match is None:
        raise ValueError(f"{word!r} is not a size, like 128K or 8M")
    return int(match[1]) << _SHIFTS.get((match[2] or "").upper(), 0)


def _sized(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return size_bytes(value)
    except ValueError:
        raise PydanticCustomError("size", "not a size: bytes, or a number with K, M or G, like 8M") from None


Bytes = Annotated[int, BeforeValidator(_sized)]


def check_cache(key: str, size: int, ways: int, policy: CachePolicy) -> None:
    """Refuse a cache that cannot be built.

    Args:
        key: how its keys begin, such as "host.llc".
        size: bytes; 0 if there is none.
        ways: lines of a set.
        policy: replacement.

    Raises:
        RecnmpError: the size is no whole number of sets, or a tree lacks its power of two of ways.
    """
    set_bytes = ways * LINE_BYTES
    if size % set_bytes:
        nearest = max(1, round(size / set_bytes)) * set_bytes
        raise RecnmpError(
            f"{key}_bytes = {size}: no multiple of {set_bytes}, the bytes of a set of {ways} lines "
            f"({key}_ways); nearest is {nearest}"
        )
    if policy == "tree-plru" and ways & (ways - 1):
        raise RecnmpError(f"{key}_ways = {ways}: {key}_policy tree-plru needs 1, 2, 4, 8 or 16 ways")
