"""The parameters of `datastore_search`, and PostgreSQL's types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fff.catalog import Key, Keys
from fff.structs import lazy_pattern, replace
from fff_sources.http.portal import WHOLE_NUMBERS, FilterWords, PortalColumn
from fff_sources.http.response.json import encode
from fff_sources.http.tables import Question
from fff_sources.http.templates import json_value

ROW_NUMBER = "_id"  # CKAN's own column of every table it made
_WHOLE = {
    "int2": "smallint",
    "int4": "int",
    "int": "int",
    "integer": "int",
    "int8": "bigint",
    "bigint": "bigint",
}
_TEXTS = frozenset({"text", "varchar", "bpchar", "citext"})
#: Spark SQL types of PostgreSQL's; every other type is read as its text, or as its JSON text.
_TYPES = {
    **_WHOLE,
    **dict.fromkeys(("numeric", "float8", "float4", "float", "double precision"), "double"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("timestamp", "timestamp without time zone"), "timestamp_ntz"),
    **dict.fromkeys(("timestamptz", "timestamp with time zone"), "timestamp"),
    "date": "date",
}
_TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
_PLAIN = lazy_pattern(r"[A-Za-z_]\w*", re.ASCII)


def spark_type(kind: str) -> str:
    """The Spark SQL type for one of PostgreSQL's."""
    return _TYPES.get(kind, "string")


def is_exact(kind: str, spark: str) -> bool:
    """Whether a value as we read it finds all rows that have it.

    A `numeric` has digits that a double has not.
    """
    if kind in _WHOLE:
        return spark == _WHOLE[kind] or (spark in WHOLE_NUMBERS and _WHOLE[kind] == "bigint")
    if kind == "numeric":
        return spark in WHOLE_NUMBERS
    if kind in _TEXTS and kind != "citext":
        return spark == "string"
    return spark == _TYPES.get(kind) and spark in ("boolean", "date")


def is_sortable(name: str, kind: str, spark: str) -> bool:
    """Whether `sort` takes the name as it is and sorts values as Spark does, read as that type."""
    if not _PLAIN.fullmatch(name):
        return False
    known = _TYPES.get(kind)
    return spark in WHOLE_NUMBERS if kind in _WHOLE else spark == known and known in _TIMES


class Search(FilterWords, frozen=True):
    """How one access method asks; its conditions are equalities. Where no column is needed, the first is asked for."""

    resource: str
    columns: Mapping[str, PortalColumn]
    keys: tuple[str, ...] = ()
    ordered: bool = True
    first_by: str | None = None  # what rows are sorted by before their numbers

    def sorted(self, by: str) -> Search:
        """The same, sorted by a column, and by the row's number where rows are alike in that."""
        falling = " desc" if by.startswith("-") else ""
        return replace(self, first_by=self._written(by.removeprefix("-")) + falling)

    def askable(self, keys: Keys) -> Sequence[Key]:
        """The keys that can be stored: PostgreSQL has no texts with a zero byte."""
        return [key for key in keys if not any(isinstance(part, str) and "\0" in part for part in key)]

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request: only the columns that are needed, of the rows that are asked for, in an order that pages can rest on."""
        params = {"resource_id": self.resource}
        wanted = [self._written(name) for name in dict.fromkeys([*columns] or [*self.columns][:1])]
        # What would split a name.
        if not any(set(name) & set(',"') or name != name.strip() for name in wanted):
            params["fields"] = ",".join(wanted)
        filters = {self._written(one.column): json_value(one.value) for one in self.quals}
        if keys:
            [column] = self.keys
            values = [json_value(value) for (value,) in keys]
            filters[self._written(column)] = values[0] if len(values) == 1 else values
        if filters:
            params["filters"] = encode(filters).decode()
        if self.ordered:
            params["sort"] = ROW_NUMBER if self.first_by is None else f"{self.first_by},{ROW_NUMBER}"
        return Question("api/3/action/datastore_search", (*params.items(), *asked.items()))

    def _written(self, name: str) -> str:
        return self.columns[name].written or name
