"""Columns out of records: nested objects become columns of their own where they are small, types what every value allows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from fff.schema import arrow_type
from fff.structs import lazy_pattern
from fff_sources.authoring.draft import ColumnDraft, identifier, unique
from fff_sources.authoring.sampling.shape import step
from fff_sources.http.response.values import from_text

_LOOKED_AT = 1_000  # records
_FLAT = 12  # members up to which a nested object becomes columns
_DEEP = 2  # levels of nested objects that become columns
#: Objects whose members are the record's own.
_BAGS = frozenset({"attributes", "properties", "_source", "fields"})
#: Members that tell which thing an object is.
_TELLING = (
    "id", "key", "code", "login", "slug", "name", "title", "label",
)  # fmt: skip
_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d")
_TIME = lazy_pattern(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:?\d\d)?")
_MOMENT = lazy_pattern(
    r"(?:^|_)(?:time|date|timestamp|created|updated|modified)(?:$|_)|(?:_at|_date|_time)$", re.IGNORECASE
)
_SECONDS = range(100_000_000, 10_000_000_000)
_MILLIS = range(100_000_000_000, 10_000_000_000_000)
_WIDE = range(-(2**63), 2**63)


def columns_of(
    records: Sequence[Any], header: Sequence[str] = (), *, text_only: bool = False
) -> list[ColumnDraft]:
    """The columns of sample records, in the order the source writes them.

    Args:
        records: decoded JSON; objects, arrays in the order of `header`, or plain values.
        header: names of the elements of records that are arrays.
        text_only: the format knows nothing but text (XML), so that digits may well be text.
    """
    records = records[:_LOOKED_AT]
    gathered = _Columns(text_only=text_only)
    if header:
        for index, name in enumerate(header):
            cells = [row[index] if isinstance(row, list) and len(row) > index else None for row in records]
            gathered.add(name, f"[{index}]", cells)
    elif records and not any(isinstance(record, dict) for record in records):
        gathered.add("value", "$", records)
    else:
        gathered.members([record for record in records if isinstance(record, dict)], "$", "", 0)
    return gathered.columns


class _Columns:
    def __init__(self, *, text_only: bool) -> None:
        self.columns: list[ColumnDraft] = []
        self._text_only = text_only

    def members(self, objects: Sequence[dict[str, Any]], path: str, prefix: str, depth: int) -> None:
        """Columns for every member that some object has."""
        for name in dict.fromkeys(name for value in objects for name in value):
            values = [value.get(name) for value in objects]
            here = step(path, name)
            nested = [value for value in values if isinstance(value, dict)]
            if nested and all(value is None or isinstance(value, dict) for value in values):
                if _is_point(nested):
                    self._point(prefix, here, nested)
                elif name in _BAGS:
                    self.members(nested, here, prefix, depth + 1)
                    continue
                elif (
                    depth < _DEEP and len({key for value in nested for key in value}) <= _FLAT and any(nested)
                ):
                    self.members(nested, here, f"{prefix}{name}_", depth + 1)
                    continue
            self.add(prefix + name, here, values)
            if nested and len(nested) == sum(value is not None for value in values):
                self._telling(prefix + name, here, nested)

    def _telling(self, prefix: str, path: str, objects: Sequence[dict[str, Any]]) -> None:
        """Of an object too large to become columns, the members that say which it is."""
        for name in _TELLING:
            cells = [value.get(name) for value in objects]
            if any(cell is not None for cell in cells) and not any(
                isinstance(cell, dict | list) for cell in cells
            ):
                self.add(f"{prefix}_{name}", step(path, name), cells)

    def _point(self, prefix: str, path: str, points: Sequence[dict[str, Any]]) -> None:
        """Longitude and latitude of GeoJSON points, besides the whole."""
        for index, name in enumerate(("longitude", "latitude")):
            cells = [point["coordinates"][index] for point in points]
            self.add(prefix + name, f"{path}.coordinates[{index}]", cells)

    def add(self, name: str, path: str, values: Sequence[Any]) -> None:
        """One column."""
        plain = unique(identifier(name), (column.name for column in self.columns))
        kind, note = type_of(values, plain, text_only=self._text_only)
        self.columns.append(ColumnDraft(plain, kind, None if path == plain else path, note))


def type_of(values: Iterable[Any], name: str = "", *, text_only: bool = False) -> tuple[str, str]:
    """The Spark SQL type that takes every value, and what is doubtful about it.

    Text that is a date or a time everywhere is one; other text stays text, so that zip codes keep their
    zeros.
    """
    known = [value for value in values if value is not None]
    if not known:
        return "string", "NULL in every record of the sample"
    kinds = {type(value) for value in known}
    if kinds == {bool}:
        return "boolean", ""
    if kinds == {int}:
        return _whole(known, name)
    if kinds <= {int, float}:
        return "double", ""
    if kinds == {str}:
        if all(_DATE.fullmatch(text) for text in known) and _fits(known, "date"):
            return "date", ""
        matches = [_TIME.fullmatch(text) for text in known]
        if all(matches):
            kind = "timestamp" if all(match and match["zone"] for match in matches) else "timestamp_ntz"
            if _fits(known, kind):
                return kind, ""
        return "string", ""
    if kinds == {list} and not text_only:
        inner = [item for value in known for item in value]
        if inner and not any(isinstance(item, dict | list) for item in inner):
            kind, _ = type_of(inner)
            return f"array<{kind}>", ""
        return "string", "arrays, as JSON text" if inner else "empty arrays in every record of the sample"
    return "string", "objects, as JSON text" if kinds <= {dict, list} else "of several kinds, as text"


def _whole(values: Sequence[int], name: str) -> tuple[str, str]:
    if not all(value in _WIDE for value in values):
        return "decimal(38,0)", ""
    if _MOMENT.search(name):
        for span, unit in ((_SECONDS, "seconds"), (_MILLIS, "milliseconds")):
            if all(value in span for value in values):
                return "timestamp", f"numbers, read as {unit} since 1970"
    return "bigint", ""


def _fits(texts: Sequence[str], kind: str) -> bool:
    try:
        for text in texts:
            from_text(text, arrow_type(kind))
    except ValueError:
        return False
    return True


def _is_point(objects: Sequence[dict[str, Any]]) -> bool:
    return all(
        value.get("type") == "Point"
        and isinstance(value.get("coordinates"), list)
        and len(value["coordinates"]) >= 2
        for value in objects
    )
