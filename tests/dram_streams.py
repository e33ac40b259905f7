"""Hypothesis strategies of host channels and request streams that press on every part of the controller."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from recnmp.config.dram import (
    ChannelConfig,
    organisation_preset,
    organisation_presets,
    timing_preset,
    timing_presets,
)


@st.composite
def channels(draw: st.DrawFn, refresh: bool | None = None) -> ChannelConfig:
    """Any preset, 1 to 8 ranks, queues of 1 to 70, either rule set, refresh rare, frequent or off."""
    organisation = organisation_preset(draw(st.sampled_from(organisation_presets())))
    timing = timing_preset(draw(st.sampled_from(timing_presets())), organisation)
    often = timing.nRFC + timing.nRC + timing.nRP + timing.nFAW
    interval = draw(st.sampled_from([timing.nREFI, 3 * often, often + 1]))
    depth = st.sampled_from([1, 2, 3, 5, 8, 32, 70])
    return ChannelConfig(
        timing=timing.model_copy(update={"nREFI": interval}),
        organisation=organisation,
        ranks=draw(st.sampled_from([1, 2, 3, 5, 8])),
        read_queue=draw(depth),
        write_queue=draw(depth),
        outstanding=draw(st.sampled_from([None, None, 1, 4, 40])),
        refresh=draw(st.booleans()) if refresh is None else refresh,
        rule_set=draw(st.sampled_from(["ramulator-2.1", "jedec"])),
    )


@st.composite
def streams(draw: st.DrawFn, config: ChannelConfig, largest: int = 160) -> npt.NDArray[np.int64]:
    """Requests [n, 7]: few or many places, hot addresses, mixes of writes, bursts and long gaps."""
    n = draw(st.integers(0, largest))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    o = config.organisation

    def some(limit: int, narrow: int) -> Any:
        return random.integers(0, min(limit, draw(st.sampled_from([1, narrow, limit]))), n)

    requests = np.zeros((n, 7), np.int64)
    requests[:, 1] = random.random(n) < draw(st.sampled_from([0, 0.1, 0.5, 0.95, 1]))
    requests[:, 2] = some(config.ranks, 2)
    requests[:, 3] = some(o.bankgroups, 2)
    requests[:, 4] = some(o.banks, 2)
    requests[:, 5] = some(o.rows, 2)
    requests[:, 6] = 8 * some(o.bursts_per_row, 2)
    gaps = draw(st.sampled_from(["none", "short", "bursts", "sparse"]))
    if gaps == "short":
        requests[:, 0] = np.cumsum(random.integers(0, 9, n))
    elif gaps == "bursts":
        requests[:, 0] = 700 * (np.arange(n) // 40)
    elif gaps == "sparse":
        requests[:, 0] = np.cumsum(random.integers(0, 400, n))
    return requests
