"""The referee for a case of the near-memory machine: which rules, buses and refreshes its ranks have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from machine_cases import Case
from referee import check

from recnmp.config.dram import organisation_preset
from recnmp.timing import rules

DEVICE_COLUMNS = 8  # of a burst


def rows_of(commands: Sequence[Any] | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """int64 [m, 7] with columns in device columns, as recorded logs have them."""
    rows = np.array([tuple(command) for command in commands], np.int64).reshape(-1, 7)
    rows[:, 6] *= np.where(rows[:, 6] > 0, DEVICE_COLUMNS, 1)
    return rows


def accept(case: Case, commands: Sequence[Any] | npt.NDArray[Any]) -> None:
    """Hands the referee the commands of all ranks, in clock order."""
    log = rows_of(commands)
    layout, timing = organisation_preset(case.organisation), case.timing
    per_dimm, stagger = case.parameters["ranks_per_dimm"], case.parameters.get("stagger", 0)
    ranks = case.parameters["dimms"] * per_dimm
    if case.parameters.get("local_bus", "none") == "none":
        ranks_alone = rules(timing, "jedec", "rank")
        check(log, ranks_alone, layout, case.nREFI, timing, ranks, stagger=stagger, shared_bus=False)
        return
    for first in range(0, ranks, per_dimm):
        mine = log[(log[:, 2] >= first) & (log[:, 2] < first + per_dimm)]
        mine[:, 2] -= first
        # the referee counts stagger from rank 0: with it, only the first DIMM's refreshes are where it thinks
        if first == 0 or not stagger:
            check(mine, rules(timing, "jedec", "host"), layout, case.nREFI, timing, per_dimm, stagger=stagger)
