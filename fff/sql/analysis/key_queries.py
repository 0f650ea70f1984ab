"""The text of a query in FROM or behind IN, made to run by itself, for the keys it yields.

Keys that a query computes, or that it keeps few of (LIMIT, HAVING), are had by running it once the blocks under it have
ended: one request per key that is left instead of one per key that it reads. Its rows then take its place in the
statement: a second run could keep others (ties under LIMIT, sums of floats), for which no keys were asked.
"""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import Span
from fff.sql.binder.regions import Region
from fff.sql.binder.scopes import Found, Query, QueryTree, SelectScope, Source, resolve
from fff.sql.syntax.edits import Edit, applied, edit
from fff.sql.syntax.statement import Statement, TokenType, exp, identifier_span
from fff.structs import Struct

_ALL = "SELECT * FROM"
_SELECTIVE = ("limit", "offset", "having", "qualify")


class KeyText(Struct, frozen=True):
    """Where a query stands, without its brackets, and the definitions in front that it needs."""

    query: Query
    head: Span | None
    inner: Span
    reads: frozenset[Source]  # the web tables in these pieces

    def sql(self, statement: Statement, edits: Sequence[Edit]) -> str:
        """Spark SQL for the rows of the query."""
        others = [one for one in edits if one.span != self.inner]
        inner = applied(statement.sql, self.inner, others)
        if self.head is None:
            return inner.strip()
        head = applied(statement.sql, self.head, others).rstrip().rstrip(",")
        return f"{head} {_ALL} ({inner})"

    def replaced(self, view: str) -> Edit:
        """The rows of the query in its place."""
        return edit(self.inner, f"{_ALL} {view}")


def key_text(tree: QueryTree, owner: Source) -> KeyText | None:
    """How to run the query that a source is by itself; None where it cannot be."""
    query = owner.query
    if query is None or query.recursive or not query.branches or owner.names is None:
        return None
    first = query.branches[0].region
    region = owner.scope.region
    cte = isinstance(owner.node, exp.Table)
    if first is None or region is None:
        return None
    statement = tree.statement
    opened = _opening(statement, first, 0 if cte else region.depth)
    begins_with = statement.tokens[0].token_type is TokenType.WITH
    if opened is None or (cte and not begins_with):
        return None
    return _text(tree, query, opened, cte=cte)


def member_text(tree: QueryTree, query: Query) -> KeyText | None:
    """How to run a query that stands behind IN by itself; None where it cannot be."""
    first = query.branches[0].region if query.branches else None
    names = [one.name.lower() for one in query.outputs or ()]
    if first is None or len(names) != len(set(names)):  # a view has one column of a name
        return None
    tokens = tree.statement.tokens
    for index in range(first.first - 1, 0, -1):
        opens = tokens[index].token_type is TokenType.L_PAREN and tokens[index - 1].token_type is TokenType.IN
        if opens and tree.statement.closing(index) >= first.end:
            return _text(tree, query, index, cte=False)
    return None


def _text(tree: QueryTree, query: Query, opened: int, *, cte: bool) -> KeyText | None:
    """The query in the bracket that is opened there."""
    statement = tree.statement
    begins_with = statement.tokens[0].token_type is TokenType.WITH
    inner = statement.span(opened + 1, statement.closing(opened))
    head: Span | None = None
    if any(isinstance(source.node, exp.Table) and source.query for source in _within(tree, inner)):
        main = tree.root.branches[0].region
        if not begins_with or main is None or main.depth:
            return None
        head = _before(statement, query, main) if cte else statement.span(0, main.first)
    scopes = [
        scope for scope in tree.scopes if _inside(tree, scope, inner) or (head and _inside(tree, scope, head))
    ]
    if not _closed(scopes):
        return None
    sources = {source for scope in scopes for source in scope.sources if source.table is not None}
    return KeyText(query, head, inner, frozenset(sources))


def _before(statement: Statement, query: Query, main: Region) -> Span | None:
    """The definitions in front of a CTE's own."""
    cte = query.node.parent
    name = identifier_span(cte.args["alias"].this) if isinstance(cte, exp.CTE) else None
    index = main.first if name is None else statement.token_at(name.start)
    return None if index <= 1 else statement.span(0, index)


def selective(query: Query, seen: frozenset[Query] = frozenset()) -> bool:
    """Whether a query says by itself that it keeps few rows."""
    if query in seen:
        return False
    seen |= {query}
    return query.limited or any(
        any(scope.node.args.get(name) for name in _SELECTIVE)
        or any(source.query is not None and selective(source.query, seen) for source in scope.sources)
        for scope in query.branches
    )


def _opening(statement: Statement, region: Region, depth: int) -> int | None:
    """The bracket of a depth that opens last before a SELECT."""
    for index in range(region.first - 1, -1, -1):
        if statement.depths[index] == depth and statement.tokens[index].token_type is TokenType.L_PAREN:
            return index
    return None


def _inside(tree: QueryTree, scope: SelectScope, span: Span) -> bool:
    if scope.region is None:
        return False
    place = tree.statement.span(scope.region.first, scope.region.end)
    return span.start <= place.start and place.end <= span.end


def _within(tree: QueryTree, span: Span) -> list[Source]:
    return [source for scope in tree.scopes if _inside(tree, scope, span) for source in scope.sources]


def _closed(scopes: Sequence[SelectScope]) -> bool:
    """Whether nothing in some scopes names a column of a source outside of them."""
    known = set(scopes)
    return all(
        not isinstance(resolved := resolve(column, scope), Found) or resolved.source.scope in known
        for scope in scopes
        for column in scope.columns
    )
