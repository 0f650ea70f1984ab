"""What the parser knows only written out: `TABLE t` as `SELECT * FROM t`, `|> UNION SELECT …` as `|> UNION (SELECT …)`."""

from __future__ import annotations

from collections.abc import Sequence

from fff.errors import Span
from fff.sql.syntax.edits import Edit, edit
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
_SETS = frozenset({TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT})
_BEGIN_A_QUERY = frozenset({TokenType.SELECT, TokenType.FROM, TokenType.VALUES})
#: Where a query behind `|> UNION` ends, if no bracket does it: ORDER BY and LIMIT are of all that stands before.
_BEHIND_A_QUERY = _SETS | {
    *(
        TokenType.PIPE_GT,
        TokenType.ORDER_BY,
        TokenType.SORT_BY,
        TokenType.CLUSTER_BY,
        TokenType.DISTRIBUTE_BY,
    ),
    *(TokenType.LIMIT, TokenType.OFFSET, TokenType.SEMICOLON),
}


def written_out(sql: str) -> Edited:
    """A text without the shorthands, and where its parts come from. Raises QueryError where it has no tokens."""
    text = Edited.of(sql)
    tokens = tokenize(sql)
    edits = []
    for at, token in enumerate(tokens[:-1]):
        if token.token_type is not TokenType.TABLE or tokens[at + 1].token_type is TokenType.L_PAREN:
            continue
        before = tokens[at - 1].token_type if at else TokenType.SEMICOLON
        with_ = before is TokenType.R_PAREN and tokens[0].token_type is TokenType.WITH
        called = before is TokenType.L_PAREN and at > 1 and tokens[at - 2].token_type in _NAMES
        if (before in _BEFORE_A_QUERY or with_) and not called:
            edits.append(edit(Span(token.start, token.end + 1), "SELECT * FROM"))
    text = text.edited(edits) if edits else text
    brackets = _bracketed(tokenize(text.sql))
    return text.edited(brackets) if brackets else text


def _bracketed(tokens: Sequence[Token]) -> list[Edit]:
    """Brackets around the queries that `|>` unites with others without any."""
    edits: list[Edit] = []
    depths = depths_of(tokens) if any(token.token_type is TokenType.PIPE_GT for token in tokens) else ()
    for at in range(len(depths) - 2):
        if tokens[at].token_type is not TokenType.PIPE_GT or tokens[at + 1].token_type not in _SETS:
            continue
        first = at + 2 + (tokens[at + 2].token_type in {TokenType.ALL, TokenType.DISTINCT})
        if first >= len(tokens) or tokens[first].token_type not in _BEGIN_A_QUERY:
            continue
        end = next(
            (
                one
                for one in range(first + 1, len(tokens))
                if depths[one] < depths[at]
                or (depths[one] == depths[at] and tokens[one].token_type in _BEHIND_A_QUERY)
            ),
            len(tokens),
        )
        start, stop = tokens[first].start, tokens[end - 1].end + 1
        edits += [edit(Span(start, start), "("), edit(Span(stop, stop), ")")]
    return edits
