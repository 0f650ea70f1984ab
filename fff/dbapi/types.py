"""Types as PEP 249 compares them: a column's type is the name Spark SQL has for it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TypeGroup:
    """Types that a tool need not tell apart; equal to each of their names, whatever stands in brackets behind it."""

    names: frozenset[str]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return self is other
        return other.partition("(")[0].partition("<")[0] in self.names

    def __hash__(self) -> int:
        return hash(self.names)


STRING = TypeGroup(frozenset({"string"}))
BINARY = TypeGroup(frozenset({"binary"}))
NUMBER = TypeGroup(
    frozenset({"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
)
DATETIME = TypeGroup(frozenset({"date", "timestamp", "timestamp_ntz", "time"}))
ROWID = TypeGroup(frozenset())

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 - PEP 249 calls it so
    """The local day of a time in seconds since 1970."""
    return TimestampFromTicks(ticks).date()


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 - PEP 249 calls it so
    """The local time of day of a time in seconds since 1970."""
    return TimestampFromTicks(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 - PEP 249 calls it so
    """The local time of a time in seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks)  # noqa: DTZ006 - PEP 249 means local time
