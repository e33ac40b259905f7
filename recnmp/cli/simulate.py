"""`recnmp simulate`: a trace on the host baseline and near-memory systems, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from shutil import get_terminal_size

from tqdm import tqdm

from ..errors import RecnmpError
from ..progress import Progress
from ..replacing import replacing
from ..result import FIGURE_MARK, Comparison, refuse_foreign
from ..simulate import compare, with_baselines
from ..values import load_values
from ..workload import Workload
from .observers import Observers, add_observer_arguments
from .out_folder import check_folder, folder_made
from .system_arguments import BASELINE, add_system_arguments, chosen_systems

HELP = "Run a trace on near-memory systems and on the host baseline of the same memory, side by side."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the verb."""
    parser.add_argument("trace", metavar="TRACE", help="a trace (.parquet or .npz), see recnmp trace")
    parser.add_argument(
        "--system",
        nargs="+",
        action="extend",
        metavar="NAME",
        dest="systems",
        help="systems to run beside the host: presets or .toml files (default: recnmp-base)",
    )
    parser.add_argument(
        "--baseline",
        default=BASELINE,
        metavar="NAME",
        help="host that all are measured against: preset or .toml file, such as host-llc (default: %(default)s)",
    )
    add_system_arguments(parser)
    parser.add_argument(
        "--warmup", type=int, default=0, metavar="N", help="batches that run first, uncounted (default: 0)"
    )
    parser.add_argument(
        "--values",
        default="none",
        metavar="none|hash|FILE",
        help="what tables hold: nothing (timing only), hashes, or arrays (.npy, .npz, a folder of .npy)",
    )
    parser.add_argument("--seed", type=int, metavar="N", help="seed of random pages and hashed values")
    parser.add_argument("--mode", choices=("closed", "stream"), help="how batches follow each other")
    add_observer_arguments(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder (default: recnmp-out/NAME OF THE TRACE)"
    )
    parser.add_argument("--json", action="store_true", help="print result.json instead of the table")


def run(args: argparse.Namespace) -> int:
    """Simulate, print the table, and write result.json and summary.png."""
    names = args.systems or ["recnmp-base"]
    systems, host = chosen_systems(args, names, args.baseline)
    if args.values != "none" and not any(system.kind == "nmp" for system in systems):
        raise RecnmpError(
            f"--values {args.values}: no system of this run has near-memory units that add them up; "
            "name one with --system, or leave it out"
        )
    every_system = with_baselines(systems, host)[0]
    trace = Path(args.trace)
    workload = Workload.load(trace)
    out = args.out or Path("recnmp-out") / trace.stem
    document_path, figure_path = out / "result.json", out / "summary.png"
    refuse_foreign(document_path, figure_path)
    check_folder(out)
    values = load_values(args.values, workload.tables, systems[0].placement.seed)
    files = (document_path, figure_path)
    observers = Observers(args, every_system, workload, trace.stem, out, files)
    with folder_made(out), observers:
        with _progress(workload.lookups * len(every_system)) as progress:
            comparison = compare(
                systems, workload, trace.stem, args.warmup, values, progress, observers.make, host
            )
        observers.finish()
        _write(comparison, *files)
    if args.json:
        print(comparison.text(), end="")
        return 0
    table = import_module("recnmp.analysis.summary_table")
    print(table.render(comparison.as_json()))
    print(f"\nfigure  {figure_path}\nresult  {document_path}")
    for path in observers.files:
        print(f"log     {path}")
    return 0


def _write(comparison: Comparison, document: Path, figure: Path) -> None:
    """Both files or neither: they are made beside their places, and put there when both are whole."""
    text = comparison.text()
    # adapters out are reached by name, so that nothing below imports upward
    plot = import_module("recnmp.analysis.summary_plot")
    with replacing(document) as new_document:
        new_document.write_text(text, encoding="utf-8")
        with replacing(figure) as new_figure:
            plot.draw(comparison.as_json(), new_figure, FIGURE_MARK)


@contextmanager
def _progress(lookups: int) -> Iterator[Progress]:
    """A bar of lookups, with rate and time left, on the terminal; nothing where the output is no terminal."""
    # tqdm itself shows nothing on a terminal that says it has neither columns nor lines
    size = get_terminal_size()
    with tqdm(
        total=lookups,
        unit=" lookups",
        unit_scale=True,
        disable=not sys.stderr.isatty(),
        leave=False,
        smoothing=0.1,  # steps of a lookup take different times: a steadier guess of the time left
        ncols=size.columns,
        nrows=size.lines,
    ) as bar:

        def advance(done: int) -> None:
            bar.update(done)

        yield advance
