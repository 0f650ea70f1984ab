"""Joins by a computed key, `v.k = t.k + 1`: a table that no source holds stands between, whose lookup by `t.k` computes `v.k`.

So the eddy binds `v` through it as through any table, with each value once, and streams.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from fff.catalog import LookupMethod, Table
from fff.dataflow.plan.expressions import (
    Column,
    Compare,
    Expr,
    FunctionCall,
    Literal,
    columns_of,
    evaluate_rows,
    subexpressions,
)
from fff.errors import Span
from fff.schema import Field, comparison_kind, spark_type
from fff.sql.analysis.conjuncts import Conjunct
from fff.sql.analysis.equalities import place
from fff.sql.analysis.predicates import map_columns
from fff.sql.binder.names import Relation, Scope
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.structs import Struct, replace

#: Values of one lookup.
BATCH = 1_000
#: Kernels that give NULL where any argument is NULL.
_STRICT = frozenset(
    [
        *("add", "subtract", "multiply", "divide", "div", "remainder", "negative", "abs", "cast", "concat"),
        *(
            "length",
            "replace",
            "upper",
            "lower",
            "trim",
            "substring",
            "date_add",
            "date_sub",
            "add_months",
            "datediff",
        ),
    ]
)


class Computed(Struct, frozen=True):
    """What the lookup of a table that no source holds computes: its last column from those before it, `Column(0, place)`."""

    expr: Expr
    sql: str
    span: Span | None


def with_computed_keys(
    block: SourceBlock, conjuncts: Sequence[Conjunct], unreached: Sequence[int]
) -> SourceBlock:
    """The block with a table for each key column that a conjunct equates with an expression over other tables."""
    for conjunct in conjuncts:
        if conjunct.where != "engine" or conjunct.derived:
            continue
        for key, expr in _sides(conjunct.expr):
            ours = conjunct.on == (key.alias if key.alias in block.right else None)
            if ours and key.alias in unreached and _is_key(block, key):
                grown = _grown(block, conjunct, key, expr)
                if grown is not None:
                    block = grown
                    break
    return block


def _sides(expr: Expr | None) -> Iterator[tuple[Column, FunctionCall]]:
    """A column, and what it equals: something computed from other tables."""
    match expr:
        case Compare(op="=", left=left, right=right):
            for one, other in ((left, right), (right, left)):
                if isinstance(one, Column) and isinstance(other, FunctionCall):
                    owners = {column.alias for column in columns_of(other)}
                    if owners and one.alias not in owners:
                        yield one, other


def _is_key(block: SourceBlock, column: Column) -> bool:
    table = block.scope.relation(column.alias).table
    name = table.columns[column.index].name.lower()
    return any(name == key.lower() for method in table.lookups for key in method.keys)


def _grown(block: SourceBlock, conjunct: Conjunct, key: Column, expr: FunctionCall) -> SourceBlock | None:
    scope, columns = block.scope, sorted(columns_of(expr), key=place)
    kinds = [scope.field(column).arrow for column in columns]
    alike = comparison_kind(expr.type) == comparison_kind(scope.field(key).arrow)
    if not alike or any(comparison_kind(kind) is None or pa.types.is_floating(kind) for kind in kinds):
        return None
    if conjunct.on is None and any(column.alias in block.right for column in columns):
        return None  # which may be NULLs that a join fills in
    moved = map_columns(expr, lambda column: Column(0, columns.index(column)))
    if not _null_of_null(moved, kinds):
        return None
    number = len(scope.relations)
    arguments = tuple(replace(scope.field(column), name=f"key_{at}") for at, column in enumerate(columns))
    value = Field("value", spark_type(expr.type), expr.type)
    name = f"{scope.describe(key)} computed"
    computed = Computed(moved, block.statement.sql, conjunct.span)
    method = LookupMethod(f"{name}.lookup", tuple(field.name for field in arguments), BATCH, computed)
    table = Table("", name, (*arguments, value), lookups=(method,))
    relation = Relation(name, table, number, conjunct.span or Span(0, 0), renamed=True)
    grown = Scope((*scope.relations, relation), scope.output, scope.hidden)
    pairs = [
        *((one, Column(number, at), number) for at, one in enumerate(columns)),
        (key, Column(number, len(columns)), key.alias),
    ]
    conditions = tuple(
        Condition(
            f"{grown.describe(one)} = {grown.describe(other)}",
            None,
            grown,
            pair=(one, other),
            on=None if conjunct.on is None else on,
        )
        for one, other, on in pairs
    )
    if conjunct.on is None:
        return replace(block, scope=grown, conditions=(*block.conditions, *conditions))
    # A left join, which loses no row and makes none more; then the key is a column, and what it was compared with is known.
    kept = tuple(one for one in block.conditions if one is not conjunct.condition)
    return replace(block, scope=grown, conditions=(*kept, *conditions), right={**block.right, number: "left"})


def _null_of_null(expr: Expr, kinds: Sequence[pa.DataType]) -> bool:
    """Whether rows with a NULL among the arguments have no key, for no lookup is asked for them."""
    if len(kinds) > 1:
        parts = subexpressions(expr)
        known = isinstance(expr, Column | Literal) or (
            isinstance(expr, FunctionCall) and expr.name in _STRICT
        )
        return known and all(_null_of_null(part, kinds) for part in parts)
    of_null = evaluate_rows(expr, lambda _: pa.nulls(1, kinds[0]), 1)
    return of_null.failed is None and not of_null.values[0].is_valid
