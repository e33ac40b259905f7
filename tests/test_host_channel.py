"""The fast host channel: recorded cases, the slow twin, skipping, batches, outstanding reads, bad input."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dram_streams import channels, streams
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from referee import check
from slow_twin import SlowChannel

import recnmp
from recnmp import HostChannel, RecnmpError, replay_dram
from recnmp.config.dram import ChannelConfig, channel_preset
from recnmp.kernels.dram import Device, TimingTable
from recnmp.kernels.host_controller import HostController
from recnmp.replay import ISSUED
from recnmp.timing import COMMANDS, rules
from recnmp.validate import Case, case_names, load_case, validate_case

HERE = Path(__file__).parent
SHARED = Path(os.environ.get("RECNMP_SHARED", HERE.parent.parent / "shared"))
TWO_RANKS = channel_preset("ddr4-2400-2rank")
LAWS = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


def load_cases(folder: Path) -> list[Case]:
    return [load_case(folder, name) for name in case_names(folder)]


def random_reads(n: int, config: ChannelConfig, seed: int = 1) -> Any:
    random = np.random.default_rng(seed)
    o = config.organisation
    limits = (config.ranks, o.bankgroups, o.banks, o.rows, o.bursts_per_row)
    requests = np.zeros((n, 7), np.int64)
    requests[:, 2:] = np.stack([random.integers(0, limit, n) for limit in limits], axis=1)
    requests[:, 6] *= 8
    return requests


@pytest.mark.parametrize(
    "folder", [HERE / "data" / "dram", SHARED / "golden" / "dram"], ids=["kept", "shared"]
)
def test_recorded_cases_are_exact(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    outcomes = [validate_case(case) for case in load_cases(folder)]
    assert outcomes
    assert [o.name for o in outcomes if o.difference] == []


@pytest.mark.parametrize("name", ["mixed-write-hot", "onebank", "stream-2rank"])
def test_slow_twin_reproduces_the_begin_of_a_recorded_case(name: str) -> None:
    """What comes before the last of some requests is accepted cannot depend on later ones."""
    case = next(c for c in load_cases(HERE / "data" / "dram") if c.name == name)
    twin = SlowChannel(case.config)
    twin.run(case.requests[:300].tolist())
    mine, until = np.array(twin.commands), twin.last_accepted
    assert (mine[mine[:, 0] <= until, :3] == case.commands[case.commands[:, 0] <= until, :3]).all()
    assert until > 300


@pytest.mark.slow
def test_slow_twin_reproduces_every_recorded_case() -> None:
    folder = SHARED / "golden" / "dram"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not here")
    for case in load_cases(folder):
        twin = SlowChannel(case.config)
        twin.run(case.requests.tolist())
        assert (np.array(twin.commands)[:, :3] == case.commands[:, :3]).all(), case.name


def log_of(twin: SlowChannel) -> Any:
    """The twin's commands with -1 for what a command does not use, as the kernel logs them."""
    log = np.array(twin.commands, np.int64).reshape(-1, 7)
    name = np.array(COMMANDS)[log[:, 1]]
    log[np.isin(name, ["PREA", "REF"]), 3:] = -1
    log[name == "PRE", 5:] = -1
    log[name == "ACT", 6] = -1
    return log


@LAWS
@given(st.data())
def test_fast_channel_equals_slow_twin(data: st.DataObject) -> None:
    config = data.draw(channels())
    requests = data.draw(streams(config))
    twin = SlowChannel(config)
    done = twin.run(requests.tolist())
    channel = HostChannel(config, log=True)
    assert channel.run(requests).tolist() == done.tolist()
    assert channel.take_log().tolist() == log_of(twin).tolist()
    counts = channel.counts()
    assert {name: counts[name] for name in twin.count} == twin.count


@LAWS
@given(st.data())
def test_skipping_equals_ticking_and_the_referee_accepts(data: st.DataObject) -> None:
    config = data.draw(channels())
    requests = data.draw(streams(config, largest=400))
    skipped, ticked = (HostChannel(config, log=True) for _ in range(2))
    done = skipped.run(requests)
    assert done.tolist() == ticked.run(requests, skipping=False).tolist()
    log = skipped.take_log()
    assert log.tolist() == ticked.take_log().tolist()
    assert skipped.counts() == ticked.counts()
    assert skipped.clk == ticked.clk == max(done, default=0)
    if not config.refresh:
        rows = rules(config.timing, config.rule_set, "host")
        bus = config.timing if config.rule_set == "jedec" else None
        check(log, rows, config.organisation, None, bus, config.ranks)


@LAWS
@given(st.data())
def test_referee_accepts_refreshing_channels(data: st.DataObject) -> None:
    """With refresh often enough to matter, yet rare enough that ranks can take their turns (D13)."""
    config = data.draw(channels(refresh=True))
    rare = config.ranks * 600 + 4000
    config = config.model_copy(update={"timing": config.timing.model_copy(update={"nREFI": rare})})
    requests = data.draw(streams(config, largest=1500))
    channel = HostChannel(config, log=True)
    channel.run(requests)
    channel.idle(channel.clk + 3 * rare)
    rows = rules(config.timing, config.rule_set, "host")
    bus = config.timing if config.rule_set == "jedec" else None
    check(channel.take_log(), rows, config.organisation, rare, bus, config.ranks, end=channel.clk)


@LAWS
@given(st.data())
def test_batches_continue_one_channel(data: st.DataObject) -> None:
    """Batch after batch with pauses: bank state and refresh schedule persist, as in the twin."""
    config = data.draw(channels())
    twin, channel = SlowChannel(config), HostChannel(config, log=True)
    start = 0
    for _ in range(3):
        requests = data.draw(streams(config, largest=60))
        assert channel.run(requests, start).tolist() == twin.run(requests.tolist(), start).tolist()
        assert channel.clk >= start
        start = max(start, channel.clk) + data.draw(st.integers(0, 3000))
    assert channel.take_log().tolist() == log_of(twin).tolist()


def test_completion_clocks_by_hand() -> None:
    t = TWO_RANKS.timing
    place = [0, 1, 1, 5]
    requests = [
        [0, 0, *place, 8],  # ACT at 1, RD at 1 + RCD
        [0, 1, *place, 16],  # hit, after the turnaround
        [0, 0, *place, 16],  # waits there: forwarded
        [0, 1, *place, 16],  # merged
    ]
    result = replay_dram(np.array(requests), TWO_RANKS, log=True)
    read = 1 + t.nRCD
    write = read + t.nCL + t.nBL + 2 - t.nCWL
    assert result.commands is not None
    assert result.commands[:, :2].tolist() == [[1, 0], [read, 3], [write, 4]]
    assert result.completion.tolist() == [
        read + t.nCL + t.nBL,
        write + t.nCWL + t.nBL,
        3,
        write + t.nCWL + t.nBL,
    ]
    statistics = result.statistics
    assert (statistics["row_misses"], statistics["row_hits"], statistics["row_conflicts"]) == (1, 1, 0)
    assert (statistics["num_read_reqs_forwarded"], statistics["num_write_reqs_coalesced"]) == (1, 1)
    assert statistics["read_latency"] == read + t.nCL + t.nBL + 1


def test_addresses_that_differ_far_up_do_not_alias() -> None:
    """Same low bits everywhere: neither forwarded nor merged, whatever the distance (4 GiB and more)."""
    o = TWO_RANKS.organisation
    places = [
        (r, g, b, row) for r in (0, 1) for g in (0, 3) for b in (0, 3) for row in (0, o.rows // 2, o.rows - 1)
    ]
    requests = [[0, 1, *place, 0] for place in places] + [[0, 0, *place, 8] for place in places]
    statistics = replay_dram(np.array(requests), TWO_RANKS).statistics
    assert statistics["num_read_reqs_forwarded"] == statistics["num_write_reqs_coalesced"] == 0


def test_identical_reads_are_each_served() -> None:
    result = replay_dram(np.zeros((64, 7), int), TWO_RANKS)
    assert result.statistics["reads"] == 64
    assert len(set(result.completion.tolist())) == 64


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_outstanding_bounds_reads_from_acceptance_to_data(limit: int) -> None:
    config = TWO_RANKS.model_copy(update={"outstanding": limit})
    done = np.sort(HostChannel(config).run(random_reads(300, config)))
    # a read is accepted only once the one `limit` before it (in completion order) has ended
    shortest = config.timing.nCL + config.timing.nBL + 1
    assert (done[limit:] - done[:-limit] >= shortest).all()
    free = HostChannel(TWO_RANKS).run(random_reads(300, config))
    assert done[-1] > max(free)


def test_channel_counts_reset_and_progress_is_told() -> None:
    channel = HostChannel(TWO_RANKS)
    told: list[int] = []
    channel.run(random_reads(500, TWO_RANKS), progress=told.append)
    assert told[-1] == 500
    assert channel.counts()["reads"] == 500
    before = channel.clk
    channel.reset_counts()
    channel.run(random_reads(20, TWO_RANKS, 2), channel.clk + 1)
    assert channel.counts()["reads"] == 20
    assert channel.clk > before


def test_long_pauses_cost_nothing() -> None:
    """Clocks beyond 32 bits, refresh off: one jump, not one tick each."""
    config = TWO_RANKS.model_copy(update={"refresh": False})
    requests = random_reads(3, config)
    requests[:, 0] = [0, 1 << 45, 1 << 59]
    t = config.timing
    done = replay_dram(requests, config).completion
    assert (done - requests[:, 0] >= t.nRCD + t.nCL + t.nBL).all()
    assert (done - requests[:, 0] <= t.nRP + t.nRCD + t.nCL + t.nBL + 1).all()


@pytest.mark.parametrize("dtype", ["int16", "uint16", "int32", ">i4", ">i8", "uint64"])
def test_any_integer_array_is_taken(dtype: str) -> None:
    requests = random_reads(50, TWO_RANKS)
    requests[:, 5] %= 30000
    expected = replay_dram(requests, "ddr4-2400-2rank").completion.tolist()
    for given_array in (requests.astype(dtype), np.asfortranarray(requests.astype(dtype))):
        assert replay_dram(given_array, TWO_RANKS).completion.tolist() == expected
    wide = np.zeros((100, 14), dtype)
    wide[::2, ::2] = requests
    assert replay_dram(wide[::2, ::2], TWO_RANKS).completion.tolist() == expected


def test_no_requests_are_no_error() -> None:
    result = recnmp.replay_dram(np.zeros((0, 7), np.int32), "ddr4-2400-2rank", log=True)
    assert result.completion.shape == (0,)
    assert result.commands is not None
    assert result.commands.shape == (0, 7)
    assert result.statistics["cycles"] == 0
    assert replay_dram([], TWO_RANKS).completion.shape == (0,)


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        (0, -1, r"requests\[2\]\.offered_clk = -1: outside 0 to"),
        (1, 2, r"requests\[2\]\.is_write = 2: outside 0 to 1"),
        (2, 2, r"requests\[2\]\.rank = 2: outside 0 to 1"),
        (3, 4, r"requests\[2\]\.bankgroup = 4: outside 0 to 3"),
        (4, 4, r"requests\[2\]\.bank = 4: outside 0 to 3"),
        (5, 65536, r"requests\[2\]\.row = 65536: outside 0 to 65535"),
        (6, 1024, r"requests\[2\]\.column = 1024: outside 0 to 1023"),
        (5, 2**63 + 5, r"requests\[2\]\.row = 9223372036854775813: outside"),
    ],
)
def test_values_out_of_range_are_refused(column: int, value: int, text: str) -> None:
    requests = np.zeros((4, 7), np.uint64 if value > 2**62 else np.int64)
    requests[2, column] = value
    with pytest.raises(RecnmpError, match=text):
        replay_dram(requests, TWO_RANKS)


@pytest.mark.parametrize(
    ("requests", "text"),
    [
        (np.zeros((3, 6), int), r"shape \(3, 6\)"),
        (np.zeros(7, int), r"shape \(7,\)"),
        (np.zeros((3, 7)), "float64 is no integer type"),
        (np.zeros((3, 7), bool), "bool is no integer type"),
        ([[0] * 7, [0] * 6], "no array: "),
    ],
)
def test_arrays_of_another_form_are_refused(requests: Any, text: str) -> None:
    with pytest.raises(RecnmpError, match=text):
        replay_dram(requests, TWO_RANKS)


def test_unknown_systems_and_past_starts_are_refused() -> None:
    with pytest.raises(RecnmpError, match="channel preset 'ddr5'"):
        replay_dram(np.zeros((0, 7), int), "ddr5")
    for system in (None, 3, TWO_RANKS.timing):
        with pytest.raises(RecnmpError, match=r"no preset's name, and has no channel_config\(\)$"):
            replay_dram(np.zeros((1, 7), int), system)
    channel = HostChannel(TWO_RANKS)
    channel.idle(100)
    with pytest.raises(RecnmpError, match="start_clock = 99: outside 100"):
        channel.run(np.zeros((1, 7), int), 99)


def test_threads_run_beside_each_other_with_the_same_outcome() -> None:
    """The kernel lets go of the interpreter, and shares no state."""
    from concurrent.futures import ThreadPoolExecutor

    requests = random_reads(20000, TWO_RANKS)
    expected = replay_dram(requests, TWO_RANKS).completion
    with ThreadPoolExecutor(2) as pool:
        for result in pool.map(lambda _: replay_dram(requests, TWO_RANKS), range(4)):
            assert (result.completion == expected).all()


@pytest.mark.parametrize("reason", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupted_channel_says_so(reason: type[BaseException]) -> None:
    channel = HostChannel(TWO_RANKS, log=True)

    def stop(accepted: int) -> None:
        raise reason

    with pytest.raises(reason):
        channel.run(random_reads(100_000, TWO_RANKS), progress=stop)
    uses: list[Callable[[], object]] = [
        lambda: channel.run(random_reads(1, TWO_RANKS)),
        lambda: channel.idle(1 << 40),
        lambda: channel.clk,
        channel.counts,
        channel.reset_counts,
        channel.take_log,
    ]
    for use in uses:
        with pytest.raises(RuntimeError, match="in the middle of a batch that was interrupted"):
            use()


def test_bad_requests_leave_the_channel_as_it_is() -> None:
    channel = HostChannel(TWO_RANKS)
    with pytest.raises(RecnmpError):
        channel.run(np.full((1, 7), -1))
    assert channel.run(random_reads(1, TWO_RANKS)).tolist() == [channel.clk]


@pytest.mark.parametrize("refresh", [True, False])
@pytest.mark.parametrize("skipping", [True, False])
def test_a_channel_that_stands_still_is_told(refresh: bool, skipping: bool) -> None:
    """A fault, planted: the rank recovers from a refresh far in the future, so no request can be served."""
    t, o = TWO_RANKS.timing, TWO_RANKS.organisation
    device = Device(TimingTable(rules(t, "jedec", "host"), ISSUED), 1, o.bankgroups, o.banks)
    interval = t.nREFI if refresh else 0
    controller = HostController(device, 32, 32, 0, interval, t.nCL + t.nBL, t.nCWL + t.nBL, False)
    requests = np.zeros((9, 7), np.int64)
    controller.begin(requests, 5000)
    device.issue(COMMANDS.index("REF"), 0, 0, 0, 0, 1 << 40)
    with pytest.raises(RuntimeError, match=r"stands still: clock [0-9]+, 9 of 9 unfinished"):
        controller.run(skipping)
