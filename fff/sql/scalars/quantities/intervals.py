"""INTERVAL: lengths of time in microseconds, which may be computed, and numbers of months, which are constants here."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from fff.dataflow.kernels.texts import fitted
from fff.dataflow.plan.expressions import Literal
from fff.schema import ArrowType
from fff.sql.scalars.coercion import (
    DATE,
    DOUBLE,
    DURATION,
    INT,
    LONG,
    MONTHS,
    NAIVE,
    STRING,
    TIMESTAMP,
    VOID,
    cast,
    is_decimal,
    is_integer,
    is_moment,
    is_number,
    type_name,
)
from fff.sql.scalars.typed import LeftToSparkError, Typed, call
from fff.sql.syntax.grammar import Positive
from fff.sql.syntax.statement import Node, exp
from fff.structs import lazy_pattern

#: Microseconds, and months.
_UNITS = {
    "WEEK": 604_800_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1_000,
    "MICROSECOND": 1,
}
_MONTHS = {"YEAR": 12, "MONTH": 1}
_WHOLE = lazy_pattern(r"\s*([+-]?)(\d{1,10})\s*", re.ASCII)
_SECONDS = lazy_pattern(r"\s*([+-]?)(\d{1,10})(?:\.(\d{1,9}))?\s*", re.ASCII)
_PAIR = lazy_pattern(r"([+-]?\d{1,10}(?:\.\d{1,9})?)\s+([a-z]+?)s?\b", re.ASCII | re.IGNORECASE)
_YEARS = lazy_pattern(r"([+-]?)(\d{1,9})-(\d{1,2})", re.ASCII)
#: The letters of units from days to seconds, and of types with days alone, and with all of them.
_ORDER, _DAYS, _ALL = "DHMS", "D", "DS"
_MONTHS_ORDER = "YM"
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_CLOCK = {
    "HOUR": r"(\d{1,2})",
    "MINUTE": r"(\d{1,2})",
    "SECOND": r"(\d{1,2})(?:\.(\d{1,9}))?",
    "DAY": r"(\d{1,6})",
}
_TYPE = lazy_pattern(r"INTERVAL (YEAR|MONTH|DAY|HOUR|MINUTE|SECOND)(?: TO (MONTH|HOUR|MINUTE|SECOND))?")
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)
#: How far dates and moments are moved.
_MOST_MONTHS, _MOST_DAYS = 1_200_000, 700_000
_MOST = 2**63 - 1
_PART_TYPES: dict[str, ArrowType] = {
    "DAY": INT,
    "HOUR": pa.int8(),
    "MINUTE": pa.int8(),
    "SECOND": pa.decimal128(8, 6),
}
_PART_NAMES = {
    **dict.fromkeys(("DAY", "D", "DAYS"), "DAY"),
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "HOUR"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "MINUTE"),
    **dict.fromkeys(("SECOND", "S", "SEC", "SECONDS", "SECS"), "SECOND"),
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "YEAR"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "MONTH"),
}


def is_interval(kind: ArrowType) -> bool:
    """A length of time, of either kind."""
    return kind in (DURATION, MONTHS)


def literal(node: Node) -> Typed:
    """An INTERVAL as it is written. Raises LeftToSparkError where it is not of a plain form."""
    this, minus = node.this, False
    if isinstance(this, exp.Neg | Positive):
        this, minus = this.this, isinstance(this, exp.Neg)
    if not isinstance(this, exp.Literal):
        raise LeftToSparkError("an interval of a computed length")
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        interval = _span(this.name, unit.this.name.upper(), unit.expression.name.upper())
    elif unit is None:
        interval = _pairs(this.name)
    else:
        interval = _one(this.name, unit.name)
    return negated(interval) if minus else interval


def _one(text: str, unit: str) -> Typed:
    unit = unit.upper().removesuffix("S")
    match = (_SECONDS if unit == "SECOND" else _WHOLE).fullmatch(text)
    if match is None or unit not in _UNITS.keys() | _MONTHS.keys():
        raise LeftToSparkError("an interval of this form")
    sign = -1 if match[1] == "-" else 1
    if unit in _MONTHS:
        return _months(sign * int(match[2]) * _MONTHS[unit], units=unit[0])
    micros = int(match[2]) * _UNITS[unit] + (_fraction(match[3]) if unit == "SECOND" else 0)
    return length(sign * micros, units=_letters(unit, unit))


def _fraction(digits: str | None) -> int:
    """Microseconds of what stands behind the point of seconds."""
    return int(f"{digits or '':0<6}"[:6])


def _pairs(text: str) -> Typed:
    """Numbers and units of time in turn."""
    words = re.sub(r"^interval\s+", "", text.strip(), flags=re.IGNORECASE)
    if re.fullmatch(rf"(?:{_PAIR.pattern}\s*)+", words, _PAIR.flags) is None:
        raise LeftToSparkError("an interval of this form")
    pairs = _PAIR.findall(words)
    intervals = [_one(number, unit) for number, unit in pairs]
    total = intervals[0]
    for one in intervals[1:]:
        total = arithmetic("add", total, one)
    return total


def _span(text: str, first: str, last: str) -> Typed:
    """`'1 02:03' DAY TO MINUTE` and the like."""
    if (first, last) == ("YEAR", "MONTH"):
        match = _YEARS.fullmatch(text.strip())
        if match is None or int(match[3]) > 11:
            raise LeftToSparkError("an interval of this form")
        return _months((-1 if match[1] == "-" else 1) * (int(match[2]) * 12 + int(match[3])), units="YM")
    if first not in _FIELDS or last not in _FIELDS or _FIELDS.index(first) >= _FIELDS.index(last):
        raise LeftToSparkError("an interval of these units")
    units = _FIELDS[_FIELDS.index(first) : _FIELDS.index(last) + 1]
    pattern = (
        "([+-]?)"
        + _CLOCK[first]
        + "".join((" " if unit == "HOUR" else ":") + _CLOCK[unit] for unit in units[1:])
    )
    match = re.fullmatch(pattern, text.strip(), re.ASCII)
    if match is None:
        raise LeftToSparkError("an interval of this form")
    counts = [int(part) for part in match.groups()[1 : len(units) + 1]]
    most = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}
    if any(count > most.get(unit, count) for unit, count in zip(units, counts, strict=True)):
        raise LeftToSparkError("an interval of this form")
    micros = sum(count * _UNITS[unit] for unit, count in zip(units, counts, strict=True))
    micros += _fraction(match.groups()[-1]) if last == "SECOND" else 0
    return length(-micros if match[1] == "-" else micros, units=_letters(first, last))


def length(micros: int, *, units: str) -> Typed:
    """A constant length of time. Raises LeftToSparkError where there is none so long."""
    if abs(micros) > _MOST:
        raise LeftToSparkError("an interval of such a length")
    return Typed(Literal(micros, DURATION), DURATION, units=units)


def _months(count: int, *, units: str = "") -> Typed:
    if not -(2**31) <= count < 2**31:
        raise LeftToSparkError("an interval of such a length")
    return Typed(Literal(pa.MonthDayNano([count, 0, 0]), MONTHS), MONTHS, units=units)


def count_of(one: Typed) -> int | None:
    """The microseconds or months of a constant."""
    if not isinstance(one.expr, Literal) or one.expr.value is None:
        return None
    value = one.expr.value
    if isinstance(value, pa.MonthDayNano):
        return int(value.months)
    return int(one.expr.scalar.cast(pa.int64()).as_py())


def negated(one: Typed) -> Typed:
    """`-` of an interval."""
    count = count_of(one)
    if one.type == MONTHS:
        if count is None:
            raise LeftToSparkError("an interval of computed months")
        return _months(-count, units=one.units)
    if count is not None:
        return length(-count, units=one.units)
    return _kept(call("duration_negative", [one], DURATION, fails=True), one.units)


def absolute(one: Typed) -> Typed:
    """`abs` of an interval."""
    count = count_of(one)
    if count is not None:
        return one if count >= 0 else negated(one)
    if one.type == MONTHS:
        raise LeftToSparkError("an interval of computed months")
    return _kept(call("duration_abs", [one], DURATION, fails=True), one.units)


def of_number(one: Typed, written: str) -> Typed:
    """A constant number cast to an interval, of which it counts the last unit. Raises LeftToSparkError."""
    match = _TYPE.fullmatch(written.upper())
    number = one.expr.value if isinstance(one.expr, Literal) else None
    if (
        match is None
        or isinstance(number, bool)
        or not isinstance(number, int | Decimal)
        or not is_number(one.type)
    ):
        raise LeftToSparkError(f"casts to {written}")
    first, last = match[1], match[2] or match[1]
    size = _MONTHS.get(last) or _UNITS[last]
    count = int(_EXACT.multiply(Decimal(number), Decimal(size)).quantize(Decimal(1), context=_EXACT))
    units = _letters(first, last)
    return _months(count, units=units) if last in _MONTHS else length(count, units=units)


def as_number(one: Typed, kind: ArrowType) -> Typed:
    """A constant interval cast to a number of its last unit. Raises LeftToSparkError."""
    count = count_of(one)
    if count is None or not one.units or not (is_integer(kind) or is_decimal(kind)):
        raise LeftToSparkError(f"casts an interval to {type_name(kind)}")
    names = _MONTHS if one.type == MONTHS else _UNITS
    last = next(unit for unit in names if unit != "WEEK" and unit[0] == one.units[-1])
    if is_decimal(kind) and last == "SECOND":
        exact = Decimal(count).scaleb(-6)
    else:
        exact = Decimal((abs(count) // names[last]) * (-1 if count < 0 else 1))
    value = fitted(exact, kind) if is_decimal(kind) else int(exact)
    half = 0 if is_decimal(kind) else 1 << (kind.bit_width - 1)
    if value is None or (half and not -half <= value < half):
        raise LeftToSparkError("an interval beyond a number")
    return Typed(Literal(value, kind), kind)


def sign(one: Typed) -> Typed:
    """`sign` of an interval: a double."""
    if one.type == MONTHS:
        count = count_of(one)
        if count is None:
            raise LeftToSparkError("an interval of computed months")
        return Typed(Literal(float((count > 0) - (count < 0)), DOUBLE), DOUBLE)
    return call("duration_sign", [one], DOUBLE)


def _kept(one: Typed, units: str) -> Typed:
    return Typed(one.expr, one.type, units=units)


def _letters(first: str, last: str) -> str:
    """The letters of two units; what is shorter than a second is of seconds, and weeks are of days."""
    shown = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
    letters = shown.get(first, first)[0] + shown.get(last, last)[0]
    return letters[0] if letters[0] == letters[1] else letters


def concerned(name: str, left: Typed, right: Typed) -> bool:
    """Whether an operator of two values is one of intervals, or makes one."""
    if is_interval(left.type) or is_interval(right.type):
        return True
    kinds = (left.type, right.type)
    if (
        VOID in kinds
        and name in {"add", "subtract"}
        and any(kind == DATE or is_moment(kind) for kind in kinds)
    ):
        return True
    timed = [kind for kind in kinds if kind == DATE or is_moment(kind)]
    texts = [one for one in (left, right) if one.type == STRING and isinstance(one.expr, Literal)]
    return name == "subtract" and len(timed) >= 1 and len(timed) + len(texts) == 2


def arithmetic(name: str, left: Typed, right: Typed, *, tries: bool = False) -> Typed:
    """An operator with an interval, or the interval between two moments. Raises LeftToSparkError."""
    if tries and (left.may_fail or right.may_fail):  # which Spark tries as well
        raise LeftToSparkError(f"try_{name}(…) of an interval that may fail")
    if VOID in (left.type, right.type):
        has_kind = right.type == VOID or name in {"add", "subtract", "multiply"}
        if tries or left.may_fail or right.may_fail or not has_kind:
            raise LeftToSparkError(f"{name} of NULL")
        return _of_null(name, right if left.type == VOID else left)
    if is_interval(left.type) and is_interval(right.type):
        return _of_two(name, left, right, tries=tries)
    if is_interval(left.type) and name == "add" and not is_number(right.type):
        return _moved(right, left, 1, tries=tries)
    if is_interval(right.type) and name in {"add", "subtract"} and not is_number(left.type):
        return _moved(left, right, 1 if name == "add" else -1, tries=tries)
    if is_interval(right.type) and name == "multiply":
        left, right = right, left
    if is_interval(left.type) and name in {"multiply", "divide"}:
        return _scaled(name, left, right, tries=tries)
    if name == "subtract" and not tries and not is_interval(left.type) and not is_interval(right.type):
        return _between(left, right)
    raise LeftToSparkError(f"{name} of an interval")


def _of_null(name: str, one: Typed) -> Typed:
    """What an interval, a date or a moment and NULL come to, which is NULL of some type."""
    kind, units = one.type, one.units
    if name not in {"add", "subtract", "multiply", "divide"}:
        raise LeftToSparkError(f"{name} of NULL")
    if is_interval(kind):
        units = units if name in {"add", "subtract"} else _ALL if kind == DURATION else ""
    elif name == "subtract":
        kind, units = DURATION, _DAYS if kind == DATE else _ALL
    elif kind == DATE:
        kind = TIMESTAMP
    return Typed(Literal(None, kind), kind, units=units)


def _of_two(name: str, left: Typed, right: Typed, *, tries: bool) -> Typed:
    if left.type != right.type:
        raise LeftToSparkError(f"{name} of months and days")
    counts = [count_of(left), count_of(right)]
    one, other = counts
    if name == "div" and one is not None and other and not tries:
        whole = abs(one) // abs(other)
        return Typed(Literal(whole if (one < 0) == (other < 0) else -whole, LONG), LONG)
    if one is not None and other is not None and name in {"add", "subtract"}:
        total = one + other if name == "add" else one - other
        return (_months if left.type == MONTHS else length)(total, units=_both(left, right))
    if left.type == MONTHS or name not in {"add", "subtract"}:
        raise LeftToSparkError(f"{name} of intervals")
    called = f"{'try_' if tries else ''}duration_{name}"
    return _kept(call(called, [left, right], DURATION, fails=not tries), _both(left, right))


def _both(left: Typed, right: Typed) -> str:
    """From the first unit of either to the last of either."""
    if not left.units or not right.units:
        return ""
    order = _MONTHS_ORDER if left.type == MONTHS else _ORDER
    letters = sorted(left.units + right.units, key=order.index)
    return letters[0] if letters[0] == letters[-1] else letters[0] + letters[-1]


def _moved(moment: Typed, by: Typed, sign: int, *, tries: bool) -> Typed:
    """A date or a moment, and an interval."""
    count = count_of(by)
    if not (moment.type == DATE or is_moment(moment.type)) or (tries and count is None):
        raise LeftToSparkError(f"an interval and {type_name(moment.type)}")
    if by.type == MONTHS:
        if count is None or abs(count) > _MOST_MONTHS:
            raise LeftToSparkError("an interval of so many months")
        months = sign * count
        if moment.type == DATE:
            name = "try_add_months" if tries else "add_months"
            return call(name, [moment, Typed(Literal(months, INT), INT)], DATE, fails=not tries)
        return _moved_by(moment, months, 0, tries=tries)
    if moment.type == DATE and not by.units:
        raise LeftToSparkError("a date and an interval of unknown units")
    if moment.type == DATE and by.units == _DAYS:
        if count is None or abs(count) > _MOST_DAYS * _UNITS["DAY"]:
            raise LeftToSparkError("a date and a computed interval")
        days = sign * (count // _UNITS["DAY"])
        return call("date_add", [moment, Typed(Literal(days, INT), INT)], DATE)
    if moment.type == DATE:
        moment = cast(moment, TIMESTAMP)
        if tries and moment.may_fail:
            raise LeftToSparkError("a date that may be too far away")
    if count is not None:
        return _moved_by(moment, 0, sign * count, tries=tries)
    return call("moment_plus" if sign > 0 else "moment_minus", [moment, by], moment.type, fails=True)


def _moved_by(moment: Typed, months: int, micros: int, *, tries: bool) -> Typed:
    name = "try_moment_moved" if tries else "moment_moved"
    return call(name, [moment, *_longs(months, micros)], moment.type, fails=not tries)


def _longs(*counts: int) -> list[Typed]:
    return [Typed(Literal(count, LONG), LONG) for count in counts]


def _between(left: Typed, right: Typed) -> Typed:
    """The interval between two dates or moments, of which one may be a constant text."""
    kinds = [one.type for one in (left, right) if one.type != STRING]
    if all(kind == DATE for kind in kinds):
        sides = [cast(one, DATE) for one in (left, right)]
        return _kept(call("days_between", sides, DURATION, fails=True), _DAYS)
    if STRING in (left.type, right.type) or {left.type, right.type} == {TIMESTAMP, NAIVE}:
        raise LeftToSparkError("the interval between moments of two types")
    kind = next(kind for kind in kinds if is_moment(kind))
    sides = [cast(one, kind) for one in (left, right)]
    return _kept(call("moments_between", sides, DURATION, fails=True), _ALL)


def _scaled(name: str, one: Typed, number: Typed, *, tries: bool) -> Typed:
    """An interval so many times, or a part of it."""
    if number.type == STRING and isinstance(number.expr, Literal):
        number = cast(number, DOUBLE)
    scaled = _constant_part(name, count_of(one), number)
    if scaled is not None:
        return _months(scaled) if one.type == MONTHS else length(scaled, units=_ALL)
    if one.type == MONTHS or not is_integer(number.type):
        raise LeftToSparkError(f"{name} of an interval")
    called = f"{'try_' if tries else ''}duration_{'times' if name == 'multiply' else 'over'}"
    return _kept(call(called, [one, cast(number, LONG)], DURATION, fails=not tries), _ALL)


def _constant_part(name: str, count: int | None, number: Typed) -> int | None:
    """A constant so many times, or a part of it, halves rounded away from zero."""
    value = number.expr.value if isinstance(number.expr, Literal) else None
    if count is None or not is_number(number.type) or not isinstance(value, int | float | Decimal):
        return None
    if value == 0 and name == "divide":
        return None
    if isinstance(value, float):
        value = count * value if name == "multiply" else count / value
        if not math.isfinite(value):
            raise LeftToSparkError(f"{name} of an interval beyond all")
        exact = Decimal(value)
    else:
        compute = _EXACT.multiply if name == "multiply" else _EXACT.divide
        exact = compute(Decimal(count), Decimal(value))
    return int(exact.quantize(Decimal(1), context=_EXACT))


def part(name: str, one: Typed) -> Typed:
    """`extract` from an interval."""
    unit = _PART_NAMES.get(name.upper())
    if one.type == DURATION and unit in _PART_TYPES:
        ends = [_ORDER.index(letter) for letter in one.units]
        if not ends or not ends[0] <= _FIELDS.index(unit) <= ends[-1]:
            raise LeftToSparkError(f"extract({name} …) of an interval without it")
        return call("duration_part", [one, Typed(Literal(unit, STRING), STRING)], _PART_TYPES[unit])
    count = count_of(one)
    if one.type != MONTHS or unit not in {"YEAR", "MONTH"} or count is None:
        raise LeftToSparkError(f"extract({name} …) of an interval")
    if unit[0] not in (one.units or _MONTHS_ORDER):  # what is computed has both
        raise LeftToSparkError(f"extract({name} …) of an interval")
    size = abs(count) // 12 if unit == "YEAR" else abs(count) % 12
    kind = INT if unit == "YEAR" else pa.int8()
    return Typed(Literal(-size if count < 0 else size, kind), kind)


def made(name: str, args: Sequence[Typed]) -> Typed:
    """`make_dt_interval` and `make_ym_interval` of constants."""
    counts = [
        one.expr.value
        if isinstance(one.expr, Literal) and (is_integer(one.type) or is_decimal(one.type))
        else None
        for one in args
    ]
    if not all(isinstance(count, int | Decimal) for count in counts):
        raise LeftToSparkError(f"{name}(…) of what is no constant")
    whole = [int(count) for count in counts[:3] if isinstance(count, int)]
    if name == "make_ym_interval" and len(args) <= 2 and len(whole) == len(args):
        return _months(sum(count * size for count, size in zip(whole, (12, 1), strict=False)))
    last = counts[3:]
    if name == "make_dt_interval" and len(args) <= 4 and len(whole) == len(args[:3]):
        micros = sum(count * _UNITS[unit] for count, unit in zip(whole, _FIELDS, strict=False))
        for seconds in last:
            exact = Decimal(str(seconds)) * 1_000_000
            if exact != int(exact):
                raise LeftToSparkError("make_dt_interval(…) of so short a time")
            micros += int(exact)
        return length(micros, units=_ALL)
    raise LeftToSparkError(f"{name}(…)")
