"""`TABLE t` written out as `SELECT * FROM t`: the parser knows only that."""

from __future__ import annotations

from fff.errors import Span
from fff.sql.syntax.edits import edit
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import TokenType, tokenize

#: Behind these a query begins.
_BEFORE_A_QUERY = frozenset(
    {
        *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.ALL, TokenType.DISTINCT),
        *(TokenType.L_PAREN, TokenType.SEMICOLON),
    }
)
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})


def written_out(sql: str) -> Edited:
    """A text without the shorthand, and where its parts come from. Raises QueryError where it has no tokens."""
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
    return text.edited(edits) if edits else text
