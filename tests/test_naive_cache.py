"""RankCache and operand register of the naive machine against clocks worked out by hand, and against laws.

DDR4-2400R: CL = RCD = RP = 16, BL 4, RAS 39, RRD 4/6, CCD 4/6, RTP 9. A line whose RD goes in t is offered in t + 19,
enters in t + 20, and fills its way in t + 20. The first LOOKUP of a batch that starts in s is popped in s + 2, the
next ones a clock later each; a probe comes a clock after at the soonest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from cache_corners import cache_corners, cached, local, one_pooling
from hypothesis import HealthCheck, given, settings
from machine_cases import Batch, Case, Encoder, Packet, cases, is_lookup, random_case
from machine_corners import lookup
from machine_referee import accept
from naive_machine import Log
from test_naive_machine import ACT, PRE, RD, check_laws

LARGE = 12
KINDS = ("cache_hits", "cache_secondary_hits", "cache_misses", "cache_bypasses")


def run(*batches: Batch, **parameters: object) -> Log:
    """On one rank with a RankCache, `cached`."""
    return log_of(cached(*batches, **parameters))


def corner(name: str) -> Log:
    return log_of(cache_corners()[name])


def log_of(case: Case) -> Log:
    machine = case.machine()
    case.run(machine)
    return machine.log


def counts(log: Log) -> tuple[int, ...]:
    """Hits, secondary hits, misses, bypasses."""
    return tuple(log.total(kind) for kind in KINDS)


def reads(log: Log) -> list[int]:
    return [clk for clk, code, *_ in log.commands if code == RD]


def entered(log: Log) -> list[tuple[int, int]]:
    """(clock, lookup) of the operands of rank 0."""
    return [(clk, item) for clk, item, *_ in log.operands[0]]


def test_one_bypass() -> None:
    """Popped 2, wanted 3: as without a cache, ACT 3, RD 19, enters 39, done 53, ready 54."""
    log = run(local(one_pooling(Encoder(), lookup()), 0))
    assert (reads(log), entered(log), log.ends) == ([19], [(39, 0)], [58])
    assert counts(log) == (0, 0, 0, 1)
    assert log.total("cache_fills") == 0


def test_one_miss() -> None:
    """Popped 2, probed 3, ACT 4, RD 20, taken 39, enters and fills 40, done 54, ready 55."""
    log = run(local(one_pooling(Encoder(), lookup())))
    assert [entry[:2] for entry in log.commands] == [(4, ACT), (20, RD)]
    assert (entered(log), log.ends) == ([(40, 0)], [59])
    assert counts(log) == (0, 0, 1, 0)
    assert log.total("cache_fills") == 1
    assert log.total("hazard_clocks") == 0


def test_one_hit() -> None:
    """In a second batch from 61 on (turnaround): popped 63, probed 64, taken 65, enters 66, done 80, ready 81."""
    encoder = Encoder()
    log = run(local(one_pooling(encoder, lookup())), local(one_pooling(encoder, lookup()), gap=2))
    assert reads(log) == [20]
    assert entered(log) == [(40, 0), (66, 1)]
    assert log.ends == [59, 85]
    assert counts(log) == (1, 0, 1, 0)
    assert log.wrong_predictions == 0  # no RD: not compared


@pytest.mark.parametrize(("flush", "expected"), [("never", (2, 0, 1, 0)), ("batch", (0, 0, 3, 0))])
def test_flush(flush: str, expected: tuple[int, ...]) -> None:
    """The same line in three batches."""
    encoder = Encoder()
    batches = [local(one_pooling(encoder, lookup())) for _ in range(3)]
    assert counts(run(*batches, rank_cache_flush=flush)) == expected


def test_one_secondary_hit() -> None:
    """Probes 3 and 4; the line is brought by RD 20, which fills in 40: the second is here from 41 on, is taken then,
    and enters in 42, since it is of another tag."""
    log = run(local(Encoder().encode([Packet(((lookup(),), (lookup(),)))])))
    assert reads(log) == [20]
    assert entered(log) == [(40, 0), (42, 1)]
    assert counts(log) == (0, 1, 1, 0)
    assert log.total("hazard_clocks") == 0


def test_one_hazard() -> None:
    """The same with one tag: it stands in the register in 42, two clocks after the first entered, and enters in 43."""
    log = run(local(one_pooling(Encoder(), lookup(), lookup())))
    assert entered(log) == [(40, 0), (43, 1)]
    assert log.total("hazard_clocks") == 1
    assert log.bursts == [(58, 0, 0, 0, 0)]  # 43 + 14, and one


def test_hits_of_one_sum_enter_three_clocks_apart() -> None:
    """Batch from 61 on, probes 64, 65, 66, offered from 65, 66, 67. The first is taken 65, enters 66; the second is
    taken 66, stands from 67, enters 69; the third is taken in that clock, and enters 72."""
    log = corner("hits of one sum")
    assert entered(log) == [(40, 0), (66, 1), (69, 2), (72, 3)]
    assert log.total("hazard_clocks") == 4
    assert counts(log) == (3, 0, 1, 0)


def test_no_victim() -> None:
    """One way: it awaits the first line when the second is probed in 4. Both are read, 6 apart (CCD_L), and one fills.
    Later the first line hits; the second then misses, and takes the way."""
    log = corner("no victim")
    assert (reads(log)[:2], entered(log)[:2]) == ([20, 26], [(40, 0), (46, 1)])
    assert counts(log) == (2, 0, 3, 1)
    assert log.total("cache_fills") == 3


def test_a_bypass_never_merges() -> None:
    """The second asks for a line that is on its way, with locality 0: popped in 3, it wants the row from 4 on."""
    log = run(local(one_pooling(Encoder(), lookup(), lookup()), 1))
    assert reads(log) == [20, 26]
    assert counts(log) == (0, 0, 1, 1)


def test_a_place_is_free_when_all_lines_are_taken() -> None:
    """Window of one, no cache: taken 38, free from 39 on: the second is popped 39, and reads the open row in 40."""
    log = run(one_pooling(Encoder(), lookup(), lookup(column=1)), window=1, rank_cache_bytes=0)
    assert (reads(log), entered(log)) == ([19, 40], [(39, 0), (60, 1)])


def test_a_fill_goes_before_a_probe() -> None:
    """37 lookups of a line: one miss, and secondary hits of the probes 4 .. 39. Another line would be probed in 40,
    but the port is taken by the fill: probed 41, ACT 42, RD 58, offered 77.

    Those who waited enter in 43, 46, ..., 148. All are older: the line that was offered in 77 is taken in 148.
    """
    log = corner("fill before probe")
    assert [entry[:2] for entry in log.commands] == [(4, ACT), (20, RD), (42, ACT), (58, RD)]
    assert [clk for clk, _ in entered(log)] == [40, *range(43, 149, 3), 149]
    assert counts(log) == (0, 36, 2, 0)
    assert log.total("hazard_clocks") == 1 + 35 * 2


def test_ten_lookups() -> None:
    """Four sets of a way; two poolings of five in row 5 of bank 0, but for lookup 8, which is in another bank group.

    Lookup k is popped in 2 + k and probed in 3 + k: columns 0 and 1 miss; 0 is a secondary hit; 4 finds its set
    pending (with column 0); 1 has locality 0; 0 is a secondary hit; 2 misses; 4 and lookup 8 (set 0) have no
    victim; 2 is a secondary hit. ACTs 4 and 12. RDs: 0 at 20, 1 at 26, 8 at 30 (other group), 3 at 34, 4 at 40,
    6 at 46, 7 at 52. 2 and 5 are here from the fill of 40 on: 2 is taken 41, held in 42, enters 43; 5 is taken
    then, enters 44 (another tag). 9 is here from 67 on, after the fill of 66, taken 67, held in 68, enters 69.
    """
    log = corner("ten lookups")
    assert [entry[0] for entry in log.commands if entry[1] == ACT] == [4, 12]
    assert reads(log) == [20, 26, 30, 34, 40, 46, 52]
    assert entered(log) == [
        (40, 0), (43, 2), (44, 5), (46, 1), (50, 8), (54, 3), (60, 4), (66, 6), (69, 9), (72, 7),
    ]  # fmt: skip
    assert counts(log) == (0, 3, 3, 4)
    assert log.total("hazard_clocks") == 2
    assert log.wrong_predictions == 0
    assert log.bursts == [(87, 0, 0, 0, 0), (91, 0, 0, 1, 0)]
    assert log.ends == [95]


def test_a_hit_makes_a_prediction_wrong() -> None:
    """Row 5, then rows 9, 5, 9: the second row 5 hits, so row 9 is still open, where the host foresaw PRE and ACT."""
    encoder = Encoder()
    first = local(one_pooling(encoder, lookup()))
    second = local(one_pooling(encoder, lookup(row=9), lookup(), lookup(row=9, column=1)), gap=2)
    log = run(first, second)
    assert counts(log) == (1, 0, 3, 0)
    assert log.wrong_predictions == 1


def test_unprobed_lines_keep_no_row_open() -> None:
    """From s on: eight lines that hit are probed in s+3 .. s+10, so row 5 of bank 0, which is open, has its line
    probed in s+11 only. A bypass to row 9, popped in s+4, closes it in s+5. Then both want a closed bank, and the
    older has it opened: ACT s+21, RD s+37, PRE s+60 (RAS), ACT s+76, RD s+92.

    The host foresaw RD for row 5, which got ACT and RD: wrong. Row 9 got PRE, PRE, ACT, RD: right, a command is
    not counted twice.
    """
    log = corner("unprobed lines keep no row open")
    s = log.ends[0] + 400
    assert [(clk - s, code) for clk, code, *_ in log.commands if clk >= s] == [
        (5, PRE), (21, ACT), (37, RD), (60, PRE), (76, ACT), (92, RD),
    ]  # fmt: skip
    assert counts(log) == (8, 0, 10, 1)
    assert log.wrong_predictions == 1


def test_a_secondary_hit_touches() -> None:
    """Lines 2 and 3 take the empty ways, 4 that of line 1. Then line 0 hits, and line 1 misses."""
    log = corner("secondary hit touches")
    assert counts(log) == (1, 1, 6, 0)


def test_a_prediction_is_settled_by_a_probe() -> None:
    """Third batch from s on: the hit is probed in s+3; then column 1 misses in s+4 and is read in s+5 at once; columns
    2 and 3 hit in s+5 and s+6. PRE and ACT were foreseen: wrong."""
    log = corner("settled by a probe")
    assert counts(log) == (3, 0, 4, 0)
    assert reads(log)[-1] == log.ends[1] + 100 + 5
    assert log.wrong_predictions == 1


def test_random_goes_on_after_a_flush() -> None:
    """With the register at its start again, the second batch would read what the first did."""
    log = corner("random goes on after a flush")
    columns = [
        [entry[6] for entry in log.commands if entry[1] == RD and (entry[0] < log.ends[0]) == early]
        for early in (True, False)
    ]
    assert columns[0][:8] == columns[1][:8] == [*range(8)]
    assert columns[0] != columns[1]


@pytest.mark.parametrize("case", cache_corners().values(), ids=cache_corners().keys())
def test_corners_keep_the_laws(case: Case) -> None:
    check_laws(case)
    accept(case, log_of(case).commands)


# Laws, beyond those that tests/test_naive_machine.py holds all cases to


def with_locality(case: Case, bit: int) -> Case:
    batches = []
    for batch in case.batches:
        stream = batch.stream.copy()
        stream["locality"][is_lookup(stream)] = bit
        batches.append(replace(batch, stream=stream))
    return replace(case, batches=tuple(batches))


@pytest.mark.parametrize("seed", range(LARGE))
def test_without_locality_a_cache_changes_nothing(seed: int) -> None:
    """Locality 0 throughout, with a cache, is locality 1 throughout without one."""
    case = random_case(seed, most_packets=4, longest=20)
    parameters = {
        **case.parameters,
        "rank_cache_bytes": 4096,
        "rank_cache_ways": 4,
        "rank_cache_policy": "lru",
    }
    cached = log_of(with_locality(replace(case, parameters=parameters), 0))
    plain = log_of(with_locality(replace(case, parameters={**parameters, "rank_cache_bytes": 0}), 1))
    assert cached == plain


@pytest.mark.parametrize("policy", ["lru", "fifo", "random", "tree-plru"])
@pytest.mark.parametrize("seed", range(3))
def test_a_cache_for_everything_misses_each_line_once(policy: str, seed: int) -> None:
    """Two ranks with up to eight lines each, in sets of 16 ways."""
    encoder = Encoder()
    rng = np.random.default_rng(seed)
    batches = []
    for _ in range(2):
        items = [lookup(int(r), 0, int(b), int(row)) for r, b, row in rng.integers(0, (2, 2, 4), (60, 3))]
        batches.append(local(encoder.encode([Packet((tuple(items[:30]), tuple(items[30:])))])))
    lines = {tuple(record[["rank", "bank", "row"]]) for batch in batches for record in batch.stream[1:-1]}
    parameters = {"ranks_per_dimm": 2, "rank_cache_ways": 16, "rank_cache_policy": policy}
    log = run(*batches, rank_cache_bytes=16 * 64, **parameters)
    assert log.total("cache_misses") == len(lines)
    assert log.total("cache_bypasses") == 0
    assert len(reads(log)) == len(lines)


@pytest.mark.parametrize("seed", range(40))
def test_the_referee_accepts_larger_cases(seed: int) -> None:
    case = random_case(seed, most_packets=4, longest=25)
    accept(case, log_of(case).commands)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_the_referee_accepts_small_cases(case: Case) -> None:
    accept(case, log_of(case).commands)


def test_cases_reach_all_that_a_cache_does() -> None:
    """Hits, secondary hits, hazards, and misses without a victim: each in one of ten random cases at least."""
    seen = dict.fromkeys((*KINDS, "hazard_clocks", "no victim"), 0)
    for seed in range(60):
        case = random_case(seed, most_packets=3, longest=20)
        if "rank_cache_bytes" in case.parameters:
            log = log_of(case)
            lookups = case.stream[is_lookup(case.stream)]
            bypassing = int(lookups["bursts"][lookups["locality"] == 0].sum())
            for name in seen:
                seen[name] += log.total(name) > 0
            seen["no victim"] += log.total("cache_bypasses") > bypassing
    assert min(seen.values()) >= 6, str(seen)
