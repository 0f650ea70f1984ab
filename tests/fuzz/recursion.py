"""Random blocks whose results make rows of one of their own tables, and the right answer to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from fff.dataflow.plan.expressions import Column, Expr, Literal
from fff.dataflow.plan.plan import Recursion
from fff.structs import replace
from tests.fuzz.cases import Case
from tests.fuzz.generate import Instance, Knobs, Row, generate, normal
from tests.fuzz.oracle import Bag, brute_force
from tests.fuzz.world import Run

#: What tables that recur are scanned by is one scan, and their rows come as they are.
KNOBS = Knobs(scannable=0.5, second_scan=0.0, key=0.0, aliases=(2, 2, 3), right=0.2, constants=0.1, typed=0.0)
MOST_ROWS = 25


@dataclass(frozen=True)
class Recurring(Case):
    """A case whose table has more rows at the end than its source."""

    closed: Instance

    @cached_property
    def expected(self) -> Bag:
        """The oracle's answer over all rows, those that results make with them."""
        return brute_force(self.closed)

    def runs(self, *, faults: float = 0.3, both: bool = True) -> Iterator[Run]:
        """Those of a case. What is inside is not watched: it extends rows that no source has."""
        for run in super().runs(faults=faults, both=both):
            yield replace(run, watch=False)


def recurring(seed: int) -> Recurring:
    """The case of a seed."""
    rng = random.Random(f"recursion {seed}")
    while True:
        found = generate(rng.getrandbits(48), KNOBS)
        instance = _with_recursion(found, rng)
        closed = None if instance is None else _closed(instance)
        if (
            instance is not None
            and closed is not None
            and (closed.rows != instance.rows or rng.random() < 0.2)
        ):
            return Recurring(seed, replace(instance, seed=seed), closed)


def _with_recursion(instance: Instance, rng: random.Random) -> Instance | None:
    plan = instance.plan
    tables = [
        table
        for table, one in enumerate(plan.tables)
        if len(one.scans) == 1 and not one.lookups and one.identity == "position"
        if all(alias.kind == "inner" and not alias.seeds for alias in plan.aliases if alias.table == table)
    ]
    if not tables or plan.limit is not None:
        return None
    table = rng.choice(tables)
    values: list[Expr] = []
    for field in plan.tables[table].columns:
        alike = [at for at, one in enumerate(plan.output) if plan.field_of(one).arrow == field.arrow]
        own = [row[len(values)] for row in instance.rows[table]] or [None]
        constant = Literal(rng.choice(own), field.arrow)
        values.append(Column(0, rng.choice(alike)) if alike and rng.random() < 0.8 else constant)
    return replace(instance, plan=replace(plan, recursion=Recursion(table, tuple(values))))


def _closed(instance: Instance) -> Instance | None:
    """With every row that results make, each once; None where there are too many."""
    recursion = instance.plan.recursion
    assert recursion is not None, "it has been given one"
    made: dict[Row, None] = {}
    while True:
        rows = tuple(
            (*some, *made) if table == recursion.table else some for table, some in enumerate(instance.rows)
        )
        now = replace(instance, rows=rows)
        before = len(made)
        for result in brute_force(now):
            made[
                tuple(
                    result[value.index] if isinstance(value, Column) else normal(value.value)
                    for value in recursion.values
                    if isinstance(value, Column | Literal)
                )
            ] = None
        if len(made) == before:
            return now
        if len(made) > MOST_ROWS:
            return None
