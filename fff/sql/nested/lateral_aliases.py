"""Names that a select list gives and uses, as what they stand for.

    SELECT v + 1 AS z, z * 2 AS y FROM r        SELECT v + 1 AS z, (v + 1) * 2 AS y FROM r

A column of the tables in FROM comes before such a name, as in Spark. What a name stands for is computed for each use, so that it
has to be the same each time, and of columns: Spark gives constants types of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import parts_of
from fff.sql.binder.scopes import Found, SelectScope, resolve
from fff.sql.binder.select_text import SelectText
from fff.sql.nested.repeatable import is_repeatable
from fff.sql.syntax.aggregates import is_aggregated, is_row_wise
from fff.sql.syntax.edits import Edit
from fff.sql.syntax.statement import Node, Statement, TokenType, exp, identifier_span

#: How many characters a select list may grow to: names that use names twice double with each.
_LONGEST = 10_000


def without_lateral_aliases(text: Rewritten) -> Rewritten | None:
    """The text without names of select lists in these; None where there are none. Raises QueryError."""
    tree, edits = text.tree, list[Edit]()
    for scope in tree.scopes:
        with suppress(QueryError):  # told of when it is planned
            if scope.sources and not _is_grouped(scope):
                edits += _inlined(SelectText.of(tree.statement, scope), scope)
    return text.edited(edits) if edits else None


def _is_grouped(scope: SelectScope) -> bool:
    return is_aggregated(scope.node) or any(
        item.find(exp.Window, exp.Lambda) for item in scope.node.expressions
    )


def _inlined(text: SelectText, scope: SelectScope) -> Iterator[Edit]:
    """For each use of a name what it stands for, of those that are given once."""
    names = [item.alias.lower() for item in scope.node.expressions]
    values: dict[str, Span] = {}
    sizes: dict[str, int] = {}
    for (item, span), name in zip(text.items, names, strict=True):
        columns = list(item.find_all(exp.Column))
        uses = [one for one in columns if _is_use(one, scope, values)]
        sizes[name] = span.end - span.start + sum(sizes[one.name.lower()] for one in uses)
        if uses and (not name or sizes[name] > _LONGEST):
            return  # a column without a name is called by how it is written
        for use in uses:
            place = identifier_span(use.this)
            if place is not None:
                yield Edit(place, ("(", values[use.name.lower()], ")"))
        value = _value(text.statement, item, span)
        of_columns = uses or any(isinstance(resolve(one, scope), Found) for one in columns)
        if value is not None and of_columns and names.count(name) == 1:
            values[name] = value


def _is_use(node: Node, scope: SelectScope, values: dict[str, Span]) -> bool:
    known = len(parts_of(node)) == 1 and node.name.lower() in values
    return known and any(node is one for one in scope.columns) and resolve(node, scope) == "local"


def _value(statement: Statement, item: Node, span: Span) -> Span | None:
    """What stands before the name of an entry, and the AS that may be there."""
    alias = identifier_span(item.args["alias"]) if isinstance(item, exp.Alias) else None
    if alias is None or not (is_row_wise(item) and is_repeatable(item)) or item.find(exp.Query):
        return None
    end = statement.token_at(alias.start)
    end -= statement.tokens[end - 1].token_type is TokenType.ALIAS
    return statement.span(statement.token_at(span.start), end)
