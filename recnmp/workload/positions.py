"""Weights by position in a bag (FBGEMM's position-weighted features), made weights of lookups."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..errors import RecnmpError
from .batch import Float32, Int64
from .numbers import as_weights


def expand_positions(
    given: npt.ArrayLike, offsets: Int64, batch_sizes: Sequence[int], tables: Sequence[str], source: str
) -> Float32:
    """float32 [N]: the weight of each lookup.

    given: real numbers [P], or [T, P] with a line a table. offsets: int64 [bags + 1] over all batches, table-major in
    each. Raises RecnmpError on another shape, no numbers, and at the first bag that is longer than P.
    """
    try:
        shape = np.shape(given)
    except ValueError as error:
        raise RecnmpError(f"{source}: positional weights are no array: lines of different lengths") from error
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[0] != len(tables)):
        raise RecnmpError(
            f"{source}: positional weights have shape {list(shape)}, allowed is [positions] or "
            f"[{len(tables)} tables, positions]"
        )
    places = shape[-1]
    flat = as_weights(np.reshape(np.asarray(given), -1), int(np.prod(shape)), f"{source}: positional weights")
    lengths = np.diff(offsets)
    table = np.concatenate(
        [np.zeros(0, np.int64), *(np.repeat(np.arange(len(tables)), size) for size in batch_sizes)]
    )
    if lengths.size and lengths.max() > places:
        bag = int(np.argmax(lengths > places))
        raise RecnmpError(
            f"{source}: bag {bag} (table {tables[table[bag]]!r}) has {lengths[bag]} lookups, "
            f"there are positional weights for {places}"
        )
    position = np.arange(int(offsets[-1])) - np.repeat(offsets[:-1], lengths)
    line = np.repeat(table, lengths) if len(shape) == 2 else 0
    return np.asarray(flat[line * places + position])
