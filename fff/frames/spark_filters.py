"""Conditions that Spark hands down to a read of the data source `fff`, as conditions of its statement."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from fff.sql.syntax.statement import quote, split_statements

#: The classes of pyspark.sql.datasource that compare a column with a value, and what they mean.
_COMPARED = {
    "EqualTo": "=",
    "EqualNullSafe": "=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
}
#: As prefixes of parameters; nobody's own begins so.
_PARAM = "fff_pushed_"
#: What LIKE takes for more than itself.
_WILD = str.maketrans({"\\": "\\\\", "%": "\\%", "_": "\\_"})


def narrowed(
    sql: str, params: Mapping[str, object], filters: Sequence[Any]
) -> tuple[str, Mapping[str, object]]:
    """The statement, and its parameters, of those of its rows for which the conditions may hold.

    Values are bound as parameters. A condition that has no words here, or a value that has no literal, is
    left out: Spark applies all of them again.
    """
    bound: dict[str, object] = {}
    conditions = [text for one in filters if (text := _condition(one, bound)) is not None]
    if not conditions:
        return sql, params
    return within(sql, " AND ".join(conditions)), {**params, **bound}


def within(sql: str, condition: str) -> str:
    """The rows of a statement for which a condition holds."""
    statements = split_statements(sql)
    sql = statements[0] if len(statements) == 1 else sql  # without the semicolon behind it
    return f"SELECT * FROM (\n{sql}\n) AS fff_read WHERE {condition}"  # noqa: S608 - the statement itself


def _condition(one: Any, bound: dict[str, object]) -> str | None:
    kind = type(one).__name__
    path: tuple[str, ...] = getattr(one, "attribute", ())
    if len(path) != 1:  # a field of a struct, or a negation
        return None
    column, value = quote(path[0]), getattr(one, "value", None)
    if kind == "IsNotNull":
        return f"{column} IS NOT NULL"
    if kind == "In":
        if not value or not all(_has_literal(item) for item in value):
            return None
        return f"{column} IN ({', '.join(_bind(item, bound) for item in value)})"
    if not _has_literal(value):
        return None
    if kind == "StringStartsWith":
        return f"{column} LIKE {_bind(str(value).translate(_WILD) + '%', bound)}"
    if (operator := _COMPARED.get(kind)) is not None:
        return f"{column} {operator} {_bind(value, bound)}"
    return None


def _bind(value: object, bound: dict[str, object]) -> str:
    name = f"{_PARAM}{len(bound)}"
    bound[name] = value
    return f":{name}"


def _has_literal(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, str | int | Decimal | dt.date)  # moments are dates, truth values are numbers
