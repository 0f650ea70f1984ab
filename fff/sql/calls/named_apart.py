"""Tables of one name, each under an alias of its own where the statement tells them apart by their sources' names.

    FROM a.items WHERE x < (SELECT max(y) FROM b.items WHERE b.items.k = a.items.k)

What takes the place of a table has no source that could stand before its name: `items.k` alone would be the inner one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fff.errors import Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import is_free, parts_of
from fff.sql.binder.scopes import QueryTree, SelectScope, Source
from fff.sql.binder.select_text import alias_place
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Node, TokenType, exp, identifier_span, quote
from fff.structs import Struct


class _QualifiedName(Struct, frozen=True):
    """A name with a table before it, and how many identifiers name the table."""

    node: Node
    scope: SelectScope
    source: Source
    qualifiers: int


def named_apart(text: Rewritten) -> Rewritten | None:
    """The text with such aliases; None where no name needs one. Raises QueryError."""
    if not any(node.args.get("db") for node in text.statement.tree.find_all(exp.Column)):
        return None
    if any(token.token_type is TokenType.PIPE_GT for token in text.statement.tokens):
        return None  # whose queries are not those of the text
    tree = text.tree
    named, unclear = list[_QualifiedName](), _out_of_reach(tree)
    for scope in tree.scopes:
        for node in (*scope.columns, *scope.stars):
            meant = _meant(node, scope)
            if isinstance(meant, _QualifiedName):
                named.append(meant)
            elif meant == "unclear":
                unclear.append(node)
    edits = list[Edit]()
    for source in dict.fromkeys(one.source for one in named if _is_shadowed(one)):
        if not any(_may_mean(node, source) for node in unclear):
            edits += _aliased(tree, source, [one for one in named if one.source is source])
    return text.edited(edits) if edits else None


def _out_of_reach(tree: QueryTree) -> list[Node]:
    """Names that stand in no SELECT's own parts, as those behind EXCEPT do."""
    known = {id(node) for scope in tree.scopes for node in (*scope.columns, *scope.stars)}
    return [node for node in tree.statement.tree.find_all(exp.Column) if id(node) not in known]


def _may_mean(node: Node, source: Source) -> bool:
    names = [part.name.lower() for part in parts_of(node)]
    return any(source.answers_to(names[:depth]) for depth in (1, 2) if len(names) > depth)


def _meant(node: Node, scope: SelectScope) -> _QualifiedName | Literal["unclear"] | None:
    """The table that a name has before it; None where it has none, or a field's column.

    Of two tables of one name in FROM nobody reasons about the columns: here what they declare counts.
    """
    if not isinstance(node, exp.Column):
        return None
    names = [part.name.lower() for part in parts_of(node)]
    star = isinstance(node.this, exp.Star)
    for at in scope.enclosing:
        seen = [one for one in at.sources if one.seen_from(node)]
        for depth in (2, 1):
            if len(names) <= depth or (star and len(names) != depth + 1):
                continue
            mine = [one for one in seen if one.answers_to(names[:depth]) and not one.called]
            if any(_columns(one) is None for one in mine):
                return "unclear"
            holders = [one for one in mine if star or names[depth] in (_columns(one) or ())]
            if holders:
                only = len(holders) == 1
                return _QualifiedName(node, scope, holders[0], depth) if only else "unclear"
        columns = [_columns(one) for one in seen]
        if star or None in columns or (at.left is None and at.scope.makes(names[0])):
            return "unclear"
        if any(names[0] in (some or ()) for some in columns):
            return None
    return "unclear"


def _columns(source: Source) -> set[str] | None:
    """The names of a source's columns, lower case; None where they cannot be told."""
    names = source.names
    if names is None and source.table is not None and not (source.renamed or source.sealed):
        names = tuple(column.name for column in source.table.columns)
    return None if names is None else {name.lower() for name in names}


def _is_shadowed(named: _QualifiedName) -> bool:
    """Whether a name that has a source and a table before it would mean something else without the source."""
    source = named.source
    if named.qualifiers != 2 or source.written or source.span is None:
        return False
    alias = source.alias.lower()
    others = [one for one in named.scope.reach if one is not source]
    return not is_free(alias, named.node) or any(
        one.alias.lower() == alias or (columns := _columns(one)) is None or alias in columns for one in others
    )


def _aliased(tree: QueryTree, source: Source, named: list[_QualifiedName]) -> Iterator[Edit]:
    """An alias for a table, and wherever it is named that; nothing where a name has no place in the text."""
    assert source.table is not None
    statement = tree.statement
    alias = f"{source.table.source}.{source.table.name}"
    taken = statement.sql.lower()
    while f"`{alias}`".lower() in taken or any(
        alias.lower() in (_columns(one) or ()) for one in tree.sources
    ):
        alias += " #2"
    spans = list[Span]()
    for one in named:
        parts = parts_of(one.node)
        first, last = identifier_span(parts[0]), identifier_span(parts[one.qualifiers - 1])
        if first is None or last is None:
            return
        spans.append(Span(first.start, last.end))
    end = alias_place(statement, source)
    yield edit(Span(end, end), f" AS {quote(alias)}")
    yield from (edit(span, quote(alias)) for span in spans)
