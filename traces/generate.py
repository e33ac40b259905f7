"""Synthetic traces: uniform, Zipf, and after the published reuse histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from ..errors import RecnmpError
from ..workload import Piece, Table, Workload
from ..workload.batch import PIECE_LOOKUPS, Float32
from ..workload.header import Header, check_mode
from .clustering import clustered
from .histograms import NAMES, published
from .permutation import Permutation
from .popularity import Groups, thinned, uniform, zipf
from .urn import fill_urns
from .words import Int64, scaled, source

LAWS = ("uniform", "zipf", *NAMES)
LARGEST_GAP = 1 << 16
MOST_TABLES = 1_000_000
METHODS = ("auto", "mixture", "direct")
# Below this many lookups a published histogram's tail does not fit in whole rows: thin the mixture instead.
DIRECT_FROM = 2_000_000
# Lookups of a table drawn (and clustered) at once, whatever the batches are.
WINDOW = 1 << 16

# purposes of random streams: the first number of a stream's path
_IDS, _LENGTHS, _WEIGHTS, _CLUSTER, _ROWS, _POSITIONS = range(6)


@dataclass(frozen=True)
class Recipe:
    """All that decides a generated trace; kept in its origin.

    law: "uniform", "zipf" or a published histogram. exponent: of zipf, a decimal text. method: "mixture"
    draws each lookup from a popularity law, "direct" fixes how often each row is looked up, "auto" is direct
    for a published histogram from 2 M lookups on. active_rows: rows of each table that can be looked up at
    all, None for all (direct: decided by the histogram). pooling: (lowest, highest) lookups of a bag, each
    length as likely. cluster: probability that a repeat access falls near the one before, cluster_gap: mean
    distance in lookups of its table. Raises RecnmpError on values out of range.
    """

    law: str
    seed: int = 0
    tables: int = 8
    rows: int = 1_000_000
    active_rows: int | None = None
    dim: int = 16
    dtype: str = "fp32"
    layout: str = ""
    pooling: tuple[int, int] = (80, 80)
    batch_size: int = 256
    batches: int = 1
    order: str = "table"
    exponent: str = "1"
    method: str = "auto"
    cluster: str = "0"
    cluster_gap: int = 16
    weighted: bool = False
    mode: str = "sum"

    def __post_init__(self) -> None:
        for field, known in (("law", LAWS), ("method", METHODS)):
            if getattr(self, field) not in known:
                raise RecnmpError(f"{field} is {getattr(self, field)!r}, allowed: {', '.join(known)}")
        lowest = {"seed": 0, "tables": 1, "rows": 1, "batch_size": 1, "batches": 0, "cluster_gap": 1}
        for field, low in lowest.items():
            if not low <= getattr(self, field) < 2**62:
                raise RecnmpError(f"{field} is {getattr(self, field)}, allowed is {low} and up (below 2^62)")
        check_mode(self.mode, self.weighted)
        if self.active_rows is not None and not 1 <= self.active_rows <= self.rows:
            raise RecnmpError(
                f"active rows are {self.active_rows}, allowed is 1..{self.rows} (the table's rows)"
            )
        if self.cluster_gap > LARGEST_GAP:
            raise RecnmpError(f"cluster_gap is {self.cluster_gap}, allowed is 1..{LARGEST_GAP}")
        if self.tables > MOST_TABLES:
            raise RecnmpError(f"tables is {self.tables}, allowed is 1..{MOST_TABLES}")
        low, high = self.pooling
        if self.tables * self.batches * self.batch_size * max(high, 1) >= 2**62:
            raise RecnmpError(
                f"tables x batches x batch size x pooling is {self.tables} x {self.batches} x "
                f"{self.batch_size} x {high}, allowed is below 2^62"
            )
        if not 0 <= low <= high:
            raise RecnmpError(f"pooling is {low}:{high}, allowed is LOW:HIGH with 0 <= LOW <= HIGH")
        for field, top in (("exponent", 10), ("cluster", 1)):
            if not 0 <= _decimal(field, getattr(self, field)) <= top:
                raise RecnmpError(f"{field} is {getattr(self, field)}, allowed is 0..{top}")
        if self.law not in NAMES and self.method != "auto":
            raise RecnmpError(
                f"method {self.method} is for published histograms ({', '.join(NAMES)}), not {self.law}"
            )


def _decimal(field: str, text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        value = Decimal("NaN")
    if not value.is_finite():
        raise RecnmpError(f"{field} is {text!r}, allowed is a decimal number")
    return value


@dataclass(frozen=True, eq=False)
class Plan:
    """How a recipe's lookups are shared out: of each table the lookups, and the law of its active rows.

    method: "uniform", "zipf", "mixture" or "direct" (the groups' shares are then exact counts).
    """

    method: str
    lookups: tuple[int, ...]
    groups: tuple[Groups, ...]

    @property
    def active_rows(self) -> list[int]:
        """Rows of each table that can be looked up at all."""
        return [int(group.rows.sum()) for group in self.groups]


def plan(recipe: Recipe) -> Plan:
    """The plan of a recipe. Raises RecnmpError where a histogram drawn directly lacks rows."""
    totals = tuple(_total(recipe, table) for table in range(recipe.tables))
    method = _method(recipe, sum(totals))
    return Plan(method, totals, tuple(_groups(recipe, totals, method)))


def generate(recipe: Recipe) -> Workload:
    """The trace of a recipe, drawn anew, piece by piece, each time it is gone through.

    The same recipe gives the same lookups on every machine. Raises RecnmpError as `plan` does.
    """
    made = plan(recipe)
    origin = {"generator": asdict(recipe), "method": made.method, "active_rows": made.active_rows}
    tables = tuple(
        Table(f"table{number}", recipe.rows, recipe.dim, recipe.dtype, recipe.layout)
        for number in range(recipe.tables)
    )
    sizes = (recipe.batch_size,) * recipe.batches
    header = Header(tables, sizes, sum(made.lookups), recipe.order, recipe.mode, recipe.weighted, origin)
    return Workload(header, lambda: _pieces(recipe, made))


def _method(recipe: Recipe, lookups: int) -> str:
    if recipe.law not in NAMES:
        return recipe.law
    if recipe.method != "auto":
        return recipe.method
    # a stated number of active rows asks for the law of that many rows
    return "direct" if lookups >= DIRECT_FROM and recipe.active_rows is None else "mixture"


def _groups(recipe: Recipe, totals: Sequence[int], method: str) -> list[Groups]:
    """For each table, how its lookups are shared out among its active rows."""
    active = recipe.active_rows or recipe.rows
    if method == "direct":
        if recipe.active_rows is not None:
            raise RecnmpError(
                "active rows are decided by the histogram if it is drawn directly: use method mixture"
            )
        groups = fill_urns(published(recipe.law).direct, totals)
        for table, group in enumerate(groups):
            needed = int(group.rows.sum())
            if needed > recipe.rows:
                raise RecnmpError(
                    f"table {table}: {recipe.law} drawn directly for {totals[table]} lookups needs "
                    f"{needed} rows, the table has {recipe.rows}: more rows, fewer lookups, or method mixture"
                )
        return groups
    if method == "mixture":
        law = thinned(published(recipe.law).mixture, active)
    else:
        law = uniform(active) if method == "uniform" else zipf(active, Decimal(recipe.exponent))
    return [law] * recipe.tables


class _Lengths:
    """Lengths of a table's bags, in order of time."""

    def __init__(self, recipe: Recipe, table: int) -> None:
        self.low, high = recipe.pooling
        self.choices = high - self.low + 1
        self.words = source(recipe.seed, _LENGTHS, table)

    def take(self, bags: int) -> Int64:
        if self.choices == 1:
            return np.full(bags, self.low, dtype=np.int64)
        return self.low + scaled(self.words.random_raw(bags), self.choices)


def _total(recipe: Recipe, table: int) -> int:
    """Lookups of one table in all batches."""
    bags = recipe.batch_size * recipe.batches
    if recipe.pooling[0] == recipe.pooling[1]:
        return bags * recipe.pooling[0]
    lengths = _Lengths(recipe, table)
    return sum(int(lengths.take(min(WINDOW, bags - done)).sum()) for done in range(0, bags, WINDOW))


class _Lookups:
    """Row ids of one table, in order of time, drawn a window at a time whatever is asked for."""

    def __init__(self, recipe: Recipe, table: int, total: int, groups: Groups, method: str) -> None:
        self.total, self.groups = total, groups
        self.words = source(recipe.seed, _IDS, table)
        self.places = Permutation(total, recipe.seed, _POSITIONS, table) if method == "direct" else None
        self.rows = Permutation(recipe.rows, recipe.seed, _ROWS, table)
        self.threshold = int(Decimal(recipe.cluster) * 2**32)
        self.gap = recipe.cluster_gap
        self.cluster_words = source(recipe.seed, _CLUSTER, table)
        self.drawn = self.used = 0
        self.window = np.zeros(0, dtype=np.int64)

    def take(self, count: int) -> Int64:
        parts = []
        while count:
            if self.used == len(self.window):
                self._draw()
            part = self.window[self.used : self.used + count]
            self.used += len(part)
            count -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def _draw(self) -> None:
        count = min(WINDOW, self.total - self.drawn)
        if self.places is None:
            cells = scaled(self.words.random_raw(count), self.groups.total)
        else:
            cells = self.places(np.arange(self.drawn, self.drawn + count))
        ids = self.rows(self.groups.locate(cells))
        if self.threshold:
            ids = clustered(ids, self.cluster_words.random_raw(count), self.threshold, self.gap)
        self.window, self.used = ids, 0
        self.drawn += count


def _pieces(recipe: Recipe, made: Plan) -> Iterator[Piece]:
    lengths = [_Lengths(recipe, table) for table in range(recipe.tables)]
    lookups = [
        _Lookups(recipe, table, total, groups, made.method)
        for table, (total, groups) in enumerate(zip(made.lookups, made.groups, strict=True))
    ]
    weights = [source(recipe.seed, _WEIGHTS, table) for table in range(recipe.tables)]
    step = max(PIECE_LOOKUPS // max(recipe.pooling[1], 1), 1)
    for batch in range(recipe.batches):
        held: list[tuple[Int64, Int64]] = []
        factors: list[Float32] = []
        first = bag = size = 0
        for table in range(recipe.tables):
            for done in range(0, recipe.batch_size, step):
                own = lengths[table].take(min(step, recipe.batch_size - done))
                count = int(own.sum())
                if held and size + count > PIECE_LOOKUPS:
                    yield _piece(recipe, batch, first, held, factors)
                    held, factors, first, size = [], [], bag, 0
                held.append((own, lookups[table].take(count)))
                if recipe.weighted:
                    # 24 bits: every value is a float32, in [0, 1)
                    raw = (weights[table].random_raw(count) >> np.uint64(40)).astype(np.float32)
                    factors.append(raw * np.float32(2**-24))
                bag, size = bag + len(own), size + count
        yield _piece(recipe, batch, first, held, factors)


def _piece(
    recipe: Recipe, batch: int, first: int, held: list[tuple[Int64, Int64]], factors: list[Float32]
) -> Piece:
    lengths = np.concatenate([lengths for lengths, _ in held])
    indices = np.concatenate([ids for _, ids in held])
    weights = np.concatenate(factors) if recipe.weighted else None
    return Piece(batch, recipe.batch_size, first, lengths, indices, weights)
