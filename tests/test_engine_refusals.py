"""What the near-memory engine refuses of those who call it: values of other tables, orders, clocks that are past."""

from __future__ import annotations

import numpy as np
import pytest

from recnmp.config.system import SystemConfig
from recnmp.errors import RecnmpError
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.simulate import simulate
from recnmp.values import FileValues, HashValues, Values
from recnmp.workload import Table, Workload

TABLES = [Table("a", 1000, 128)]
TRACE = Workload.from_arrays(np.arange(64), lengths=np.full(8, 8), tables=TABLES)


class Short:
    """Values of one row, whatever is asked for."""

    def vectors(self, table: int, rows: np.ndarray) -> np.ndarray:
        return np.ones((1, 128), np.float32)


class Doubles:
    """Values of the wrong type."""

    def vectors(self, table: int, rows: np.ndarray) -> np.ndarray:
        return np.ones((len(rows), 128))


OTHER = Table("b", 1000, 8)
WRONG: dict[str, tuple[Values, str]] = {
    "narrow file": (FileValues([OTHER], [np.ones((1000, 8), np.float32)]), r"float32 \[64, 8\], expected"),
    "narrow hash": (HashValues([OTHER]), r"float32 \[64, 8\], expected float32 \[64, 128\]"),
    "few rows": (FileValues([Table("b", 9, 128)], [np.ones((9, 128), np.float32)]), "not of its 1000 rows"),
    "one row": (Short(), r"float32 \[1, 128\], expected"),
    "doubles": (Doubles(), r"float64 \[64, 128\], expected"),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("name", sorted(WRONG))
def test_values_of_other_tables(name: str) -> None:
    values, words = WRONG[name]
    with pytest.raises(RecnmpError, match=f"values of table 'a': .*{words}"):
        simulate(SystemConfig.model_validate({}), TRACE, values=values)


@pytest.mark.parametrize("seed", [-1, 1 << 64])
def test_seeds_of_values(seed: int) -> None:
    with pytest.raises(RecnmpError, match=rf"seed of the values is {seed}, allowed 0 to 2\^64-1"):
        HashValues(TABLES, seed)


def test_orders_and_clocks() -> None:
    config = SystemConfig.model_validate({})
    engine = NmpEngine(config, TABLES, Placement(config, TABLES))
    (batch,) = TRACE.batches()
    with pytest.raises(ValueError, match='order is "table" or "sample", not \'nonsense\''):
        engine.run_batch(batch, "nonsense", 0)
    end = engine.run_batch(batch, "table", 0)
    with pytest.raises(ValueError, match=f"cannot start at {end - 1}, the last one ended at {end}"):
        engine.run_batch(batch, "table", end - 1)
    assert engine.run_batch(batch, "table", end) > end
