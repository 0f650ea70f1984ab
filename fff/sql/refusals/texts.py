"""Texts that Spark reads before any row: schemas of JSON and CSV, formats of numbers and bytes, days and moments behind a word.

Of each only what is certainly none is told.
"""

from __future__ import annotations

import datetime as dt
import re

from fff.errors import QueryError
from fff.sql.refusals.types.expressions import Expressions
from fff.sql.syntax.spark_functions import arguments_of
from fff.sql.syntax.statement import Statement, TokenType
from fff.structs import lazy_pattern

_DAY = lazy_pattern(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})\s*", re.ASCII)
_MOMENT = lazy_pattern(r"\s*(\d{4})-(\d{1,2})-(\d{1,2})[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2}))?\s*", re.ASCII)
_WORD = lazy_pattern(r"\s*[A-Za-z]+\s*")
#: Words that are days and moments of the session.
_SPECIAL = frozenset({"epoch", "now", "today", "tomorrow", "yesterday"})
_TYPED = {"date": _DAY, "timestamp": _MOMENT, "timestamp_ntz": _MOMENT, "timestamp_ltz": _MOMENT}
#: Types of one word, those that may hold others apart.
_PLAIN_TYPES = frozenset(
    {
        *("boolean", "tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long", "float"),
        *("real", "double", "date", "timestamp", "timestamp_ntz", "timestamp_ltz", "time", "string"),
        *("char", "character", "varchar", "binary", "decimal", "dec", "numeric", "void", "interval"),
    }
)
_OTHER_TYPES = frozenset({"array", "map", "struct", "variant", "geometry", "geography", "object"})
_FIELD = lazy_pattern(r"\s*\w+\s*(?::|\s)\s*([A-Za-z_]\w*)\s*", re.ASCII)
_NAME = lazy_pattern(r"\s*([A-Za-z_]\w*)\s*", re.ASCII)
_LEAP = 2000
_NUMBERS = frozenset("yhilfdm")
_BINARY_FORMATS = frozenset({"hex", "utf-8", "utf8", "base64"})


def check_typed(statement: Statement, at: int) -> None:
    """Raises QueryError for `DATE '2020-13-01'`, where a word and a text behind it are a constant, and for `N'a'`."""
    word = statement.tokens[at]
    if word.token_type is TokenType.NATIONAL_STRING:
        told = "[UNSUPPORTED_TYPED_LITERAL] there are no texts of type N: leave the N out"
        raise QueryError(told, sql=statement.sql, span=statement.span(at, at + 1))
    if at + 1 == len(statement.tokens):
        return
    text = statement.tokens[at + 1]
    form = _TYPED.get(word.text.lower())
    if form is None or text.token_type is not TokenType.STRING or _doubled(statement, at + 1):
        return
    known = form.fullmatch(text.text)
    wrong = not _is_moment([int(part) for part in known.groups() if part]) if known else False
    if wrong or (_WORD.fullmatch(text.text) and text.text.strip().lower() not in _SPECIAL):
        what = "day" if form is _DAY else "moment"
        raise QueryError(
            f"[INVALID_TYPED_LITERAL] '{text.text}' is no {what}",
            sql=statement.sql,
            span=statement.span(at + 1, at + 2),
        )


def is_day(text: str) -> bool:
    """Whether a text may be a day: not where a month or a day in it is none."""
    known = _DAY.fullmatch(text)
    return known is None or _is_moment([int(part) for part in known.groups()])


def _is_moment(parts: list[int]) -> bool:
    year, month, day, hour, minute, second = [*parts, 0, 0, 0][:6]
    try:
        dt.datetime(year or _LEAP, month, day, hour, minute, second, tzinfo=dt.UTC)  # Python knows no year 0
    except ValueError:
        return False
    return True


def check_texts(statement: Statement, expressions: Expressions, at: int) -> None:
    """Raises QueryError for a constant text of a call, by the token of its name, that cannot be read."""
    name, spans = statement.tokens[at].text.lower(), arguments_of(statement, at)
    if spans is None or len(spans) < 2:
        return
    first, end = spans[1]
    if end != first + 1 or statement.tokens[first].token_type is not TokenType.STRING:
        return
    text, told = statement.tokens[first].text, None
    if name in {"from_json", "from_csv"}:
        told = _schema(text)
    elif name in {"to_number", "try_to_number"} or (
        name in {"to_char", "to_varchar"} and expressions.whole(*spans[0])[0] in _NUMBERS
    ):
        told = _format(text)
    elif name == "to_binary" and text.lower() not in _BINARY_FORMATS:
        told = "the formats are hex, utf-8 and base64"
    elif name == "window" and not any(map(str.isdigit, text)):
        told = f"[CANNOT_PARSE_INTERVAL] '{text}' is no length of time"
    if told is not None:
        raise QueryError(told, sql=statement.sql, span=statement.span(first, end))


def _schema(text: str) -> str | None:
    """What is wrong with the columns of a schema, `a INT, b STRING`."""
    if not text.strip():
        return "[PARSE_EMPTY_STATEMENT] a schema names columns, as in 'a INT, b STRING'"
    alone = _NAME.fullmatch(text)
    if alone is not None and alone[1].lower() not in _OTHER_TYPES:
        return f"[INVALID_SCHEMA] '{text}' is no schema: columns have types, as in 'a INT, b STRING'"
    fields = [_FIELD.fullmatch(part) for part in text.split(",")]
    known = [field[1] for field in fields if field is not None]
    blank = any(not part.strip() for part in text.split(","))
    if blank and len(known) == sum(bool(part.strip()) for part in text.split(",")):
        return "[PARSE_SYNTAX_ERROR] a column is missing beside a comma of the schema"
    wrong = [one for one in known if one.lower() not in _PLAIN_TYPES | _OTHER_TYPES]
    if wrong and len(known) == len(fields):
        return f"[PARSE_SYNTAX_ERROR] {wrong[0]} is no type"
    return None


def _format(text: str) -> str | None:
    """What is wrong with a format of numbers."""
    if not text:
        return "[INVALID_FORMAT] the format of a number is not empty"
    if not set(text) & {"0", "9"}:
        return "[INVALID_FORMAT] a format of numbers has a 0 or a 9 for each digit"
    if sum(text.upper().count(point) for point in ".D") > 1:
        return "[INVALID_FORMAT] a format of numbers has one point"
    if text.upper()[-1] in ",G":
        return "[INVALID_FORMAT] digits stand on both sides of a separator of thousands"
    return None


def _doubled(statement: Statement, at: int) -> bool:
    """Whether several texts stand side by side, which are one."""
    after = statement.tokens[at + 1 : at + 2]
    return bool(after) and after[0].token_type is TokenType.STRING
