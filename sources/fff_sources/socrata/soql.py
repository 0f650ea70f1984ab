"""SoQL: the query parameters of Socrata requests, and values as its literals."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar

from fff.catalog import Keys
from fff.structs import lazy_pattern, replace
from fff_sources.http.portal import WHOLE_NUMBERS, FilterWords
from fff_sources.http.tables import Question
from fff_sources.http.templates import text_of

_PLAIN = lazy_pattern(r"[a-z_][a-z0-9_]*")
_WORDS = frozenset({
    "all", "and", "as", "asc", "between", "by", "case", "cast", "desc", "distinct", "else", "end",
    "false", "from", "full", "group", "having", "hint", "in", "inner", "is", "join", "lateral", "left",
    "like", "limit", "minus", "not", "null", "offset", "on", "or", "order", "outer", "over",
    "partition", "range", "right", "rows", "search", "select", "then", "true", "union", "when", "where",
    "window", "with",
})  # fmt: skip
_TEXTS = frozenset({"text", "html", "email", "drop_down_list"})
_NUMBERS = frozenset({"number", "double", "money", "percent", "stars"})
#: Spark SQL types of Socrata's; every other type (points, URLs, documents, …) is an object and is read as its
#: JSON text.
_TYPES = {
    **dict.fromkeys(_NUMBERS, "double"),
    "checkbox": "boolean",
    "boolean": "boolean",
    "calendar_date": "timestamp_ntz",
    "floating_timestamp": "timestamp_ntz",
    "date": "timestamp",
    "fixed_timestamp": "timestamp",
}


def spark_type(kind: str) -> str:
    """The Spark SQL type for one of Socrata's."""
    return _TYPES.get(kind, "string")


def is_exact(kind: str, spark: str) -> bool:
    """Whether a value as we read it, written as a literal, finds all rows that have it.

    Numbers are decimals of any length there and doubles here; only one declared as whole is the same on both
    sides.
    """
    if kind in _NUMBERS:
        return spark in WHOLE_NUMBERS
    return (kind in _TEXTS and spark == "string") or (_TYPES.get(kind) == "boolean" and spark == "boolean")


def comparisons(kind: str, spark: str) -> tuple[str, ...]:
    """The comparisons that `$where` makes at least as often true as SQL does."""
    ranges = ("<", "<=", ">", ">=")
    if kind in _NUMBERS:
        if spark in WHOLE_NUMBERS:
            return ("=", "<>", *ranges)
        return ranges if spark == "double" or spark.startswith("decimal") else ()
    if _TYPES.get(kind) == "timestamp_ntz":
        return ranges if spark in ("timestamp_ntz", "date") else ()
    if kind in _TEXTS and spark == "string":
        return ("=", "like")
    return ("=",) if is_exact(kind, spark) else ()


def is_sortable(kind: str, spark: str) -> bool:
    """Whether `$order` sorts values as Spark does, read as that type."""
    if kind in _NUMBERS:
        return spark in WHOLE_NUMBERS
    known = {"timestamp_ntz": ("timestamp_ntz", "date"), "timestamp": ("timestamp",)}
    return spark in known.get(_TYPES.get(kind, ""), ())


def literal(value: object) -> str:
    """A value as a literal. A quote in a text is written twice, which is all that could end one."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return f"{Decimal(repr(value)):f}"
        case Decimal():
            return f"{value:f}"
        case dt.date():
            return f"'{text_of(value)}'"
        case _:
            return "'" + str(value).replace("'", "''") + "'"


def name(column: str) -> str:
    """A column's name as SoQL reads it."""
    return column if _PLAIN.fullmatch(column) and column not in _WORDS else f"`{column}`"


class Soql(FilterWords, frozen=True):
    """How one access method asks. `identifier` is the column that tells rows apart, where the dataset has one."""

    mark: ClassVar[str] = ":id"  # of rows, in every dataset

    path: str
    identifier: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    order: str = ":id"

    def sorted(self, by: str) -> Soql:
        """The same, sorted by a column, and by row where rows are alike in that."""
        falling = " DESC" if by.startswith("-") else ""
        return replace(self, order=f"{name(by.removeprefix('-'))}{falling},:id")

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request: only the columns that are needed, of the rows that are asked for, in an order that pages can rest on."""
        selected = [name(column) for column in dict.fromkeys(columns)]
        if not self.identifier or not set(self.identifier) <= set(columns):
            selected.insert(0, self.mark)  # else rows, and whole pages, may be alike in what is needed
        params = {"$select": ",".join(selected), "$order": self.order}
        conditions = [f"{name(one.column)} {one.operator} {literal(one.value)}" for one in self.quals]
        if keys:
            [column] = self.keys
            literals = [literal(value) for (value,) in keys]
            comparison = f"= {literals[0]}" if len(literals) == 1 else f"in ({', '.join(literals)})"
            conditions.insert(0, f"{name(column)} {comparison}")
        if conditions:
            params["$where"] = " AND ".join(conditions)
        return Question(self.path, (*params.items(), *asked.items()))
