"""The types of parameters, which a client may leave to the server to say, and their values read."""

from __future__ import annotations

import contextlib
import datetime as dt
import re
import struct
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from fff.errors import QueryError
from fff.schema import ArrowType
from fff.structs import lazy_pattern
from fff_cli.postgres.dialect import (
    Token,
    Written,
    listed,
    parameter_name,
    parameter_number,
    pieces,
    tokens,
    translated,
)
from fff_cli.postgres.error_codes import CodedError
from fff_cli.postgres.values import (
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    JSON,
    NUMERIC,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
    wire_type,
)
from fff_cli.postgres.wire import Body, ProtocolError

_VARCHAR, _NAME, _UNKNOWN, _CHAR, _OID, _BPCHAR = 1043, 19, 705, 18, 26, 1042
#: Types by the names that casts have for them.
_NAMED = {
    "bool": BOOL, "boolean": BOOL, "bytea": BYTEA, "binary": BYTEA, "int8": INT8, "bigint": INT8, "long": INT8,
    "int2": INT2, "smallint": INT2, "int4": INT4, "int": INT4, "integer": INT4, "text": TEXT, "string": TEXT,
    "varchar": _VARCHAR, "json": JSON, "float4": FLOAT4, "real": FLOAT4, "float8": FLOAT8, "float": FLOAT8,
    "double": FLOAT8, "numeric": NUMERIC, "decimal": NUMERIC, "date": DATE, "timestamp": TIMESTAMP,
    "timestamptz": TIMESTAMPTZ, "uuid": UUID, "oid": _OID, "name": _NAME, "interval": INTERVAL,
}  # fmt: skip
#: The types of arrays by those of their elements.
ARRAYS = {
    BOOL: 1000, BYTEA: 1001, INT2: 1005, INT4: 1007, TEXT: 1009, INT8: 1016, _VARCHAR: 1015, FLOAT4: 1021,
    FLOAT8: 1022, DATE: 1182, TIMESTAMP: 1115, TIMESTAMPTZ: 1185, NUMERIC: 1231, UUID: 2951, _OID: 1028, _NAME: 1003,
    _BPCHAR: 1014,
}  # fmt: skip
_ELEMENTS = {array: element for element, array in ARRAYS.items()}


async def kinds_told(
    sql: str, types: Callable[[str], Awaitable[Mapping[int, ArrowType]]] | None
) -> dict[int, int]:
    """The types of a statement's parameters, by their numbers, as casts tell and `types`, which knows Spark's SQL.

    What is wrong with the statement is told when its columns are asked for, or its rows.
    """
    told: dict[int, int] = {}
    with contextlib.suppress(QueryError):
        told |= cast_kinds(sql)
        text = translated(sql)
        for number, kind in (await types(text.sql)).items() if types is not None else ():
            told.setdefault(number, kind_of(kind, array=number in text.arrays))
    return told


def kind_of(value_type: ArrowType, *, array: bool) -> int:
    """The type that a parameter is told to have where values of that type are wanted, or arrays of them."""
    kind = wire_type(value_type).oid
    return ARRAYS.get(kind, ARRAYS[TEXT]) if array else kind


def cast_kinds(sql: str) -> Iterator[tuple[int, int]]:
    """The parameters that a statement casts, by their numbers, and the types that it says. Raises QueryError."""
    found = pieces(sql)
    texts = ["", "", *(one.text.lower().strip('"') for one in found), "", "", "", "", "", ""]
    for at, piece in enumerate(found, 2):
        casts = texts[at + 1] == "::" or texts[at - 2 : at] + texts[at + 1 : at + 2] == ["cast", "(", "as"]
        if piece.kind != "number" or not casts:
            continue
        place = at + (4 if texts[at + 2 : at + 4] == ["pg_catalog", "."] else 2)
        name = texts[place].removeprefix("_")
        if kind := _NAMED.get(name, 0):
            array = name != texts[place] or texts[place + 1 : place + 3] == ["[", "]"]
            yield parameter_number(piece), ARRAYS.get(kind, 0) if array else kind


def kind_named(name: str) -> int:
    """The type of that name, in lower case; 0 for `unknown`. Raises CodedError."""
    kind = _NAMED.get(name.replace("double precision", "float8").replace("character varying", "varchar"), 0)
    if not kind and name != "unknown":
        raise CodedError("42704", f"type {name!r} is not known here")
    return kind


def rewritten(value: bytes | None, kind: int) -> bytes | None:
    """A text as a value of a type is written, after a cast to it. Raises ValueError, ArithmeticError."""
    if value is None or kind in _ELEMENTS:
        return value
    cast = parameter(value, kind, binary=False)
    if isinstance(cast, Written):
        return value
    return str(cast).lower().encode() if isinstance(cast, bool) else str(cast).encode()


def sample(kind: int) -> object:
    """A value of a type, for what is described before there are values; None where one more would tell nothing."""
    return _SAMPLES.get(kind)


def spark_type(kind: int) -> str:
    """What an array's elements are called in Spark's SQL."""
    return _SPARK.get(_ELEMENTS.get(kind, TEXT), "string")


def filled(sql: str, params: Mapping[str, object]) -> str:
    """A statement about the catalog with its parameters in place: texts in quotes, numbers, lists of them."""

    def literal(value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, list):
            return f"[{', '.join(map(literal, value))}]"
        plain = isinstance(value, bool | int | float)
        return str(value) if plain else "'" + str(value).replace("'", "''") + "'"

    def written(token: Token) -> str:
        return (
            literal(params.get(parameter_name(parameter_number(token))))
            if token.kind == "number"
            else token.text
        )

    return "".join(map(written, tokens(sql)))


def guessed(value: bytes | None, kind: int, binary: bool) -> object:
    """The value of a parameter whose type the client has left to the server.

    Days and moments that are written otherwise stay texts, which Spark may know. Raises as `parameter`
    does, and CodedError.
    """
    try:
        return parameter(value, kind, binary)
    except (ValueError, ArithmeticError) as error:
        if binary or value is None:
            raise
        if kind in (DATE, TIMESTAMP, TIMESTAMPTZ):
            return value.decode()
        raise CodedError("22P02", f"{value.decode()!r} cannot be read as what it is compared with") from error


def parameter(value: bytes | None, kind: int, binary: bool) -> object:
    """The value of a parameter in Python; texts of no known type stay texts. Raises ProtocolError, ValueError."""
    if value is None:
        return None
    if kind in _ELEMENTS:
        return _unpacked(value) if binary else _listed(value.decode(), _ELEMENTS[kind])
    if not binary:
        text = value.decode()
        return _FROM_TEXT[kind](text) if kind in _FROM_TEXT else text
    if kind in _FROM_BINARY:
        form, made = _FROM_BINARY[kind]
        if len(value) != struct.calcsize(form):
            raise ProtocolError("a value of a parameter has not the length of its type")
        return made(struct.unpack(form, value)[0])
    if kind == NUMERIC:
        return _decimal(value)
    if kind == BYTEA:
        return _bytes(value)
    if kind == INTERVAL and len(value) == 16:
        micros, days, months = struct.unpack(">qii", value)
        return _interval(months, days * _DAY + micros)
    if kind == UUID and len(value) == 16:
        return str(uuid.UUID(bytes=value))
    if kind in (0, TEXT, _VARCHAR, _BPCHAR, _NAME, _UNKNOWN, _CHAR, JSON):
        return value.decode()
    raise ValueError(f"type {kind} is not read in binary: send text, or cast it")


def _decimal(value: bytes) -> Decimal:
    """As `values` writes them."""
    body = Body(value)
    count, weight, sign, scale = (body.int16() for _ in range(4))
    if sign not in (0, 0x4000):
        raise ValueError("NaN and infinity are no decimal numbers")
    number = int("".join(f"{body.int16():04}" for _ in range(count)) or "0")
    behind = 4 * (count - 1 - weight)  # digits behind the point that the groups hold
    number = number * 10 ** (scale - behind) if scale >= behind else number // 10 ** (behind - scale)
    return Decimal((int(sign != 0), tuple(map(int, str(number))), -scale))


def _unpacked(value: bytes) -> list[object]:
    """An array of one dimension in binary."""
    body = Body(value)
    dimensions, _, element = body.int32(), body.int32(), body.int32()
    if dimensions == 0:
        return []
    if dimensions != 1:
        raise ValueError("arrays have one dimension here")
    count, _ = body.int32(), body.int32()
    return [parameter(body.value(), element, binary=True) for _ in range(count)]


def _listed(text: str, element: int) -> list[object]:
    return [
        parameter(None if item is None else item.encode(), element, binary=False) for item in listed(text)
    ]


def _bytes(value: bytes) -> Written:
    return Written(f"X'{value.hex()}'")


def _bytes_from_text(text: str) -> Written:
    r"""As PostgreSQL writes them: `\x00ff`, or with `\377` and `\\` among characters. Raises ValueError."""
    if text.startswith("\\x"):
        return _bytes(bytes.fromhex(text[2:]))
    plain = text.encode()
    if re.fullmatch(rb"(?:[^\\]|\\\\|\\[0-3][0-7]{2})*", plain, re.DOTALL) is None:
        raise ValueError(f"{text!r} is no bytea")
    octal = re.compile(rb"\\(\\|[0-7]{3})")
    return _bytes(octal.sub(lambda hit: hit[1] if hit[1] == b"\\" else bytes([int(hit[1], 8)]), plain))


def _interval(months: int, micros: int) -> Written:
    """Spark knows intervals of months, and others of days and less; those of both are none. Raises CodedError."""
    if months and micros:
        raise CodedError("0A000", "an interval has either years and months, or days and less")
    sign = "-" if months < 0 or micros < 0 else ""
    if months:
        return Written("INTERVAL '{}{}-{}' YEAR TO MONTH".format(sign, *divmod(abs(months), 12)))
    days, rest = divmod(abs(micros), _DAY)
    seconds, micros = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{micros:06}"
    return Written(f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND")


def _interval_from_text(text: str) -> Written:
    """As PostgreSQL writes them, `1 year 2 mons` or `3 days -04:05:06.7`, and as other clients do. Raises ValueError, CodedError."""
    months, micros = Decimal(0), Decimal(0)
    beside = _SPAN_PART.sub("", text.lower())
    if not re.fullmatch(r"[@,\s]*(?:ago)?\s*", beside) or not _SPAN_PART.search(text.lower()):
        raise ValueError(f"{text!r} is no interval")
    for one in _SPAN_PART.finditer(text.lower()):
        if one["hours"]:
            clock = (int(one["hours"]) * 60 + int(one["minutes"])) * 60 + Decimal(one["seconds"] or 0)
            micros += clock * 1_000_000 * (-1 if one["sign"] == "-" else 1)
            continue
        number, size = Decimal(one["number"]), _UNITS.get(one["unit"])
        if size is None:
            raise ValueError(f"{one['unit']!r} is no unit of an interval")
        months += number * size if size < 0 else 0
        micros += number * size if size > 0 else 0
    ago = -1 if "ago" in beside else 1
    if months % 1:
        raise ValueError(f"{text!r} has parts of months")
    return _interval(-int(months) * ago, int(micros) * ago)


def _truth(text: str) -> bool:
    if text.lower() in ("t", "true", "on", "yes", "y", "1"):
        return True
    if text.lower() in ("f", "false", "off", "no", "n", "0"):
        return False
    raise ValueError(f"{text!r} is no truth value")


def _moment(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text)


def _from_micros(zone: dt.tzinfo | None) -> Callable[[int], dt.datetime]:
    start = dt.datetime(2000, 1, 1, tzinfo=zone)
    return lambda micros: start + dt.timedelta(microseconds=micros)


def _same(value: Any) -> Any:
    return value


_DAY = 86_400_000_000
#: Microseconds of the units of intervals; of those that are months, how many, as a negative number.
_UNITS = {
    word: size for words, size in {
    "us usec usecs microsecond microseconds": 1, "ms msec msecs millisecond milliseconds": 1_000,
    "s sec secs second seconds": 1_000_000, "m min mins minute minutes": 60_000_000, "h hr hrs hour hours": 3_600_000_000,
    "d day days": _DAY, "w week weeks": 7 * _DAY, "mon mons month months": -1, "y yr yrs year years": -12,
    }.items() for word in words.split()
}  # fmt: skip
_SPAN_PART = lazy_pattern(
    r"(?P<sign>[-+]?)(?P<hours>\d+):(?P<minutes>\d\d)(?::(?P<seconds>\d\d(?:\.\d+)?))?|(?P<number>[-+]?\d+(?:\.\d+)?)\s*(?P<unit>[a-z]+)",
)
_FROM_TEXT: dict[int, Callable[[str], object]] = {
    BOOL: _truth,
    INT2: int,
    INT4: int,
    INT8: int,
    _OID: int,
    FLOAT4: float,
    FLOAT8: float,
    NUMERIC: Decimal,
    DATE: dt.date.fromisoformat,
    TIMESTAMP: _moment,
    TIMESTAMPTZ: _moment,
    BYTEA: _bytes_from_text,
    INTERVAL: _interval_from_text,
}
_FROM_BINARY: dict[int, tuple[str, Callable[[Any], object]]] = {
    BOOL: (">?", _same),
    INT2: (">h", _same),
    INT4: (">i", _same),
    INT8: (">q", _same),
    _OID: (">I", _same),
    FLOAT4: (">f", _same),
    FLOAT8: (">d", _same),
    DATE: (">i", lambda days: dt.date(2000, 1, 1) + dt.timedelta(days=days)),
    TIMESTAMP: (">q", _from_micros(None)),
    TIMESTAMPTZ: (">q", _from_micros(dt.UTC)),
}
_SAMPLES: Mapping[int, object] = {
    BYTEA: Written("X''"), INTERVAL: Written("INTERVAL '1' DAY"),
    BOOL: True, INT2: 1, INT4: 1, INT8: 1, FLOAT4: 1.0, FLOAT8: 1.0, NUMERIC: Decimal(1),
    DATE: dt.date(2000, 1, 1), TIMESTAMP: dt.datetime.fromisoformat("2000-01-01"), TIMESTAMPTZ: dt.datetime(2000, 1, 1, tzinfo=dt.UTC),
}  # fmt: skip
_SPARK = {
    BOOL: "boolean", INT2: "smallint", INT4: "int", INT8: "bigint", FLOAT4: "float", FLOAT8: "double",
    NUMERIC: "decimal(38, 18)", DATE: "date", TIMESTAMP: "timestamp_ntz", TIMESTAMPTZ: "timestamp",
    BYTEA: "binary",
}  # fmt: skip
