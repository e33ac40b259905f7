"""`recnmp trace import | generate | info`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import RecnmpError

if TYPE_CHECKING:
    from pathlib import Path
    from typing import NoReturn

    from tqdm import tqdm

    from ..workload import Workload

HELP = "import, generate and describe traces of pooled lookups"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the three sub-verbs."""
    verbs = parser.add_subparsers(title="what to do", required=True, metavar="WHAT")
    _add_import(verbs.add_parser("import", help="turn a log or arrays into a trace", allow_abbrev=False))
    _add_generate(verbs.add_parser("generate", help="make a synthetic trace", allow_abbrev=False))
    _add_info(verbs.add_parser("info", help="describe a trace: reuse, hit curve", allow_abbrev=False))


def run(args: argparse.Namespace) -> int:
    """Never reached: a sub-verb is required, and each has its own `run`."""
    raise RecnmpError("give one of import, generate, info")


def whole(lowest: int) -> Callable[[str], int]:
    """A parser of whole numbers, `_` and the suffixes k and M allowed, from `lowest` on."""

    def parse(text: str) -> int:
        factor = {"k": 1000, "M": 1000_000, "G": 1000_000_000}.get(text[-1:], 1)
        try:
            number = int(text[:-1] if factor > 1 else text) * factor
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if number < lowest:
            raise argparse.ArgumentTypeError(f"{text!r} is below {lowest}")
        return number

    return parse


def span(text: str) -> tuple[int, int]:
    """`80` -> (80, 80); `20:140` -> (20, 140)."""
    low, _, high = text.partition(":")
    parse = whole(0)
    return parse(low), parse(high or low)


def row_counts(text: str) -> tuple[int, ...]:
    """`1M,300` -> (1000000, 300)."""
    return tuple(map(whole(1), text.split(",")))


def sizes(text: str) -> list[int]:
    """`128K,8M` -> bytes, binary units."""
    found = []
    for part in text.split(","):
        word = part.strip().removesuffix("iB").removesuffix("B")
        shift = {"K": 10, "M": 20, "G": 30}.get(word[-1:].upper(), 0)
        digits = word[:-1] if shift else word
        if not digits.isdecimal() or int(digits) << shift < 64:
            raise argparse.ArgumentTypeError(f"{part!r} is not a size of 64 bytes or more, like 128K or 8M")
        found.append(int(digits) << shift)
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
    parser.add_argument(
        "--pooling", type=span, default=(80, 80), metavar="N|LO:HI", help="lookups of a pooling (80)"
    )
    parser.add_argument("--batch-size", type=whole(1), default=256, metavar="B", help="samples (%(default)s)")
    parser.add_argument("--batches", type=whole(0), default=4, metavar="N", help="batches (%(default)s)")
    parser.add_argument(
        "--order", default="table", help="poolings table by table, or sample by sample: table, sample"
    )
    parser.add_argument("--exponent", default="1", help="of zipf (%(default)s)")
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
        "--cluster-gap",
        type=whole(1),
        default=16,
        metavar="N",
        help="mean distance, in lookups (%(default)s)",
    )
    parser.add_argument("--weighted", action="store_true", help="add a weight in [0, 1) to each lookup")


def _generate(args: argparse.Namespace) -> int:
    import dataclasses

    from ..locality import count_rows, reuse_histogram
    from ..traces.fit import fit, fit_table
    from ..traces.generate import Recipe, generate
    from ..workload import Workload

    fields = [field.name for field in dataclasses.fields(Recipe)]
    recipe = Recipe(**{name: getattr(args, name) for name in fields})
    workload = generate(recipe)
    _save(workload, args.out)
    written = Workload.load(args.out)
    with _bar(written.lookups, "checking") as bar:
        rows, lookups = reuse_histogram(count_rows(written, bar.update))
    print(f"{args.out}: {_shape(written)}")
    active = workload.origin["active_rows"]
    few, many = min(active), max(active)
    shown = f"{few:,}" if few == many else f"{few:,} to {many:,}"
    print(f"method {workload.origin['method']}, active rows a table: {shown}")
    print()
    print(fit_table(fit(recipe, rows, lookups)))
    return 0


def _bar(total: int, what: str) -> tqdm[NoReturn]:
    """Progress with rate and time left, on a terminal only."""
    from tqdm import tqdm

    return tqdm(total=total, desc=what, unit=" lookups", unit_scale=True, disable=None, leave=False)


def _save(workload: Workload, path: str) -> None:
    with _bar(workload.lookups, "writing") as bar:
        workload.save(path, bar.update)


def _shape(workload: Workload) -> str:
    counts = (
        (workload.lookups, "lookup", "lookups"),
        (len(workload.tables), "table", "tables"),
        (workload.n_batches, "batch", "batches"),
    )
    words = [f"{count:,} {one if count == 1 else many}" for count, one, many in counts]
    return ", ".join([*words, f"{workload.order} by {workload.order}"])


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
    from ..workload import Workload, replacing

    form = args.plot.rpartition(".")[2].lower() if args.plot else ""
    if args.plot and form not in ("png", "svg", "pdf"):
        raise RecnmpError(f"{args.plot}: a figure's name ends in .png, .svg or .pdf")
    workload = Workload.load(args.file)
    passes = 2 if args.no_shuffle else 3
    with _bar(passes * workload.lookups, "describing") as bar:
        info = describe(workload, args.cache_sizes or CACHE_SIZES, not args.no_shuffle, bar.update)
    if args.json:
        json.dump(info, sys.stdout, indent=1)
        print()
    else:
        from ..analysis.locality_text import locality_text

        print(locality_text(info))
    if args.plot:
        from ..analysis.locality_plot import save_locality_plot

        with replacing(args.plot) as temporary:
            save_locality_plot(info, os.path.basename(args.file), temporary, form)
        print(f"figure: {args.plot}", file=sys.stderr)
    return 0


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=_import)
    parser.add_argument("file", help="CSV (also .gz) or Parquet of interactions, .npz, Parquet of id lists")
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help="trace to write: .parquet or .npz")
    parser.add_argument(
        "--batch-size", type=whole(1), metavar="B", help="samples a batch (256; of arrays: all)"
    )
    parser.add_argument("--dim", type=whole(1), default=32, help="elements of a row (%(default)s)")
    parser.add_argument("--dtype", default="fp32", help="fp32, fp16, int8 or int4 (%(default)s)")
    parser.add_argument(
        "--order", default="table", help="poolings table by table, or sample by sample: table, sample"
    )
    parser.add_argument(
        "--table", action="append", default=[], metavar="COL", help="a further column that becomes a table"
    )
    log = parser.add_argument_group("interactions: who, what, when")
    log.add_argument(
        "--user",
        action="append",
        default=[],
        metavar="COL[,COL...]",
        help="columns that together name a user",
    )
    log.add_argument("--item", metavar="COL", help="column of the items, pooled over a query")
    log.add_argument(
        "--time", metavar="COL", help="numbers (seconds) or ISO 8601; without it, the file's order"
    )
    log.add_argument(
        "--split", action="append", default=[], metavar="COL=SEP", help="the column holds several ids"
    )
    log.add_argument(
        "--query", default="request", help="request: of random users; session: one each (%(default)s)"
    )
    log.add_argument("--requests", type=whole(0), metavar="N", help="requests to draw (as many as users)")
    log.add_argument(
        "--history", type=whole(1), default=50, metavar="N", help="most items a query (%(default)s)"
    )
    log.add_argument(
        "--session-gap", type=float, default=1800.0, metavar="S", help="longest pause, seconds (%(default)g)"
    )
    log.add_argument("--seed", type=whole(0), default=0, help="of the requests (%(default)s)")
    log.add_argument("--delimiter", metavar="C", help="between columns (comma; of .tsv a tab)")
    log.add_argument("--columns", metavar="NAME,...", help="column names, if the file has no line of them")
    arrays = parser.add_argument_group("arrays: .npz, Parquet of lists")
    arrays.add_argument("--tables", type=whole(1), metavar="T", help="tables of an .npz")
    arrays.add_argument(
        "--rows",
        type=row_counts,
        default=(),
        metavar="N[,N...]",
        help="rows of each table, or one number for all (largest id + 1)",
    )
    arrays.add_argument(
        "--out-of-range", default="error", help="ids beyond the rows: error, clamp, modulo (%(default)s)"
    )
    arrays.add_argument(
        "--pruned", action="store_true", help="an id of -1 is a pruned row: no access, adds 0"
    )


def _import(args: argparse.Namespace) -> int:
    from pathlib import Path

    from ..workload import sniff

    path = Path(args.file)
    kind = sniff(path)
    if args.item or args.user or kind not in ("zip", "parquet"):
        return _import_log(path, args)
    from ..traces.arrays import ArrayOptions, import_npz, import_parquet, repairs_text
    from ..workload import Repair

    options = ArrayOptions(
        tables=args.tables,
        rows=args.rows,
        batch_size=args.batch_size,
        dim=args.dim,
        dtype=args.dtype,
        order=args.order,
        repair=Repair(args.out_of_range, args.pruned),
        columns=tuple(args.table),
    )
    workload = (import_npz if kind == "zip" else import_parquet)(path, options)
    _save(workload, args.out)
    print(f"{args.out}: {_shape(workload)}")
    for table in workload.tables:
        print(f"  table {table.name}: {table.rows:,} rows of {table.row_bytes} bytes")
    if workload.repairs:
        print(f"repaired: {repairs_text(workload.repairs)}")
    return 0


def _import_log(path: Path, args: argparse.Namespace) -> int:
    from ..traces.interactions import InteractionOptions, column_names, import_interactions

    if not args.user or not args.item:
        raise RecnmpError(f"{path}: a log of interactions needs --user and --item, columns of the file")
    for name in ("tables", "rows", "pruned"):
        if getattr(args, name):
            raise RecnmpError(f"{path}: --{name} is for arrays, not for interactions")
    split = dict(text.partition("=")[::2] for text in args.split)
    result = import_interactions(
        path,
        InteractionOptions(
            user=column_names(args.user),
            item=args.item,
            time=args.time,
            tables=column_names(args.table),
            split=split,
            query=args.query,
            requests=args.requests,
            history=args.history,
            session_gap=args.session_gap,
            batch_size=args.batch_size or 256,
            dim=args.dim,
            dtype=args.dtype,
            order=args.order,
            seed=args.seed,
            delimiter=args.delimiter,
            header=column_names([args.columns]) if args.columns else None,
        ),
    )
    _save(result.workload, args.out)
    print(f"{args.out}: {_shape(result.workload)}")
    print(f"{result.events:,} interactions gave {result.queries:,} queries ({args.query})", end="")
    print(f", {result.cut:,} cut to their last {args.history} items" if result.cut else "")
    for name, size in result.mapping.items():
        print(f"  table {name}: {size:,} ids mapped to rows")
    return 0
