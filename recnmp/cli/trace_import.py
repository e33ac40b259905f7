"""`recnmp trace import`: a log of interactions or arrays become a trace."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import RecnmpError
from .trace_words import LAYOUT_HELP, MODE_HELP, save, shape, whole


def row_counts(text: str) -> tuple[int, ...]:
    """`1M,300` -> (1000000, 300)."""
    return tuple(map(whole(1), text.split(",")))


# Options that mean something for one kind of input only, by the names of argparse; None or empty: not given.
_OF_LOGS = (
    "user",
    "item",
    "time",
    "split",
    "query",
    "requests",
    "history",
    "session_gap",
    "seed",
    "delimiter",
    "columns",
)
_OF_ARRAYS = ("tables", "rows", "positional_weights", "out_of_range", "pruned")


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what `trace import` takes. Defaults are left to the importers: what is given must have effect."""
    parser.set_defaults(run=_import)
    parser.add_argument("file", help="CSV (also .gz) or Parquet of interactions, .npz, Parquet of id lists")
    parser.add_argument("-o", "--out", required=True, metavar="OUT", help="trace to write: .parquet or .npz")
    parser.add_argument(
        "--batch-size", type=whole(1), metavar="B", help="samples a batch (256; of arrays: all)"
    )
    parser.add_argument("--dim", type=whole(1), help="elements of a row (32)")
    parser.add_argument("--dtype", help="fp32, fp16, int8 or int4 (fp32)")
    parser.add_argument("--layout", help=LAYOUT_HELP)
    parser.add_argument("--order", help="poolings table by table, or sample by sample: table, sample (table)")
    parser.add_argument("--mode", help=MODE_HELP)
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
        "--time", metavar="COL", help="numbers (seconds) or ISO 8601 times; without it, the file's order"
    )
    log.add_argument(
        "--split", action="append", default=[], metavar="COL=SEP", help="the column holds several ids"
    )
    log.add_argument("--query", help="request: of random users; session: one each (request)")
    log.add_argument("--requests", type=whole(0), metavar="N", help="requests to draw (as many as users)")
    log.add_argument("--history", type=whole(1), metavar="N", help="most items a query (50)")
    log.add_argument(
        "--session-gap", type=float, metavar="S", help="longest pause of a session, seconds (1800)"
    )
    log.add_argument("--seed", type=whole(0), help="of the requests (0)")
    log.add_argument("--delimiter", metavar="C", help="between columns, also \\t (comma; of .tsv a tab)")
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
        "--positional-weights",
        metavar="FILE",
        help=".npy, or .npz of one array: weights by place in the bag, of all tables or a line a table",
    )
    arrays.add_argument(
        "--out-of-range", metavar="WHAT", help="ids beyond the rows: error, clamp, modulo (error)"
    )
    arrays.add_argument(
        "--pruned", action="store_true", help="an id of -1 is a pruned row: no access, adds 0"
    )


def _import(args: argparse.Namespace) -> int:
    from ..workload import sniff

    path = Path(args.file)
    kind = sniff(path)
    if args.item or args.user or kind in ("text", "gzip", "empty"):
        return _import_log(path, args)
    if kind not in ("zip", "parquet"):
        hint = ": np.savez stores several in one file" if kind == "npy" else ""
        raise RecnmpError(f"{path}: is a {kind} file, allowed are CSV (also .gz), Parquet and .npz{hint}")
    _refuse(path, args, _OF_LOGS, "interactions (with --user and --item), not for arrays")
    from ..traces.arrays import ArrayOptions, import_npz, import_parquet, repairs_text
    from ..workload import Repair

    repair = None
    if args.out_of_range is not None or args.pruned:
        repair = Repair(args.out_of_range or "error", args.pruned)
    options = ArrayOptions(
        tables=args.tables,
        rows=args.rows,
        batch_size=args.batch_size,
        dim=args.dim,
        dtype=args.dtype,
        layout=args.layout,
        order=args.order,
        mode=args.mode,
        positional_weights=None if args.positional_weights is None else Path(args.positional_weights),
        repair=repair,
        columns=tuple(args.table),
    )
    workload = (import_npz if kind == "zip" else import_parquet)(path, options)
    save(workload, args.out)
    print(f"{args.out}: {shape(workload)}")
    for table in workload.tables:
        print(f"  table {table.name}: {table.rows:,} rows of {table.row_bytes} bytes")
    if workload.repairs:
        print(f"repaired: {repairs_text(workload.repairs)}")
    return 0


def _refuse(path: Path, args: argparse.Namespace, names: tuple[str, ...], what: str) -> None:
    """Raises RecnmpError on the first of these options that was given."""
    for name in names:
        value = getattr(args, name)
        if not (value is None or value is False or value in ([], ())):  # 0 is a value
            raise RecnmpError(f"{path}: --{name.replace('_', '-')} is for {what}")


def _import_log(path: Path, args: argparse.Namespace) -> int:
    if not args.user or not args.item:
        raise RecnmpError(f"{path}: a log of interactions needs --user and --item, columns of the file")
    _refuse(path, args, _OF_ARRAYS, "arrays, not for interactions")
    from ..traces.interactions import InteractionOptions, column_names, import_interactions

    split = dict(text.partition("=")[::2] for text in args.split)
    history, query = 50 if args.history is None else args.history, args.query or "request"
    result = import_interactions(
        path,
        InteractionOptions(
            user=column_names(args.user),
            item=args.item,
            time=args.time,
            tables=column_names(args.table),
            split=split,
            query=query,
            requests=args.requests,
            history=history,
            session_gap=args.session_gap,
            batch_size=args.batch_size or 256,
            dim=args.dim or 32,
            dtype=args.dtype or "fp32",
            layout=args.layout or "",
            order=args.order or "table",
            mode=args.mode or "sum",
            seed=args.seed,
            delimiter="\t" if args.delimiter == "\\t" else args.delimiter,
            header=column_names([args.columns]) if args.columns is not None else None,
        ),
    )
    save(result.workload, args.out)
    print(f"{args.out}: {shape(result.workload)}")
    print(f"{result.events:,} interactions gave {result.queries:,} queries ({query})", end="")
    print(f", {result.cut:,} cut to their last {history} items" if result.cut else "")
    for name, size in result.mapping.items():
        print(f"  table {name}: {size:,} ids mapped to rows")
    if result.doubt:
        print(f"note: {result.doubt}", file=sys.stderr)
    return 0
