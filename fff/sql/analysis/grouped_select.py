"""How the engine groups the rows of a SELECT by itself, to show groups while rows come; the answer's are Spark's."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress

import pyarrow as pa

from fff.dataflow.plan.expressions import Column, Expr, Literal, columns_of
from fff.errors import QueryError, Span
from fff.schema import MOST_DIGITS, ArrowType, comparison_kind
from fff.sql.analysis.column_lineage import group_nodes
from fff.sql.analysis.predicates import Translator, columns_in, map_columns
from fff.sql.binder.names import try_resolve
from fff.sql.binder.outer_query import count_of
from fff.sql.binder.select_text import SelectText
from fff.sql.binder.spj_block import Condition, SourceBlock
from fff.sql.scalars.coercion import (
    BOOLEAN,
    DOUBLE,
    LONG,
    cast,
    is_decimal,
    is_float,
    is_integer,
)
from fff.sql.scalars.naming.names import spark_name
from fff.sql.scalars.operators import arithmetic
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.aggregates import is_aggregate
from fff.sql.syntax.statement import Node, exp, filled
from fff.structs import Struct, lazy_pattern

#: What a SELECT may consist of, by the tree's names.
_CLAUSES = frozenset(
    {"kind", "expressions", "from", "joins", "where", "group", "having", "order", "limit", "offset", "hint"}
)
_MADE = "__fff_made_"
_ALL_ROWS = lazy_pattern(r"\bcount\(\s*\*\s*\)", re.IGNORECASE)
#: Counts the different values; NULL is none.
DISTINCT = "count different"
_ONE = Typed(Literal(1, LONG), LONG)


class Aggregate(Struct, frozen=True):
    """One value of many rows."""

    function: str  # as Arrow's groups call it (sum, count, min, max, any, all), or DISTINCT
    argument: Expr  # over the block's output: `Column(0, place)`
    type: ArrowType  # of what comes of it


class Sorting(Struct, frozen=True):
    """One key of ORDER BY, over groups."""

    value: Expr
    falling: bool
    nulls_first: bool


class GroupedSelect(Struct, frozen=True):
    """Groups of a block's rows and what is made of them.

    `values`, `having` and `order` are over columns of a group: `Column(0, n)` is the n-th of its keys, behind those of its
    aggregates.
    """

    conditions: tuple[Expr, ...]
    keys: tuple[Expr, ...]
    aggregates: tuple[Aggregate, ...]
    names: tuple[str, ...]
    values: tuple[Expr, ...]
    having: Expr | None
    order: tuple[Sorting, ...]
    offset: int
    limit: int | None


def grouped_select(
    block: SourceBlock,
    text: Callable[[], SelectText],
    residual: Sequence[Condition],
    output: Sequence[Column],
) -> GroupedSelect | None:
    """What the engine shows of a SELECT with GROUP BY or aggregates over one block; None where something is Spark's alone.

    `residual` are the conditions that are evaluated above the block, `output` its columns, as declared.
    """
    if filled(block.select) - _CLAUSES:
        return None
    try:
        return _GroupReader(block, residual, output).read(text())
    except (LeftToSparkError, QueryError):  # what is wrong with it, others tell
        return None


class _GroupReader:
    def __init__(self, block: SourceBlock, residual: Sequence[Condition], output: Sequence[Column]) -> None:
        self._block = block
        self._residual = residual
        self._output = output
        self._rows = Translator(block.statement, block.scope)
        self._group_nodes = group_nodes(block)
        self._aggregates: list[Aggregate] = []
        self._named: dict[str, Typed] = {}  # result columns, by their aliases

    def read(self, text: SelectText) -> GroupedSelect:
        """Raises LeftToSparkError, QueryError."""
        keys = [self._rows.value(node) for node in self._group_nodes]
        for key in keys:
            if comparison_kind(key.type) is None or is_float(key.type):  # whose zeros and NaNs are Spark's
                raise LeftToSparkError("groups by it")
        self._keys = keys
        select = self._block.select
        names = [item.alias or self._name(item.unalias(), span) for item, span in text.items]
        values = [self._value(item.unalias()) for item, _ in text.items]
        self._named = {
            item.alias.lower(): value
            for (item, _), value in zip(text.items, values, strict=True)
            if item.alias
        }
        having = select.args.get("having")
        kept = None
        if having is not None:
            translator, condition = self._above(having.this)
            kept = translator.expression(condition)
        order = select.args.get("order")
        sorting = [] if order is None else [self._sorting(one, values) for one in order.expressions]
        limit, offset = (count_of(self._block.statement, select, name) for name in ("limit", "offset"))
        if -1 in (limit, offset):
            raise LeftToSparkError("LIMIT with an expression")
        return GroupedSelect(
            tuple(self._below(condition) for condition in self._residual),
            tuple(map(self._moved, (key.expr for key in keys))),
            tuple(self._aggregates),
            tuple(names),
            tuple(value.expr for value in values),
            kept,
            tuple(sorting),
            offset or 0,
            limit,
        )

    def _name(self, item: Node, span: Span) -> str:
        """What Spark calls a column, or how it is written where only Spark can say."""
        statement = self._block.statement
        with suppress(LeftToSparkError):
            return spark_name(item, statement, statement.tokens_at(span), columns_in(self._block.scope))
        return _ALL_ROWS.sub("count(1)", " ".join(statement.sql[span.start : span.end].split()))

    def _below(self, condition: Condition) -> Expr:
        if condition.node is None:
            raise LeftToSparkError("USING of columns of different types")
        return self._moved(Translator(self._block.statement, condition.scope).expression(condition.node))

    def _moved(self, expr: Expr) -> Expr:
        if columns_of(expr) - {*self._output}:
            raise LeftToSparkError("a column that comes under another name")
        return map_columns(expr, lambda column: Column(0, self._output.index(column)))

    def _sorting(self, ordered: Node, values: Sequence[Typed]) -> Sorting:
        node = ordered.this if isinstance(ordered, exp.Ordered) else ordered
        falling, nulls_first = (bool(ordered.args.get(name)) for name in ("desc", "nulls_first"))
        plain = node.name.lower() if isinstance(node, exp.Column) and not node.table else ""
        if isinstance(node, exp.Literal):
            at = int(node.name) - 1 if node.is_int else -1
            if not 0 <= at < len(values):
                raise LeftToSparkError("no such column")
            value = values[at]
        else:
            value = self._named[plain] if plain in self._named else self._value(node)
        if comparison_kind(value.type) is None:
            raise LeftToSparkError("sorts by it")
        return Sorting(value.expr, falling, nulls_first)

    def _value(self, node: Node) -> Typed:
        translator, over_groups = self._above(node)
        return translator.value(over_groups)

    def _above(self, node: Node) -> tuple[Translator, Node]:
        """An expression over groups, and what knows the variables in it: they are what is grouped by, and aggregates."""
        made: dict[str, Typed] = {}

        def variable(value: Typed) -> Node:
            name = f"{_MADE}{len(made)}"
            made[name] = value
            return exp.to_identifier(name)

        def replaced(part: Node) -> Node:
            if (at := self._key(part)) is not None:
                return variable(Typed(Column(0, at), self._keys[at].type))
            if isinstance(part, exp.Filter) or is_aggregate(part):
                return variable(self._aggregate(part))
            if (value := self._alias(part)) is not None:
                return variable(value)
            if isinstance(part, exp.Column | exp.Query | exp.Window | exp.Star):
                raise LeftToSparkError("neither grouped by nor an aggregate")
            return part

        over_groups = node.transform(replaced)
        return Translator(self._block.statement, self._block.scope, made), over_groups

    def _key(self, node: Node) -> int | None:
        """Which key an expression is."""
        column = self._column(node)
        for at, key in enumerate(self._group_nodes):
            if key == node or (column is not None and self._column(key) == column):
                return at
        return None

    def _alias(self, node: Node) -> Typed | None:
        """The result column that a name means which no table has."""
        if not isinstance(node, exp.Column) or node.table or self._block.scope.named(node.name.lower()):
            return None
        return self._named.get(node.name.lower())

    def _column(self, node: Node) -> Column | None:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        reference = try_resolve(self._block.statement, node, self._block.scope)
        return None if reference is None or reference.has_fields else reference.column

    def _aggregate(self, node: Node) -> Typed:
        condition = None
        if isinstance(node, exp.Filter):
            node, condition = node.this, self._rows.expression(node.expression.this)
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star) and not node.expressions:
            return self._of("count", _ONE, condition, LONG)
        if isinstance(node, exp.CountIf):
            return self._of("count", _where(self._rows.expression(node.this), _ONE), condition, LONG)
        if (
            isinstance(node, exp.Count)
            and isinstance(node.this, exp.Distinct)
            and len(node.this.expressions) == 1
        ):
            value = self._rows.value(node.this.expressions[0])
            if comparison_kind(value.type) is None or is_float(value.type):
                raise LeftToSparkError("counts different ones")
            return self._of(DISTINCT, value, condition, LONG)
        if any(value for name, value in node.args.items() if name not in {"this", "big_int"}):
            raise LeftToSparkError("an aggregate of several arguments")
        match node:
            case exp.Count() if not isinstance(node.this, exp.Distinct | exp.Star):
                return self._of("count", self._rows.value(node.this), condition, LONG)
            case exp.LogicalAnd() | exp.LogicalOr():
                truth = Typed(self._rows.expression(node.this), BOOLEAN)
                return self._of(
                    "all" if isinstance(node, exp.LogicalAnd) else "any", truth, condition, BOOLEAN
                )
            case exp.Min() | exp.Max():
                value = self._rows.value(node.this)
                if comparison_kind(value.type) is None:
                    raise LeftToSparkError("an aggregate of another type")
                return self._of("min" if isinstance(node, exp.Min) else "max", value, condition, value.type)
            case exp.Sum() if not isinstance(node.this, exp.Distinct):
                value = self._rows.value(node.this)
                return self._of("sum", value, condition, _sum_type(value.type))
            case exp.Avg() if not isinstance(node.this, exp.Distinct):
                value = self._rows.value(node.this)
                if not (is_integer(value.type) or is_float(value.type)):
                    raise LeftToSparkError("an average of another type")
                total = self._of("sum", cast(value, DOUBLE), condition, DOUBLE)
                count = cast(self._of("count", value, condition, LONG), DOUBLE)
                return arithmetic("divide", total, count, tries=True)  # of nothing: NULL
        raise LeftToSparkError("another aggregate")

    def _of(self, function: str, value: Typed, condition: Expr | None, kind: ArrowType) -> Typed:
        if condition is not None:
            value = _where(condition, value)
        aggregate = Aggregate(function, self._moved(value.expr), kind)
        if aggregate not in self._aggregates:
            self._aggregates.append(aggregate)
        return Typed(Column(0, len(self._keys) + self._aggregates.index(aggregate)), kind)


def _where(condition: Expr, value: Typed) -> Typed:
    """The value where a condition holds, else NULL."""
    nothing = Typed(Literal(None, value.type), value.type)
    return call("case", [Typed(condition, BOOLEAN), value, nothing], value.type)


def _sum_type(kind: ArrowType) -> ArrowType:
    if is_integer(kind):
        return LONG
    if is_float(kind):
        return DOUBLE
    if is_decimal(kind):
        return pa.decimal128(min(MOST_DIGITS, kind.precision + 10), kind.scale)
    raise LeftToSparkError("a sum of another type")
