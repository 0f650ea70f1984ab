"""Sorts the conjuncts of a block: equality class, engine predicate, constant, or left to Spark."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal as OneOf

from fff.dataflow.expressions import Column, Compare, Expr, columns_of
from fff.errors import QueryError, Span
from fff.sql.blocks import Condition, SourceBlock
from fff.sql.dialect import Node, exp
from fff.sql.literals import Constant, comparison_kind, constant_of
from fff.sql.names import try_resolve
from fff.sql.predicates import LeftToSparkError, Translator, constant_truth


@dataclass(frozen=True)
class Conjunct:
    """A conjunct and where it runs.

    `seed lookup` conjuncts are evaluated by the engine as well. `derived` ones were not written but follow from an
    equality class. `constant` ones mention no column. Columns are declared columns.
    """

    text: str
    where: OneOf["equality", "seed lookup", "engine", "spark", "constant"]
    reason: str = ""
    span: Span | None = None
    expr: Expr | None = None
    condition: Condition | None = None
    derived: bool = False
    #: For a comparison left to Spark: the sides that are a plain column or a constant.
    compared: tuple[Column | Constant, ...] | None = None


def classify(block: SourceBlock, params: Mapping[str, object]) -> tuple[Conjunct, ...]:
    """Every conjunct of the block, in the order of the text.

    Raises:
        QueryError: an unknown or ambiguous name, or an aggregate where none can be.
    """
    return tuple(_classify(block, condition, params) for condition in block.conditions)


def _classify(block: SourceBlock, condition: Condition, params: Mapping[str, object]) -> Conjunct:
    if condition.node is None:
        return _joined(block, condition)
    if condition.node.find(exp.Query):
        return Conjunct(condition.text, "spark", "a subquery", condition.span, condition=condition)
    if any(id(column) in block.outer for column in condition.node.find_all(exp.Column)):
        reason = "names a column of an outer query"
        return Conjunct(condition.text, "spark", reason, condition.span, condition=condition)
    _refuse_aggregates(block, condition)
    translator = Translator(block.statement, condition.scope, params)
    try:
        expr = translator.expression(condition.node)
    except LeftToSparkError as reason:
        return Conjunct(
            condition.text,
            "spark",
            str(reason),
            condition.span,
            condition=condition,
            compared=_compared(block, condition, params),
        )
    if not columns_of(expr):
        truth = constant_truth(expr)
        return Conjunct(
            condition.text, "constant", "always true" if truth else "never true", condition.span, expr
        )
    equality = _equality(expr)
    return Conjunct(condition.text, "equality" if equality else "engine", "", condition.span, expr)


def _equality(expr: Expr) -> tuple[Column, Column] | None:
    match expr:
        case Compare(op="=", left=Column() as left, right=Column() as right) if left != right:
            return left, right
    return None


def _joined(block: SourceBlock, condition: Condition) -> Conjunct:
    """What USING or NATURAL asks for."""
    assert condition.pair is not None
    left, right = condition.pair
    fields = [block.scope.field(column) for column in condition.pair]
    kinds = [comparison_kind(field.arrow) for field in fields]
    if kinds[0] is None or kinds[0] != kinds[1]:
        reason = f"compares {fields[0].type} with {fields[1].type}"
        return Conjunct(
            condition.text, "spark", reason, condition.span, condition=condition, compared=condition.pair
        )
    return Conjunct(condition.text, "equality", "", condition.span, Compare("=", left, right))


def _compared(
    block: SourceBlock, condition: Condition, params: Mapping[str, object]
) -> tuple[Column | Constant, ...] | None:
    node = condition.node
    if isinstance(node, exp.EQ):
        sides: list[Node] = [node.this, node.expression]
    elif isinstance(node, exp.In):
        sides = [node.this, *(node.args.get("expressions") or ())]
    else:
        return None
    found: list[Column | Constant] = []
    for side in sides:
        constant = constant_of(block.statement, side, params)
        if constant is not None:
            found.append(constant)
        elif isinstance(side, exp.Column):
            reference = try_resolve(block.statement, side, condition.scope)
            if reference is not None and not reference.has_fields:
                found.append(reference.column)
    return tuple(found)


def _refuse_aggregates(block: SourceBlock, condition: Condition) -> None:
    assert condition.node is not None
    for node in condition.node.find_all(exp.AggFunc, exp.Window):
        what = "window functions" if isinstance(node, exp.Window) else "aggregates"
        raise QueryError(
            f"{what} cannot stand in WHERE or ON",
            sql=block.statement.sql,
            span=condition.span,
            hint="use HAVING" if what == "aggregates" else "use a query around this one",
        )
