"""Blocks stepped alone, as lockstep will: what they get on each clock comes from a run of the whole channel."""

from __future__ import annotations

import numpy as np
import pytest
from machine_cases import Batch, Case, Encoder, Packet, random_case
from machine_corners import lookup
from test_near_memory import kernel

from recnmp.kernels.vocabulary import instruction_dtype

NOTHING = np.zeros(0, instruction_dtype)


def one_batch(seed: int) -> Case:
    """A random case with private buses and without what a block alone does not see, cut to its first batch."""
    batches: tuple[Batch, ...] = ()
    while not batches:
        case = random_case(seed)
        batches = tuple(batch for batch in case.batches if len(batch.stream))[:1]
        seed += 1000
    alone = {
        "local_bus": "none",
        "command_mode": "compressed",
        "nmp_clock_divider": 1,
        "reads_per_1000_clocks": 0,
    }
    return Case(case.parameters | alone, batches, case.bin, case.organisation, case.nREFI)


@pytest.mark.parametrize("seed", range(12))
def test_ranks_and_dimms_step_alone(seed: int) -> None:
    """Ranks that get the logged instructions, and DIMMs that see their done bits, issue the logged commands."""
    case = one_batch(seed)
    whole = kernel(case)
    stream = case.batches[0].stream.copy()
    end = whole.run(stream, case.batches[0].gap, logging=True)
    commands, operands, results, sends = whole.take_logs()

    alone = kernel(case)
    alone.ranks.window.log_to(True, len(commands) + 64, len(operands))
    packet_of = np.full(16, -1, np.int64)
    arriving: dict[int, list[int]] = {}
    for clk, position in sends.tolist():
        arriving.setdefault(clk, []).append(position)
    begins: dict[int, list[tuple[int, int]]] = {}  # clock -> DIMM and packet whose results begin to cross
    seen: set[tuple[int, int]] = set()
    for clk, packet, dimm, _, _ in results.tolist():
        if (dimm, packet) not in seen:
            begins.setdefault(clk, []).append((dimm, packet))
            seen.add((dimm, packet))
    ready = [0] * alone.dimms.dimms
    popped = 0
    for clk in range(end):
        sent = [0] * alone.dimms.dimms
        for dimm, packet in begins.get(clk, []):
            sent[dimm] |= 1 << packet_of.tolist().index(packet)
            assert sent[dimm] & ready[dimm], "results crossed before they were ready"
        now = stream[arriving.get(clk, [])]
        packet_of[now["group"]] = now["packet"]
        for rank in range(alone.ranks.ranks):
            mine = now[(now["opcode"] < 4) | (now["rank"] == rank)]
            left, _ = alone.ranks.step(rank, clk, np.ascontiguousarray(mine) if len(mine) else NOTHING)
            popped += left
        for dimm in range(alone.dimms.dimms):
            ready[dimm] = alone.dimms.step(dimm, packet_of, clk, sent[dimm])
    assert alone.ranks.window.take_logs()[0].tolist() == commands.tolist()
    assert alone.dimms.counts()[0] == len(results)
    assert not any(ready)
    broadcast = int(np.count_nonzero(stream["opcode"] < 4))
    assert popped <= len(stream) + broadcast * (alone.ranks.ranks - 1)


def test_a_full_fifo_is_refused() -> None:
    """The host's credits keep this from happening; a wrong driver is told."""
    case = one_batch(3)
    blocks = kernel(case).ranks
    instruction = np.zeros(1, instruction_dtype)
    instruction["opcode"] = 2
    too_many = np.repeat(instruction, blocks.fifo_depth + 1)
    with pytest.raises(OverflowError, match="full FIFO in clock 0"):
        blocks.step(0, 0, too_many)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("rank", 99, "rank 99 is not in"),
        ("bankgroup", -1, "bankgroup -1"),
        ("bank", 7, "bank 7"),
        ("tag", 16, "tag 16"),
        ("opcode", 5, "not CONFIG, LOOKUPs"),
        ("packet", 12345, "not CONFIG, LOOKUPs"),
    ],
)
def test_a_wrong_stream_is_refused(field: str, value: int, words: str) -> None:
    """Every field that indexes something is checked before the kernel runs."""
    case = one_batch(1)
    stream = case.batches[0].stream.copy()
    stream[field][1] = value
    with pytest.raises(ValueError, match=words):
        kernel(case).run(stream, 0)


@pytest.mark.parametrize(
    ("at", "words", "message"),
    [
        (0, {"dtype": 4}, "instruction 0: dtype 4 is not in 0 to 3"),
        (0, {"dtype": 2, "layout": 0}, "instruction 0: rows of dtype 2 have no layout 0"),
        (0, {"dtype": 1, "layout": 1}, "instruction 0: rows of dtype 1 have no layout 1"),
        (0, {"dim": 129}, "instruction 0: dim 129, allowed are 1 to 128"),
        (1, {"byte_offset": 16}, "instruction 1: byte_offset 16 is not in 0 to 15"),
        (1, {"bursts": 9}, "instruction 1: 9 bursts, allowed are 1 to 8"),
        (1, {"bursts": 3}, "instruction 1: 3 bursts from line 0 on, but its row ends before"),
        (1, {"opcode": 4, "bursts": 1}, "instruction 1: 1 bursts from line 8 on, but its row ends before"),
        (1, {"byte_offset": 1}, "instruction 1: a line of its row is not one operand"),
    ],
)
def test_a_wrong_row_is_refused(at: int, words: dict[str, int], message: str) -> None:
    """A row of two lines of fp32: its form, its offset, and which of its lines an instruction may name."""
    case = Case({"dimms": 1, "ranks_per_dimm": 1}, (Encoder().encode([Packet(((lookup(bursts=2),),), 32)]),))
    stream = case.batches[0].stream.copy()
    for name, value in words.items():
        stream[name][at] = value
    with pytest.raises(ValueError, match=message):
        kernel(case).run(stream, 0)
    stream["dtype"][0], stream["layout"][0], stream["byte_offset"][1], stream["dim"][0] = 2, 1, 0, 100
    stream["opcode"][1], stream["bursts"][1] = 8, 1
    with pytest.raises(ValueError, match="from line 0 on, but a quantised row is one instruction"):
        kernel(case).run(stream, 0)


def test_channel_steps_like_run() -> None:
    """`Channel.step`, one clock a call, does what `run` does."""
    case = one_batch(2)
    stream = case.batches[0].stream
    ran, stepped = kernel(case), kernel(case)
    end = ran.run(stream.copy(), 0, logging=True)
    stepped.run(stream[:0].copy(), 0)
    stepped.offer(stream.copy(), 0, logging=True)
    while stepped.now < end:
        stepped.step()
    for one, other in zip(ran.take_logs(), stepped.take_logs(), strict=True):
        assert one.tolist() == other.tolist()


def test_a_channel_may_be_stepped_before_it_has_work() -> None:
    """Only refreshes happen; and a second batch waits until the first is sent."""
    case = one_batch(2)
    channel = kernel(case)
    for _ in range(10):
        channel.step()
    assert channel.now == 10
    channel.offer(case.batches[0].stream.copy(), 10)
    with pytest.raises(ValueError, match="instructions of the batch before are not sent yet"):
        channel.offer(case.batches[0].stream.copy(), 10)
