"""Queries of WITH that are named several times, written out at each place, where a table in them is read by key only.

    WITH q AS (SELECT k, n FROM v) SELECT x.n, y.n FROM t JOIN q x ON x.k = t.a JOIN q y ON y.k = t.b
    SELECT x.n, y.n FROM t JOIN (SELECT k, n FROM v) AS x ON x.k = t.a JOIN (SELECT k, n FROM v) AS y ON y.k = t.b

The keys of one place are not those of another. Only what has the same rows each time that it is run is written out.
"""

from __future__ import annotations

from collections.abc import Iterator

from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.scopes import Query, QueryTree, SelectScope, Source
from fff.sql.nested.query_tables import brackets_of
from fff.sql.nested.repeatable import is_repeatable
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, filled, identifier_span, quote

#: One after the other; and no text grows longer, as it does where such a query names another one twice, and so on.
_MOST = 20
_LONGEST = 50_000
_CLAUSES = frozenset({"expressions", "from", "joins", "where", "distinct"})
#: What may give another value for another order of rows, or is not known.
_OTHER = (exp.AggFunc, exp.Window, exp.Anonymous, exp.Lateral)


def with_copies(text: Rewritten) -> Rewritten | None:
    """The text with such queries at their places; None where there are none. Raises QueryError."""
    changed = None
    for _ in range(_MOST):
        edits = _edits(text.tree)
        if not edits or len(text.sql) > _LONGEST:
            break
        text = changed = text.edited(edits)
    return changed


def _edits(tree: QueryTree) -> list[Edit]:
    """What writes the last of them out."""
    clauses = list(tree.statement.tree.find_all(exp.With))
    if len(clauses) != 1 or clauses[0].args.get("recursive"):  # names of several mean one or the other
        return []
    ctes = clauses[0].expressions
    for at in reversed(range(len(ctes))):
        query = next((one for one in tree.queries if one.node is ctes[at].this), None)
        later = {one.alias.lower() for one in ctes[at:]}
        if query is None or not _is_copied(tree, query, later):
            continue
        written = _written(tree, query, ctes[at])
        named = [_named(source, written) for source in tree.sources if source.query is query]
        gone = _definition(tree.statement, ctes, at)
        if gone is not None and None not in named and written:
            return [gone, *(one for one in named if one is not None)]
    return []


def _is_copied(tree: QueryTree, query: Query, later: set[str]) -> bool:
    """Whether a query is named several times, needs keys, and says the same wherever it stands."""
    own = {id(one) for one in query.node.walk()}
    scopes = [scope for scope in tree.scopes if id(scope.node) in own]
    names = {
        one.node.name.lower() for scope in scopes for one in scope.sources if isinstance(one.node, exp.Table)
    }
    return (
        query.references > 1
        and names.isdisjoint(later)  # which are no tables of these names elsewhere
        and any(map(_is_by_key, scopes))
        and all(filled(scope.node) <= _CLAUSES for scope in scopes)
        and not query.limited
        and query.node.find(*_OTHER) is None
        and is_repeatable(query.node)
    )


def _is_by_key(scope: SelectScope) -> bool:
    """Whether a SELECT reads a table by key, itself or through other queries."""
    return any(
        (source.table is not None and not source.table.usable_scans)
        or (source.query is not None and any(map(_is_by_key, source.query.branches)))
        for source in scope.sources
    )


def _written(tree: QueryTree, query: Query, cte: Node) -> str | None:
    """A query in brackets, its columns with the names that WITH gives them."""
    place = brackets_of(tree.statement, query)
    if place is None:
        return None
    text = tree.statement.text(place[0], place[1] + 1)
    if query.renamed is None:
        return text
    names = ", ".join(map(quote, query.renamed))
    return f"(SELECT * FROM {text} AS {quote(cte.alias)}({names}))"  # noqa: S608 - the statement's own text


def _named(source: Source, written: str | None) -> Edit | None:
    """A query in the place of its name, which it keeps where it has no alias."""
    place, alias = identifier_span(source.node.this), source.node.args.get("alias")
    if place is None or written is None or source.sealed:
        return None
    named = alias is not None and alias.this is not None
    return edit(place, written if named else f"{written} AS {quote(source.node.name)}")


def _definition(statement: Statement, ctes: list[Node], at: int) -> Edit | None:
    """Takes a query out of WITH, and WITH where it is the only one."""
    starts = list(_starts(statement, ctes))
    if len(starts) != len(ctes):
        return None
    opens = (
        place
        for place in range(starts[at], len(statement.tokens))
        if statement.tokens[place].token_type is TokenType.L_PAREN
        and statement.depths[place] == statement.depths[starts[at]]
    )
    opened = [next(opens) for _ in range(2 if ctes[at].args["alias"].columns else 1)][-1]
    end = statement.closing(opened) + 1
    if len(ctes) == 1:
        return edit(statement.span(starts[0] - 1, end), "")
    if at + 1 < len(ctes):
        return edit(statement.span(starts[at], starts[at + 1]), "")
    return edit(statement.span(starts[at] - 1, end), "")


def _starts(statement: Statement, ctes: list[Node]) -> Iterator[int]:
    """The tokens of the names of queries in WITH."""
    for cte in ctes:
        place = identifier_span(cte.args["alias"].this)
        if place is not None:
            yield statement.token_at(place.start)
