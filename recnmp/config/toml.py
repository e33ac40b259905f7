"""TOML text into values that can be checked and shown: no number and no nesting that Python chokes on."""

from __future__ import annotations

import tomllib
from typing import Any

_INT64 = 1 << 63
_TOO_LARGE = "an integer does not fit 64 bits"
_SHOWN = 100  # characters of a wrong value in a message


def toml_values(text: str) -> dict[str, Any]:
    """The values of TOML text.

    Raises:
        ValueError: not TOML, an integer that does not fit 64 bits (as TOML has it), or values nested too deep.
    """
    try:
        values = tomllib.loads(text)
        _check_integers(values)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise ValueError("values in values, too deep") from None
    except ValueError:  # of int(), for thousands of digits
        raise ValueError(_TOO_LARGE) from None
    return values


def _check_integers(value: Any) -> None:
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise ValueError(_TOO_LARGE)
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            _check_integers(part)


def clipped(text: str) -> str:
    """The text, or its beginning if it is too long for a line."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
