"""SQLite: its catalog, what its columns hold, and how values are compared there.

A column holds values of any kind, whatever is declared. So each is read as the type its affinity stands for,
and a value of another kind fails the reading instead of turning into something else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from fff.catalog import Keys
from fff.quals import Qual
from fff.structs import replace
from fff_sources.adbc.columns import (
    Condition,
    DatabaseColumn,
    DatabaseTable,
    key_of,
    misfit,
    quoted,
)
from fff_sources.datasette.asking import affinity, spark_type

_SHOWN = """SELECT NULL AS "schema", name FROM pragma_table_list
WHERE "schema" = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
ORDER BY name"""
_COLUMNS = """SELECT c.name, c.type, c.pk, c."notnull" AS filled, t.type AS "table", e.encoding
FROM pragma_table_list AS t, pragma_table_xinfo(t.name) AS c, pragma_encoding AS e
WHERE t."schema" = 'main' AND t.name = ? AND c.hidden <> 1 ORDER BY c.cid"""
_WHOLE = 2**53  # up to which a double has every whole number
#: Values of each type, which tell the driver what the rows below them are of.
_SAMPLES = {"bigint": "0", "double": "0.0", "binary": "x''"}
_LONGEST_PATTERN = 1_000


class SqliteDialect:
    """Implements `Dialect`."""

    greeting: tuple[str, ...] = ()
    exact_like = False

    def listing(self, namespace: str | None) -> Condition:
        """Tables and views, those of SQLite itself left out."""
        del namespace
        return _SHOWN, []

    def describing(self, table: str, namespace: str | None) -> Condition:
        """Columns, generated ones among them, hidden ones of virtual tables not."""
        del namespace
        return _COLUMNS, [pa.array([table])]

    def described(
        self, name: str, namespace: str | None, rows: Sequence[Mapping[str, object]], types: Mapping[str, str]
    ) -> DatabaseTable:
        """A table out of its declaration."""
        del namespace
        columns = []
        is_view = any(row["table"] != "table" for row in rows)
        key = [row for row in rows if row["pk"]]
        is_rowid = len(key) == 1 and str(key[0]["type"]).upper() == "INTEGER"
        certain = not is_view and (is_rowid or all(row["filled"] for row in key))
        for row in rows:
            column = _column(str(row["name"]), str(row["type"]), is_table=not is_view)
            if column.type == "string" and row["encoding"] != "UTF-8":  # texts are sorted by its bytes
                column = replace(column, order="")
            part = int(str(row["pk"])) if certain else 0
            # Without an affinity 5 and '5' are two keys, and one text.
            part = part if affinity(str(row["type"])) in ("INTEGER", "TEXT", "REAL") else 0
            filled = not is_view and bool(row["filled"] or (is_rowid and row["pk"]))
            column = replace(column, name=str(row["called"]), key=part, filled=filled)
            if column.name in types:
                blob = types[column.name] == "binary"
                text = f"CAST({quoted(str(row['name']))} AS {'BLOB' if blob else 'TEXT'})"
                column = column.declared(types[column.name], text)
            columns.append(column)
        by_name = {column.name: column for column in columns}
        parts = key_of(by_name)
        return DatabaseTable((name,), by_name, parts if len(parts) == len(key) else ())

    def keys(self, columns: Sequence[DatabaseColumn], keys: Keys, number: int) -> Condition | None:
        """`IN`, or a condition for each key of several columns."""
        del number
        kinds = [_arrow(one) for one in columns]
        values = [pa.array([value], kind) for key in keys for value, kind in zip(key, kinds, strict=True)]
        if len(columns) == 1:
            return f"{columns[0].compared} IN ({', '.join('?' * len(keys))})", values
        each = " AND ".join(f"{one.compared} = ?" for one in columns)
        return " OR ".join([f"({each})"] * len(keys)), values

    def qualifier(self, column: DatabaseColumn, qual: Qual, number: int) -> Condition | None:
        """A comparison; LIKE takes upper and lower case for the same, and ends at a zero character."""
        del number
        if isinstance(qual.value, int) and not -(2**63) <= qual.value < 2**63:
            return None
        value = [pa.array([qual.value], _arrow(column))]
        if qual.operator != "like":
            return f"{column.compared} {qual.operator} ?", value
        if len(qual.value) > _LONGEST_PATTERN:
            return None
        return f"({column.compared} LIKE ? OR instr({column.compared}, char(0)) > 0)", value

    def select(self, columns: Sequence[DatabaseColumn], rest: str, limit: int | None) -> tuple[str, int]:
        """Below a row of samples: the driver tells types from the values that come first, and NULLs tell none."""
        samples = [_sample(one) for one in columns]
        named = ", ".join(f'{sample} AS "{place}"' for place, sample in enumerate(samples))
        values = ", ".join(one.value for one in columns)
        inner = f"SELECT {values}, {misfit(columns)} {rest} LIMIT {-1 if limit is None else limit}"
        # With a limit, even of none, the inner query keeps its order.
        return f"SELECT {named}, 0 AS wrong UNION ALL SELECT * FROM ({inner})", 1  # noqa: S608


def _sample(column: DatabaseColumn) -> str:
    is_text = column.parsed and column.type != "binary"
    return "''" if is_text else _SAMPLES.get(column.type, "''")


def _column(name: str, declared: str, *, is_table: bool) -> DatabaseColumn:
    this = quoted(name)
    if "BLOB" in declared.upper():
        return DatabaseColumn(name, "binary", f"CAST({this} AS BLOB)")
    kind = spark_type(declared)
    if kind == "bigint":
        wrong = f"typeof({this}) NOT IN ('integer', 'null')"
        value = f"CASE typeof({this}) WHEN 'integer' THEN {this} END"
        return DatabaseColumn(
            name, kind, value, wrong, this, operators=("=", "<>", "<", "<=", ">", ">="), order=this
        )
    if kind == "double":
        wrong = (
            f"typeof({this}) NOT IN ('integer', 'real', 'null') "
            f"OR (typeof({this}) = 'integer' AND {this} NOT BETWEEN -{_WHOLE} AND {_WHOLE})"
        )
        value = f"CASE WHEN typeof({this}) IN ('integer', 'real') THEN CAST({this} AS REAL) END"
        return DatabaseColumn(name, kind, value, wrong, this, operators=("<", "<=", ">", ">="), order=this)
    # Only where all but blobs is text, what is compared is what is read. A cast keeps the column's collation.
    text = f"CAST({this} AS TEXT)"
    compared = f"{this if is_table and affinity(declared) == 'TEXT' else text} COLLATE BINARY"
    wrong = f"typeof({this}) = 'blob'"
    return DatabaseColumn(name, "string", text, wrong, compared, operators=("=", "like"), order=compared)


def _arrow(column: DatabaseColumn) -> pa.DataType:
    return {"bigint": pa.int64(), "double": pa.float64()}.get(column.type, pa.string())
