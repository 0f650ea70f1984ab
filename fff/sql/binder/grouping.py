"""What Spark would certainly refuse of aggregates, grouping and windows, told before the first request."""

from __future__ import annotations

from collections.abc import Iterator

from fff.errors import QueryError
from fff.sql.binder.checks import names_all
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, resolve, star_columns
from fff.sql.syntax.aggregates import grouped_by, groups_by_sets, is_aggregate, is_aggregated, own_nodes
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS
from fff.sql.syntax.statement import Node, Statement, arg, exp, identifier_span, refused
from fff.structs import Struct

#: Functions that are nothing without OVER, and need an order there.
_RANKING: dict[type[Node], str] = {
    exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank", exp.PercentRank: "percent_rank",
    exp.CumeDist: "cume_dist", exp.Ntile: "ntile", exp.Lag: "lag", exp.Lead: "lead",
    exp.NthValue: "nth_value",
}  # fmt: skip
#: Clauses that see rows before any window does.
_WINDOWLESS = {"where": "WHERE", "group": "GROUP BY", "having": "HAVING"}


def check_grouping(tree: QueryTree) -> None:
    """Raises QueryError, underlined, for columns beside aggregates that are not grouped by, and windows out of place."""
    for scope in tree.scopes:
        for part in own_nodes(scope.node):
            _check_window(tree.statement, scope, part)
            _check_nested(tree.statement, part)
        for name, clause in _WINDOWLESS.items():
            node = scope.node.args.get(name)
            window = (
                next((one for one in own_nodes(node) if isinstance(one, exp.Window)), None) if node else None
            )
            if window is not None:
                raise refused(tree.statement, window.this, f"a window function cannot stand in {clause}")
        _check_columns(tree.statement, scope)


def _check_window(statement: Statement, scope: SelectScope, node: Node) -> None:
    name = _RANKING.get(type(node))
    if name is None:
        return
    around = node.parent
    while isinstance(around, exp.IgnoreNulls | exp.RespectNulls):
        around = around.parent
    window = around if isinstance(around, exp.Window) else None
    called = window.args.get("alias") if window is not None else None
    if called is not None:
        named = {one.this.name.lower(): one for one in scope.node.args.get("windows") or ()}
        window = named.get(called.name.lower())
        if window is None or window.args.get("alias"):
            return  # what defines none is told elsewhere
    if window is None or not window.args.get("order"):
        raise refused(statement, node, f"{name} is a window function: it needs OVER (… ORDER BY …)")


def _check_nested(statement: Statement, node: Node) -> None:
    if not is_aggregate(node):
        return
    inner = next((one for one in own_nodes(node) if one is not node and is_aggregate(one)), None)
    if inner is not None:
        raise refused(
            statement, inner, "an aggregate cannot stand inside an aggregate", "compute it in a query in FROM"
        )


def _check_columns(statement: Statement, scope: SelectScope) -> None:
    """Columns of a SELECT with aggregates or GROUP BY must be grouped by, or aggregated; behind DISTINCT, those of ORDER BY chosen."""
    items = list(scope.node.expressions)
    having, order = (scope.node.args.get(name) for name in ("having", "order"))
    if scope.merged or any(source.sealed or source.called for source in scope.sources):
        return  # what its columns are, Spark says
    if not is_aggregated(scope.node):
        if scope.node.args.get("distinct") and order is not None:
            _check_chosen(statement, scope, items, order)
        return
    grouped = _Grouped.of(scope)
    if grouped is None:
        return
    for item in items:
        if item.is_star:
            _check_star(statement, scope, item, grouped)
        for column in _bare_columns(item):
            whole = column is (item.unalias())
            if not grouped.may_be(resolve(column, scope), whole=whole and _is_plain(column, scope)):
                raise _ungrouped(statement, column)
    aliases = {one.alias_or_name.lower() for one in items}
    for clause in (having, order):
        for column in _bare_columns(clause) if clause is not None else ():
            named = len(parts_of(column)) == 1 and parts_of(column)[0].name.lower() in aliases
            if not named and not grouped.may_be(resolve(column, scope), whole=False):
                raise _ungrouped(statement, column)


def _ungrouped(statement: Statement, column: Node) -> QueryError:
    shown = ".".join(part.name for part in parts_of(column))
    return statement.error(
        f"{shown} is neither grouped by nor in an aggregate",
        reference_span(column),
        hint=f"add it to GROUP BY, or take any of its values: any_value({shown})",
    )


def _check_chosen(statement: Statement, scope: SelectScope, items: list[Node], order: Node) -> None:
    """ORDER BY behind DISTINCT, of columns that some item holds."""
    if any(item.is_star for item in items):
        return
    held = {_place(resolve(column, scope)) for item in items for column in item.find_all(exp.Column)}
    aliases = {one.alias_or_name.lower() for one in items}
    for column in _bare_columns(order):
        place = _place(resolve(column, scope))
        named = len(parts_of(column)) == 1 and parts_of(column)[0].name.lower() in aliases
        if place is not None and place not in held and not named:
            raise statement.error(
                f"ORDER BY {column.sql('spark')} behind DISTINCT, which leaves that column out",
                reference_span(column),
                hint="add it to the select list",
            )


def _check_star(statement: Statement, scope: SelectScope, star: Node, grouped: _Grouped) -> None:
    """A star beside aggregates stands for columns that are all grouped by."""
    for source, index in star_columns(scope, star) or ():
        if (source, index) not in grouped.plain:
            name = (source.names or ())[index]
            raise statement.error(
                f"* holds {name}, which is neither grouped by nor in an aggregate",
                identifier_span(star.this if isinstance(star, exp.Column) else star),
                hint="name the columns that are meant",
            )


def _place(resolved: object) -> tuple[object, int] | None:
    return (resolved.source, resolved.index) if isinstance(resolved, Found) and not resolved.others else None


def _is_plain(column: Node, scope: SelectScope) -> bool:
    resolved = resolve(column, scope)
    return isinstance(resolved, Found) and len(parts_of(column)) == resolved.qualifiers + 1


class _Grouped(Struct, frozen=True):
    """The columns that a SELECT groups by, and those that stand in what it groups by."""

    scope: SelectScope
    plain: frozenset[tuple[object, int]]
    held: frozenset[tuple[object, int]]

    @classmethod
    def of(cls, scope: SelectScope) -> _Grouped | None:
        """None where it groups by what cannot be told."""
        if groups_by_sets(scope.node) and arg(scope.node.args["group"], "totals"):
            return None
        if names_all(scope.node) and any(one.names is None or "all" in one.names for one in scope.sources):
            return None
        plain, held = set[tuple[object, int]](), set[tuple[object, int]]()
        for node in grouped_by(scope.node, lambda column: resolve(column, scope) != "local"):
            if node.is_star or node.find(exp.Query):
                return None
            for column in node.find_all(exp.Column):
                place = _place(resolve(column, scope))
                if place is None:
                    return None
                held.add(place)
                if column is node and _is_plain(column, scope):
                    plain.add(place)
        return cls(scope, frozenset(plain), frozenset(held))

    def may_be(self, meaning: object, *, whole: bool) -> bool:
        """Whether a column may stand outside of aggregates; `whole`: as it is, no part of an expression that is grouped by."""
        if not isinstance(meaning, Found) or meaning.source not in self.scope.sources:
            return True
        place = (meaning.source, meaning.index)
        return place in self.plain or (not whole and place in self.held) or bool(meaning.others)


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
