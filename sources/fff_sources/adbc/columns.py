"""What is known of a table in a database, and of each of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from fff.catalog import Keys
from fff.quals import Operator, Qual
from fff.structs import replace

#: A condition in the database's SQL, and the values that stand in it as parameters.
Condition = tuple[str, list[pa.Array]]


def quoted(name: str) -> str:
    """A name as SQL takes it for nothing else."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class DatabaseColumn:
    """A column of a table in a database.

    `value` is the SQL that reads it, as text where `parsed`; `wrong`, if anything, is true for values that
    are none of the type, which fail the reading. `compared` is what keys and conditions are compared with;
    without it the column takes neither. `cast` is the database's type of such keys and constants. `order` is
    what rows are sorted by to come as Spark sorts what is read: numbers, times, texts by their bytes.
    """

    name: str
    type: str
    value: str
    wrong: str = ""
    compared: str = ""
    cast: str = ""
    operators: tuple[Operator, ...] = ()
    order: str = ""
    filled: bool = False  # never NULL
    parsed: bool = False
    key: int = 0  # its place in the primary key; 0: it is not in there

    def declared(self, kind: str, text: str) -> DatabaseColumn:
        """The column in a type that the spec gives it, out of this text of its values."""
        return replace(
            self,
            type=kind,
            value=text,
            wrong="",
            compared="",
            operators=(),
            order="",
            parsed=True,
            key=0,
        )


@dataclass(frozen=True)
class DatabaseTable:
    """A table or view in a database: its name there, its columns by name, and its primary key where that is certain."""

    place: tuple[str, ...]
    columns: Mapping[str, DatabaseColumn]
    key: tuple[str, ...] = ()

    @property
    def from_clause(self) -> str:
        """Its name in SQL."""
        return ".".join(map(quoted, self.place))


class Dialect(Protocol):
    """What differs between databases."""

    #: Sent to a new connection.
    greeting: tuple[str, ...]
    #: Whether its LIKE is that of SQL here, of patterns in which `%` alone stands for something.
    exact_like: bool

    def listing(self, namespace: str | None) -> Condition:
        """The query for all tables and views: (their schema, or NULL; their name)."""

    def describing(self, table: str, namespace: str | None) -> Condition:
        """The query for the columns of a table, one a row; what `described` reads, with what each is `called` here."""

    def described(
        self, name: str, namespace: str | None, rows: Sequence[Mapping[str, object]], types: Mapping[str, str]
    ) -> DatabaseTable:
        """A table out of that answer; `types` are what the spec gives to some of its columns."""

    def keys(self, columns: Sequence[DatabaseColumn], keys: Keys, number: int) -> Condition | None:
        """That a row has one of the keys; None where no row can. Parameters are counted from `number`."""

    def qualifier(self, column: DatabaseColumn, qual: Qual, number: int) -> Condition | None:
        """That a row fulfils a qualifier, or may; None where that cannot be said."""

    def select(self, columns: Sequence[DatabaseColumn], rest: str, limit: int | None) -> tuple[str, int]:
        """The statement that reads columns, and how many rows of its own come first.

        The columns are called 0, 1, …; behind them is the place of the first one whose value is wrong, from
        1, else 0.
        """


def misfit(columns: Sequence[DatabaseColumn]) -> str:
    """SQL for the place, from 1, of the first column whose value is none of its type; 0 where all fit."""
    cases = [f"WHEN {one.wrong} THEN {place}" for place, one in enumerate(columns, 1) if one.wrong]
    return f"CASE {' '.join(cases)} ELSE 0 END" if cases else "0"


def key_of(columns: Mapping[str, DatabaseColumn]) -> tuple[str, ...]:
    """The primary key by its places."""
    return tuple(one.name for one in sorted(columns.values(), key=lambda one: one.key) if one.key)
