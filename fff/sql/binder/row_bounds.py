"""How many rows of each SELECT of a statement can matter: LIMIT bounds requests wherever it stands, not only outermost.

`LIMIT n OFFSET m` lets any n + m rows do for what is under it. Rows of FROM and WHERE can be counted instead of rows of the
result where each of them gives one (no grouping, DISTINCT, ORDER BY, window, …), and where every condition is evaluated
before they are counted. From there a bound goes on

- into a query in FROM or WITH that is all there is in FROM, to the smallest that does for all who name it;
- into every branch of UNION ALL, of which one alone may give all rows;
- to the preserved side of LEFT JOINs, of which each row gives at least one;
- to what EXISTS asks for, of which one row says all;
- to a recursive query, as far as the rows of its levels go.

Spark may give any rows for a LIMIT without ORDER BY. It runs the statement's own LIMIT over the rows that were read, so what
it gives is one of the answers over the whole tables, and the same one wherever a WITH is named.
"""

from __future__ import annotations

from fff.sql.binder.outer_query import count_of, is_row_for_row
from fff.sql.binder.scopes import Query, QueryTree, SelectScope, Source
from fff.sql.syntax.statement import Node, Statement, TokenType, arg, exp, keyword
from fff.structs import Struct, field


class Bounds(Struct):
    """For queries, SELECTs whose rows of FROM and WHERE are bounded, and tables joined to others, how many rows are enough."""

    queries: dict[Query, int] = field(default_factory=dict)
    scopes: dict[SelectScope, int] = field(default_factory=dict)
    recursive: dict[Query, int] = field(default_factory=dict)  # rows of what recurs, of which each may be any
    sources: dict[Source, int] = field(default_factory=dict)

    @classmethod
    def of(cls, tree: QueryTree) -> Bounds:
        """Read every LIMIT of a statement. Raises QueryError for one that is not a count."""
        row_bounds = cls()
        if any(token.token_type is TokenType.PIPE_GT for token in tree.statement.tokens):
            return row_bounds  # its queries are of the parser's making
        wanted: dict[Query, list[int | None]] = {tree.root: [None]}
        # Who names a query is read before it: inner queries stand behind those around them, later WITHs before earlier.
        for query in _outermost_first(tree):
            asked = wanted.get(query, [1 if _asks_for_any(query.node.parent) else None])
            known = [one for one in asked if one is not None]
            most = max(known) if known and len(known) == len(asked) else None
            if most is not None:
                row_bounds.queries[query] = most
            if query.recursive:
                if most is not None:
                    row_bounds.recursive[query] = most
                most = None
            bounds = _by_branch(tree.statement, query.node, most) if query.branches else []
            for scope, bound in zip(query.branches, bounds, strict=True):
                row_bounds._scope(tree.statement, scope, bound, wanted)
        return row_bounds

    def _scope(
        self,
        statement: Statement,
        scope: SelectScope,
        most: int | None,
        wanted: dict[Query, list[int | None]],
    ) -> None:
        select = scope.node
        bound = _limited(statement, select, most) if is_row_for_row(select) else None
        if bound is not None:
            self.scopes[scope] = bound
        first = _preserved(scope) if bound is not None else None
        for source in scope.sources:
            enough = bound if source is first else None
            if source.query is not None:
                filtered = select.args.get("where") is not None
                wanted.setdefault(source.query, []).append(None if filtered else enough)
            elif enough is not None:
                self.sources[source] = enough


def _asks_for_any(node: Node | None) -> bool:
    """Whether this is EXISTS of a query, and not the function `exists` of the array that it gives."""
    return isinstance(node, exp.Exists) and node.args.get("expression") is None


def _outermost_first(tree: QueryTree) -> list[Query]:
    """Every query behind all that name it: the reader notes a query when it begins to read it, a WITH before its users."""
    order: list[Query] = []
    seen: set[Query] = set()

    def visit(query: Query) -> None:
        if query in seen:
            return
        seen.add(query)
        for scope in query.branches:
            for source in scope.sources:
                if source.query is not None:
                    visit(source.query)
            for inner in scope.inner:
                visit(inner)
        order.append(query)

    for query in tree.queries:
        visit(query)
    return order[::-1]


def _by_branch(statement: Statement, node: Node, most: int | None) -> list[int | None]:
    """For each SELECT of a query, in order, how many rows of it do where `most` rows of the query do."""
    if isinstance(node, exp.Subquery | exp.Paren):
        plain = not any(node.args.get(name) for name in ("order", "sort", "distribute", "cluster"))
        return _by_branch(statement, node.this, _limited(statement, node, most) if plain else None)
    if isinstance(node, exp.SetOperation):
        every = (
            isinstance(node, exp.Union) and node.args.get("distinct") is False and not arg(node, "by_name")
        )
        every = every and not any(node.args.get(name) for name in ("order", "sort", "distribute", "cluster"))
        bound = _limited(statement, node, most) if every else None
        return [
            *_by_branch(statement, node.this, bound),
            *_by_branch(statement, node.expression, bound),
        ]
    return [most]


def _limited(statement: Statement, node: Node, most: int | None) -> int | None:
    """How many rows under the LIMIT of a node do where `most` rows over it do."""
    limit, offset = (count_of(statement, node, name) for name in ("limit", "offset"))
    if -1 in {limit, offset}:
        return None
    known = [one for one in (limit, most) if one is not None]
    return min(known) + (offset or 0) if known else None


def _preserved(scope: SelectScope) -> Source | None:
    """The source of which every row gives a row of FROM at least: the only one, or the first under LEFT JOINs alone."""
    node = scope.node
    source = arg(node, "from")
    if not isinstance(source, Node) or node.args.get("laterals") or not scope.sources:
        return None
    first = source.this
    if scope.sources[0].node is not first or any(
        first.args.get(name) for name in ("joins", "pivots", "sample")
    ):
        return None
    for join in node.args.get("joins") or ():
        if keyword(join, "side") != "LEFT" or keyword(join, "kind") in {
            *("SEMI", "ANTI"),
        }:
            return None
    return scope.sources[0]
