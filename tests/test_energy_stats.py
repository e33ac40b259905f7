"""Energy by hand, additivity, and what is computed from counters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recnmp.config.load import load_system, parse_setting
from recnmp.config.system import SystemConfig
from recnmp.energy import PARTS, energy_pj, what_counts
from recnmp.stats import (
    COUNTERS,
    add_counters,
    by_rank,
    ceilings,
    check_counters,
    hit_rate,
    hit_rates,
    latency,
    per_rank,
    total,
    with_totals,
)

# By hand: 64-byte rows of 16 floats, pooling 80, unweighted, no row hits.
LOOKUPS, POOLING, ELEMENTS = 8000, 80, 16


def system(name: str, *words: str) -> SystemConfig:
    return load_system(name, (), [parse_setting(word, []) for word in words])


def host_counts() -> dict[str, int]:
    commands = dict.fromkeys(("act", "pre", "rd"), LOOKUPS)
    return {f"{name}[0]": count for name, count in commands.items()} | {"lookups": LOOKUPS}


def near_memory_counts(dimms: int = 1) -> dict[str, int]:
    return {
        "lookups": LOOKUPS,
        "act[0]": LOOKUPS,
        "pre[0]": LOOKUPS,
        "rd[0]": LOOKUPS,
        "instructions": LOOKUPS,
        "result_bursts": dimms * LOOKUPS // POOLING,
        "fp_adds": LOOKUPS * ELEMENTS,
    }


def saving(host: SystemConfig, near: SystemConfig, dimms: int = 1) -> float:
    before = energy_pj(host, host_counts())["total"]
    return 1 - energy_pj(near, near_memory_counts(dimms))["total"] / before


SILENT = "energy.command_io=false"


def test_a_host_lookup_by_hand() -> None:
    energy = energy_pj(system("host", SILENT), host_counts())
    each = {part: value / LOOKUPS for part, value in energy.items()}
    assert each["activate"] == pytest.approx(2100)
    assert each["data_read"] == pytest.approx(64 * 8 * 14)  # 7.17 nJ
    assert each["io_data"] == pytest.approx(64 * 8 * 22)  # 11.26 nJ
    assert round(each["total"] / 1000, 1) == 20.5


def test_the_savings_by_hand() -> None:
    host, near = system("host"), system("recnmp-base")
    silent_host, silent_near = system("host", SILENT), system("recnmp-base", SILENT)
    assert round(100 * saving(silent_host, silent_near), 1) == 53.6
    assert round(100 * saving(host, near)) == 49
    # four DIMM results, and instructions charged to near memory only
    assert round(100 * saving(silent_host, near, dimms=4), 1) == 43.0


def test_offset_instructions_are_charged_as_83_bits() -> None:
    near = system("recnmp-base")
    plain = energy_pj(near, {"instructions": 10, "packet_instructions": 2})["io_command"]
    offset = energy_pj(near, {"instructions": 10, "packet_instructions": 2, "offset_instructions": 10})
    assert plain == pytest.approx(12 * 79 * 22)
    assert offset["io_command"] == pytest.approx((10 * 83 + 2 * 79) * 22)


def test_refresh_is_charged_to_nobody() -> None:
    assert energy_pj(system("host"), {"ref[0]": 9, "prea[0]": 9})["total"] == 0


def test_buffer_io_and_weights_have_their_constants() -> None:
    near = system("recnmp-base", "energy.buffer_io_pj_per_bit=1.0")
    energy = energy_pj(near, {"rd[0]": 3, "rd[1]": 4, "fp_muls": 5})
    assert energy["io_data"] == pytest.approx(7 * 512)
    assert energy["fp_mul"] == pytest.approx(5 * 25.2)
    assert energy_pj(system("host", "energy.buffer_io_pj_per_bit=1.0"), {"rd[0]": 1})["io_data"] == 512 * 22


def test_a_rank_cache_is_charged_a_probe_and_a_fill() -> None:
    """Two hits, a secondary hit and four misses are seven probes, and four fills; a bypass is no access."""
    counts = {
        "cache_hits[0]": 2,
        "cache_hits[1]": 0,
        "cache_secondary_hits[0]": 1,
        "cache_misses[1]": 4,
        "cache_misses[0]": 0,
        "cache_fills[0]": 4,
        "cache_bypasses[0]": 9,
    }
    assert energy_pj(system("recnmp-cache"), counts)["rank_cache"] == pytest.approx(11 * 50)
    assert "RankCache" in what_counts(system("recnmp-cache"))
    assert "RankCache" not in what_counts(system("recnmp-base"))


def test_hit_rates_count_all_line_accesses() -> None:
    """Secondary hits are hits, bypasses are accesses; a rank without accesses has no rate."""
    counts = per_rank("cache_hits", [3, 0]) | per_rank("cache_secondary_hits", [1, 0])
    counts |= per_rank("cache_misses", [2, 0]) | per_rank("cache_bypasses", [2, 0])
    assert hit_rate(counts) == 4 / 8
    assert hit_rates(counts) == [4 / 8, None]
    assert (hit_rate({}), hit_rates({})) == (None, [])


def test_what_is_counted_is_said() -> None:
    assert "24 bits a command" in what_counts(system("host"))
    assert "instruction" not in what_counts(system("host"))
    assert "79 bits an instruction (83 with ByteOffset)" in what_counts(system("recnmp-base"))
    assert "command IO not counted" in what_counts(system("recnmp-base", SILENT))


_COUNTS = st.fixed_dictionaries(
    {
        (f"{name}[0]" if counter.per_rank else name): st.integers(0, 2**40)
        for name, counter in COUNTERS.items()
        if counter.side != "host"
    }
)


@given(_COUNTS, _COUNTS)
def test_energy_is_additive_and_never_negative(one: dict[str, int], other: dict[str, int]) -> None:
    near = system("recnmp-base")
    # of the instructions some carry ByteOffset, never more than there are
    for counts in (one, other):
        counts["instructions"] += counts["offset_instructions"]
    parts = [energy_pj(near, counts) for counts in (one, other)]
    both = energy_pj(near, {name: one[name] + other[name] for name in one})
    for part in (*PARTS, "total"):
        assert both[part] == pytest.approx(parts[0][part] + parts[1][part], rel=1e-12)
        assert both[part] >= 0
    assert both["total"] == pytest.approx(math.fsum(both[part] for part in PARTS), rel=1e-12)


# -- counters


def test_undeclared_counters_are_refused() -> None:
    check_counters({"lookups": 1, "act[0]": 2, "act[1]": 3}, "host")
    check_counters({"act": 2}, "host")
    for bad in ("acts", "lookups[0]", "packets", "act[x]"):
        with pytest.raises(KeyError):
            check_counters({bad: 1}, "host")
    with pytest.raises(KeyError):
        check_counters({"wr[0]": 1}, "nmp")
    with pytest.raises(KeyError):
        check_counters({"act": 1, "act[0]": 1}, "nmp")


def test_totals_over_ranks_and_channels() -> None:
    counters = {"lookups": 5, **per_rank("act", [1, 2, 3])}
    assert by_rank(counters, "act") == [1, 2, 3]
    assert with_totals(counters)["act"] == total(counters, "act") == 6
    added = add_counters([counters, counters], 3)
    assert added["lookups"] == 10
    assert by_rank(added, "act") == [1, 2, 3, 1, 2, 3]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60))
def test_percentiles_are_latencies_of_batches(clocks: list[int]) -> None:
    summary = latency(clocks)
    assert summary.max == max(clocks)
    assert summary.mean == pytest.approx(float(np.mean(clocks)))
    for value, share in ((summary.p50, 0.50), (summary.p95, 0.95)):
        assert value in clocks
        # the least latency that at least this share of batches does not exceed
        assert sum(clock <= value for clock in clocks) >= share * len(clocks) - 1e-9
        assert sum(clock < value for clock in clocks) < share * len(clocks)


def test_latency_of_no_batch_is_nothing() -> None:
    summary = latency([])
    assert (summary.mean, summary.p50, summary.p95, summary.max) == (None, None, None, None)


def test_ceilings_by_hand() -> None:
    """Ceilings by hand: 64-byte vectors of distinct rows, pooling 80, 4 DIMMs of 2 ranks."""
    ranks, lookups = 8, 80_000
    each = lookups // ranks
    counters = {
        "instructions": lookups,
        "result_bursts": 4 * lookups // 80,
        **per_rank("act", [each] * ranks),
        **per_rank("rd", [each] * ranks),
    }
    bounds = ceilings(system("recnmp-base"), counters)
    # instructions 40 clocks + 4 DIMM results of 4 a pooling
    assert bounds["bus"] == lookups // 80 * (40 + 16)
    assert bounds["faw"] == pytest.approx(6.5 * each, rel=1e-3)
    assert bounds["ccd"] == 4 * (each - 1)
    assert bounds["slowest_rank"] == bounds["faw"]
    # 80 host reads of 4.45 clocks against 56: 6.4; 4.3 host clocks a read against 6.5 / 8: 5.3
    assert round(lookups * 4.45 / bounds["bus"], 1) == 6.4
    assert round(lookups * 4.3 / bounds["faw"], 1) == 5.3
    uneven = counters | per_rank("act", [2 * each, *[each] * 6, 0])
    assert ceilings(system("recnmp-base"), uneven)["slowest_rank"] == pytest.approx(13 * each, rel=1e-3)
    assert ceilings(system("recnmp-base"), uneven)["faw"] == bounds["faw"]


def test_ceilings_of_the_host_are_its_reads() -> None:
    counters = {**per_rank("act", [4, 1]), **per_rank("rd", [100, 60])}
    bounds = ceilings(system("host", "memory.dimms=1"), counters)
    assert bounds == {"bus": 160 * 4, "faw": 0, "ccd": 79 * 4, "slowest_rank": 99 * 4}
    only_in_all = {"act": 5 * 8, **per_rank("rd", [1, 1])}
    assert ceilings(system("host", "memory.dimms=1"), only_in_all)["faw"] == 19 // 4 * 26


@pytest.mark.parametrize(("acts", "clocks"), [(0, 0), (1, 0), (4, 0), (5, 26), (8, 26), (9, 52)])
def test_four_activations_pass_in_a_window(acts: int, clocks: int) -> None:
    """The fifth ACT waits FAW clocks for the first, and so on: counted from the first, on one rank."""
    config = system("host", "memory.dimms=1", "memory.ranks_per_dimm=1")
    assert ceilings(config, {"act": acts})["faw"] == clocks
