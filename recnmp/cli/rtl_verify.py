"""`recnmp rtl verify`: circuits and kernels side by side, every output on every clock."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from ..errors import RecnmpError, hint
from .streams import go_on_unread
from .trace_words import whole

if TYPE_CHECKING:
    from ..rtl.lockstep.verify import Bench

DESCRIPTION = (
    "Drives each circuit and its kernel with the same random inputs and compares every output on every clock. "
    "The first difference ends it: it is shown with the clocks before it, and once more with the shortest inputs "
    "found that show one. Exit code: 0 all equal (or the fault of --fault was not found), 1 a difference, 2 bad input."
)


def add_verify_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the sub-verb, and its `run`."""
    parser.set_defaults(run=run)
    parser.description = DESCRIPTION
    parser.add_argument(
        "--block", action="append", metavar="NAME", dest="blocks", help="only this one; may be repeated (all)"
    )
    parser.add_argument(
        "--clocks",
        type=whole(1),
        default=1_000_000,
        metavar="N",
        help="of each block: a whole number like 5000, 200k, 1M or 2G (%(default)s)",
    )
    parser.add_argument("--seed", type=whole(0), default=1, help="of the random inputs (%(default)s)")
    parser.add_argument(
        "--fault", metavar="NAME", help="put this known fault into its circuit: what a difference looks like"
    )


def run(args: argparse.Namespace) -> int:
    """One line a block; 1 at the first difference."""
    from ..rtl.blocks import BLOCKS, block_named
    from ..rtl.lockstep.pair import PAIRS
    from ..rtl.lockstep.verify import Bench

    go_on_unread()
    if args.fault is not None:
        return _run_fault(args)
    blocks = [block_named(name) for name in dict.fromkeys(args.blocks or BLOCKS)]
    for block in blocks:
        if not _verified(Bench(PAIRS[block.name]), block.name, args):
            return 1
    return 0


def _run_fault(args: argparse.Namespace) -> int:
    from ..rtl.blocks import BLOCKS, block_named
    from ..rtl.faults import FAULTS
    from ..rtl.lockstep.pair import PAIRS
    from ..rtl.lockstep.verify import Bench

    if args.fault not in FAULTS:
        raise RecnmpError(f"no fault {args.fault!r}; {hint(args.fault, FAULTS)}")
    fault = FAULTS[args.fault]
    for name in args.blocks or [fault.block]:
        if block_named(name).name != fault.block:
            raise RecnmpError(f"--block {name}: fault {fault.name} is one of {fault.block}")
    circuit = fault.circuit(BLOCKS[fault.block])
    print(f"fault {fault.name}: {fault.says}", flush=True)
    if not _verified(Bench(PAIRS[fault.block], circuit), fault.block, args):
        return 1
    print(f"fault {fault.name} was not found in {args.clocks:,} clocks")
    return 0


def _verified(bench: Bench, name: str, args: argparse.Namespace) -> bool:
    """Print a block's line, and what differs. True if nothing does."""
    begin = time.perf_counter()
    with _progress(name, args.clocks) as progress:
        difference = bench.verify(args.clocks, args.seed, progress)
    seconds = time.perf_counter() - begin
    clocks = args.clocks if difference is None else difference.clock + 1
    signals = len(bench.pair.hardware.outputs)
    verdict = "equal" if difference is None else "DIFFERS"
    of = "signal " if signals == 1 else "signals"
    print(f"{name:<12} {clocks:>13,} clocks  {signals} {of}  {verdict}", flush=True)
    if sys.stderr.isatty():  # a speed is no result: it does not go where results go
        print(f"{'':<12} {clocks / max(seconds, 1e-9):>13,.0f} clocks/s", file=sys.stderr)
    if difference is None:
        return True
    print(*difference.lines(), sep="\n", flush=True)
    short = bench.shortened(difference, args.seed)
    print(f"\nshortest inputs found, from reset ({len(short.inputs)} clocks):")
    print(*short.lines(), sep="\n")
    return False


@contextmanager
def _progress(name: str, clocks: int) -> Iterator[Callable[[int], None]]:
    """Clocks, rate and time left, on a terminal only."""
    from tqdm import tqdm

    # tqdm itself shows nothing on a terminal that says it has neither columns nor lines
    size = get_terminal_size()
    with tqdm(
        total=clocks,
        desc=name,
        unit=" clocks",
        unit_scale=True,
        disable=not sys.stderr.isatty(),
        leave=False,
        ncols=size.columns,
        nrows=size.lines,
    ) as bar:

        def advance(done: int) -> None:
            bar.update(done)

        yield advance
