"""Several channels near memory: each is a machine of its own, and they are joined where batches end."""

from __future__ import annotations

import signal
import time
from types import FrameType

import numpy as np
import pytest
from machine_referee import rows_of
from naive_machine import Machine
from naive_sums import add, naive_sums
from referee import check
from small_trace import system, trace

from recnmp import isa
from recnmp.config.system import SystemConfig
from recnmp.near_memory import NmpEngine
from recnmp.placement import Placement
from recnmp.simulate import simulate
from recnmp.stats import total
from recnmp.timing import rules
from recnmp.values import FileValues, HashValues
from recnmp.workload import Table, Workload

TWO = ("memory.channels=2", "memory.dimms=2", "placement.mapping=RoBaRaCoCh")
THREE = ("memory.channels=3", "memory.dimms=1", "placement.mapping=RoBaRaChCo", "nmp.rank_cache_bytes=4096")
COLOURED = (*TWO[:2], "placement.mapping=RoBaRaChCo", "placement.pages=coloured")
SYSTEMS = [TWO, THREE, COLOURED]


def machine(config: SystemConfig) -> Machine:
    """The naive machine of one channel."""
    timing, devices = config.dram.timings(), config.dram.devices()
    return Machine(
        rules(timing, "jedec", "rank"),
        rules(timing, "jedec", "host"),
        nCL=timing.nCL,
        nBL=timing.nBL,
        nREFI=timing.nREFI,
        dimms=config.memory.dimms,
        ranks_per_dimm=config.memory.ranks_per_dimm,
        banks=devices.banks,
        rows=devices.rows,
        bursts_a_row=devices.bursts_per_row,
        rank_cache_bytes=config.units.rank_cache_bytes,
    )


def engine_of(config: SystemConfig, workload: Workload, **given: object) -> NmpEngine:
    return NmpEngine(config, workload.tables, Placement(config, workload.tables), logging=True, **given)


@pytest.mark.parametrize("words", SYSTEMS)
def test_each_channel_is_the_machine_of_its_packets(words: tuple[str, ...]) -> None:
    """Commands and sends are the twin's; a batch ends with its slowest channel, and the next starts on all."""
    config, workload = system(*words, name="recnmp-base"), trace(3)
    engine = engine_of(config, workload)
    twins = [machine(config) for _ in range(config.memory.channels)]
    start = 0
    logs: list[list[np.ndarray]] = [[] for _ in twins]
    for batch in workload.batches():
        end = engine.run_batch(batch, "table", start)
        ends, lookups = [], []
        for twin, (log,), commands in zip(twins, engine.logs, logs, strict=True):
            sends = len(twin.log.sends)
            opens = np.flatnonzero(log.stream["opcode"] == isa.CONFIG)
            ends.append(twin.run(log.stream, np.append(opens, len(log.stream)), start))
            assert [tuple(row) for row in log.sends.tolist()] == twin.log.sends[sends:]
            commands.append(log.commands)
            lookups += log.stream["lookup"][log.stream["opcode"] >= isa.LOOKUP].tolist()
        assert end == max(ends)
        assert len(set(ends)) > 1  # else nothing was joined here
        assert sorted(set(lookups)) == list(range(batch.lookups))
        start = end + 1
    timing = config.dram.timings()
    for twin, commands in zip(twins, logs, strict=True):
        assert sorted(map(tuple, np.concatenate(commands).tolist())) == sorted(twin.log.commands)
        ranks = config.memory.ranks
        one_rank = rules(timing, "jedec", "rank")
        devices = config.dram.devices()
        log = rows_of(np.concatenate(commands))
        check(log, one_rank, devices, timing.nREFI, timing, ranks=ranks, shared_bus=False)


def test_a_channel_without_lookups_changes_nothing() -> None:
    """With the channel as highest digit and pages in order, small tables are all on channel 0."""
    words = ("placement.mapping=ChRoBaRaCo", "placement.pages=sequential")
    one, three = (
        simulate(system(*words, f"memory.channels={n}", name="recnmp-base"), trace(3)) for n in (1, 3)
    )
    assert (one.clocks, one.latencies) == (three.clocks, three.latencies)
    for name, count in one.counters.items():
        assert three.counters[name] == count
    assert total(three.counters, "rd") == total(one.counters, "rd")


@pytest.mark.parametrize("words", SYSTEMS)
@pytest.mark.parametrize("mode", ["closed", "stream"])
def test_lookups_are_conserved(words: tuple[str, ...], mode: str) -> None:
    """Every line is read by some channel or found in a cache, and hash values sum as on one channel."""
    workload = trace(3)
    values = HashValues(workload.tables, 2)
    alone = simulate(system("placement.mapping=RoBaRaCoCh", name="recnmp-base"), workload, values=values)
    run = simulate(system(*words, f"run.mode={mode}", name="recnmp-base"), workload, warmup=1, values=values)
    hits = total(run.counters, "cache_hits") + total(run.counters, "cache_secondary_hits")
    assert total(run.counters, "rd") + hits == run.counters["lines"] == run.counters["instructions"]
    # plain sums of hash values have no rounding, so that channels do not matter; they are in batch order in both
    assert run.sums_sha256 == alone.sums_sha256


def test_channels_and_dimms_are_added_in_order() -> None:
    """Bit for bit: DIMM 0 of channel 0, then 1, then those of channel 1."""
    config, workload = system(*TWO, name="recnmp-base"), trace(1)
    rng = np.random.default_rng(8)
    arrays = [
        (rng.standard_normal((table.rows, table.dim)) * 10.0 ** rng.integers(-3, 4, (table.rows, 1))).astype(
            np.float32
        )
        for table in workload.tables
    ]
    engine = engine_of(config, workload, values=FileValues(workload.tables, arrays))
    (batch,) = workload.batches()
    engine.run_batch(batch, "table", 0)
    table_of = np.repeat(np.arange(batch.n_tables), np.diff(batch.offsets[:: batch.batch_size]))
    sums = [np.zeros((batch.batch_size, table.dim), np.float32) for table in workload.tables]
    for (log,), (packets,) in zip(engine.logs, engine.packets, strict=True):
        operands = [
            [tuple(row) for row in log.operands.tolist() if row[3] == r] for r in range(config.memory.ranks)
        ]
        of_dimms, _ = naive_sums(
            log.stream,
            operands,
            lambda lookup, element: arrays[table_of[lookup]][batch.indices[lookup], element],
            config.memory.ranks_per_dimm,
        )
        for (_, packet, tag), vector in sorted(of_dimms.items(), key=lambda item: item[0][0]):
            sample = packets.first_sample[packet] + tag
            acc = sums[packets.table[packet]][sample]
            for element, part in enumerate(vector):
                acc[element] = add(acc[element], part)
    for mine, other in zip(engine.results(), sums, strict=True):
        assert np.array_equal(mine.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("mode", ["run_batch", "run_stream"])
def test_threads_change_nothing(mode: str) -> None:
    """Logs of all channels, byte for byte, with one thread and with several."""
    config, workload = system(*THREE, name="recnmp-base"), trace(4)
    told: list[list[bytes]] = []
    for workers in (1, 2, 5, None):
        engine = engine_of(config, workload, workers=workers)
        ends = [0]
        if mode == "run_batch":
            for batch in workload.batches():
                ends.append(engine.run_batch(batch, "table", ends[-1] + 1))
        else:
            ends = engine.run_stream(list(workload.batches()), "table", 0)
        logs = [
            array.tobytes()
            for of_channel in engine.logs
            for log in of_channel
            for array in (log.commands, log.operands, log.results, log.sends, log.packets)
        ]
        told.append([*logs, repr(ends).encode(), repr(engine.counters()).encode()])
    assert told[0] == told[1] == told[2] == told[3]


def big() -> Workload:
    """Some seconds of work."""
    rows = np.random.Generator(np.random.PCG64(1)).integers(0, 50_000, 1_000_000)
    tables = [Table("a", 50_000, 16)]
    return Workload.from_arrays(rows, lengths=[100] * 10_000, tables=tables, batch_size=10_000)


def test_ctrl_c_ends_all_channels() -> None:
    """An exception in the thread that waits stops the others between two chunks, and is what the caller sees."""
    config, workload = system(*TWO, name="recnmp-base"), big()
    engine = NmpEngine(config, workload.tables, Placement(config, workload.tables))
    (batch,) = workload.batches()
    told: list[int] = []

    def press(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    def progress(lookups: int) -> None:
        told.append(lookups)
        if sum(told) > 0.7 * batch.lookups:  # the channels have begun
            signal.setitimer(signal.ITIMER_REAL, 0.001)

    before = signal.signal(signal.SIGALRM, press)
    try:
        with pytest.raises(KeyboardInterrupt):
            engine.run_batch(batch, "table", 0, progress)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert sum(told) < batch.lookups
    reached = [kernel.now for kernel in engine.channels.kernels]
    time.sleep(0.2)
    assert reached == [kernel.now for kernel in engine.channels.kernels]
    with pytest.raises(ValueError, match="of the batch before are not sent yet"):
        engine.run_batch(batch, "table", 1 << 40)


def test_a_fault_of_one_channel_is_told() -> None:
    """What a kernel raises in its thread comes out of the run."""
    config, workload = system(*TWO, name="recnmp-base"), trace(1)
    engine = engine_of(config, workload)
    (batch,) = workload.batches()
    engine.run_batch(batch, "table", 0)
    broken = [part[0].stream.copy() for part in engine.packets]
    broken[1]["rank"] = 99
    starts = [1 << 30] * 2
    with pytest.raises(ValueError, match="rank 99 is not in"):
        engine.channels.run(broken, starts, True, False, True, lambda *sent: None)
