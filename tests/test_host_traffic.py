"""Host traffic beside the near-memory work (D17): its arrivals by hand, and laws that need no twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_cases import Batch, Case, Encoder, Lookup, Packet, Run, random_case
from machine_referee import accept
from naive_traffic import Read, splitmix64
from recnmp.analysis.summary_table import render
from test_near_memory import kernel

from recnmp.config.system import SystemConfig
from recnmp.kernels.host_traffic import TRAFFIC_COUNTERS, HostTraffic
from recnmp.kernels.vocabulary import instruction_dtype
from recnmp.simulate import compare
from recnmp.traffic import measure
from recnmp.workload import Table, Workload

NOTHING = np.zeros(0, instruction_dtype)
IDLE = (Batch(NOTHING, np.zeros(1, np.int64)),)
PLACES = 16


def traffic_of(rate: int, seed: int = 1) -> HostTraffic:
    return HostTraffic(rate, seed, 2, 2, 4, 4, 65536, 128)


def with_traffic(case: Case, rate: int, **words: object) -> Case:
    return replace(case, parameters={**case.parameters, "reads_per_1000_clocks": rate, **words})


def run(case: Case) -> tuple[list[int], list, list, np.ndarray]:
    """Ends of the batches, commands, the reads' events, and operands without their clocks, sorted."""
    channel = kernel(case)
    ends, commands, reads, operands = [0], [], [], []
    for batch in case.batches:
        ends.append(channel.run(batch.stream.copy(), ends[-1] + batch.gap, logging=True))
        logs = channel.take_logs()
        commands += logs[0].tolist()
        operands += [row[1:] for row in logs[1].tolist()]
        reads += channel.take_traffic().tolist()
    return ends[1:], commands, reads, sorted(operands)


def test_splitmix_gives_its_published_words() -> None:
    words = splitmix64(1234567)
    assert [next(words) for _ in range(3)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
    ]


@given(rate=st.integers(1, 250), seed=st.integers(0, 2**63 - 1), upto=st.integers(0, 20_000))
def test_as_many_reads_arrive_as_the_rate_says(rate: int, seed: int, upto: int) -> None:
    """Nothing is sent, so all that have arrived stand in the queue: one in each of the spans of 1000 / rate clocks."""
    traffic = traffic_of(rate, seed)
    (queue,) = traffic.counts(upto + 1)[[TRAFFIC_COUNTERS.index("longest_queue")]]
    whole = (upto + 1) * rate // 1000
    assert whole <= queue <= whole + 1


@pytest.mark.parametrize("rate", [-1, 0, 251])
def test_a_rate_out_of_range_is_refused(rate: int) -> None:
    with pytest.raises(ValueError, match="1 to 250"):
        traffic_of(rate)


def test_rate_0_is_no_traffic_at_all() -> None:
    case = random_case(3)
    assert kernel(with_traffic(case, 0)).traffic is None


@pytest.mark.parametrize("seed", range(20))
def test_every_read_is_answered_once_and_in_its_buffer(seed: int) -> None:
    """However small FIFO and window: what was sent crosses, once, and no DIMM holds more than its places."""
    case = with_traffic(random_case(seed, 4, 12), 250 if seed % 2 else 30, traffic_seed=seed)
    _, commands, reads, _ = run(case)
    accept(case, commands)
    per_dimm = case.parameters["ranks_per_dimm"]
    dimms = case.parameters["dimms"]
    sent = [read for _, read, event in reads if event == 0]
    crossed = [read for _, read, event in reads if event == 1]
    assert sent == list(range(len(sent)))  # none passes another
    assert len(set(crossed)) == len(crossed)
    assert set(crossed) <= set(sent)
    assert len(sent) - len(crossed) <= PLACES * dimms
    made = reads_of(case, len(sent))
    held: Counter[int] = Counter()
    back: list[tuple[int, int]] = []
    for clk, read, event in reads:
        for free, dimm in [each for each in back if each[0] <= clk]:
            held[dimm] -= 1
            back.remove((free, dimm))
        dimm = made[read].rank // per_dimm
        if event == 0:
            held[dimm] += 1
            assert held[dimm] <= PLACES
        else:
            back.append((clk + 4, dimm))


def reads_of(case: Case, count: int) -> list[Read]:
    """The first reads of a case, as the twin makes them."""
    traffic = case.machine().traffic
    return [traffic.make(i) for i in range(count)]


@pytest.mark.parametrize("mode", ["compressed", "ddr"])
@pytest.mark.parametrize("instructions_per_clock", [1, 2])
def test_the_heaviest_traffic_stops_no_batch(mode: str, instructions_per_clock: int) -> None:
    case = random_case(11, 4, 30)
    words = {"command_mode": mode, "instructions_per_clock": instructions_per_clock}
    quiet, _, _, mine = run(with_traffic(case, 0, **words))
    ends, _, _, operands = run(with_traffic(case, 250, **words))
    assert operands == mine  # the same operands, whatever their order: sums differ by rounding at most
    assert all(end >= still for end, still in zip(ends, quiet, strict=True))


def test_more_traffic_slows_down_more() -> None:
    """On this example; no theorem."""
    case = next(
        made
        for made in map(random_case, range(40))
        if len(made.stream) > 300 and made.parameters["dimms"] == 2
    )
    case = replace(case, nREFI=None)
    case = with_traffic(case, 0, command_mode="compressed", nmp_clock_divider=1)
    ends = [
        run(with_traffic(case, rate))[0][-1] for rate in (0, 10, 40, 120)
    ]  # from there on the bus is full
    assert ends == sorted(ends)
    assert ends[-1] > ends[0]


def test_reads_alone_are_no_progress() -> None:
    """Results are stolen from the DIMM's buffer, so that the batch can never end: reads that go on do not hide it."""
    batch = Encoder().encode([Packet(((Lookup(0, (Run(0, 0, 5, 0, 1),)),),))])
    channel = kernel(with_traffic(Case({"dimms": 1, "ranks_per_dimm": 1}, (batch,)), 1))
    channel.run(batch.stream.copy(), 0, drain=False)
    for _ in range(300):
        channel.dimms.step(0, np.zeros(16, np.int64), channel.now, sent=1)
        channel.step()
    with pytest.raises(RuntimeError, match="stands still"):
        channel.run(NOTHING.copy(), channel.now)


def test_reads_go_on_without_any_batch() -> None:
    """Batches of nothing: the clocks pass, and reads alone are served, at a rate far below what the channel bears."""
    case = with_traffic(Case({"dimms": 2, "ranks_per_dimm": 2}, IDLE), 20)
    channel = kernel(case)
    for start in (5000, 100_000):
        assert channel.run(NOTHING, start) == start
    counts = dict(zip(TRAFFIC_COUNTERS, channel.traffic.counts(channel.now).tolist(), strict=True))
    assert abs(counts["reads_sent"] - 2000) <= 1
    assert counts["reads_sent"] - counts["lines_crossed"] <= 2
    # instruction 1, decode 1, first command 1, ACT to RD 16, RD to the end of the burst 20, turnaround and 4 clocks
    latencies = channel.traffic.latencies()
    assert latencies[0, 0] >= 1 + 1 + 16 + 20 + 4
    assert latencies[0, 0] <= 60
    assert int(latencies[:, 1].sum()) == counts["lines_crossed"]
    assert int(latencies[:, 0] @ latencies[:, 1]) == counts["latency_clocks"]
    assert latencies[-1, 0] == counts["longest_latency"]


def test_a_lone_read_by_hand() -> None:
    """Sent in t, decoded in t+1, ACT in t+2, RD tRCD = 16 later, its line ready CL + BL = 20 after that; the turnaround
    is over by then, and it crosses in 4 clocks: 42 from its arrival."""
    case = with_traffic(Case({"dimms": 1, "ranks_per_dimm": 1}, IDLE), 1)
    channel = kernel(case)
    channel.run(NOTHING, 3000, logging=True)
    arrival = (next(splitmix64(1)) >> 48) * 1000 >> 16
    reads = channel.take_traffic().tolist()
    assert reads[:2] == [[arrival, 0, 0], [arrival + 38, 0, 1]]
    assert channel.traffic.latencies()[0].tolist()[0] == 42


def test_latencies_are_those_of_the_log() -> None:
    """A queue that grows for long: exact below 2^14 clocks, to 14 leading bits from there on."""
    case = with_traffic(Case({"dimms": 1, "ranks_per_dimm": 1}, IDLE), 250)
    channel = kernel(case)
    channel.run(NOTHING, 150_000, logging=True)
    crossed = [(clk, read) for clk, read, event in channel.take_traffic().tolist() if event]
    made = reads_of(case, len(crossed) + PLACES)
    exact = [clk + 4 - made[read].arrival for clk, read in crossed]
    assert max(exact) > 1 << 15
    bits = [max(0, clocks.bit_length() - 14) for clocks in exact]
    kept = Counter(clocks >> cut << cut for clocks, cut in zip(exact, bits, strict=True))
    assert channel.traffic.latencies().tolist() == [list(pair) for pair in sorted(kept.items())]
    counts = dict(zip(TRAFFIC_COUNTERS, channel.traffic.counts(channel.now).tolist(), strict=True))
    assert (counts["longest_latency"], counts["latency_clocks"]) == (max(exact), sum(exact))
    measures = measure([counts], [channel.traffic.latencies()])
    whole = sorted(kept.elements())
    assert measures.p95 == whole[-(-95 * len(whole) // 100) - 1]
    assert measures.p50 == whole[-(-len(whole) // 2) - 1]


def test_a_run_without_traffic_stands_beside_one_with() -> None:
    tables = [Table("a", 5000, 32)]
    ids = np.random.default_rng(5).integers(0, 5000, 2 * 8 * 20)
    workload = Workload.from_arrays(ids, lengths=[20] * 16, tables=tables, batch_size=8)
    system = SystemConfig.model_validate(
        {"memory": {"dimms": 2}, "traffic": {"reads_per_1000_clocks": 100, "seed": 9}}
    )
    document = compare([system], workload, "small").as_json()
    host, busy, quiet = document["runs"]
    assert [run["system"] for run in (host, busy, quiet)] == [
        "host",
        "recnmp-base",
        "recnmp-base (no traffic)",
    ]
    assert (host["host_traffic"], quiet["host_traffic"]) == (None, None)
    met = busy["host_traffic"]
    assert met["slowdown"] == busy["clocks"] / quiet["clocks"] > 1
    assert met["reads"] == busy["counters"]["host_lines"] > 0
    assert 42 <= met["latency_clocks"]["p50"] <= met["latency_clocks"]["p99"] <= met["latency_clocks"]["max"]
    assert quiet["counters"]["host_reads"] == 0
    alone = compare([system.without_traffic()], workload, "small").as_json()["runs"][1]
    for key in ("clocks", "counters", "batch_latency_clocks"):
        assert alone[key] == quiet[key]
    # lookups are as even over the ranks as without: the host's reads are none of theirs
    lines = [quiet["counters"][f"rd[{rank}]"] for rank in range(4)]
    assert [busy["counters"][f"lookup_lines[{rank}]"] for rank in range(4)] == lines
    assert busy["counters"]["rd"] > sum(lines) == len(ids) * 2
    assert busy["load_imbalance"]["run"] == pytest.approx(max(lines) * 4 / sum(lines), rel=1e-12)
    table = render(document)
    assert "slowdown by host reads" in table
    assert "the baseline has none" in table
