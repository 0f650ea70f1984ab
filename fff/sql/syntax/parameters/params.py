"""Values for `:name` in the SQL: bound as typed literals, never pasted as text."""

from __future__ import annotations

import datetime as dt
import difflib
import math
from collections.abc import Collection
from decimal import Decimal

from fff.errors import Span, UnsupportedSQL, UsageError
from fff.schema import MOST_DIGITS
from fff.sql.syntax.parameters.param_types import BigInt, fits
from fff.sql.syntax.statement import Statement, exp, is_marker
from fff.structs import Struct


class Marker(Struct, frozen=True):
    """A `:name` in the text."""

    name: str
    span: Span


class NoValueError(UsageError):
    """A parameter has no value. The advice is for a command line."""

    def __init__(self, name: str, beside: str) -> None:
        super().__init__(f"parameter :{name} has no value", hint=f"give it one with -p {name}=VALUE{beside}")
        self.name, self.beside = name, beside

    def advise_program(self) -> None:
        """Advise who has written the call in Python."""
        self.hint = f"give it one in the mapping behind the SQL: {{{self.name!r}: …}}{self.beside}"


def markers(statement: Statement) -> tuple[Marker, ...]:
    """Every `:name` of a statement, in order."""
    markers_read = []
    tokens = statement.tokens
    for before, colon, name in zip((None, *tokens), tokens, tokens[1:], strict=False):
        if is_marker(before, colon, name):
            markers_read.append(Marker(name.text, Span(colon.start, name.end + 1)))
    return tuple(markers_read)


def check(statement: Statement) -> None:
    """Every marker has a value FFF can bind, and every value a marker.

    Raises:
        UsageError: a value is missing, not used, or of a type that no literal can carry.
        UnsupportedSQL: a colon that reads a field of a semi-structured value.
    """
    used, params = {marker.name for marker in markers(statement)}, statement.params
    for node in statement.tree.find_all(exp.Placeholder):
        if not isinstance(node.this, str):
            raise UsageError("positional parameters (?) are not supported", hint="name them: write :name")
        if node.name not in used:
            raise UnsupportedSQL(f"reading a field with : is not supported (:{node.name})", sql=statement.sql)
    for name in sorted(used):
        if name not in params:
            spare = [one for one in params if one not in used]
            close = difflib.get_close_matches(name, spare, n=1) or spare
            beside = f": {close[0]} has one, and the SQL has no :{close[0]}" if close else ""
            raise NoValueError(name, beside)
    for name in params:
        if name not in used:
            raise unused(name, used)
    for name, value in params.items():
        render(name, value)


def unused(name: str, used: Collection[str]) -> UsageError:
    """The error for a value that no marker takes; `used` are the markers there are."""
    close = difflib.get_close_matches(name, used, n=1)
    hint = f"did you mean {close[0]}?" if close else f"leave it out, or write :{name} where its value belongs"
    return UsageError(f"parameter {name} is not used: the SQL has no :{name}", hint=hint)


def render(name: str, value: object) -> str:
    """A value as a literal of Spark SQL.

    Raises:
        UsageError: no literal of Spark SQL carries a value of that type.
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | Decimal) and Decimal(value).is_finite() and not fits(Decimal(value)):
        raise UsageError(
            f"parameter {name} has more digits than SQL's numbers, which have {MOST_DIGITS} at most",
            hint="round it, or give it as a text",
        )
    if isinstance(value, BigInt):
        return f"({value}L)" if value < 0 else f"{value}L"
    if isinstance(value, int):
        return f"({value})" if value < 0 else str(value)
    if isinstance(value, float):
        beyond = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        return f"({value!r}D)" if math.isfinite(value) else f"CAST('{beyond}' AS DOUBLE)"
    if isinstance(value, Decimal) and value.is_finite():
        return f"({value:f}BD)"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, dt.datetime):
        kind = "TIMESTAMP" if value.tzinfo is not None else "TIMESTAMP_NTZ"
        try:
            utc = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo is not None else value
        except OverflowError:
            raise UsageError(
                f"parameter {name} is before the year 1 or after the year 9999 in UTC: {value}",
                hint="use a moment between them",
            ) from None
        return f"{kind} '{utc.isoformat(sep=' ')}{'Z' if value.tzinfo is not None else ''}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    raise UsageError(
        f"parameter {name} has a value of type {type(value).__name__}, which SQL has no literal for",
        hint="use a number, a string, a Boolean, a date, a datetime or None",
    )
