"""Blocks in few words, and an eddy that a test plays the web to."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
from hypothesis import settings

from fff.dataflow.eddy import Eddy, EddyOptions
from fff.dataflow.plan.events import (
    Emit,
    Event,
    Finish,
    Instruction,
    Lookup,
    LookupEnd,
    LookupFailed,
    LookupRows,
    Route,
    ScanEnd,
    ScanRows,
    Start,
)
from fff.dataflow.plan.expressions import Column, Compare, Expr, Literal
from fff.dataflow.plan.moves import Move, Outcome, ScanRace
from fff.dataflow.plan.plan import (
    AliasPlan,
    BlockPlan,
    EqualityClass,
    IdentityKind,
    LookupPlan,
    Predicate,
    ScanPlan,
    Seed,
    TablePlan,
)
from fff.dataflow.plan.policy import RoutingPolicy
from fff.dataflow.plan.state import TupleState
from fff.policies import make_policy
from fff.schema import Field

#: Model tests: the same examples in every run, few enough for the folder to stay quick, and no clock.
quick = settings(deadline=None, derandomize=True, max_examples=60, database=None)

Row = tuple[object, ...]
Key = tuple[object, ...]


def table(
    columns: str,
    *lookups: tuple[int, ...],
    scans: int = 0,
    batch: int = 1,
    window: int = 16,
    key: tuple[int, ...] = (),
    name: str = "t",
) -> TablePlan:
    """`columns` as "a:int b:string" (type int where none is said), `lookups` by their column ordinals."""
    fields = tuple(
        Field.of(part.partition(":")[0], part.partition(":")[2] or "int") for part in columns.split()
    )
    identity: IdentityKind = "key" if key else "value" if scans + len(lookups) > 1 else "position"
    return TablePlan(
        name=name,
        columns=fields,
        scans=tuple(ScanPlan(f"{name}.scan{index}") for index in range(scans)),
        lookups=tuple(
            LookupPlan(f"{name}.lookup{index}", columns_, batch, window)
            for index, columns_ in enumerate(lookups)
        ),
        identity=identity,
        key=key,
    )


def place(text: str) -> Column:
    """The column "2.1": alias 2, column 1."""
    alias, index = text.split(".")
    return Column(int(alias), int(index))


def block(
    tables: Sequence[TablePlan],
    equalities: Iterable[str] = (),
    *,
    aliases: Sequence[int] | None = None,
    predicates: Iterable[Predicate] = (),
    seeds: dict[int, Seed] | None = None,
    constants: dict[int, tuple[tuple[int, object], ...]] | None = None,
    output: str | None = None,
    limit: int | None = None,
) -> BlockPlan:
    """A plan; `equalities` as "0.0 = 1.0 = 2.1", `aliases` by table (one each by default), every column put out."""
    of_table = tuple(aliases if aliases is not None else range(len(tables)))
    seeds, constants = seeds or {}, constants or {}
    every = [
        Column(alias, index)
        for alias, number in enumerate(of_table)
        for index in range(len(tables[number].columns))
    ]
    return BlockPlan(
        tables=tuple(tables),
        aliases=tuple(
            AliasPlan(
                name=chr(ord("a") + alias),
                table=number,
                active=bool(tables[number].scans) or alias in seeds,
                seeds=(seeds[alias],) if alias in seeds else (),
                constants=constants.get(alias, ()),
            )
            for alias, number in enumerate(of_table)
        ),
        equalities=tuple(
            EqualityClass(tuple(place(part.strip()) for part in text.split("="))) for text in equalities
        ),
        predicates=tuple(predicates),
        output=tuple(place(part) for part in output.split()) if output is not None else tuple(every),
        limit=limit,
    )


def compare(left: str, op: Any, right: str | int, *, module: bool = False) -> Predicate:
    """A predicate between two columns, or a column and an int constant."""
    other = place(right) if isinstance(right, str) else Literal(right, pa.int32())
    return Predicate(Compare(op, place(left), other), f"{left} {op} {right}", module)


def inline(expr: Expr, *, module: bool = False) -> Predicate:
    return Predicate(expr, str(expr), module)


class Told(list[Instruction]):
    """Instructions of one or more events, with matchers."""

    def of(self, kind: type[Instruction], **fields: Any) -> list[Any]:
        """The instructions of a kind whose named fields have the given values."""
        return [item for item in self if isinstance(item, kind) and item.match(**fields)]

    def one(self, kind: type[Instruction], **fields: Any) -> Any:
        found = self.of(kind, **fields)
        assert len(found) == 1, f"{len(found)} of {kind.__name__} {fields} in {list(self)}"
        return found[0]

    @property
    def keys(self) -> list[Key]:
        """Every key of every lookup, in order."""
        return [key for item in self.of(Lookup) for key in item.keys]


class Play:
    """An eddy, and what came out of it. `feed` takes one event in; `settle` routes until nothing waits."""

    def __init__(
        self, plan: BlockPlan, policy: str | RoutingPolicy = "fixed", seed: int = 0, **options: Any
    ) -> None:
        self.plan = plan
        chosen = make_policy(policy, plan) if isinstance(policy, str) else policy
        self.eddy = Eddy(plan, chosen, random.Random(seed), EddyOptions(**options))
        self.rows: Counter[Row] = Counter()
        self.ids: Counter[Row] = Counter()
        self.told = Told()  # everything so far
        self.asked: dict[int, Lookup] = {}
        self.finish: Finish | None = None

    def feed(self, event: Event) -> Told:
        told = Told(self.eddy.handle(event))
        assert self.finish is None or not told, "told after Finish"
        self.told += told
        for instruction in told:
            if isinstance(instruction, Emit):
                batch = self.eddy.gather(instruction.batch)
                columns = [column.to_pylist() for column in batch.columns]
                self.rows.update(zip(*columns, strict=True) if columns else [()] * len(batch))
                ids = [part.tolist() for part in self.eddy.row_ids(instruction.batch)]
                self.ids.update(zip(*ids, strict=True))
            if isinstance(instruction, Lookup):
                self.asked[instruction.request] = instruction
            if isinstance(instruction, Finish):
                self.finish = instruction
        return told

    def settle(self) -> Told:
        told = Told()
        while self.eddy.has_work:
            told += self.feed(Route())
        return told

    def start(self) -> Told:
        return self.feed(Start())

    def batch(self, table: int, rows: Sequence[Row]) -> pa.RecordBatch:
        fields = self.plan.tables[table].columns
        arrays = [pa.array([row[i] for row in rows], field.arrow) for i, field in enumerate(fields)]
        return pa.RecordBatch.from_arrays(arrays, [field.name for field in fields])

    def page(self, table: int, *rows: Row, index: int = 0, total: int | None = None) -> Told:
        """A page of a scan, perhaps with the number of all its rows, and the routing it starts."""
        told = self.feed(ScanRows(table, index, self.batch(table, rows), total=total))
        return Told([*told, *self.settle()])

    def end(self, table: int, index: int = 0) -> Told:
        """EOT of a scan."""
        told = self.feed(ScanEnd(table, index, self.eddy.block.scans[table][index].rows))
        return Told([*told, *self.settle()])

    def scan(self, table: int, *rows: Row, index: int = 0) -> Told:
        """A whole scan in one page."""
        told = self.page(table, *rows, index=index)
        return Told([*told, *self.end(table, index)])

    def rows_for(self, request: int, *rows: Row) -> Told:
        """Part of the answer to a lookup."""
        told = self.feed(LookupRows(request, self.batch(self.asked[request].table, rows)))
        return Told([*told, *self.settle()])

    def eot(self, request: int, rows: int) -> Told:
        told = self.feed(LookupEnd(request, rows))
        return Told([*told, *self.settle()])

    def answer(self, request: int, *rows: Row) -> Told:
        """The whole answer to a lookup."""
        told = self.rows_for(request, *rows) if rows else Told()
        return Told([*told, *self.eot(request, len(rows))])

    def fail(self, request: int, reason: str = "HTTP 503", *, truncated: bool = False) -> Told:
        told = self.feed(LookupFailed(request, reason, truncated))
        return Told([*told, *self.settle()])

    @property
    def missing(self) -> set[tuple[str, str]]:
        """Table and predicate of everything that is missing."""
        return {(part.table, part.predicate) for part in self.eddy.missing}


class Scripted:
    """A policy that prefers the moves a test names, and otherwise takes the first; it records what it learns."""

    name = "scripted"

    def __init__(self, *prefer: Move) -> None:
        self.prefer = prefer
        self.outcomes: list[Outcome] = []

    def choose(self, state: TupleState, moves: Sequence[Move], rng: random.Random) -> Move:
        return next((move for move in self.prefer if move in moves), moves[0])

    def observe(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


class InTurn(Scripted):
    """Rows one by one take the moves of a script."""

    def choose(self, state, moves, rng):
        parked = [one for one in self.outcomes if not one.taken and not one.produced]
        return self.prefer[len(parked)]

    def observe(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)


class Together(Scripted):
    """Scans of one table read as far ahead as is said of each; all of them as far as they may where nothing is said."""

    def __init__(self, ahead: dict[int, int] | None = None) -> None:
        super().__init__()
        self.ahead = ahead
        self.races: list[ScanRace] = []

    def race(self, race: ScanRace) -> dict[int, int]:
        self.races.append(race)
        return {pace.index: race.most for pace in race.scans} if self.ahead is None else self.ahead
