"""Rows that LATERAL VIEW makes of each row's elements, written as a query in FROM, which the engine answers.

    SELECT t.id, e.x FROM t LATERAL VIEW explode(t.tags) e AS x WHERE t.n > 1 AND e.x = 'a'
    SELECT t.id, t.x FROM (SELECT t.id, t.n, explode(t.tags) AS x FROM t WHERE t.n > 1) t WHERE t.n > 1 AND t.x = 'a'

What WHERE says of the table alone is said inside as well, so that no more of it is asked for. The same is done to
`FROM t, LATERAL explode(t.tags) AS e(x)`. A view of a view is one step more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from fff.errors import QueryError, Span
from fff.sql.analysis.rewritten import Rewritten
from fff.sql.binder.names import Scope, is_free, parts_of
from fff.sql.binder.scopes import Found, SelectScope, Source, resolve
from fff.sql.binder.select_text import SelectText
from fff.sql.binder.spj_block import split
from fff.sql.syntax.aggregates import makes_rows
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.statement import Node, Statement, Token, TokenType, exp, identifier_span, qualified, quote
from fff.structs import Struct

#: Views of views of a statement; more are left as they are.
_MOST = 8
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def without_lateral_views(text: Rewritten) -> Rewritten | None:
    """The text with queries in FROM for views; None where there are none, or where it cannot be told what they name."""
    changed = None
    for _ in range(_MOST):
        edits = next((found for scope in text.tree.scopes if (found := _edits(text.statement, scope))), None)
        if edits is None:
            break
        text = changed = text.edited(edits)
    return changed


class _LateralView(Struct, frozen=True):
    """Where the tokens of a view stand: what it is called on, and its parts."""

    first: int  # LATERAL, or the comma before it
    name: int  # of the generator
    end: int
    outer: bool
    names: tuple[str, ...]  # of its columns


def _edits(statement: Statement, scope: SelectScope) -> list[Edit]:
    """What replaces the first view of a SELECT; nothing where it stays."""
    if len(scope.sources) < 2 or scope.inner or scope.outer is not None or scope.merged:
        return []
    source, made = scope.sources[:2]
    if not all(isinstance(one.node, exp.Lateral) for one in scope.sources[1:]) or scope.node.args.get(
        "pivots"
    ):
        return []
    with suppress(QueryError):
        text = SelectText.of(statement, scope)
        view = _view(text, made)
        if view is not None and _is_plain(source, view):
            return list(_replaced(text, scope, source, made, view))
    return []


def _is_plain(source: Source, view: _LateralView) -> bool:
    """Whether names tell the columns of a table from those that are made of it."""
    names = [name.lower() for name in (*(source.names or ()), *view.names)]
    named = (
        source.names is not None
        and bool(source.alias)
        and not (source.sealed or source.renamed or source.called)
    )
    return named and len(set(names)) == len(names)


def _view(text: SelectText, made: Source) -> _LateralView | None:
    """The first view of a SELECT, its names as they are written; None where it is written otherwise."""
    tokens, behind = text.statement.tokens, text.from_text
    start = text.from_token
    if start is None or behind is None:
        return None
    end = text.statement.token_at(behind.end - 1) + 1
    words = [token.text.upper() for token in tokens]
    level = [at for at in range(start, end) if text.statement.depths[at] == text.region.depth]
    first = next((at for at in level if words[at] == "LATERAL"), None)
    if first is None:
        return None
    at, is_view = first + 1, words[first + 1] == "VIEW"
    at += is_view
    outer = is_view and words[at] == "OUTER"
    at += outer
    if not is_view:
        first -= 1
        if tokens[first].token_type is not TokenType.COMMA:
            return None
    if not makes_rows(made.node.this) or tokens[at + 1].token_type is not TokenType.L_PAREN:
        return None
    close = text.statement.closing(at + 1)
    names, last = _names(tokens, close + 1, end, is_view=is_view)
    if tuple(name.lower() for name in names) != tuple(name.lower() for name in made.names or ()):
        return None
    return _LateralView(first, at, last, outer, tuple(names))


def _names(tokens: Sequence[Token], at: int, end: int, *, is_view: bool) -> tuple[list[str], int]:
    """The names that columns get behind a call, `e AS x, y` or `AS e(x, y)`, and where they end."""
    while at < end and tokens[at].token_type is TokenType.ALIAS and not is_view:
        at += 1
    if at < end and tokens[at].token_type in _NAMES:
        at += 1  # that of the view
    opens = TokenType.ALIAS if is_view else TokenType.L_PAREN
    if at == end or tokens[at].token_type is not opens:
        return [], at
    names = []
    while at + 1 < end and tokens[at + 1].token_type in _NAMES:
        names.append(tokens[at + 1].text)
        at += 2
        if at == end or tokens[at].token_type is not TokenType.COMMA:
            break
    return names, at + (not is_view)


def _replaced(
    text: SelectText, scope: SelectScope, source: Source, made: Source, view: _LateralView
) -> Iterator[Edit]:
    statement, tokens = text.statement, text.statement.tokens
    assert text.from_token is not None, "a view stands behind FROM"
    before = statement.span(text.from_token + 1, view.first)
    call = statement.span(view.name, statement.closing(view.name + 1) + 1)
    whole = Span(before.start, tokens[view.end - 1].end + 1)
    if any(isinstance(star, exp.Column) for star in scope.stars):
        return
    used = set(source.names or ()) if scope.stars else set[str]()
    uses = list[Edit]()
    for node in scope.columns:
        resolved = resolve(node, scope)
        if not isinstance(resolved, Found):
            if resolved == "local" and len(parts_of(node)) == 1:
                continue
            return
        parts = [identifier_span(part) for part in parts_of(node)][: resolved.qualifiers + 1]
        if None in parts:
            return
        place = Span(min(one.start for one in parts if one), max(one.end for one in parts if one))
        inside = whole.start <= place.start < whole.end
        if inside and not call.start <= place.start < call.end:
            continue  # of another view
        if resolved.source is source and source.names is not None:
            used |= set() if inside else {source.names[resolved.index]}
        if not inside and resolved.qualifiers and resolved.source in (source, made):
            last = parts[resolved.qualifiers - 1]
            assert last is not None, "each part has its place"
            if not is_free(source.alias, node):
                return
            uses.append(edit(Span(place.start, last.end), quote(source.alias)))
    conditions = _conditions(text, scope, source)
    columns = [qualified(source.alias, name) for name in source.names or () if name in used]
    name = tokens[view.name].text
    generator = f"{name}_outer" if view.outer and not name.lower().endswith("_outer") else name
    named = ", ".join(map(quote, view.names))
    yield Edit(
        whole,
        (
            f"(SELECT {', '.join([*columns, generator])}",
            Span(call.start + len(name), call.end),
            f" AS ({named}) FROM " if len(view.names) > 1 else f" AS {named} FROM ",
            before,
            *_joined(conditions),
            f") {quote(source.alias)}",
        ),
    )
    yield from uses


def _conditions(text: SelectText, scope: SelectScope, source: Source) -> list[Span]:
    """What WHERE says of the table alone."""
    where, clause = scope.node.args.get("where"), text.clause("where")
    if where is None or clause is None:
        return []
    first = text.statement.token_at(clause.start) + 1
    end = text.statement.token_at(clause.end - 1) + 1
    return [
        one.span
        for one in split(text.statement, where.this, first, end, Scope())
        if one.span is not None and one.node is not None and _is_of(one.node, scope, source)
    ]


def _is_of(condition: Node, scope: SelectScope, source: Source) -> bool:
    columns = list(condition.find_all(exp.Column))
    found = [resolve(one, scope) for one in columns]
    return bool(found) and all(isinstance(one, Found) and one.source is source for one in found)


def _joined(conditions: Sequence[Span]) -> Iterator[str | Span]:
    for number, one in enumerate(conditions):
        yield " AND (" if number else " WHERE ("
        yield one
        yield ")"
