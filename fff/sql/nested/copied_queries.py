"""Queries of WITH that are named several times, written out at each place, where a table in them is read by key only.

    WITH q AS (SELECT k, n FROM v) SELECT x.n, y.n FROM t JOIN q x ON x.k = t.a JOIN q y ON y.k = t.b
    SELECT x.n, y.n FROM t JOIN (SELECT k, n FROM v) AS x ON x.k = t.a JOIN (SELECT k, n FROM v) AS y ON y.k = t.b

The keys of one place are not those of another. Only what has the same rows each time that it is run is written out.

Those that no place names are checked, as in Spark, and nothing is read for them: what the engine would answer is certainly
right, and left out; of others Spark is asked, over tables without rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count

import pyarrow as pa

from fff.catalog import ScanMethod, Table
from fff.errors import QueryError
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.scopes import Query, QueryTree, SelectScope, Source
from fff.sql.binder.select_text import table_edits
from fff.sql.nested.query_tables import Plan, brackets_of, with_of
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


def without_unread(text: Rewritten, plan: Plan) -> Rewritten | None:
    """The text without what is read for queries of WITH that nothing reads; None where there are none. Raises QueryError."""
    kinds = {token.token_type for token in text.statement.tokens}
    if TokenType.WITH not in kinds or TokenType.PIPE_GT in kinds:  # whose queries are of the parser's making
        return None
    changed = _emptied(text)
    tried = set[str]()
    while True:
        text = changed or text
        queries = [one for one in _unread(text.tree) if not one.references and _name(one) not in tried]
        if not queries:
            return changed
        tried.add(_name(queries[0]))
        gone = _left_out(text, queries[0], plan)
        if gone is not None:
            changed, tried = text.edited([gone]), set()


def _left_out(text: Rewritten, query: Query, plan: Plan) -> Edit | None:
    """Takes a query out that Spark would certainly not refuse: the engine would answer it. None for any other."""
    cte, with_, place = query.node.parent, with_of(text.tree, query), brackets_of(text.statement, query)
    if cte is None or cte.parent is None or with_ is None or place is None:
        return None
    with suppress(QueryError):  # told of where it is
        if plan(with_ + text.statement.text(place[0] + 1, place[1]), text.catalog).result is not None:
            ctes = cte.parent.expressions
            at = next(at for at, one in enumerate(ctes) if one is cte)
            return _definition(text.statement, ctes, at)
    return None


def _name(query: Query) -> str:
    return query.node.parent.alias.lower() if query.node.parent is not None else ""


def _unread(tree: QueryTree) -> list[Query]:
    """The queries of WITH that nothing names but others of them, the last first."""
    ctes = [
        one for one in reversed(tree.queries) if isinstance(one.node.parent, exp.CTE) and not one.recursive
    ]
    unread: list[Query] = []
    while True:
        inside = _nodes(unread)
        named = [one.query for one in tree.sources if id(one.scope.node) in inside]
        more = [one for one in ctes if one not in unread and named.count(one) == one.references]
        if not more:
            return unread
        unread += more


def _nodes(queries: Sequence[Query]) -> set[int]:
    return {id(node) for query in queries for node in query.node.walk()}


def _emptied(text: Rewritten) -> Rewritten | None:
    """The text with tables without rows, and no rows of other queries, in those that nothing reads."""
    tree, edits, tables = text.tree, list[Edit](), list[Table]()
    inside = _nodes(_unread(tree))
    names = (f"unread_{number}" for number in count(1))
    free = (one for one in names if one not in text.sql.lower() and not text.catalog.find([one]))
    for source in tree.sources:
        table, query = source.table, source.query
        if id(source.scope.node) not in inside:
            continue
        if table is not None and table.source:
            rows = pa.schema([(one.name, one.arrow) for one in table.columns]).empty_table()
            name = next(free)
            tables.append(Table("", name, table.columns, scans=(ScanMethod(f"{name}.scan", rows),)))
            edits += table_edits(tree, source, name)
            continue
        read = query is not None and isinstance(source.node, exp.Table) and id(query.node) not in inside
        if read and not source.scope.node.args.get("limit"):
            none = f"(SELECT * FROM {quote(source.node.name)} LIMIT 0)"  # noqa: S608 - the statement's own text
            edits += filter(None, [_named(source, none)])
    return text.edited(edits).beside(tables) if edits else None


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
