"""What channel and adder trees count, from what logs and streams say (microarchitecture.md, sections 3 and 5)."""

from __future__ import annotations

from itertools import pairwise

import pytest
from machine_cases import Case, is_lookup, random_case
from test_near_memory import DEFAULTS, kernel

from recnmp.kernels.dimm_nmp import DIMM_COUNTERS
from recnmp.kernels.host_bus import CHANNEL_COUNTERS

HOST = -1


def plain_cases(count: int) -> list[Case]:
    """Random cases without host reads, which the logs of sends and results do not show."""
    found = (random_case(seed) for seed in range(1000))
    plain = (case for case in found if not (DEFAULTS | case.parameters)["reads_per_1000_clocks"])
    return [next(plain) for _ in range(count)]


CASES = plain_cases(30)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_turnarounds_and_additions_of_the_trees(number: int) -> None:
    case = CASES[number]
    channel, end = kernel(case), 0
    ranks_per_dimm = (DEFAULTS | case.parameters)["ranks_per_dimm"]
    users, ranks, width = [], {}, {}
    for batch in case.batches:
        stream = batch.stream.copy()
        end = channel.run(stream, end + batch.gap, logging=True)
        _, _, bursts, sends = channel.take_logs()
        users += [(int(clk), HOST) for clk in sends["clk"]]
        users += [(int(burst["clk"]), int(burst["dimm"])) for burst in bursts]
        for lookup in stream[is_lookup(stream)]:
            sum_of = (int(lookup["packet"]), int(lookup["rank"]) // ranks_per_dimm, int(lookup["tag"]))
            ranks.setdefault(sum_of, set()).add(int(lookup["rank"]))
            width[sum_of] = int(lookup["dim"])
    turned = sum(one != other for (_, one), (_, other) in pairwise(sorted(users)))
    added = sum((len(found) - 1) * width[sum_of] for sum_of, found in ranks.items())
    assert channel.counts()[CHANNEL_COUNTERS.index("turnarounds")] == turned
    assert channel.dimms.counts()[DIMM_COUNTERS.index("tree_adds")] == added
    bursts_of = sum(-(-width[sum_of] // 16) for sum_of in ranks)
    assert channel.dimms.counts()[DIMM_COUNTERS.index("tree_bursts")] == bursts_of


def test_the_cases_have_trees_that_add_and_more_than_one_dimm() -> None:
    """A case in which no DIMM has two ranks would prove nothing of them."""
    assert any((DEFAULTS | case.parameters)["dimms"] > 1 for case in CASES)
    assert any((DEFAULTS | case.parameters)["ranks_per_dimm"] > 1 for case in CASES)
