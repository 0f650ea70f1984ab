"""PostgreSQL: its catalog, its types, and how values are compared there.

Keys and constants travel as texts in parameters and are cast there to the column's type, which an index
takes.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from fff.catalog import Keys
from fff.quals import Qual
from fff.schema import MOST_DIGITS
from fff.structs import lazy_pattern, replace
from fff_sources.adbc.columns import (
    Condition,
    DatabaseColumn,
    DatabaseTable,
    key_of,
    misfit,
    quoted,
)

_SHOWN = """SELECT CAST(n.nspname AS text) AS "schema", CAST(c.relname AS text) AS name
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND {}
ORDER BY 2"""
_IN_PATH = "pg_table_is_visible(c.oid) AND n.nspname NOT IN ('pg_catalog', 'information_schema')"
# A table with heirs has their rows as well, and its primary key does not hold for those.
_COLUMNS = """SELECT CAST(n.nspname AS text) AS "schema", CAST(a.attname AS text) AS name,
  CAST(COALESCE(b.typname, t.typname) AS text) AS type,
  COALESCE(b.modifier, a.atttypmod) AS modifier,
  a.attnotnull AND c.relkind <> 'f' AS filled, COALESCE(co.collisdeterministic, true) AS is_deterministic,
  co.oid IN (950, 951) AS by_bytes, current_setting('server_encoding') AS encoding,
  COALESCE(array_position(CAST(i.indkey AS int2[]), a.attnum) - array_lower(CAST(i.indkey AS int2[]), 1) + 1, 0) AS pk
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
LEFT JOIN LATERAL (
  WITH RECURSIVE d AS (
    SELECT t.typbasetype AS base, t.typtypmod AS modifier WHERE t.typtype = 'd'
    UNION ALL
    SELECT i.typbasetype, CASE WHEN d.modifier < 0 THEN i.typtypmod ELSE d.modifier END
    FROM d JOIN pg_catalog.pg_type i ON i.oid = d.base WHERE i.typtype = 'd')
  SELECT i.typname, d.modifier FROM d JOIN pg_catalog.pg_type i ON i.oid = d.base WHERE i.typtype <> 'd') b ON true
LEFT JOIN pg_catalog.pg_collation co ON co.oid = a.attcollation
LEFT JOIN pg_catalog.pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indisvalid
  AND (c.relkind = 'p' OR NOT c.relhassubclass)
WHERE c.relname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {}
ORDER BY a.attnum"""
_RANGES = ("<", "<=", ">", ">=")
_WHOLE = {"int2": "smallint", "int4": "int", "int8": "bigint"}
_TIMES = {"date": "date", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}
_FLOATS = {"float4": "float", "float8": "double"}
_UUID = lazy_pattern(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class PostgresDialect:
    """Implements `Dialect`."""

    greeting: tuple[str, ...] = (
        "SET TimeZone = 'UTC'",
        "SET DateStyle = 'ISO'",
        "SET default_transaction_read_only = on",
    )
    exact_like = True

    def listing(self, namespace: str | None) -> Condition:
        """Tables, views and foreign tables of a schema, or of the search path."""
        if namespace is None:
            return _SHOWN.format(_IN_PATH), []
        return _SHOWN.format("n.nspname = $1"), [pa.array([namespace])]

    def describing(self, table: str, namespace: str | None) -> Condition:
        """Columns, domains as what they are made from."""
        if namespace is None:
            return _COLUMNS.format("pg_table_is_visible(c.oid)"), [pa.array([table])]
        return _COLUMNS.format("n.nspname = $2"), [pa.array([table]), pa.array([namespace])]

    def described(
        self, name: str, namespace: str | None, rows: Sequence[Mapping[str, object]], types: Mapping[str, str]
    ) -> DatabaseTable:
        """A table out of the catalog."""
        columns = []
        for row in rows:
            column = replace(_column(row), name=str(row["called"]))
            if column.name in types:
                name_there = str(row["name"])
                text = (
                    quoted(name_there) if types[column.name] == "binary" else _text(name_there, row["type"])
                )
                column = column.declared(types[column.name], text)
            columns.append(column)
        by_name = {column.name: column for column in columns}
        key = key_of(by_name)
        whole = len(key) == sum(bool(row["pk"]) for row in rows)
        place = (str(rows[0]["schema"]) if namespace is None else namespace, name)
        return DatabaseTable(place, by_name, key if whole else ())

    def keys(self, columns: Sequence[DatabaseColumn], keys: Keys, number: int) -> Condition | None:
        """`= ANY (array)`, or a join with several arrays."""
        sayable = []
        for key in keys:
            texts = [_as_text(one, value) for one, value in zip(columns, key, strict=True)]
            if None not in texts:
                sayable.append(texts)
        if not sayable:
            return None
        values = [pa.array([list(one)], pa.list_(pa.string())) for one in zip(*sayable, strict=True)]
        arrays = [f"CAST(${number + place} AS {one.cast}[])" for place, one in enumerate(columns)]
        if len(columns) == 1:
            return f"{columns[0].compared} = ANY ({arrays[0]})", values
        row = ", ".join(one.compared for one in columns)
        return f"({row}) IN (SELECT * FROM unnest({', '.join(arrays)}))", values  # noqa: S608 - of quoted names

    def qualifier(self, column: DatabaseColumn, qual: Qual, number: int) -> Condition | None:
        """A comparison as SQL has it."""
        text = _as_text(column, qual.value)
        if text is None or (column.cast == "int8" and not -(2**63) <= qual.value < 2**63):
            return None
        if qual.operator == "like":
            return f"{column.compared} LIKE ${number}", [pa.array([text])]
        return f"{column.compared} {qual.operator} CAST(${number} AS {column.cast})", [pa.array([text])]

    def select(self, columns: Sequence[DatabaseColumn], rest: str, limit: int | None) -> tuple[str, int]:
        """A plain one."""
        values = ", ".join(f'{one.value} AS "{place}"' for place, one in enumerate(columns))
        rest += "" if limit is None else f" LIMIT {limit}"
        return f"SELECT {values}, {misfit(columns)} AS wrong {rest}", 0


def _column(row: Mapping[str, object]) -> DatabaseColumn:
    """A column as the catalog describes it; what has no type of ours is read as the text that the server makes of it."""
    name, kind = str(row["name"]), str(row["type"])
    this, text = quoted(name), _text(name, kind)
    about: dict[str, Any] = {"key": row["pk"], "filled": bool(row["filled"])}
    if kind in _WHOLE:
        about |= {"compared": this, "cast": "int8", "operators": ("=", "<>", *_RANGES), "order": this}
        return DatabaseColumn(name, _WHOLE[kind], f"CAST({this} AS {kind})", **about)
    if kind in _FLOATS:
        about |= {"compared": this, "cast": "float8", "operators": _RANGES, "order": this}
        return DatabaseColumn(name, _FLOATS[kind], f"CAST({this} AS {kind})", **about)
    if kind in _TIMES:
        value = f"CASE WHEN isfinite({this}) THEN CAST({this} AS {kind}) END"
        about |= {"compared": this, "cast": kind, "operators": _RANGES, "order": this}
        return DatabaseColumn(name, _TIMES[kind], value, f"NOT isfinite({this})", **about)
    if kind == "bool":
        about |= {"compared": this, "cast": kind, "operators": ("=",), "order": this}
        return DatabaseColumn(name, "boolean", f"CAST({this} AS bool)", **about)
    if kind == "numeric":
        digits = _decimal(int(str(row["modifier"])))
        if digits is not None:
            about |= {"compared": this, "cast": kind, "operators": _RANGES, "parsed": True, "order": this}
            value, wrong = f"CASE WHEN {this} <> 'NaN' THEN {text} END", f"{this} = 'NaN'"
            return DatabaseColumn(name, digits, value, wrong, **about)
    if kind == "bytea":
        return DatabaseColumn(name, "binary", f"CAST({this} AS bytea)", **about)
    if kind == "uuid":
        about |= {"compared": this, "cast": kind, "operators": ("=",)}
        return DatabaseColumn(name, "string", text, **about)
    # Two values that the type takes for one may be two texts, and the other way round.
    plain = this if kind in ("text", "varchar") else text
    by_bytes = plain if row["by_bytes"] and plain == this else f'{plain} COLLATE "C"'
    about |= {"compared": plain if row["is_deterministic"] else by_bytes, "cast": "text"}
    about |= {"order": by_bytes if row["encoding"] == "UTF8" else "", "operators": ("=", "like")}
    return DatabaseColumn(name, "string", text, **about)


def _decimal(modifier: int) -> str | None:
    """The type of a numeric of so many digits; None where it is not said how many, or there are too many."""
    if modifier < 0:
        return None
    precision, scale = (modifier - 4) >> 16, (modifier - 4) & 0x7FF
    if precision > MOST_DIGITS or scale > precision:  # also: a negative scale
        return None
    return f"decimal({precision},{scale})"


def _text(name: str, kind: object) -> str:
    if kind == "inet":  # its cast has a length behind single addresses, which the server does not show
        return f"(to_json({quoted(name)}) #>> '{{}}')"
    return f"CAST({quoted(name)} AS text)"


def _as_text(column: DatabaseColumn, value: object) -> str | None:
    """A value as its type is written; None where the type has no such value, so that no row can have it."""
    match value:
        case str():
            fits = "\0" not in value if column.cast != "uuid" else _UUID.fullmatch(value) is not None
            return value if fits else None
        case bool():
            return "true" if value else "false"
        case decimal.Decimal():
            return f"{value:f}"
        case dt.datetime() | dt.date():
            return value.isoformat()
    return repr(value)  # of a float: the digits that read back as it
