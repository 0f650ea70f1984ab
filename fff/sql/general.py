"""Plans statements of any shape: every table fetched by some eddy, the whole statement run by Spark over their rows.

A SELECT over tables joined by inner joins becomes one block, and its FROM and WHERE a view of the joined rows. In any
other SELECT each table becomes a block and a view of its own. What may be left out of a table without changing the
result is left out of it: rows that fail a condition on it alone, and, where it answers lookups only, rows whose key no
other side of the join and no outer query has (design section 3; `fff.sql.restrictions`, `fff.sql.drafts`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from fff.catalog import Catalog
from fff.dataflow.expressions import Column
from fff.errors import QueryError, Span
from fff.sql.above import ColumnUse, use_of
from fff.sql.blocks import find_block
from fff.sql.dialect import Node, TokenType, arg, exp, identifier_span, quote
from fff.sql.drafts import Draft, joined_draft, settle, table_draft
from fff.sql.edits import Edit, applied, edit
from fff.sql.functions import has_aggregate
from fff.sql.names import Reference, parts_of
from fff.sql.planned import KeyQuery, Prepared, UpperQuery
from fff.sql.queries import Found, QueryTree, SelectScope, Source, resolve
from fff.sql.reading import check_names
from fff.sql.restrictions import Restrictions
from fff.sql.upper import block_edits, finished, shared_edits


class CallsNotJoinedError(Exception):
    """A SELECT that was to hold calls in its block cannot be one: its calls have to stand apart."""


def plan_queries(
    tree: QueryTree,
    catalog: Catalog,
    params: Mapping[str, object],
    at_hand: frozenset[tuple[str, ...]] = frozenset(),
) -> Prepared:
    """The blocks of a statement and the Spark SQL over them; columns named `at_hand` are fetched as well.

    Raises:
        QueryError: a name that is not there.
        InfeasibleQuery: a table whose key columns nothing binds.
        CallsNotJoinedError: a SELECT with calls in it is no block.
    """
    statement = tree.statement
    check_names(tree)
    restrictions = Restrictions.of(tree)
    joined = [draft for scope in tree.scopes if (draft := _joined(tree, scope, catalog, params)) is not None]
    taken = {source for draft in joined for source in draft.sources}
    if any(source.called and source.scope.flat and source not in taken for source in tree.sources):
        raise CallsNotJoinedError
    needed = _needed(tree)
    single = []
    for source in tree.sources:
        if source.table is not None and source not in taken:
            filters = restrictions.filters[source]
            draft = table_draft(statement, source.scope.node, source, filters, params)
            draft.need([Column(0, index) for index in needed[source]])
            single.append(draft)
    order = settle([*joined, *single], restrictions)
    edits = shared_edits(statement, params)
    for number, draft in enumerate(order):
        if draft.above is None:
            edits += _table_edits(tree, draft.sources[0], _view(number))
        else:
            block, residual = draft.settled.block, draft.settled.residual
            edits += block_edits(block, draft.above, residual, draft.output, _view(number))
    why, place = _why(tree), Span(0, len(statement.sql))
    texts = {text.query: text for draft in order for text in draft.texts}
    views = {query: f"__fff_keys_{number + 1}" for number, query in enumerate(texts)}
    final = [*edits, *(text.replaced(views[query]) for query, text in texts.items())]
    queries = {
        query: KeyQuery(
            text.sql(statement, final),
            views[query],
            tuple(number for number, draft in enumerate(order) if text.reads & set(draft.sources)),
            (),
        )
        for query, text in texts.items()
    }
    return Prepared(
        sql=statement.sql,
        blocks=tuple(
            draft.block_query(_view(number), order, queries, at_hand) for number, draft in enumerate(order)
        ),
        result=None,
        upper=UpperQuery(
            finished(applied(statement.sql, place, edits)),
            ", ".join(why),
            aggregated="an aggregate" in why,
            final=finished(applied(statement.sql, place, final)) if texts else None,
            key_views=len(texts),
        ),
        limit=None,
        offset=0,
        warnings=tuple(dict.fromkeys(text for draft in order for text in draft.settled.warnings)),
    )


def _view(number: int) -> str:
    return f"__fff_{number + 1}"


# --------------------------------------------------------------------------------------------------------- joined tables


def _joined(
    tree: QueryTree, scope: SelectScope, catalog: Catalog, params: Mapping[str, object]
) -> Draft | None:
    """The SELECT as one block, where its tables are joined by inner joins and it is clear who means its columns."""
    if not scope.flat or len(scope.sources) < 2 or scope.region is None:
        return None
    inside = _named_inside(tree, scope)
    if inside is None:
        return None
    outer = frozenset(
        id(node)
        for node in scope.columns
        if isinstance(found := resolve(node, scope), Found) and found.source not in scope.sources
    )
    try:
        block = find_block(tree.statement, scope.node, catalog, scope.region)
        return joined_draft(replace(block, outer=outer), scope.sources, inside, params)
    except QueryError:
        return None  # table by table: Spark resolves the names


def _named_inside(tree: QueryTree, scope: SelectScope) -> list[ColumnUse] | None:
    """Where queries inside a SELECT name its columns; None where that cannot be told."""
    found = []
    for other in tree.scopes:
        if other is scope or not _is_inside(other, scope):
            continue
        if any(_qualifies(star, scope) for star in other.stars):
            return None
        for node in other.columns:
            meaning = resolve(node, other)
            if meaning == "unknown":
                return None
            if isinstance(meaning, Found) and meaning.source in scope.sources:
                column = Column(scope.sources.index(meaning.source), meaning.index)
                found.append(use_of(Reference(column, meaning.qualifiers, parts_of(node))))
    return found


def _is_inside(scope: SelectScope, outer: SelectScope) -> bool:
    at = scope.outer
    while at is not None and at is not outer:
        at = at.outer
    return at is outer


def _qualifies(star: Node, scope: SelectScope) -> bool:
    names = [part.name.lower() for part in parts_of(star)[:-1]] if isinstance(star, exp.Column) else []
    return bool(names) and any(source.answers_to(names) for source in scope.sources)


# ---------------------------------------------------------------------------------------------------- tables by themselves


def _needed(tree: QueryTree) -> defaultdict[Source, set[int]]:
    """The columns of each web table that the statement may name: all that it can mean, where it is not clear."""
    found: defaultdict[Source, set[int]] = defaultdict(set)
    for scope in tree.scopes:
        for source in _reach(scope):
            for name in scope.merged:
                index = source.index(name)
                if index is not None:
                    found[source].add(index)
        for node in scope.columns:
            meaning = resolve(node, scope)
            if isinstance(meaning, Found):
                for source, index in ((meaning.source, meaning.index), *meaning.others):
                    found[source].add(index)
                continue
            for source in _reach(scope):
                for part in parts_of(node):
                    index = source.index(part.name)
                    if index is not None and not source.called:
                        found[source].add(index)
        if isinstance(scope.node.parent, exp.Exists):
            continue  # no column of its result is looked at
        for star in scope.stars:
            names = (
                [part.name.lower() for part in parts_of(star)[:-1]] if isinstance(star, exp.Column) else []
            )
            for source in _reach(scope) if names else scope.sources:
                if (not names and not source.called) or source.answers_to(names):
                    found[source] |= set(range(len(source.names or ())))
    for source in tree.sources:
        if source.table is not None and (source.whole or source.names is None):
            found[source] = set(range(len(source.table.columns)))
    return found


def _reach(scope: SelectScope) -> list[Source]:
    found: list[Source] = []
    at: SelectScope | None = scope
    while at is not None:
        found += at.sources
        at = at.outer
    return found


def _table_edits(tree: QueryTree, source: Source, view: str) -> list[Edit]:
    """The view in the place of a table's name; where that name was its alias, it stays it."""
    assert source.span is not None
    if source.written:
        return [edit(source.span, view)]
    statement = tree.statement
    alias = f" AS {quote(source.alias)}"
    edits = []
    if source.node.args.get("sample"):  # the sample stands before the alias
        index = statement.token_at(source.span.end - 1) + 1
        depth = statement.depths[index]
        while statement.tokens[index].token_type is not TokenType.R_PAREN or statement.depths[index] != depth:
            index += 1
        end = statement.tokens[index].end + 1
        edits += [edit(source.span, view), edit(Span(end, end), alias)]
    else:
        edits.append(edit(source.span, view + alias))
    for scope in tree.scopes:
        for node in (*scope.columns, *scope.stars):
            parts = parts_of(node) if isinstance(node, exp.Column) else ()
            if len(parts) > 2 and source in _reach(scope):
                names = [part.name.lower() for part in parts[:2]]
                spans = [identifier_span(part) for part in parts[:2]]
                if source.answers_to(names) and spans[0] is not None and spans[1] is not None:
                    edits.append(edit(Span(spans[0].start, spans[1].start), ""))
    return edits


def _why(tree: QueryTree) -> list[str]:
    """What keeps the engine from answering alone, in the words of the statement."""
    root = tree.statement.tree
    reasons = []
    if any(arg(node, "with") for node in root.walk()):
        reasons.append("WITH")
    reasons += [type(node).__name__.upper() for node in root.find_all(exp.SetOperation)]
    for scope in tree.scopes:
        for join in scope.node.args.get("joins") or ():
            words = [str(join.args.get(name) or "").upper() for name in ("method", "side", "kind")]
            if words[1] or words[2] in {"SEMI", "ANTI"}:
                reasons.append(" ".join(word for word in (*words, "JOIN") if word))
        if any(source.query is not None for source in scope.sources):
            reasons.append("a query in FROM")
        if any(source.query is None and source.table is None for source in scope.sources):
            reasons.append("rows that SQL itself makes")
        if scope.inner:
            reasons.append("a subquery")
        if scope.node.args.get("group") or any(has_aggregate(item) for item in scope.node.expressions):
            reasons.append("an aggregate")
    shapes = {"pivots": "PIVOT", "sample": "TABLESAMPLE"}
    reasons += [
        word for name, word in shapes.items() if any(source.node.args.get(name) for source in tree.sources)
    ]
    return list(dict.fromkeys(reasons)) or ["SQL that is no plain SELECT"]
