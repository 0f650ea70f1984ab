"""Arguments that have to be constants, or of one type with others: of functions of windows, `range`, `stack` and `json_tuple`.

A table of types (`fff.sql.scalars.argument_types`) does not say this: which value stands there, or what beside it, decides.
"""

from __future__ import annotations

from itertools import pairwise

from fff.errors import QueryError
from fff.sql.binder.names import is_call
from fff.sql.binder.scopes import QueryTree
from fff.sql.refusals.expressions import Expressions, Part
from fff.sql.refusals.kinds import NULL, UNKNOWN, WORDS
from fff.sql.syntax.spark_functions import arguments_of
from fff.sql.syntax.statement import Statement, TokenType, exp, identifier_span

#: By function: the place of an argument that is a whole constant, the kinds that it may be of, and the least value.
_WHOLE = {
    "lag": (1, "i", None), "lead": (1, "i", None), "ntile": (0, "i", 1), "stack": (0, "i", 1),
    "nth_value": (1, "yhilfdmsS", 1),
}  # fmt: skip
#: Functions whose second argument is TRUE or FALSE.
_FLAGGED = frozenset({"first", "first_value", "last", "last_value"})
_TRUTHS = frozenset({TokenType.TRUE, TokenType.FALSE})
#: What `range` takes: whole numbers, and what is cast to them.
_NUMBERS = frozenset("yhilfdmsS")
_MOST_OF_RANGE = 4


def check_constants(statement: Statement, expressions: Expressions, at: int) -> None:
    """Refuse the arguments of a call, by the token of its name. Raises QueryError."""
    name, spans = statement.tokens[at].text.lower(), arguments_of(statement, at)
    if not spans:
        return
    parts = [expressions.whole(*one) for one in spans]
    if name in _WHOLE and len(parts) > _WHOLE[name][0]:
        _check_whole(statement, expressions, name, parts[_WHOLE[name][0]])
    if name in {"lag", "lead"} and len(parts) > 2:
        expressions.alike("coalesce", name, [parts[0], parts[2]])
    elif name in _FLAGGED and len(parts) == 2:
        _check_flag(statement, name, parts[1])
    elif name == "stack":
        _check_stacked(statement, parts)
    elif name == "json_tuple":
        for part in parts:
            if part[0] not in {UNKNOWN, "s", "S"}:
                raise _refused(statement, part, f"json_tuple takes texts, and this is of type {_word(part)}")


def check_table_functions(tree: QueryTree, expressions: Expressions) -> None:
    """Refuse the arguments of functions in FROM. Raises QueryError."""
    statement = tree.statement
    for source in tree.sources:
        call = source.node.this
        span = identifier_span(call) if isinstance(call, exp.Func) else None
        if span is None or is_call(source.table, source.alias):
            continue
        at = statement.token_at(span.start)
        expressions.call(at)
        if statement.tokens[at].text.lower() == "range":
            _check_range(statement, expressions, at)


def _check_whole(statement: Statement, expressions: Expressions, name: str, part: Part) -> None:
    (_, kinds, least), (kind, first, end) = _WHOLE[name], part
    what = "a whole number" if kinds == "i" else "a number"
    if kind != UNKNOWN and kind not in kinds:
        raise _refused(statement, part, f"{name} takes {what} here, and this is of type {_word(part)}")
    if expressions.names_columns(first, end):
        raise _refused(statement, part, f"{name} takes a constant here")
    value = _value(statement, first, end)
    if least is not None and value is not None and value < least:
        raise _refused(statement, part, f"{name} takes a number from {least} on here")


def _check_flag(statement: Statement, name: str, part: Part) -> None:
    words = [one for one in statement.tokens[part[1] : part[2]] if one.text not in "()"]
    kind = words[0].token_type if len(words) == 1 else None
    if kind not in _TRUTHS and (part[0] != UNKNOWN or kind is TokenType.VAR):
        raise _refused(statement, part, f"the second argument of {name} is TRUE or FALSE")


def _check_stacked(statement: Statement, parts: list[Part]) -> None:
    rows = _value(statement, *parts[0][1:])
    if rows is None or rows < 1:
        return
    width = -(-(len(parts) - 1) // rows)
    for column in range(width):
        known = [one for one in parts[1 + column :: width] if one[0] not in {UNKNOWN, NULL}]
        for one, other in pairwise(known):
            if one[0] != other[0] and {one[0], other[0]} != {"s", "S"}:
                raise _refused(
                    statement,
                    other,
                    f"stack would have {_word(one)} and {_word(other)} in column {column + 1}",
                )


def _check_range(statement: Statement, expressions: Expressions, at: int) -> None:
    spans = arguments_of(statement, at)
    if spans is None:
        return
    if not 0 < len(spans) <= _MOST_OF_RANGE:
        raise QueryError(
            f"range takes 1 to {_MOST_OF_RANGE} arguments, not {len(spans)}",
            sql=statement.sql,
            span=statement.span(at, at + 1),
        )
    for place, span in enumerate(spans):
        part = expressions.whole(*span)
        if part[0] != UNKNOWN and part[0] not in _NUMBERS:
            raise _refused(statement, part, f"range takes whole numbers, and this is of type {_word(part)}")
        if expressions.names_columns(*span):
            raise _refused(statement, part, "range takes constants")
        if place == 2 and _value(statement, *span) == 0:
            raise _refused(statement, part, "the step of range cannot be 0")


def _value(statement: Statement, first: int, end: int) -> int | None:
    """The whole number that tokens write; None where they write none, or compute it."""
    text = statement.sql[slice(statement.span(first, end).start, statement.span(first, end).end)]
    text = text.replace(" ", "").strip("()")
    return int(text) if text.isascii() and text.removeprefix("-").isdecimal() else None


def _word(part: Part) -> str:
    return WORDS.get(part[0], "NULL")


def _refused(statement: Statement, part: Part, message: str) -> QueryError:
    return QueryError(
        f"[DATATYPE_MISMATCH] {message}", sql=statement.sql, span=statement.span(part[1], part[2])
    )
