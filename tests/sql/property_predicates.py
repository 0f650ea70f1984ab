"""Random conditions in Spark SQL over the table of hard values: most of what WHERE can say, in many spellings."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
from property_judge import Written
from property_values import LEFT, moment, pool, random_value

from fff.schema import Field

_OPERATORS = ("=", "=", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "==")
_ZONES = ("Z", "Z", " Z", "+00:00", "-00:00", "+01:00", "-08:00", "+05:30", "+14:00", "+18:00", "+18:01", "-19:00", "+23:59",
          "+1", "+01", "UTC", " UTC", " GMT+1", " Europe/Berlin", " America/New_York", "+01:00:30", "z")  # fmt: skip
# fmt: off
_ODD_DATES = (
    "2020-2-29", "2020-02", "2020", "2019-02-29", "2020-02-30", "0000-01-01", "10000-01-01", "+10000-01-01",
    "-0044-03-15", "1582-10-10", "today", "epoch", " 2020-01-01", "2020-01-01 ", "2020-01-01T", "20200101",
    "2020-02-29x",
    "2020-01-01 10:00:00", "02020-01-01", "12020-01-01", "\u0662\u0660\u0662\u0660-01-01", "",
)
_ODD_TIMES = (
    "2020-01-01 24:00:00", "2020-01-01 10:00:60", "2020-01-01 10:00", "2020-01-01 10",
    "2020-01-01T10:00:00,5", "2020-01-01 1:2:3", "2020-01-01 10:00:00.1234567",
    "2020-01-01 10:00:00.123456789", "2020-01-01 10:00:00.", "10:00:00", "T10:00:00Z", "now",
    "2020-03-08 02:30:00 America/New_York", "2020-11-01 01:30:00 America/New_York",
    "2020-03-29 02:30:00 Europe/Berlin", "0001-01-01 00:00:00+14:00", "9999-12-31 23:59:59.999999-14:00",
    "2020-01-01  10:00:00Z", "2020-01-01t10:00:00z", "2020-01-01\u00a010:00:00",
    "2020-01-01 10:00:00 +01:00",
    "2020-06-30 23:59:60Z", "0000-12-31 23:00:00-05:00", "+12020-01-01 00:00:00Z",
)
_ODD_NUMBERS = (
    "128", "-129", "32768", "2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "-9223372036854775809", "16777217", "9007199254740993", "-9007199254740993",
    "-0", "- 5", "-(5)", "+5", "(5)", "((-5))", "5Y", "127Y", "-128Y", "5S", "5L", "5l", "0L", "5.0",
    "5.00", "5.", ".5", "-.5", "0.1", "0.10", "7.5", "7.50", "7.500", "7.499999", "-7.25", "100.01",
    "99999999.99", "100000000.00", "99999999999", "0.00001", "1e0", "5e0", "1e-1", "1E400", "1e-400",
    "5e-324", "5D", "0.1D", "-0.0D", "1e308D", "0.1F", "5F", "0.5F", "3.4e38F", "1e-45F",
    "16777217F", "5BD", "0.1BD", "7.500BD", "-0.0BD", "-0.0", "12345678901234567890123456789012345678",
    "0.12345678901234567890123456789012345678", "123456789012345678901234567890123456.78", "5 + 0", "1/0",
    "0x1F", "00005", "9999999999999999999999999999999999.9999", "1234567.8901", "0.0", "0.000",
    "5.000000000000000000000000000000000000", "1.00000017881393432617187499F",
    "1.00000017881393432617187499e0F", "CAST(1.00000017881393432617187499e0 AS FLOAT)", "1e5BD", "1e-1BD",
    "1e-400BD", "1e38BD", "1E37BD", "-7.25e0BD", "1e-39F", "1e40F", "1e309D", "1e5L", "1.5L", "5.0Y",
    "123456789012345678901234567890123456789", "0.123456789012345678901234567890123456789",
    "0.0000000000000000000000000000000000000000",
)
_ODD_STRINGS = (
    "'it''s'", r"'it\'s'", '"say ""a"""', r"'a\n'", r"'\u00e9'", r"'a\\'", "r'a\\'", "R'a'", "'a' 'b'",
    "'a'  \"b\"", "N'a'",
    r"'\0'", r"'a\%'", r"'\141'", "'a\nb'", "'a--b'", "'/* a */'", "';'", r"'\U0001F600'", "''''",
)
# fmt: on
_FAMILIES = ("boolean", "number", "string", "date", "timestamp", "timestamp_ntz")
_CASTS = ("INT", "BIGINT", "TINYINT", "SMALLINT", "FLOAT", "DOUBLE", "DECIMAL", "DECIMAL(10,2)", "DECIMAL(3,1)", "DECIMAL(38,4)",
          "STRING", "VARCHAR(3)", "CHAR(4)", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ", "BOOLEAN", "BINARY")  # fmt: skip
_FUNCTIONS = ("abs({})", "upper({})", "lower({})", "trim({})", "length({})", "coalesce({}, {})", "nvl({}, {})", "nullif({}, {})",
              "if({} IS NULL, {}, {})", "greatest({}, {})", "least({}, {})", "year({})", "date_add({}, 1)", "isnan({})",
              "concat({}, {})", "substr({}, 1, 1)", "round({}, 1)", "floor({})", "to_date({})", "hex({})", "isnull({})",
              "isnotnull({})", "startswith({}, {})", "contains({}, {})", "equal_null({}, {})", "nanvl({}, {})", "array({})")  # fmt: skip


class Conditions:
    """Writes conditions over the columns of one or more relations; `parameters` lets constants be bound to :names."""

    def __init__(
        self, rng: random.Random, *, qualifiers: tuple[str, ...] = ("", "", "", "t."), parameters: bool = True
    ):
        self._rng = rng
        self._qualifiers = qualifiers
        self._parameters = parameters
        self._bound: dict[str, object] = {}
        self._columns = [field for field in LEFT.columns if field.name != "id"]
        self._comparable = [
            field for field in self._columns if field.name not in {"x", "x2", "a", "st", "mp"}
        ]
        self._by_family: dict[str, list[Field]] = {}
        for field in self._columns:
            self._by_family.setdefault(family(field), []).append(field)

    def one(self) -> Written:
        """One condition, of one or several conjuncts."""
        self._bound = {}
        text = (
            self._conjunction()
            if self._rng.random() < 0.25
            else self._condition(self._rng.choice((0, 0, 1, 1, 2, 3)))
        )
        params = {name: value for name, value in self._bound.items() if f":{name}" in text}
        return Written(text, params)

    def _conjunction(self) -> str:
        """Conjuncts that have to do with each other: equalities, and constants for members of their classes."""
        field = self._field()
        kin = self._by_family[family(field)]
        parts = []
        for _ in range(self._rng.randint(2, 4)):
            one, other = self._rng.choice(kin), self._rng.choice(kin)
            parts.append(
                self._rng.choice(
                    (
                        lambda one=one, other=other: f"{self._name(one)} = {self._name(other)}",
                        lambda one=one: f"{self._name(one)} {self._operator()} {self._constant(one)}",
                        lambda one=one: self._in(one),
                        lambda: self._condition(1),
                    )
                )()
            )
        return " AND ".join(part if self._plain(part) else f"({part})" for part in parts)

    def _condition(self, depth: int) -> str:
        if depth <= 0:
            return self._atom()
        one = self._condition(depth - 1)
        luck = self._rng.random()
        if luck < 0.2:
            return f"NOT {one}" if self._rng.random() < 0.5 else f"{self._rng.choice(('NOT ', '!'))}({one})"
        if luck < 0.28:
            test = self._rng.choice(
                ("TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "NULL", "NOT NULL", "UNKNOWN", "NOT UNKNOWN")
            )
            return f"({one}) IS {test}"
        if luck < 0.31:
            return f"({one}) {self._operator()} ({self._condition(depth - 1)})"
        if luck < 0.34:  # Spark's precedence, without brackets to help
            return f"{one} {self._rng.choice(('IS NULL', 'IS NOT NULL', '= TRUE', '<=> b', '= NULL', 'IN (TRUE)'))}"
        other = self._condition(self._rng.randrange(depth))
        word = self._rng.choice(("AND", "OR", "OR", "and", "Or"))
        if self._rng.random() < 0.5:
            return f"{one} {word} {other}"
        return f"({one}) {word} ({other})"

    def _atom(self) -> str:
        kinds: list[tuple[int, Callable[[], str]]] = [
            (30, self._comparison),
            (14, self._in),
            (7, self._between),
            (6, lambda: f"{self._operand()} IS {self._rng.choice(('', 'NOT '))}NULL"),
            (4, self._truth),
            (5, self._distinct),
            (3, lambda: self._name(self._rng.choice(self._by_family["boolean"]))),
            (3, self._repeated),
            (
                2,
                lambda: self._rng.choice(
                    ("TRUE", "FALSE", "NULL", "1 = 1", "1 = 2", "'a' < 'b'", "NULL = NULL")
                ),
            ),
            (2, lambda: f"{self._literal()} {self._operator()} {self._literal()}"),
            (4, self._pattern),
            (4, self._arithmetic),
            (4, self._function),
            (4, self._cast),
            (2, self._case),
        ]
        return self._rng.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()

    def _comparison(self) -> str:
        field = self._rng.choice(self._columns) if self._rng.random() < 0.05 else self._field()
        left, right = self._name(field), self._other(field)
        if self._rng.random() < 0.2:
            left, right = right, left
        space = self._rng.choice((" ", " ", "", "  ", "\n", " /* why */ "))
        return f"{left}{space}{self._operator()} {right}"

    def _other(self, field: Field) -> str:
        """What a column is compared with: mostly something of its family."""
        luck = self._rng.random()
        if luck < 0.5:
            return self._constant(field)
        if luck < 0.65:
            return self._literal()
        if luck < 0.8:
            return self._name(self._rng.choice([one for one in self._columns if one.type == field.type]))
        if luck < 0.9:
            return self._name(self._rng.choice(self._by_family[family(field)]))
        if luck < 0.97:
            return self._name(self._rng.choice(self._columns))
        return f"({self._condition(0)})"

    def _in(self, field: Field | None = None) -> str:
        field = field or self._field()
        odd = self._rng.random() < 0.1
        items = [
            self._literal() if odd else self._constant(field)
            for _ in range(self._rng.choice((1, 1, 2, 3, 5)))
        ]
        if self._rng.random() < 0.25:
            items.insert(self._rng.randint(0, len(items)), "NULL")
        return f"{self._name(field)} {self._rng.choice(('IN', 'IN', 'NOT IN', 'in'))} ({', '.join(items)})"

    def _repeated(self) -> str:
        """`x = 1 OR x = 2`, which the planner reads as an IN list."""
        field = self._field()
        other = field if self._rng.random() < 0.8 else self._rng.choice(self._by_family[family(field)])
        return (
            f"{self._name(field)} = {self._constant(field)} OR {self._name(other)} = {self._constant(other)}"
        )

    def _between(self) -> str:
        field = self._field()
        word = self._rng.choice(("BETWEEN", "BETWEEN", "NOT BETWEEN"))
        return f"{self._name(field)} {word} {self._other(field)} AND {self._other(field)}"

    def _truth(self) -> str:
        field = self._rng.choice(self._by_family["boolean"] if self._rng.random() < 0.8 else self._columns)
        test = self._rng.choice(("TRUE", "FALSE", "NOT TRUE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"))
        return f"{self._name(field)} IS {test}"

    def _distinct(self) -> str:
        field = self._field()
        return f"{self._name(field)} IS {self._rng.choice(('', 'NOT '))}DISTINCT FROM {self._other(field)}"

    def _pattern(self) -> str:
        field = self._rng.choice(self._by_family["string"])
        word = self._rng.choice(("LIKE", "NOT LIKE", "ILIKE", "RLIKE", "REGEXP"))
        pattern = self._rng.choice(("%a", "a%", "_", "5", "%", "A", r"a\\%", ".", "É"))
        return f"{self._name(field)} {word} '{pattern}'"

    def _arithmetic(self) -> str:
        field, other = (self._field() for _ in range(2))
        sign = self._rng.choice(("+", "-", "*", "/", "%", " DIV ", "&", "||"))
        return f"{self._name(field)} {sign} {self._other(other)} {self._operator()} {self._other(field)}"

    def _function(self) -> str:
        field = self._field()
        call = self._rng.choice(_FUNCTIONS)
        call = call.format(
            *(self._other(field) if place else self._name(field) for place in range(call.count("{}")))
        )
        return f"{call} {self._operator()} {self._other(field)}" if self._rng.random() < 0.8 else call

    def _cast(self) -> str:
        field = self._field()
        kind = field.type if self._rng.random() < 0.5 else self._rng.choice(_CASTS)
        what = self._rng.choice((self._name, self._constant, self._constant, lambda _: self._literal()))(
            field
        )
        word = self._rng.choice(("CAST", "CAST", "TRY_CAST"))
        cast = f"{what}::{kind}" if self._rng.random() < 0.2 else f"{word}({what} AS {kind})"
        other = field if self._rng.random() < 0.8 else self._field()
        return f"{self._name(other)} {self._operator()} {cast}"

    def _case(self) -> str:
        field = self._field()
        return (
            f"CASE WHEN {self._comparison()} THEN {self._comparison()} ELSE {self._name(field)} IS NULL END"
        )

    def _operand(self) -> str:
        return self._name(self._rng.choice(self._columns)) if self._rng.random() < 0.9 else self._literal()

    def _field(self) -> Field:
        """A column that can be compared; numbers, which have most types, do not crowd out the rest."""
        fields = self._comparable
        if self._rng.random() < 0.6:
            fields = self._by_family[self._rng.choice(_FAMILIES)]
        return self._rng.choice(fields)

    def _operator(self) -> str:
        return self._rng.choice(_OPERATORS)

    def _name(self, field: Field) -> str:
        name = self._rng.choice((field.name, field.name, field.name, field.name.upper(), f"`{field.name}`"))
        return self._rng.choice(self._qualifiers) + name

    def _constant(self, field: Field) -> str:
        """A constant of the column's family: an edge value of its pool, or a spelling that is one itself."""
        if self._rng.random() < 0.03:
            return "NULL"
        kind, odd = family(field), self._rng.random() < 0.3
        if odd and kind == "number":
            return self._rng.choice(_ODD_NUMBERS)
        if odd and kind == "string":
            return self._rng.choice(_ODD_STRINGS)
        if odd and kind in {"date", "timestamp", "timestamp_ntz"}:
            text = self._rng.choice(_ODD_DATES + _ODD_TIMES)
            if self._rng.random() < 0.3:
                text += self._rng.choice(_ZONES)
            return (
                self._rng.choice(("", "", "DATE ", "TIMESTAMP ", "TIMESTAMP_NTZ ", "TIMESTAMP_LTZ "))
                + f"'{text}'"
            )
        donor = field if self._rng.random() < 0.6 else self._rng.choice(self._by_family[kind])
        value = random_value(donor, self._rng) if self._rng.random() < 0.1 else self._rng.choice(pool(donor))
        if self._parameters and self._rng.random() < 0.06:
            parameter = _python(value, donor)
            if parameter is not None:
                return self._bind(parameter)
        return spell(value, donor, self._rng)

    def _literal(self) -> str:
        """A constant of any family."""
        luck = self._rng.random()
        if luck < 0.05:
            return self._rng.choice(
                ("X'61'", "x'FF'", "INTERVAL 1 DAY", "INTERVAL '1' YEAR", "ARRAY(1)", "CURRENT_DATE", "map()")
            )
        return self._constant(self._field())

    def _bind(self, value: object) -> str:
        name = f"v{'abcdefghijklmnopqrstuvwxyz'[len(self._bound) % 26]}{len(self._bound) // 26}_"
        self._bound[name] = value
        return f":{name}"

    def _plain(self, part: str) -> bool:
        """Whether a part stands in a chain of ANDs as it is."""
        return " or " not in part.lower() and self._rng.random() < 0.7


def family(field: Field) -> str:
    """Types whose constants and columns are worth comparing with each other."""
    kind = field.arrow
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_string(kind):
        return "string"
    return "binary" if pa.types.is_binary(kind) else field.type.partition("<")[0]


def spell(value: Any, field: Field, rng: random.Random) -> str:
    """A value of a pool in SQL, in one of its spellings."""
    kind = field.arrow
    if pa.types.is_boolean(kind):
        return rng.choice((str(value), str(value).lower(), str(value).upper()))
    if pa.types.is_integer(kind):
        return rng.choice(
            (
                str(value),
                str(value),
                str(value),
                f"{value}L",
                f"'{value}'",
                f"{value}.0",
                f"{value}BD",
                f"({value})",
            )
        )
    if pa.types.is_floating(kind):
        if not math.isfinite(value):
            return f"{rng.choice(('double', 'float'))}('{value}')"
        return rng.choice(
            (f"{value!r}D", f"{value!r}", f"{value:e}", f"{value!r}F", f"'{value!r}'", f"{Decimal(value):f}")
        )
    if pa.types.is_decimal(kind):
        return rng.choice(
            (
                f"{value:f}",
                f"{value:f}",
                f"{value:f}BD",
                f"{value:f}0",
                f"'{value:f}'",
                f"{value.normalize():f}",
            )
        )
    if pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return _spell_time(value, field, rng)
    if pa.types.is_string(kind):
        quote = rng.choice("'''\"")
        return quote + value.replace("\\", "\\\\").replace(quote, "\\" + quote) + quote
    return f"X'{value.hex()}'" if pa.types.is_binary(kind) else "NULL"


def _spell_time(value: int, field: Field, rng: random.Random) -> str:
    if field.type == "date":
        reading = moment(value * 86_400_000_000)
        if reading is None:
            return "DATE '9999-12-31'"
        text = reading.date().isoformat()
        return rng.choice(
            (f"DATE '{text}'", f"'{text}'", f"date'{text}'", f"CAST('{text}' AS DATE)", f"'{text} 00:00:00'")
        )
    reading = moment(value)
    if reading is None:
        return "TIMESTAMP '9999-12-31 23:59:59.999999Z'"
    offset = rng.choice((0, 0, 60, -480, 330, 840, -1080))
    try:
        shifted = reading + dt.timedelta(minutes=offset)
    except OverflowError:
        shifted, offset = reading, 0
    text = shifted.isoformat(sep=rng.choice(" T"))
    if shifted.time() == dt.time() and rng.random() < 0.5:
        text = shifted.date().isoformat()
    sign, size = "-" if offset < 0 else "+", abs(offset)
    zone = (
        f"{sign}{size // 60:02}:{size % 60:02}"
        if offset or rng.random() < 0.3
        else rng.choice(("Z", "Z", " UTC", ""))
    )
    if field.type == "timestamp_ntz":
        return (
            rng.choice(("TIMESTAMP_NTZ ", "TIMESTAMP_NTZ ", ""))
            + f"'{reading.isoformat(sep=rng.choice(' T'))}'"
        )
    return rng.choice(("TIMESTAMP ", "TIMESTAMP ", "TIMESTAMP_LTZ ", "")) + f"'{text}{zone}'"


def _python(value: Any, field: Field) -> object | None:
    """The value a caller would bind, None where Python has none."""
    kind = field.arrow
    if pa.types.is_date32(kind):
        reading = moment(value * 86_400_000_000)
        return reading.date() if reading is not None else None
    if pa.types.is_timestamp(kind):
        reading = moment(value)
        return reading.replace(tzinfo=dt.UTC) if reading is not None and kind.tz is not None else reading
    return value if isinstance(value, bool | int | float | Decimal | str) else None


def odd_spellings(kind: str) -> list[str]:
    """Every spelling of a constant of a family that is an edge value itself."""
    if kind == "number":
        return [*_ODD_NUMBERS, *(f"'{number}'" for number in _ODD_NUMBERS)]
    if kind in {"boolean", "string"}:
        return list(_ODD_STRINGS)
    times = [f"{text}{zone}" for text in _ODD_DATES + _ODD_TIMES for zone in ("", "Z")]
    times += [f"2020-01-01 00:00:00{zone}" for zone in _ZONES]
    return [f"{word}'{text}'" for word in ("", "DATE ", "TIMESTAMP ", "TIMESTAMP_NTZ ") for text in times]
