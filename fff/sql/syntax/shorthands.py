"""What the parser knows only written out.

`TABLE t` as `SELECT * FROM t`, `VALUES (1)` as `SELECT * FROM VALUES (1)`, either before `|>` as `FROM …`, `|> UNION SELECT …` as
`|> UNION (SELECT …)`, `|> DROP a` as `|> SELECT * EXCEPT (a)`, `FROM t SELECT a` as `SELECT a FROM t`, `FROM LATERAL t` as `FROM t`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from fff.errors import Span
from fff.sql.syntax.edits import Edit, edit
from fff.sql.syntax.foreign.clauses import OF_A_SELECT
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Token, TokenType, depths_of, tokenize

#: Behind these a query begins.
_BEFORE_A_QUERY = frozenset(
    {
        *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.ALL, TokenType.DISTINCT),
        *(TokenType.L_PAREN, TokenType.SEMICOLON),
    }
)
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_RELATION = _NAMES | {TokenType.L_PAREN, TokenType.VALUES, TokenType.RANGE}
_SETS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
_BEGIN_A_QUERY = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.VALUES})
_TAIL = frozenset(
    {
        *(TokenType.ORDER_BY, TokenType.SORT_BY, TokenType.CLUSTER_BY, TokenType.DISTRIBUTE_BY),
        *(TokenType.LIMIT, TokenType.OFFSET),
    }
)
#: What ends a SELECT behind FROM, and its list.
_ENDS = _SETS | {TokenType.PIPE_GT, TokenType.SEMICOLON}
#: Where a query behind `|> UNION` ends, if no bracket does it: ORDER BY and LIMIT are of all that stands before.
_BEHIND_A_QUERY = _ENDS | _TAIL
_MORE = frozenset({TokenType.SELECT, TokenType.FROM})
_BEHIND_A_LIST = _TAIL | OF_A_SELECT | {TokenType.LATERAL, TokenType.WINDOW}


def written_out(sql: str) -> Edited:
    """A text without the shorthands, and where its parts come from. Raises QueryError where it has no tokens."""
    text = Edited.of(sql)
    tokens = tokenize(sql)
    edits = []
    depths = depths_of(tokens)
    if tokens and tokens[0].token_type is TokenType.VALUES:
        outside = [token.token_type for token, depth in zip(tokens, depths, strict=True) if not depth]
        first = next((kind for kind in outside if kind in _SETS | OF_A_SELECT), None)
        bare = TokenType.PIPE_GT in outside or first in OF_A_SELECT
        edits.append(edit(Span(tokens[0].start, tokens[0].start), "FROM " if bare else "SELECT * FROM "))
    for at, token in enumerate(tokens[:-1]):
        if token.token_type is TokenType.LATERAL and at and tokens[at - 1].token_type is TokenType.FROM:
            if tokens[at + 1].token_type in _RELATION:  # in front of which there is nothing to name
                edits.append(edit(Span(token.start, token.end + 1), ""))
            continue
        if token.token_type is not TokenType.TABLE or tokens[at + 1].token_type is TokenType.L_PAREN:
            continue
        before = tokens[at - 1].token_type if at else TokenType.SEMICOLON
        with_ = before is TokenType.R_PAREN and tokens[0].token_type is TokenType.WITH
        called = before is TokenType.L_PAREN and at > 1 and tokens[at - 2].token_type in _NAMES
        if (before in _BEFORE_A_QUERY or with_) and not called:
            behind = next(
                (
                    one
                    for one in range(at + 2, len(tokens))
                    if tokens[one].token_type is not TokenType.DOT
                    and tokens[one - 1].token_type is not TokenType.DOT
                ),
                len(tokens),
            )
            follows = tokens[behind].token_type if behind < len(tokens) else None
            bare = before in {TokenType.SEMICOLON, TokenType.L_PAREN} and follows is TokenType.PIPE_GT
            bare = bare or follows in OF_A_SELECT  # which is told as wrong
            edits.append(edit(Span(token.start, token.end + 1), "FROM" if bare else "SELECT * FROM"))
    text = text.edited(edits) if edits else text
    brackets = _bracketed(tokenize(text.sql))
    text = text.edited(brackets) if brackets else text
    turned = _turned(tokenize(text.sql)) if "from" in text.sql.lower() else []
    return text.edited(turned) if turned else text


def _turned(tokens: Sequence[Token]) -> list[Edit]:
    """SELECT in front of FROM, where that is the other way round."""
    edits, depths = list[Edit](), depths_of(tokens)
    begun: dict[int, int | None] = {}  # by depth, where FROM stands of a query that has had no SELECT yet
    for at, token in enumerate(tokens):
        kind, depth = token.token_type, depths[at]
        begun = {known: first for known, first in begun.items() if known <= depth}
        if kind in _ENDS and not (kind is TokenType.EXCEPT and tokens[at - 1].token_type is TokenType.STAR):
            begun.pop(depth, None)
        elif kind is TokenType.FROM:
            begun.setdefault(depth, at)
        elif kind in _BEHIND_A_LIST - {TokenType.LATERAL, TokenType.WINDOW} and depth in begun:
            begun[depth] = None  # behind which there is no SELECT
        elif kind is TokenType.SELECT:
            first, begun[depth] = begun.get(depth), None
            edits += [] if first is None else _in_order(tokens, depths, first, at)
    return edits


def _in_order(tokens: Sequence[Token], depths: Sequence[int], first: int, select: int) -> list[Edit]:
    end = _end(tokens, depths, select, _ENDS - {TokenType.EXCEPT} | _MORE, select + 1)
    if end < len(tokens) and tokens[end].token_type in _MORE | {TokenType.PIPE_GT}:
        return []  # several, or what sees the tables behind the list
    rest = _end(tokens, depths, select, _BEHIND_A_LIST, select + 1)
    places = [
        Span(tokens[low].start, tokens[high - 1].end + 1)
        for low, high in ((select, min(rest, end)), (first, select), (rest, end))
        if low < high
    ]
    whole = Span(tokens[first].start, tokens[end - 1].end + 1)
    parts = tuple(part for place in places for part in (" ", place))[1:]
    beside = {tokens[at].token_type for at in (first - 1, first - 2, end) if 0 <= at < len(tokens)}
    if beside & _SETS and _end(tokens, depths, select, _TAIL, select + 1) < end:
        parts = ("(", *parts, ")")  # whose ORDER BY and LIMIT are its own
    return [Edit(whole, parts)]


def _bracketed(tokens: Sequence[Token]) -> list[Edit]:
    """Brackets around the queries that `|>` unites with others without any."""
    edits: list[Edit] = []
    depths = depths_of(tokens) if any(token.token_type is TokenType.PIPE_GT for token in tokens) else ()
    for at in range(len(depths) - 2):
        if tokens[at].token_type is not TokenType.PIPE_GT:
            continue
        if tokens[at + 1].token_type is TokenType.DROP:
            word, end = tokens[at + 1], _end(tokens, depths, at, _ENDS | _BEHIND_A_LIST, at + 2)
            stop = tokens[end - 1].end + 1
            edits += [edit(Span(word.start, word.end + 1), "SELECT * EXCEPT ("), edit(Span(stop, stop), ")")]
        if tokens[at + 1].token_type not in _SETS:
            continue
        first = at + 2 + (tokens[at + 2].token_type in {TokenType.ALL, TokenType.DISTINCT})
        if first >= len(tokens) or tokens[first].token_type not in _BEGIN_A_QUERY:
            continue
        end = _end(tokens, depths, at, _BEHIND_A_QUERY, first + 1)
        start, stop = tokens[first].start, tokens[end - 1].end + 1
        edits += [edit(Span(start, start), "("), edit(Span(stop, stop), ")")]
    return edits


def _end(
    tokens: Sequence[Token], depths: Sequence[int], at: int, ends: Collection[TokenType], first: int = 0
) -> int:
    """Where what stands behind a `|>` ends: at one of these tokens, or with the bracket around it."""
    behind = range(max(first, at + 1), len(tokens))
    return next(
        (
            one
            for one in behind
            if depths[one] < depths[at] or (depths[one] == depths[at] and tokens[one].token_type in ends)
        ),
        len(tokens),
    )
