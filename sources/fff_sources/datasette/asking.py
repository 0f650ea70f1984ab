"""Datasette's table pages: addresses, filters, columns; and SQLite's types."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from fff.catalog import Keys
from fff.stats import AccessMeter
from fff.structs import lazy_pattern, replace
from fff_sources.http.portal import WHOLE_NUMBERS, FilterWords
from fff_sources.http.response.json import encode
from fff_sources.http.tables import Question
from fff_sources.http.templates import json_value, text_of

_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_FRACTIONS = lazy_pattern("DECIMAL|NUMERIC|NUMBER")
#: Leave out of an answer what only people read, and tell infinite numbers, which are null where nobody asks.
_BARE = (
    ("_shape", "objects"), ("_size", "max"), ("_nofacet", "1"), ("_nosuggest", "1"), ("_json_infinity", "1"),
)  # fmt: skip
_EXACT = "declare its type, decimal(38,0) or string"
_LONG = lazy_pattern(rb"\d{16}")
_INFINITE = lazy_pattern(rb'"[^"\\]*(?:\\.[^"\\]*)*"|(-?Infinity)')  # or a text, which may hold the word


def tilde(name: str) -> str:
    """A name as a part of Datasette's addresses, which have an encoding of their own."""
    return "".join(
        chr(byte) if byte in _PLAIN else "+" if byte == 0x20 else f"~{byte:02X}" for byte in name.encode()
    )


def affinity(declared: str) -> str:
    """What SQLite makes of a declared type: it stores values so where it can, and any others as they are."""
    kind = declared.upper()
    if "INT" in kind:
        return "INTEGER"
    if any(part in kind for part in ("CHAR", "CLOB", "TEXT")):
        return "TEXT"
    if kind in ("", "ANY") or "BLOB" in kind:
        return "NONE"
    if any(part in kind for part in ("REAL", "FLOA", "DOUB")):
        return "REAL"
    return "NUMERIC"


def spark_type(declared: str) -> str:
    """The Spark SQL type for a declared one; text where values of several kinds are usual (dates, truth values, none declared)."""
    match affinity(declared):
        case "INTEGER":
            return "bigint"
        case "REAL":
            return "double"
        case "NUMERIC" if _FRACTIONS.search(declared.upper()):
            return "double"
        case _:
            return "string"


def is_exact(declared: str, spark: str) -> bool:
    """Whether a value as we read it finds all rows that have it.

    Without an affinity SQLite takes 5 and '5' for two values, and requests do not say which is meant.
    """
    match affinity(declared):
        case "NONE":
            return False
        case "TEXT":
            return spark == "string"
        case "INTEGER":
            return spark == "string" or spark in WHOLE_NUMBERS
        case "REAL":
            return spark == "double" or spark in WHOLE_NUMBERS
        case _:
            return spark in ("string", "double") or spark in WHOLE_NUMBERS


#: What the name of a filter ends with.
_FILTERS = {"=": "exact", "<>": "not", "<": "lt", "<=": "lte", ">": "gt", ">=": "gte", "like": "like"}


def comparisons(declared: str, spark: str) -> tuple[str, ...]:
    """The comparisons that filters make at least as often true as SQL does.

    SQLite has no NaN, and its LIKE knows no case.
    """
    if not is_exact(declared, spark):
        return ()
    ranges = ("<", "<=", ">", ">=")
    if spark in WHOLE_NUMBERS:
        return ("=", "<>", *ranges)
    if spark == "double":
        return ranges
    return ("=", "like") if affinity(declared) == "TEXT" else ("=",)


class TablePage(FilterWords, frozen=True):
    """How one access method asks. `first` is the column asked for where none is needed.

    `fractions` are columns of decimals that are read as `double`; whole numbers in them SQLite keeps exactly.
    """

    path: str
    first: str
    keys: tuple[str, ...] = ()
    fractions: tuple[str, ...] = ()
    order: tuple[tuple[str, str], ...] = ()

    def sorted(self, by: str) -> TablePage:
        """The same, sorted by a column; Datasette breaks ties by the primary key."""
        return replace(self, order=(("_sort_desc", by[1:]) if by.startswith("-") else ("_sort", by),))

    def question(self, columns: Sequence[str], keys: Keys, asked: Mapping[str, str]) -> Question:
        """The request: only the columns that are needed, of the rows that are asked for."""
        wanted = tuple(("_col", name) for name in dict.fromkeys(columns or [self.first]))
        filters = tuple(
            (f"{one.column}__{_FILTERS[one.operator]}", _written(one.value)) for one in self.quals
        )
        return Question(
            self.path, (*_BARE, *wanted, *self._filters(keys), *filters, *self.order, *asked.items())
        )

    def _filters(self, keys: Keys) -> tuple[tuple[str, str], ...]:
        if not keys:
            return ()
        if len(keys) == 1 and not isinstance(keys[0][0], float):
            named = zip(self.keys, keys[0], strict=True)
            return ("_nocount", "1"), *((f"{name}__exact", text_of(value)) for name, value in named)
        [column] = self.keys
        # A JSON array: separated by commas, values could hold none, nor begin or end with a space. Its
        # numbers stay what they are, while SQLite may miss a fraction's last digit when it reads one from
        # text.
        values = ",".join(
            _written(value) if _is_infinite(value) else encode(json_value(value)).decode()
            for (value,) in keys
        )
        return ("_nocount", "1"), (f"{column}__in", f"[{values}]")

    def mended(self, body: bytes, meter: AccessMeter) -> bytes:
        """An answer with infinite numbers, which JSON has no word for, as texts."""
        for name in self.fractions if _LONG.search(body) else ():
            spellings = b"|".join(map(re.escape, (encode(name), json.dumps(name).encode())))
            numbers = re.findall(rb"(?:%s):\s*(-?\d{16,})\s*[,}]" % spellings, body)
            if lost := sum(int(float(number)) != int(number) for number in numbers):
                meter.doubt(f"{self.path}: {name!r} has whole numbers that a double rounds: {_EXACT}", lost)
        if b"Infinity" not in body:
            return body
        return _INFINITE.sub(lambda match: b'"%s"' % match[1] if match[1] else match[0], body)


def _is_infinite(value: object) -> bool:
    return isinstance(value, float) and math.isinf(value)


def _written(value: object) -> str:
    """A value as SQLite reads it; it takes a number beyond its largest one for an infinite one."""
    if _is_infinite(value):
        return "9e999" if value == math.inf else "-9e999"
    return text_of(value)
