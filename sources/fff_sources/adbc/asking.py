"""Statements: what a scan or a lookup sends to a database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from fff.catalog import Keys, Table
from fff_sources.adbc.columns import DatabaseColumn, DatabaseTable, Dialect


@dataclass(frozen=True)
class DatabaseQuery:
    """A query with its parameters, the columns that it brings, and how many rows of its own come first."""

    sql: str
    values: Sequence[pa.Array]
    columns: Sequence[DatabaseColumn]
    skip: int = 0


def statement(
    dialect: Dialect,
    described: DatabaseTable,
    wanted: Table,
    columns: Sequence[str],
    *,
    names: Sequence[str] = (),
    keys: Keys = (),
) -> DatabaseQuery | None:
    """The rows of some keys, or of all; None where no row can have one of the keys.

    `wanted` says what a statement of ours can spare: rows that do not fulfil its qualifiers, those beyond its
    number, and any order but its own.
    """
    conditions: list[str] = []
    values: list[pa.Array] = []
    if names:
        chosen = dialect.keys([described.columns[name] for name in names], keys, 1)
        if chosen is None:
            return None
        conditions.append(f"({chosen[0]})")
        values += chosen[1]
    for qual in wanted.quals_beside(names):
        column, place = described.columns[qual.column], len(values) + 1
        if qual.operator == "in":
            condition = dialect.keys([column], [(value,) for value in qual.value], place)
        else:
            condition = dialect.qualifier(column, qual, place)
        if condition is not None:
            conditions.append(condition[0])
            values += condition[1]
    rest = f"FROM {described.from_clause}"
    rest += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    limit = None
    if not names:
        rest += "" if wanted.sort is None else f" ORDER BY {_order(described, wanted.sort)}"
        # A qualifier that could not be said leaves rows in that do not count.
        limit = wanted.rows_wanted if len(conditions) == len(wanted.quals) else None
    read = [described.columns[name] for name in columns]
    sql, skip = dialect.select(read, rest, limit)
    return DatabaseQuery(sql, values, read, skip)


def _order(described: DatabaseTable, sort: str) -> str:
    """An order with NULL where it is to be, in words that an index takes where there is none."""
    nulls = "NULLS FIRST" if sort.endswith(" nulls first") else "NULLS LAST"
    column = described.columns[sort.removesuffix(" nulls first").removeprefix("-")]
    return f"{column.order}{' DESC' if sort.startswith('-') else ''}{'' if column.filled else f' {nulls}'}"
