"""`current_date()` and `now()` as the constants that they are while a statement runs.

    WHERE day >= current_date() - INTERVAL 7 DAYS        WHERE day >= DATE '2026-11-24' - INTERVAL 7 DAYS

So the engine drops rows by them, and sources are asked for no others. A statement has one such moment: where it names one
in a select list as well, all of it is the engine's, or all of it Spark's; where it names one elsewhere, it is Spark's.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence

from fff.errors import Span
from fff.sql.binder.scopes import QueryTree, resolve
from fff.sql.syntax.edits import edit
from fff.sql.syntax.source_map import Edited
from fff.sql.syntax.statement import Node, SparkParser, Token, TokenType, exp, identifier_span, tokenize
from fff.structs import Struct

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
#: What the names of columns have of them.
_SHOWN = {"curdate": "current_date()"}
#: Those that need no brackets, where no column is called so.
_BARE = frozenset({TokenType.CURRENT_DATE, TokenType.CURRENT_TIMESTAMP})
#: What such words are in the tree: functions of the session, where no column is called so.
_OF_SESSION = (
    *(exp.CurrentDate, exp.CurrentTimestamp, exp.CurrentTime, exp.CurrentDatetime),
    *(exp.CurrentUser, exp.SessionUser, exp.Localtime, exp.Localtimestamp),
)
_COLUMNS_FIRST = {kind for kind, node in SparkParser.NO_PAREN_FUNCTIONS.items() if node in _OF_SESSION}
#: Parts of a SELECT that know no names of its list.
_BEFORE_ALIASES = frozenset({"expressions", "from", "from_", "joins", "laterals", "where"})
_CONDITIONS = frozenset({TokenType.WHERE, TokenType.ON})
_CLAUSES = _CONDITIONS | {
    *(TokenType.SELECT, TokenType.FROM, TokenType.JOIN, TokenType.GROUP_BY, TokenType.HAVING),
    *(TokenType.QUALIFY, TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.PIPE_GT),
}


class AtMoment(Struct, frozen=True):
    """A statement with the moment of its running in it."""

    text: Edited
    everywhere: bool  # not only in conditions: Spark, whose moment is another one, may have no part in it
    names: dict[str, str]  # the constants that are in it, and what Spark shows of what they stand for

    def name(self, column: str) -> str:
        """What Spark calls a column that has such constants in its name."""
        for constant, shown in self.names.items():
            column = column.replace(constant, shown)
        return column


def at_moment(sql: str, now: dt.datetime, columns: Callable[[], Collection[str]]) -> AtMoment | None:
    """A statement that has the moment of its running; None where it names none, or elsewhere than in conditions and select lists.

    `now` is in UTC; `columns` tells the names, in lower case, of the tables' columns. Raises QueryError where it has no tokens.
    """
    tokens = tokenize(sql)
    if not any(token.text.lower() in _FORMS for token in tokens):
        return None
    known = columns()
    places = [at for at in range(len(tokens)) if _is_named(tokens, at, known)]
    clauses = _clauses(tokens)
    kinds = {clauses[at] for at in places}
    if not places or not kinds <= _CONDITIONS | {TokenType.SELECT}:
        return None
    edits, names = [], dict[str, str]()
    for at in places:
        called = at + 1 < len(tokens) and tokens[at + 1].token_type is TokenType.L_PAREN
        place = Span(tokens[at].start, tokens[at + 2 if called else at].end + 1)
        word = tokens[at].text.lower()
        constant = now.strftime(_FORMS[word])
        if "." in constant:
            constant = constant[:-1].rstrip("0").rstrip(".") + "'"
        edits.append(edit(place, constant))
        if clauses[at] is TokenType.SELECT:
            shown = names.setdefault(constant, _SHOWN.get(word, f"{word}()"))
            if shown != _SHOWN.get(word, f"{word}()") or constant.lower() in sql.lower():
                return None  # which of them a name has, is not known
    return AtMoment(Edited.of(sql).edited(edits), TokenType.SELECT in kinds, names)


def names_given(tree: Node) -> set[str]:
    """The names, in lower case, that a statement itself gives to anything."""
    return {one.name.lower() for one in tree.find_all(exp.Identifier)}


def columns_quoted(
    sql: str, columns: Callable[[], Collection[str]], queries: Callable[[str], QueryTree]
) -> Edited | None:
    """A statement with backquotes around `current_date` and its like, but where the function is meant; None where no column is called so.

    `columns` as above, `queries` reads a statement. Raises QueryError where it cannot be told which of them a word means.
    """
    tokens = tokenize(sql)
    bare = {
        at: one
        for at, one in enumerate(tokens)
        if one.token_type in _COLUMNS_FIRST
        and not any(after.token_type is TokenType.L_PAREN for after in tokens[at + 1 : at + 2])
    }
    known = columns() if bare else ()
    named = {at: one for at, one in bare.items() if one.text.lower() in known}
    if not named:
        return None
    edits = {at: edit(Span(one.start, one.end + 1), f"`{one.text}`") for at, one in named.items()}
    tree = queries(Edited.of(sql).edited(list(edits.values())).sql)
    for scope in tree.scopes:
        for column in scope.columns:
            place = identifier_span(column.this)
            at = -1 if place is None else tree.statement.token_at(place.start)
            if at not in edits or resolve(column, scope) != "local":
                continue
            part, name = column, column.name.lower()
            while part.parent is not None and part.parent is not scope.node:
                part = part.parent
            if part.arg_key == "expressions" and scope.makes(name, at=column):
                raise tree.statement.error("a word of several meanings", place)
            if part.arg_key in _BEFORE_ALIASES or not scope.makes(name):
                del edits[at]  # there is no column of this name in reach
    return Edited.of(sql).edited(list(edits.values()))


def _is_named(tokens: Sequence[Token], at: int, columns: Collection[str]) -> bool:
    kinds = [one.token_type for one in tokens[at : at + 3]]
    name = tokens[at].text.lower()
    if name not in _FORMS or kinds[0] in {TokenType.IDENTIFIER, TokenType.STRING}:
        return False
    if at and tokens[at - 1].token_type in {TokenType.DOT, TokenType.ALIAS}:
        return False
    return kinds[1:] == [TokenType.L_PAREN, TokenType.R_PAREN] or (
        kinds[0] in _BARE and kinds[1:2] != [TokenType.L_PAREN] and name not in columns
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
