"""The right answer, twice: by brute force in Python, and by DuckDB over the same rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, IsNull, Literal, Not, Or
from fff.dataflow.plan.plan import BlockPlan
from tests.fuzz.generate import Instance, Row, Value, normal

Read = Callable[[Column], Value]
Bag = Counter[Row]


def brute_force(
    instance: Instance, span: int | None = None, output: Sequence[Column | None] | None = None
) -> Bag:
    """Every combination of rows, filtered: the definition of the block, limit aside.

    With a span, only of its aliases and by what concerns no other, `output` in place of the plan's (None: NULL).
    """
    plan = instance.plan
    span = (1 << len(plan.aliases)) - 1 if span is None else span
    output = plan.output if output is None else output
    checks: list[list[Expr]] = [[] for _ in plan.aliases]
    matching = matching_of(plan, span)
    for predicate in plan.predicates:
        if predicate.on is not None or any(not span >> alias & 1 for alias in predicate.aliases):
            continue
        checks[max(predicate.aliases, default=0)].append(predicate.expr)
    for group in plan.equalities:
        first, *others = [member for member in group.members if span >> member.alias & 1] or group.members[:1]
        for member in others:
            checks[max(first.alias, member.alias)].append(Compare("=", first, member))
    bag: Bag = Counter()
    chosen: list[Row] = []

    def read(column: Column) -> Value:
        return chosen[column.alias][column.index]

    def extend(alias: int) -> None:
        if alias == len(plan.aliases):
            bag[tuple(None if column is None else normal(read(column)) for column in output)] += 1
            return
        if not span >> alias & 1:
            chosen.append(())
            extend(alias + 1)
            chosen.pop()
            return
        rows = instance.rows[plan.aliases[alias].table]
        if alias in matching:
            rows = joined(rows, alias)
        for row in rows:
            chosen.append(row)
            if all(truth(expr, read) is True for expr in checks[alias]):
                extend(alias + 1)
            chosen.pop()

    def joined(rows: tuple[Row, ...], alias: int) -> tuple[Row, ...]:
        """What stands beside the chosen rows as the right side of a left, semi or anti join."""
        found = []
        for row in rows:
            chosen.append(row)
            if all(truth(expr, read) is True for expr in matching[alias]):
                found.append(row)
            chosen.pop()
        kind = plan.aliases[alias].kind
        nothing = (None,) * len(plan.tables[plan.aliases[alias].table].columns)
        if kind == "left":
            return tuple(found) or (nothing,)
        return (nothing,) if bool(found) == (kind == "semi") else ()

    extend(0)
    return bag


def matching_of(plan: BlockPlan, span: int) -> dict[int, list[Expr]]:
    """The ON condition of each right side in a span, links read where the span has their values."""

    def known(column: Column) -> Column:
        equal = next((group.members for group in plan.equalities if column in group.members), ())
        return next(one for one in (column, *equal) if span >> one.alias & 1)

    found: dict[int, list[Expr]] = {}
    for number, alias in enumerate(plan.aliases):
        if alias.kind != "inner" and span >> number & 1:
            found[number] = [Compare("=", Column(number, own), known(other)) for own, other in alias.links]
            found[number] += [predicate.expr for predicate in plan.predicates if predicate.on == number]
    return found


def truth(expr: Expr, read: Read) -> bool | None:
    """Three-valued truth of a predicate; None is unknown."""
    match expr:
        case Compare(op=op, left=left, right=right):
            return compare(op, operand(left, read), operand(right, read))
        case InList(item=item, values=values):
            return either([compare("=", read(item), value) for value in values])
        case IsNull(item=item):
            return read(item) is None
        case Not(item=item):
            inner = truth(item, read)
            return None if inner is None else not inner
        case Or(items=items):
            return either([truth(item, read) for item in items])
        case And(items=items):
            inner = either([truth(Not(item), read) for item in items])
            return None if inner is None else not inner
    raise AssertionError(expr)


def either(values: list[bool | None]) -> bool | None:
    """Kleene disjunction."""
    if True in values:
        return True
    return None if None in values else False


def operand(side: Column | Literal, read: Read) -> Value:
    """The value of one side of a comparison."""
    return read(side) if isinstance(side, Column) else side.value


def compare(op: str, left: Value, right: Value) -> bool | None:
    """SQL comparison under Spark's total order of floats."""
    if op == "<=>":
        return rank(left) == rank(right)
    if left is None or right is None:
        return None
    a: Any
    b: Any
    a, b = rank(left), rank(right)
    return bool({"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[op])


def rank(value: Value) -> Value:
    """A sort key: NaN equals itself and is above every number."""
    if isinstance(value, float):
        return (1, 0.0) if value != value else (0, value)  # noqa: PLR0124 - the test for NaN
    return value


@lru_cache(maxsize=1)
def connection() -> duckdb.DuckDBPyConnection:
    """One in-memory DuckDB for the whole test process."""
    connection = duckdb.connect(":memory:")
    connection.execute("SET threads = 1")
    return connection


def by_duckdb(instance: Instance) -> Bag:
    """DuckDB's answer to the instance's SQL."""
    duck = connection()
    for number in range(len(instance.plan.tables)):
        duck.register(f"t{number}", pa.Table.from_batches([arrow_rows(instance, number)]))
    try:
        return Counter(tuple(normal(value) for value in row) for row in duck.execute(instance.sql).fetchall())
    finally:
        for number in range(len(instance.plan.tables)):
            duck.unregister(f"t{number}")


def arrow_rows(instance: Instance, table: int) -> pa.RecordBatch:
    """The rows of a table as one Arrow batch, columns in plan order."""
    fields = instance.plan.tables[table].columns
    columns = [
        pa.array([row[index] for row in instance.rows[table]], column.arrow)
        for index, column in enumerate(fields)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[column.name for column in fields])
