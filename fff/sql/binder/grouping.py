"""What Spark would certainly refuse of aggregates, grouping and windows, told before the first request."""

from __future__ import annotations

from collections.abc import Iterator

from fff.errors import QueryError
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve
from fff.sql.syntax.aggregates import has_aggregate, is_aggregate
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, Statement, exp, identifier_span, text_span

#: Functions that are nothing without OVER, and need an order there.
_RANKING: dict[type[Node], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist", exp.Ntile: "ntile", exp.Lag: "lag", exp.Lead: "lead",
}  # fmt: skip
#: Clauses that see rows before any window does.
_WINDOWLESS = {"where": "WHERE", "group": "GROUP BY", "having": "HAVING"}


def check_grouping(tree: QueryTree) -> None:
    """Raises QueryError, underlined, for columns beside aggregates that are not grouped by, and windows out of place."""
    for scope in tree.scopes:
        for part in _own(scope.node):
            _check_window(tree.statement, part)
            _check_nested(tree.statement, part)
        for name, clause in _WINDOWLESS.items():
            node = scope.node.args.get(name)
            window = next((one for one in _own(node) if isinstance(one, exp.Window)), None) if node else None
            if window is not None:
                raise _refused(tree.statement, window.this, f"a window function cannot stand in {clause}")
        _check_columns(tree.statement, scope)


def _own(node: Node) -> Iterator[Node]:
    """The nodes under one, those of queries inside apart."""
    for part in node.walk(prune=lambda inner: isinstance(inner, exp.Query) and inner is not node):
        if part is node or not isinstance(part, exp.Query):
            yield part


def _check_window(statement: Statement, node: Node) -> None:
    name = _RANKING.get(type(node))
    if name is None:
        return
    around = node.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls):
        around = around.parent
    ordered = isinstance(around, exp.Window) and any(around.args.get(part) for part in ("alias", "order"))
    if not ordered:
        raise _refused(statement, node, f"{name} is a window function: it needs OVER (… ORDER BY …)")


def _check_nested(statement: Statement, node: Node) -> None:
    if not is_aggregate(node):
        return
    inner = next((one for one in _own(node) if one is not node and is_aggregate(one)), None)
    if inner is not None:
        raise _refused(
            statement, inner, "an aggregate cannot stand inside an aggregate", "compute it in a query in FROM"
        )


def _check_columns(statement: Statement, scope: SelectScope) -> None:
    """Columns of the select list of a SELECT with aggregates or GROUP BY must be grouped by, or aggregated."""
    items, having = list(scope.node.expressions), scope.node.args.get("having")
    group = scope.node.args.get("group")
    asked = [*items, *([having] if having is not None else [])]
    if group is None and not any(has_aggregate(item) for item in asked):
        return
    if scope.merged or any(source.sealed or source.called for source in scope.sources):
        return  # what its columns are, Spark says
    grouped = _grouped(scope, group, items)
    if grouped is None:
        return
    for item in items:
        for column in _bare_columns(item):
            found = resolve(column, scope)
            if not isinstance(found, Found) or found.source not in scope.sources:
                continue
            if (found.source, found.index) not in grouped:
                shown = ".".join(part.name for part in parts_of(column))
                raise QueryError(
                    f"{shown} is neither grouped by nor in an aggregate",
                    sql=statement.sql,
                    span=reference_span(column),
                    hint=f"add it to GROUP BY, or take any of its values: any_value({shown})",
                )


def _grouped(scope: SelectScope, group: Node | None, items: list[Node]) -> set[tuple[object, int]] | None:
    """The columns that a SELECT groups by; None where it groups by anything else."""
    if group is None:
        return set()
    if any(value for name, value in group.args.items() if name != "expressions"):
        return None
    found: set[tuple[object, int]] = set()
    for node in group.expressions:
        one = node
        if isinstance(node, exp.Literal) and node.is_int and 1 <= int(node.name) <= len(items):
            one = items[int(node.name) - 1]
            one = one.this if isinstance(one, exp.Alias) else one
        meaning = resolve(one, scope) if isinstance(one, exp.Column) else None
        if not isinstance(meaning, Found) or len(parts_of(one)) != meaning.qualifiers + 1 or meaning.others:
            return None
        found.add((meaning.source, meaning.index))
    return found


def _bare_columns(item: Node) -> Iterator[Node]:
    """The columns of a select item that no aggregate, window, lambda or unknown function stands around."""

    def closed(node: Node) -> bool:
        foreign = isinstance(node, exp.Anonymous) and (
            node.name.lower() not in SPARK_FUNCTIONS or isinstance(node.parent, exp.Dot)
        )
        return (
            foreign
            or isinstance(
                node,
                exp.Query | exp.Window | exp.Filter | exp.WithinGroup | exp.Lambda | exp.Column | exp.AggFunc,
            )
            or is_aggregate(node)
        )

    for node in item.walk(prune=closed):
        if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star):
            yield node


def _refused(statement: Statement, node: Node, message: str, hint: str | None = None) -> QueryError:
    return QueryError(message, sql=statement.sql, span=identifier_span(node) or text_span(node), hint=hint)
