"""Sorts the conjuncts of a block: equality class, engine predicate, constant, or left to Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal as OneOf

from fff.dataflow.plan.expressions import (
    And,
    Column,
    Compare,
    Expr,
    FunctionCall,
    IsNull,
    Literal,
    Not,
    Or,
    columns_of,
)
from fff.errors import Span
from fff.schema import comparison_kind
from fff.sql.analysis.predicates import Translator, constant_truth
from fff.sql.binder.common_conjuncts import follows
from fff.sql.binder.names import try_resolve
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.scalars.coercion import BOOLEAN
from fff.sql.scalars.typed import LeftToSparkError, may_fail
from fff.sql.syntax.aggregates import own_nodes
from fff.sql.syntax.literals import Constant, constant_of
from fff.sql.syntax.statement import Node, exp, identifier_span
from fff.structs import Struct, replace

#: So much of a condition is quoted where something follows from it.
_SHOWN = 60


class Conjunct(Struct, frozen=True):
    """A conjunct and where it runs.

    `seed lookup` conjuncts are evaluated by the engine as well. `derived` ones were not written but follow from an
    equality class, or from an OR. `constant` ones mention no column. Columns are declared columns.
    """

    text: str
    where: OneOf["equality", "seed lookup", "engine", "spark", "constant"]
    reason: str = ""
    span: Span | None = None
    expr: Expr | None = None
    condition: Condition | None = None
    derived: bool = False
    on: int | None = None  # the right side of a left, semi or anti join that it decides over
    #: For a comparison that is no equality class: the sides that are a plain column or a constant.
    compared: tuple[Column | Constant, ...] | None = None

    @property
    def undecided(self) -> bool:
        """Whether the engine evaluates it, and it may raise an error on a row: then a query above evaluates it again."""
        return self.where == "engine" and self.expr is not None and may_fail(self.expr)


def classify(block: SourceBlock) -> tuple[Conjunct, ...]:
    """Every conjunct of the block, in the order of the text, and behind an OR what the engine can do with what follows from it.

    Raises:
        QueryError: an unknown or ambiguous name, or an aggregate where none can be.
    """
    conjuncts: list[Conjunct] = []
    for condition in block.conditions:
        conjunct = _classify(block, condition)
        every = (conjunct, *_equal_pairs(conjunct), *_following(block, condition))
        conjuncts += every if condition.on is None else (replace(one, on=condition.on) for one in every)
    return tuple(conjuncts)


def _following(block: SourceBlock, condition: Condition) -> Iterator[Conjunct]:
    """What all branches of a condition share, where the engine can evaluate it; what it cannot is in the condition itself."""
    if condition.node is None:
        return

    translator = Translator(block.statement, condition.scope)

    def owner(column: Node) -> int | None:
        if id(column) in block.outer or isinstance(column.this, exp.Star):
            return None
        reference = try_resolve(block.statement, column, condition.scope)
        return None if reference is None else reference.column.alias

    def usable(node: Node) -> bool:
        try:
            return not may_fail(translator.expression(node))
        except LeftToSparkError:
            return False

    for node in follows(condition.node, owner, usable):
        shared = replace(condition, text=node.sql("spark", comments=False), node=node)
        conjunct = _classify(block, shared)
        if conjunct.where in {"equality", "engine"}:
            yield replace(conjunct, reason=f"follows from {_cut(condition.text)}", derived=True)


def _equal_pairs(conjunct: Conjunct) -> Iterator[Conjunct]:
    """The equalities of columns that a condition on several comes to: `(a.k, a.s) = (b.k, b.s)`."""
    for item in conjunct.expr.items if isinstance(conjunct.expr, And) else ():
        if conjunct.where == "engine" and _equality(item):
            yield replace(
                conjunct,
                where="equality",
                reason=f"follows from {_cut(conjunct.text)}",
                expr=item,
                derived=True,
            )


def _truth(block: SourceBlock, condition: Condition, expr: Expr) -> Expr:
    """A condition as comparisons that are true of the same rows, whatever it says of others: such bind keys and are sent along.

    A Boolean column says that it is true, and `c IS TRUE`, `nvl(c, false)` and `if(c, d, false)` what is in them. NULL-safe comparisons of a column that every request binds are equalities, in the words
    of BI tools as well: `a = b OR (a IS NULL AND b IS NULL)`.
    """
    match expr:
        case Column():
            return Compare("=", expr, Literal(True, BOOLEAN))
        case Not(item=Column() as column):
            return Compare("=", column, Literal(False, BOOLEAN))
        case Compare(op="=" | "<=>", left=said, right=Literal(value=True)) if not isinstance(said, Column):
            return _truth(block, condition, said)
        case Compare(op="<>", left=said, right=Literal(value=False)):
            return _truth(block, condition, said)
        case FunctionCall(name="coalesce", args=(said, *others)) if all(map(_is_not_true, others)):
            return _truth(block, condition, said)
        case FunctionCall(name="case", args=(when, then, other)) if _is_not_true(other) and not may_fail(
            expr
        ):
            always = isinstance(then, Literal) and then.value is True
            return _truth(block, condition, when if always else And((when, then)))
        case Compare(op="<=>", left=left, right=right) if _has_value(block, condition, left, right):
            return replace(expr, op="=")
        case Or(items=items):
            possible = [item for item in items if may_fail(item) or not _never(block, condition, item)]
            if len(possible) == 1:
                return _truth(block, condition, possible[0])
    if isinstance(expr, And | Or):
        return replace(expr, items=tuple(_truth(block, condition, item) for item in expr.items))
    return expr


def _is_not_true(expr: Expr) -> bool:
    return isinstance(expr, Literal) and (expr.value is False or expr.value is None)


def _never(block: SourceBlock, condition: Condition, expr: Expr) -> bool:
    """Whether it asks for NULL in a column that has none."""
    match expr:
        case IsNull(item=item):
            return _has_value(block, condition, item)
        case And(items=items):
            return any(_never(block, condition, item) for item in items)
    return False


def _has_value(block: SourceBlock, condition: Condition, *sides: Expr) -> bool:
    """Whether one of these is a column that no row has as NULL where a condition stands; outer joins fill in NULLs behind it."""
    for column in sides:
        if not isinstance(column, Column) or column.alias in block.right.keys() - {condition.on}:
            continue
        table = condition.scope.relation(column.alias).table
        if table.always_bound(table.columns[column.index].name):
            return True
    return False


def _cut(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…"


def _classify(block: SourceBlock, condition: Condition) -> Conjunct:
    if condition.node is None:
        return _joined(block, condition)
    if condition.node.find(exp.Query):
        return _left(condition, "a subquery")
    if any(id(column) in block.outer for column in condition.node.find_all(exp.Column)):
        return _left(condition, "names a column of an outer query")
    _refuse_aggregates(block, condition)
    translator = Translator(block.statement, condition.scope)
    try:
        expr = translator.expression(condition.node)
        if may_fail(expr) and not columns_of(expr):
            raise LeftToSparkError("always fails")
        expr = _truth(block, condition, expr)
    except LeftToSparkError as why:
        return _left(condition, str(why), _compared(block, condition))
    if not columns_of(expr):
        truth = constant_truth(expr)
        return Conjunct(
            condition.text, "constant", "always true" if truth else "never true", condition.span, expr
        )
    equality = _equality(expr)
    where: OneOf["equality", "engine"] = "equality" if equality else "engine"
    compared = None if equality else _compared(block, condition)
    reason = "rows on which it fails pass" if may_fail(expr) else ""
    return Conjunct(condition.text, where, reason, condition.span, expr, condition, compared=compared)


def _left(
    condition: Condition, reason: str, compared: tuple[Column | Constant, ...] | None = None
) -> Conjunct:
    """A condition that is left to Spark."""
    return Conjunct(condition.text, "spark", reason, condition.span, condition=condition, compared=compared)


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
        return _left(condition, reason, condition.pair)
    return Conjunct(condition.text, "equality", "", condition.span, Compare("=", left, right))


def _compared(block: SourceBlock, condition: Condition) -> tuple[Column | Constant, ...] | None:
    node = condition.node
    if isinstance(node, exp.EQ):
        sides: list[Node] = [node.this, node.expression]
    elif isinstance(node, exp.In):
        sides = [node.this, *(node.args.get("expressions") or ())]
    else:
        return None
    compared_with: list[Column | Constant] = []
    for side in sides:
        constant = constant_of(block.statement, side)
        if constant is not None:
            compared_with.append(constant)
        elif isinstance(side, exp.Column):
            reference = try_resolve(block.statement, side, condition.scope)
            if reference is not None and not reference.has_fields:
                compared_with.append(reference.column)
    return tuple(compared_with)


def _refuse_aggregates(block: SourceBlock, condition: Condition) -> None:
    assert condition.node is not None
    for node in condition.node.find_all(exp.AggFunc, exp.Window):
        what = "window functions" if isinstance(node, exp.Window) else "aggregates"
        raise block.statement.error(
            f"{what} cannot stand in WHERE or ON",
            condition.span,
            hint="use HAVING" if what == "aggregates" else "use a query around this one",
        )


def links_of(conjuncts: Sequence[Conjunct]) -> dict[int, list[tuple[Column, Column]]]:
    """By right side: the equalities of its ON condition, its own column first."""
    links: dict[int, list[tuple[Column, Column]]] = {}
    for one in conjuncts:
        link = link_of(one)
        if link is not None:
            links.setdefault(link[0].alias, []).append(link)
    return links


def link_of(conjunct: Conjunct) -> tuple[Column, Column] | None:
    """The column of a right side and the other one that its ON condition equates by a conjunct."""
    match conjunct.expr:
        case Compare(op="=", left=Column() as left, right=Column() as right) if conjunct.where == "equality":
            for own, other in ((left, right), (right, left)):
                if own.alias == conjunct.on != other.alias:
                    return own, other
    return None


def speaking_of(
    block: SourceBlock, columns: set[Column], conjuncts: Sequence[Conjunct]
) -> Iterator[Conjunct]:
    """The conjuncts that name one of some columns, derived ones apart."""
    for one in conjuncts:
        if one.derived:
            continue
        if one.expr is not None and not columns.isdisjoint(columns_of(one.expr)):
            yield one
        elif one.where == "spark" and one.condition is not None and one.condition.node is not None:
            scope = one.condition.scope
            # A name in a query inside is that of a table there first, whatever is called so here.
            named = (node for node in own_nodes(one.condition.node) if isinstance(node, exp.Column))
            plain = [
                node for node in named if id(node) not in block.outer and not isinstance(node.this, exp.Star)
            ]
            references = [try_resolve(block.statement, node, scope) for node in plain]
            if any(ref is not None and ref.column in columns for ref in references):
                yield one


def not_read(block: SourceBlock, conjunct: Conjunct) -> Span | None:
    """Where a constant stands for which a comparison is left to Spark, as a number of too many digits."""
    node = None if conjunct.condition is None else conjunct.condition.node
    if conjunct.where != "spark" or not isinstance(node, exp.EQ | exp.NullSafeEQ | exp.In):
        return None
    sides = (
        side.unnest()
        for side in (*node.args.get("expressions", ()), node.this, node.args.get("expression"))
        if side
    )
    written = (side for side in sides if isinstance(side, exp.Literal | exp.RawString))
    return next(
        (identifier_span(side) for side in written if constant_of(block.statement, side) is None), None
    )
