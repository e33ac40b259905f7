"""`recnmp trace import | generate | info`."""

from __future__ import annotations

import argparse
import json
import os
import sys

from ..config.cache import size_bytes
from ..errors import RecnmpError
from .trace_import import add_import_arguments
from .trace_words import LAYOUT_HELP, MODE_HELP, save, shape, watching, whole

HELP = "import, generate and describe traces of pooled lookups"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three sub-verbs."""
    verbs = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    add_import_arguments(
        verbs.add_parser("import", help="turn a log or arrays into a trace", allow_abbrev=False)
    )
    _add_generate(verbs.add_parser("generate", help="make a synthetic trace", allow_abbrev=False))
    _add_info(verbs.add_parser("info", help="describe a trace: reuse, hit curve", allow_abbrev=False))


def run(args: argparse.Namespace) -> int:
    """Never reached: a sub-verb is required, and each has its own `run`."""
    raise RecnmpError("give one of import, generate, info")


def span(text: str) -> tuple[int, int]:
    """`80` -> (80, 80); `20:140` -> (20, 140)."""
    low, _, high = text.partition(":")
    parse = whole(0)
    return parse(low), parse(high or low)


def sizes(text: str) -> list[int]:
    """`128K,8M` -> bytes, binary units."""
    found = []
    for part in text.split(","):
        try:
            size = size_bytes(part)
        except ValueError:
            size = 0
        if not 64 <= size < 1 << 63:
            raise argparse.ArgumentTypeError(
                f"{part!r} is not a size of 64 bytes or more (below 2^63), like 128K or 8M"
            )
        found.append(size)
    return found


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_generate)
    parser.add_argument("law", help="uniform, zipf, or a published histogram: 2021-base, 2021-x16, 2022")
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help="trace to write: .parquet or .npz")
    parser.add_argument(
        "--seed", type=whole(0), default=0, help="same seed, same trace, everywhere (%(default)s)"
    )
    parser.add_argument("--tables", type=whole(1), default=8, metavar="T", help="tables (%(default)s)")
    parser.add_argument("--rows", type=whole(1), default=1_000_000, help="rows of each table (%(default)s)")
    parser.add_argument(
        "--active-rows",
        type=whole(1),
        metavar="N",
        help="rows of each table that are looked up at all (all; decided by the histogram if drawn directly)",
    )
    parser.add_argument("--dim", type=whole(1), default=16, help="elements of a row (%(default)s)")
    parser.add_argument("--dtype", default="fp32", help="fp32, fp16, int8 or int4 (%(default)s)")
    parser.add_argument("--layout", default="", help=LAYOUT_HELP)
    parser.add_argument(
        "--pooling", type=span, default=(80, 80), metavar="N|LO:HI", help="lookups of a pooling (80)"
    )
    parser.add_argument("--batch-size", type=whole(1), default=256, metavar="B", help="samples (%(default)s)")
    parser.add_argument("--batches", type=whole(0), default=4, metavar="N", help="batches (%(default)s)")
    parser.add_argument(
        "--order", default="table", help="poolings table by table, or sample by sample: table, sample"
    )
    parser.add_argument("--mode", default="sum", help=MODE_HELP)
    parser.add_argument("--exponent", help="of zipf (1)")
    parser.add_argument(
        "--method",
        default="auto",
        help="of a published histogram: mixture (thinned popularity law), direct (exact counts), or auto: "
        "direct from 2 M lookups on unless --active-rows is given",
    )
    parser.add_argument(
        "--cluster",
        default="0",
        metavar="P",
        help="chance that a repeat access is moved near the one before (0)",
    )
    parser.add_argument(
        "--cluster-gap", type=whole(1), metavar="N", help="mean distance, in lookups of the table (16)"
    )
    parser.add_argument("--weighted", action="store_true", help="add a weight in [0, 1) to each lookup")


def _generate(args: argparse.Namespace) -> int:
    import dataclasses

    from ..locality import count_rows, reuse_histogram
    from ..traces.fit import fit, fit_table
    from ..traces.generate import Recipe, generate
    from ..workload import Workload

    given = {field.name: getattr(args, field.name) for field in dataclasses.fields(Recipe)}
    recipe = Recipe(**{name: value for name, value in given.items() if value is not None})
    if args.exponent is not None and args.law != "zipf":
        raise RecnmpError(f"--exponent is of zipf, not of {args.law}")
    if args.cluster_gap is not None and not float(args.cluster):
        raise RecnmpError("--cluster-gap has no effect without --cluster")
    workload = generate(recipe)
    save(workload, args.out)
    written = Workload.load(args.out)
    with watching(written.lookups, "checking") as bar:
        rows, lookups = reuse_histogram(count_rows(written, bar.update))
    print(f"{args.out}: {shape(written)}")
    active = workload.origin["active_rows"]
    few, many = min(active), max(active)
    shown = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    print(f"method {workload.origin['method']}, active rows a table: {shown}")
    print()
    print(fit_table(fit(recipe, rows, lookups)))
    return 0


def _add_info(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_info)
    parser.add_argument("file", help="a trace: .parquet or .npz")
    parser.add_argument(
        "--cache-sizes", type=sizes, metavar="SIZE,...", help="of the hit curve, like 128K,8M"
    )
    parser.add_argument("--no-shuffle", action="store_true", help="leave out the shuffled trace's curve")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--plot", metavar="FILE", help="draw hit curve and histogram: .png, .svg or .pdf")


def _info(args: argparse.Namespace) -> int:
    from ..locality import CACHE_SIZES, describe
    from ..replacing import replacing
    from ..workload import Workload

    form = args.plot.rpartition(".")[2].lower() if args.plot else ""
    if args.plot and form not in ("png", "svg", "pdf"):
        raise RecnmpError(f"{args.plot}: a figure's name ends in .png, .svg or .pdf")
    workload = Workload.load(args.file)
    passes = 2 if args.no_shuffle else 3
    with watching(passes * workload.lookups, "describing") as bar:
        info = describe(workload, args.cache_sizes or CACHE_SIZES, not args.no_shuffle, bar.update)
    if args.plot:
        from ..analysis.locality_plot import save_locality_plot

        title = os.fsencode(os.path.basename(args.file)).decode(errors="replace")
        with replacing(args.plot) as temporary:
            save_locality_plot(info, title, temporary, form)
    if args.json:
        json.dump(info, sys.stdout, indent=1)
        print()
    else:
        from ..analysis.locality_text import locality_text

        print(locality_text(info))
    if args.plot:
        print(f"figure: {args.plot}", file=sys.stderr)
    return 0
