"""Keys that a scanned table or a query in FROM computes in ways that no lookup of its columns says, as columns of a query over it.

    SELECT v.w FROM t JOIN v ON v.k = coalesce(t.k, 7)
    SELECT v.w FROM made_1 t JOIN v ON v.k = t.key_1          made_1: SELECT t.k, coalesce(t.k, 7) AS key_1 FROM t

Such a key is there for a NULL, too, or is part of a struct, an array or a map. A row has the same value of it
wherever it is computed, if no join has filled the row in. Where Spark calls a column by the columns that a query in it
names, the equation stays, and the key stands beside it for as long as the statement is planned.

    SELECT (SELECT v.w FROM v WHERE v.k = t.st.k) FROM t                              called scalarsubquery(st)
    SELECT (SELECT v.w FROM v WHERE (v.k = t.st.k AND v.k = t.key_1)) FROM made_1 t
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from fff.catalog import Table
from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import parts_of, reference_span
from fff.sql.binder.scopes import Found, QueryTree, SelectScope, Source, resolve
from fff.sql.binder.select_text import table_edits
from fff.sql.nested.query_tables import Plan, QueryTables, brackets_of, is_entry, new_name, table_of, with_of
from fff.sql.syntax.aggregates import counts_rows
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.statement import Node, TokenType, exp, qualified, quote
from fff.structs import Struct

#: What stands beside a condition, where it is not a bracket.
_AROUND = frozenset(
    {
        *(TokenType.ON, TokenType.AND, TokenType.OR, TokenType.WHERE, TokenType.JOIN, TokenType.COMMA),
        *(TokenType.LEFT, TokenType.RIGHT, TokenType.FULL, TokenType.INNER, TokenType.CROSS, TokenType.FROM),
        *(TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.HAVING, TokenType.LIMIT, TokenType.UNION),
    }
)
#: Clauses whose conditions bind keys and whose queries are joined. Those of others Spark runs, and shows by what they name.
_READ = frozenset({"where", "joins", "from", "from_", "with", "with_"})
#: A column, by its name here or by another in what Spark runs.
_COLUMN = r"(?:`[^`]*`|[\w.])+"
_QUALIFIER = r"(?:`[^`]*`|\w+)"


class _Key(Struct, frozen=True):
    """A key that a table computes: where it says how, and the equation that this is a side of, with the key column."""

    value: Span
    equation: Span
    column: Span
    shown: bool  # Spark may call a column of the result by what the equation names

    def value_in(self, text: str) -> str:
        """How the key is computed."""
        return text[self.value.start : self.value.end]

    def put(self, text: str, key: str) -> Edit:
        """The key in its place, or beside it."""
        if not self.shown:
            return edit(self.value, key)
        equation, column = (text[one.start : one.end] for one in (self.equation, self.column))
        return edit(self.equation, f"({equation} AND {column} = {key})")


class _KeyMaker(Struct, frozen=True):
    """What computes keys: the text of a table or a query in FROM, with what stands in front of a statement over it."""

    head: str
    text: str
    place: Span | None  # of a query, with its brackets

    def put(self, tree: QueryTree, source: Source, name: str) -> list[Edit]:
        """A table of that name in its place."""
        return table_edits(tree, source, name) if self.place is None else [edit(self.place, name)]


def with_key_columns(text: Rewritten, made: QueryTables, plan: Plan) -> Rewritten | None:
    """The text with such queries in the places of tables, and tables for these; None where there are none. Raises QueryError."""
    before, tree = text.sql, text.tree
    keys: dict[Source, list[_Key]] = {}
    for scope in tree.scopes:
        for source, key in _computed(tree, scope):
            keys.setdefault(source, []).append(key)
    edits, tables, word = list[Edit](), list[Table](), "key_"
    while word in before.lower():
        word = f"computed_{word}"
    within = {id(node) for source in keys if source.query for node in source.node.this.walk()}
    for source, computed in keys.items():
        entry = _entry(tree, source)
        if entry is None or id(source.node) in within:  # which goes with the query around it
            continue
        columns = [qualified(*filter(None, (source.alias, name))) for name in _used(tree, source)]
        columns += [
            f"{key.value_in(before)} AS {word}{number}" for number, key in enumerate(computed, start=1)
        ]
        alias = f" AS {quote(source.alias)}" if source.alias else ""
        with suppress(QueryError):
            planned = plan(
                f"{entry.head}SELECT {', '.join(columns)} FROM {entry.text}{alias}",  # noqa: S608 - planned, and never run as it is
                text.catalog,
            )
            table = table_of(new_name(text.beside(tables)), planned)
            if table is not None:
                made.made[table.name] = planned
                tables.append(table)
                edits += entry.put(tree, source, table.name)
                called = quote(source.alias or table.name)
                edits += [
                    key.put(before, f"{called}.{word}{number}")
                    for number, key in enumerate(computed, start=1)
                ]
                made.beside += [
                    re.compile(rf" AND {_COLUMN} = {_QUALIFIER}\.{word}{number}(?=\))")
                    for number, key in enumerate(computed, start=1)
                    if key.shown
                ]
    return text.edited(edits).beside(tables) if edits else None


def _entry(tree: QueryTree, source: Source) -> _KeyMaker | None:
    """A table, or a query whose columns have names, each one."""
    if source.table is not None:
        return _KeyMaker(
            "", ".".join(quote(one) for one in (source.table.source, source.table.name) if one), None
        )
    names = [name.lower() for name in source.names or ()]
    if source.query is None or not is_entry(source.node) or len(set(names) - {""}) < max(len(names), 1):
        return None
    head, place = with_of(tree, source.query), brackets_of(tree.statement, source.query)
    if head is None or place is None:
        return None
    span = tree.statement.span(place[0], place[1] + 1)
    return _KeyMaker(head, tree.statement.text_at(span), span)


def _used(tree: QueryTree, source: Source) -> list[str]:
    """The columns of a table or a query that a statement names."""
    resolved = [resolve(node, scope) for scope in tree.scopes for node in scope.columns]
    used = {
        index for one in resolved if isinstance(one, Found) for owner, index in one.columns if owner is source
    }
    return [(source.names or ())[index] for index in sorted(used)]


def _computed(tree: QueryTree, scope: SelectScope) -> Iterator[tuple[Source, _Key]]:
    """The scanned tables and the queries of a SELECT that compute keys of tables read by key, each with such a key."""
    for node in scope.columns:
        equal, key = node.parent, resolve(node, scope)
        if not isinstance(equal, exp.EQ) or not _by_key(key, node):
            continue
        clause, *around = _clauses(equal)
        if clause not in _READ:
            continue
        other = equal.expression if equal.this is node else equal.this
        columns = [one for one in scope.columns if one is other or other in _parents(one)]
        owners = {
            resolved.source if isinstance(resolved := resolve(one, scope), Found) else None for one in columns
        }
        [owner, *others] = owners or {None}
        if owner is None or others or owner.nullable or owner.hidden or owner.sealed:
            continue
        if owner.scope.merged or not all(map(counts_rows, owner.scope.stars)):
            continue  # there would be one column more
        meant = resolve(other, scope) if isinstance(other, exp.Column) else None
        plain = isinstance(meant, Found) and len(parts_of(other)) == meant.qualifiers + 1
        if plain or (owner.table is not None and not owner.table.scans):
            continue
        value, column = _span(tree, node, other, behind=equal.this is node), reference_span(node)
        if value is not None and column is not None:
            equation = Span(min(value.start, column.start), max(value.end, column.end))
            yield owner, _Key(value, equation, column, not _READ.issuperset(around))


def _by_key(key: object, node: Node) -> bool:
    """Whether a reference is a key column of a table that is only looked up."""
    if not isinstance(key, Found) or key.source.table is None or len(parts_of(node)) != key.qualifiers + 1:
        return False
    table = key.source.table
    name = table.columns[key.index].name.lower()
    return not table.scans and any(name == one.lower() for method in table.lookups for one in method.keys)


def _clauses(node: Node) -> Iterator[str]:
    """In which clauses of the SELECTs around it an expression stands, from the inside out."""
    while node.parent is not None:
        part, node = node, node.parent
        if isinstance(node, exp.Select):
            yield str(part.arg_key)


def _parents(node: Node) -> Iterator[Node]:
    at = node.parent
    while at is not None and not isinstance(at, exp.Query):
        yield at
        at = at.parent


def _span(tree: QueryTree, column: Node, other: Node, *, behind: bool) -> Span | None:
    """Where the other side of an equation with a column stands; None where it cannot be told."""
    statement, place = tree.statement, reference_span(column)
    if place is None:
        return None
    step = 1 if behind else -1
    sign = statement.token_at(place.end - 1) + 1 if behind else statement.token_at(place.start) - 1
    depth = statement.depths[sign]
    at, cases = sign + step, 0
    while 0 <= at < len(statement.tokens) and statement.depths[at] >= depth:
        kind = statement.tokens[at].token_type
        cases += (kind is TokenType.CASE) - (kind is TokenType.END)
        if not cases and statement.depths[at] == depth and kind in _AROUND:
            break
        at += step
    first, end = (sign + 1, at) if behind else (at + 1, sign)
    if statement.tokens[sign].token_type is not TokenType.EQ or first >= end:
        return None
    with suppress(QueryError):
        [alone] = parse_statement(f"SELECT {statement.text(first, end)}").tree.expressions
        if alone == other:
            return statement.span(first, end)
    return None
