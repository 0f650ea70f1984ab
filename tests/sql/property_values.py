"""Tables of hard values: a column or more of every type, filled from pools biased to the edges of the type."""

from __future__ import annotations

import datetime as dt
import math
import random
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from planner_fakes import catalog, table

from fff.schema import Field

#: Every Spark type the engine knows; types that compare with each other come twice.
COLUMNS = (
    "id bigint, b boolean, b2 boolean, i8 tinyint, i16 smallint, i int, i2 int, l bigint, l2 bigint, f float, f2 float, "
    "d double, d2 double, m decimal(10,2), m2 decimal(10,2), n decimal(12,4), w decimal(38,4), z decimal(38,38), "
    "k decimal(38,0), q decimal(5,0), s string, s2 string, v varchar(5), c char(4), dt date, dt2 date, ts timestamp, "
    "ts2 timestamp, tn timestamp_ntz, tn2 timestamp_ntz, x binary, x2 binary, a array<int>, st struct<k:int,n:string>, "
    "mp map<string,int>"
)
LEFT = table("lab.t", COLUMNS, scans=1)
RIGHT = table("lab.u", COLUMNS, scans=1)
LAB = catalog(LEFT, RIGHT)
FIELDS: dict[str, Field] = {field.name: field for field in LEFT.columns}

# fmt: off
_TEXTS = [
    "", " ", "a", "A", "a ", " a", "ab", "AB", "aB", "b", "z", "Z", "a\x00", "a\tb", "a\nb", "_", "%", "a%",
    "a_b", "5", "05", " 5", "5 ", "-5", "+5", "5.0", "5e0", "5L", "0", "-0", "0.1", ".5", "1e400", "NaN",
    "Infinity", "-inf", "true", "TRUE", "t", "false", "no", "null", "NULL", "2147483648",
    "9223372036854775808", "1_000", "0x1F", "2020-02-29", "2020-2-29", "2019-02-29", "2020-02-29 10:00:00",
    "2020-02-29T10:00:00Z", "1582-10-10", "10:00", "é", "e\u0301", "ß", "SS", "\u0131", "İ", "ﬁ", "\u00a0",
    "\u200b", "日本", "\uffff", "\ue000", "😀", "\U0010ffff", "\u0660",
    "it's", 'say "a"', "back\\slash", "a\\", "a" * 300,
]
# fmt: on
_SHORT = [text for text in _TEXTS if len(text) <= 4]
# fmt: off
_FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.1, 0.5, 5.0, 7.5, 1 / 3, float("nan"), float("inf"), float("-inf"),
    float(np.float32(0.1)), float(np.float32(1 / 3)), 2.0**53, 2.0**53 + 2, -(2.0**53), 2.0**63, 16777216.0,
    16777218.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 3.4028234663852886e38,
    1e-45, 1.4e-45, 1e16,
]
_DATES = [
    "0001-01-01", "0001-01-02", "0999-12-31", "1582-10-04", "1582-10-05", "1582-10-10", "1582-10-14",
    "1582-10-15", "1600-02-29", "1883-11-18", "1899-12-31", "1900-02-28", "1900-03-01", "1969-12-31",
    "1970-01-01", "2000-02-29", "2019-12-31", "2020-01-01", "2020-02-28", "2020-02-29", "2020-03-01",
    "2020-03-08", "2020-03-29", "9999-12-31",
]
_MOMENTS = [
    "0001-01-01 00:00:00", "1582-10-10 12:00:00", "1883-11-18 17:00:00", "1969-12-31 23:59:59.999999",
    "1970-01-01 00:00:00", "1970-01-01 00:00:00.000001", "2019-12-31 23:00:00", "2020-01-01 00:00:00",
    "2020-01-01 10:00:00.5", "2020-01-01 10:00:00.123456", "2020-02-29 10:00:00", "2020-02-29 00:00:00",
    # New York springs forward at 07:00 UTC and falls back at 06:00 UTC; Berlin springs forward at 01:00 UTC.
    "2020-03-08 06:59:59.999999", "2020-03-08 07:00:00", "2020-03-08 07:30:00", "2020-11-01 05:30:00",
    "2020-11-01 06:30:00", "2020-03-29 01:00:00", "2020-03-29 00:59:59.999999",
    "9999-12-31 23:59:59.999999",
]
# fmt: on
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - microseconds since then are what Arrow keeps, whatever the zone
#: Days and microseconds no Python date reaches, which columns hold all the same: Spark's own limits among them.
_FAR_DAYS = [2_932_897, 100_000_000, -719_163, -1_000_000]
_FAR_MICROS = [2**63 - 1, -(2**63), 253_402_300_800_000_000, -62_135_596_800_000_001]


def days(text: str) -> int:
    """A date as Arrow keeps it."""
    return (dt.date.fromisoformat(text) - _EPOCH.date()).days


def micros(text: str) -> int:
    """A wall-clock reading as Arrow keeps it."""
    return (dt.datetime.fromisoformat(text) - _EPOCH) // dt.timedelta(microseconds=1)


def moment(count: int) -> dt.datetime | None:
    """The wall-clock reading of so many microseconds, where Python has one."""
    try:
        return _EPOCH + dt.timedelta(microseconds=count)
    except OverflowError:
        return None


def pool(field: Field) -> list[Any]:
    """The edge values of a type, dates and timestamps as days and microseconds."""
    kind = field.arrow
    if pa.types.is_boolean(kind):
        return [True, False]
    if pa.types.is_integer(kind):
        half = 1 << (kind.bit_width - 1)
        edges = [-half, -half + 1, -5, -1, 0, 1, 5, 7, 127, 128, 300, 2**31 - 1, 2**31, 2**53 + 1, half - 1]
        return [value for value in edges if -half <= value < half]
    if pa.types.is_float32(kind):
        with np.errstate(over="ignore"):
            return [float(np.float32(value)) for value in _FLOATS]
    if pa.types.is_float64(kind):
        return _FLOATS
    if pa.types.is_decimal(kind):
        return _decimals(kind.precision, kind.scale)
    if pa.types.is_date32(kind):
        return [*map(days, _DATES), *_FAR_DAYS]
    if pa.types.is_timestamp(kind):
        return [*map(micros, _MOMENTS), *_FAR_MICROS]
    if pa.types.is_string(kind):
        return _TEXTS if field.type == "string" else _SHORT
    if pa.types.is_binary(kind):
        return [b"", b"\x00", b"a", b"A", b"\x7f", b"\x80", b"\xff", "é".encode()]
    if pa.types.is_map(kind):
        return [[], [("a", 1)]]
    return [{"k": 1, "n": "a"}, {"k": None, "n": None}] if pa.types.is_struct(kind) else [[], [1], [1, None]]


def _decimals(precision: int, scale: int) -> list[Decimal]:
    step, edge = _scaled(1, scale), _scaled(10**precision - 1, scale)
    known = [
        Decimal(text) for text in ("0", "0.1", "0.5", "1", "5", "7", "7.5", "-7.25", "100.01", "12345678.9")
    ]
    fitting = [value for value in known if value.copy_abs() <= edge and _digits(value) <= scale]
    whole = [_scaled(int(value * 10**scale), scale) for value in fitting]
    return [*whole, step, edge, step.copy_negate(), edge.copy_negate()]


def _digits(value: Decimal) -> int:
    return max(0, -int(value.as_tuple().exponent))


def _scaled(digits: int, scale: int) -> Decimal:
    """Exactly `digits` shifted, which the arithmetic of Decimal would round to its context."""
    return Decimal(f"{digits}E-{scale}")


def random_value(field: Field, rng: random.Random) -> Any:
    """A value far from the pools, or near one of them."""
    kind = field.arrow
    if pa.types.is_integer(kind):
        return rng.randrange(-(1 << (kind.bit_width - 1)), 1 << (kind.bit_width - 1))
    if pa.types.is_float64(kind):
        return _float(rng, 64)
    if pa.types.is_float32(kind):
        return _float(rng, 32)
    if pa.types.is_decimal(kind):
        digits = rng.randint(1, kind.precision)
        return _scaled(rng.randrange(-(10**digits) + 1, 10**digits), kind.scale)
    if pa.types.is_date32(kind):
        return rng.randrange(days("0001-01-01"), days("9999-12-31"))
    if pa.types.is_timestamp(kind):
        return rng.randrange(micros("0001-01-02 00:00:00"), micros("9999-12-30 00:00:00"))
    if pa.types.is_string(kind):
        return "".join(rng.choice("aAbz5 _%é\u0301ß日😀\uffff") for _ in range(rng.randint(0, 4)))
    if pa.types.is_binary(kind):
        return rng.randbytes(rng.randint(0, 9))
    return rng.choice(pool(field))


def _float(rng: random.Random, bits: int) -> float:
    """Any float there is, NaNs of every payload among them, except those that signal."""
    mantissa, code, size = (52, "<d", 8) if bits == 64 else (23, "<f", 4)
    pattern = rng.getrandbits(bits)
    if rng.random() < 0.1:  # all bits of the exponent set: NaN, quiet
        pattern |= (1 << (bits - 1)) - (1 << (mantissa - 1))
    found: float = struct.unpack(code, pattern.to_bytes(size, "little"))[0]
    return found if math.isfinite(found) or pattern >> (mantissa - 1) & 1 else math.inf


def rows(rng: random.Random, length: int) -> pa.Table:
    """A table of hard values; columns of one type share a pool, so that they often agree."""
    arrays = []
    for field in LEFT.columns:
        if field.name == "id":
            arrays.append(pa.array(range(length), field.arrow))
            continue
        edges = pool(field)
        values = [
            None if luck < 0.12 else rng.choice(edges) if luck < 0.88 else random_value(field, rng)
            for luck in (rng.random() for _ in range(length))
        ]
        arrays.append(array(values, field))
    return pa.table(arrays, names=[field.name for field in LEFT.columns])


def array(values: list[Any], field: Field) -> pa.Array:
    """Values of a pool as a column of the type."""
    if pa.types.is_date32(field.arrow):
        return pa.array(values, pa.int32()).view(field.arrow)
    if pa.types.is_timestamp(field.arrow):
        return pa.array(values, pa.int64()).view(field.arrow)
    return pa.array(values, field.arrow)
