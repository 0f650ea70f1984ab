"""When all rows that a LIMIT takes are found before a scan has ended.

Without ORDER BY, any rows will do. `ORDER BY x LIMIT n` over one table whose source declares that scans come in the order of x, or can be asked to: once n rows that fulfil every
condition have come, and a row beyond the n-th value of x after them, no later row can be among the first n, nor equal
the last of them in x. So all that Spark could choose from is there, ties included, and whatever ORDER BY says after x.

This rests on every condition being evaluated by the engine (none is left to Spark, and the source need not apply any),
on rows that come once (one scan, no lookup), on rows without x coming last in the result, and on sources sorting x as
Spark does: numbers, dates and times are sorted in one way everywhere, texts are not. That the scan does come in that
order is checked as far as it is read. Of a table that `sorts_exactly` all of this is known, wherever NULL goes.

Which rows of those that are last alike in x come makes no difference where ORDER BY says nothing after x, or where x is
the key: then the source may cut the scan itself, if what it is told leaves out all that conditions do.
"""

from __future__ import annotations

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, IsNull, Literal, Not
from fff.schema import is_sorted_alike
from fff.sql.binder.names import parts_of, try_resolve
from fff.sql.binder.outer_query import Above, result_columns
from fff.sql.plan import FirstRows
from fff.sql.planner.block import BlockParts
from fff.sql.syntax.aggregates import is_row_wise
from fff.sql.syntax.statement import Node, exp, filled

#: What a SELECT may consist of, by the tree's names.
_CLAUSES = frozenset({"kind", "expressions", "from", "where", "order", "limit", "offset", "hint"})


def first_rows(parts: BlockParts, above: Above) -> FirstRows | None:
    """How much of a scan a statement needs; None where that is all of it. The column is a declared one."""
    block, select = parts.block, parts.block.select
    count = None if above.limit is None or above.limit < 0 or above.offset < 0 else above.limit + above.offset
    if count is None or filled(select) - _CLAUSES:
        return None
    unordered = any_rows(parts, count)
    if unordered is None or above.aggregated or not all(is_row_wise(item) for item in select.expressions):
        return None
    if not select.args.get("order"):
        return unordered
    [access] = parts.access.tables
    ordered, *further = select.args["order"].expressions
    table = access.table
    if not isinstance(ordered, exp.Ordered) or not (table.order or table.sortable):
        return None
    column = _column(parts, ordered.this)
    falling = bool(ordered.args.get("desc"))
    if column is None:
        return None
    field = block.scope.field(column)
    by = f"{'-' if falling else ''}{field.name}"
    comes_so = bool(table.order) and table.order[0].lower() == by.lower()
    exactly = table.sorts_exactly and not comes_so
    if field.name.startswith("-") or not (exactly or is_sorted_alike(field.arrow)):  # `-x` means x, falling
        return None
    if not comes_so and by not in table.sortable:
        return None
    never_null = any(_rejects_null(one.expr, column) for one in parts.conjuncts if one.where == "engine")
    key = [name.lower() for name in table.primary_key]
    never_null = never_null or field.name.lower() in key
    nulls_first = bool(ordered.args.get("nulls_first")) and not never_null
    if nulls_first and not exactly:
        return None
    sort = None if comes_so else f"{by} nulls first" if nulls_first else by
    cut = exactly and (not further or key == [field.name.lower()])
    return FirstRows(column, count, falling, sort, nulls_first, cut)


def any_rows(parts: BlockParts, count: int) -> FirstRows | None:
    """That so many rows of a block are enough, as its only scan can know; None where it cannot tell them."""
    if len(parts.block.scope.relations) != 1 or parts.residual or parts.equalities.classes:
        return None
    [access] = parts.access.tables
    return FirstRows(None, count) if len(access.scans) == 1 and not access.lookups else None


def _column(parts: BlockParts, node: Node) -> Column | None:
    """The column that ORDER BY names: a result column before one of the table."""
    block = parts.block
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    if len(parts_of(node)) == 1:
        columns = result_columns(block, node.name)
        if columns:
            return next(iter(columns)) if len(columns) == 1 else None
    reference = try_resolve(block.statement, node, block.scope)
    return None if reference is None or reference.has_fields else reference.column


def _rejects_null(expr: Expr | None, column: Column) -> bool:
    """Whether a condition is true for no row that lacks the column."""
    match expr:
        case Compare(op=op, left=left, right=Literal(value=value)):
            return left == column and (op != "<=>" or value is not None)
        case InList(item=item):
            return item == column
        case Not(item=IsNull(item=item)):
            return item == column
        case And(items=items):
            return any(_rejects_null(item, column) for item in items)
    return False
