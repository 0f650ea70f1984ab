"""`current_date()` and `now()` in conditions as the constants that they are while a statement runs.

    WHERE day >= current_date() - INTERVAL 7 DAYS        WHERE day >= DATE '2026-11-24' - INTERVAL 7 DAYS

So the engine drops rows by them, and sources are asked for no others. A statement has one such moment: where it names one
outside of WHERE and ON as well, as in its select list, whose names would change, all of it is Spark's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from fff.errors import Span
from fff.sql.syntax.edits import edit
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Token, TokenType, tokenize

#: As Spark's own sessions have it, whose time zone is UTC.
_DATE, _MOMENT, _NAIVE = (
    "DATE '%Y-%m-%d'",
    "TIMESTAMP '%Y-%m-%d %H:%M:%S.%f'",
    "TIMESTAMP_NTZ '%Y-%m-%d %H:%M:%S.%f'",
)
_FORMS = {
    "current_date": _DATE,
    "curdate": _DATE,
    "current_timestamp": _MOMENT,
    "now": _MOMENT,
    "localtimestamp": _NAIVE,
}
#: Those that need no brackets, where no column is called so.
_BARE = frozenset({TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP})
_CONDITIONS = frozenset({TokenType.WHERE, TokenType.ON})
_CLAUSES = _CONDITIONS | {
    *(TokenType.SELECT, TokenType.FROM, TokenType.JOIN, TokenType.GROUP_BY, TokenType.HAVING),
    *(TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.PIPE_GT),
}


def at_moment(sql: str, now: dt.datetime, columns: Callable[[], Collection[str]]) -> Edited | None:
    """A statement whose conditions have the moment of their running; None where it names none, or also elsewhere.

    `now` is in UTC; `columns` tells the names, in lower case, of the tables' columns. Raises QueryError where it has no tokens.
    """
    tokens = tokenize(sql)
    if not any(token.text.lower() in _FORMS for token in tokens):
        return None
    known = columns()
    places = [at for at in range(len(tokens)) if _is_named(tokens, at, known)]
    clauses = _clauses(tokens)
    if not places or not all(clauses[at] in _CONDITIONS for at in places):
        return None
    edits = []
    for at in places:
        called = at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN
        place = Span(tokens[at].start, tokens[at + 2 if called else at].end + 1)
        edits.append(edit(place, now.strftime(_FORMS[tokens[at].text.lower()])))
    return Edited.of(sql).edited(edits)


def _is_named(tokens: Sequence[Token], at: int, columns: Collection[str]) -> bool:
    kinds = [one.token_type for one in tokens[at : at + 3]]
    name = tokens[at].text.lower()
    if name not in _FORMS or kinds[0] in {TokenType.IDENTIFIER, TokenType.STRING} or name in columns:
        return False
    if at and tokens[at - 1].token_type in {TokenType.DOT, TokenType.ALIAS}:
        return False
    return kinds[1:] == [TokenType.L_PAREN, TokenType.R_PAREN] or (
        kinds[0] in _BARE and kinds[1:2] != [TokenType.L_PAREN]
    )


def _clauses(tokens: Sequence[Token]) -> list[TokenType | None]:
    """For each token the innermost clause that it stands in."""
    found: list[TokenType | None] = []
    around: list[TokenType | None] = [None]
    for token in tokens:
        if token.token_type is TokenType.L_PAREN:
            around.append(None)
        elif token.token_type is TokenType.R_PAREN and len(around) > 1:
            around.pop()
        elif token.token_type in _CLAUSES and not (
            token.token_type is TokenType.FROM and len(around) > 1 and around[-1] is None
        ):  # FROM of EXTRACT and TRIM begins no clause
            around[-1] = token.token_type
        found.append(next((one for one in reversed(around) if one is not None), None))
    return found
