"""The types of OData's entity data model: which Spark SQL types carry them, and how their values are written."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from dataclasses import dataclass

from fff.schema import MOST_DIGITS
from fff.structs import lazy_pattern
from fff_sources.http.portal import WHOLE_NUMBERS
from fff_sources.http.templates import text_of

_FRACTION = 18  # digits kept after the point where the service does not say how many there are
_MICROSECONDS = 6
_GUID = lazy_pattern(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

_SPARK = {
    "Edm.String": "string",
    "Edm.Boolean": "boolean",
    "Edm.Byte": "smallint",
    "Edm.SByte": "tinyint",
    "Edm.Int16": "smallint",
    "Edm.Int32": "int",
    "Edm.Int64": "bigint",
    "Edm.Single": "float",
    "Edm.Double": "double",
    "Edm.Date": "date",
    "Edm.DateTimeOffset": "timestamp",
}
_WHOLE = frozenset({"Edm.Byte", "Edm.SByte", "Edm.Int16", "Edm.Int32", "Edm.Int64"})
_ORDERED = frozenset({"Edm.Decimal", "Edm.Date", "Edm.DateTimeOffset"})
_EXACT = _WHOLE | {"Edm.String", "Edm.Boolean", "Edm.Double", "Edm.Date", "Edm.Guid"}


@dataclass(frozen=True)
class Property:
    """A property of an entity. `edm` is a primitive type's name; None for whatever is read as JSON text."""

    name: str
    edm: str | None
    many: bool = False
    precision: int | None = None
    scale: int | None = None

    @property
    def spark(self) -> str:
        """The Spark SQL type of its values."""
        one = self._one()
        return f"array<{one}>" if self.many and self.edm is not None else one

    def _one(self) -> str:
        if self.edm != "Edm.Decimal":
            return _SPARK.get(self.edm or "", "string")
        if self.precision is not None and self.scale is not None:
            precision = min(self.precision, MOST_DIGITS)
            return f"decimal({precision},{min(self.scale, precision)})"
        if self.precision is None:
            return f"decimal({MOST_DIGITS},{_FRACTION})"
        scale = max(0, min(_FRACTION, MOST_DIGITS - self.precision))
        return f"decimal({min(MOST_DIGITS, self.precision + scale)},{scale})"

    @property
    def exact(self) -> bool:
        """Whether a value as we read it, written as a literal, finds the rows that have it: not where reading rounds it."""
        if self.many:
            return False
        if self.edm == "Edm.DateTimeOffset":
            return self.precision is not None and self.precision <= _MICROSECONDS
        if self.edm == "Edm.Decimal":
            return self.precision is not None and self.precision <= MOST_DIGITS and self.scale is not None
        return self.edm in _EXACT

    def sortable(self, spark: str) -> bool:
        """Whether services sort its values as Spark does, read as that type."""
        if self.many:
            return False
        known = {"Edm.Date": ("date",), "Edm.DateTimeOffset": ("timestamp",)}
        return spark in (WHOLE_NUMBERS if self.edm in _WHOLE else known.get(self.edm or "", ()))

    @property
    def comparisons(self) -> tuple[str, ...]:
        """The comparisons that `$filter` makes at least as often true as SQL does."""
        if self.many:
            return ()
        if self.edm == "Edm.Double":  # may hold NaN, above every number in SQL and in no comparison here
            return ("<", "<=")
        if self.edm in _WHOLE:
            return ("=", "<>", "<", "<=", ">", ">=")
        if self.edm in _ORDERED:
            return ("<", "<=", ">", ">=")
        return {"Edm.String": ("=", "like"), "Edm.Guid": ("=",), "Edm.Boolean": ("=",)}.get(
            self.edm or "", ()
        )


def edm_of(spark: str) -> str | None:
    """The usual type behind a declared Spark SQL type."""
    kinds = {kind: edm for edm, kind in reversed(_SPARK.items())}
    kinds |= {"long": "Edm.Int64", "integer": "Edm.Int32", "short": "Edm.Int16", "smallint": "Edm.Int16"}
    if spark.startswith(("decimal", "dec(", "numeric")):
        return "Edm.Decimal"
    return kinds.get(spark)


def literal(edm: str | None, value: object) -> str | None:
    """A value as a literal of its type; None where the type has no such value, so that no row can have it."""
    match edm, value:
        case "Edm.String", str():
            return "'" + value.replace("'", "''") + "'"
        case "Edm.Guid", str():
            return value if _GUID.fullmatch(value) else None
        case "Edm.Boolean", bool():
            return text_of(value)
        case _, bool():
            return None
        case kind, int() if kind in _WHOLE or kind == "Edm.Decimal":
            return str(value)
        case "Edm.Decimal", decimal.Decimal():
            return f"{value:f}"
        case "Edm.Double" | "Edm.Single", float() | int():
            return _double(float(value))
        case "Edm.DateTimeOffset", dt.datetime():
            return text_of(value if value.tzinfo is not None else value.replace(tzinfo=dt.UTC))
        case "Edm.Date", dt.date() if not isinstance(value, dt.datetime):
            return value.isoformat()
        case _:
            return None


def _double(value: float) -> str:
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return "NaN" if math.isnan(value) else repr(value)
