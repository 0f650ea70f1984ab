"""Dates and moments as Spark computes with them: in today's calendar at all times, and in UTC."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels import texts
from fff.dataflow.kernels.arithmetic import tried
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, column, failing, length_of
from fff.dataflow.kernels.written.clock_patterns import DAY_NAMES, MONTH_NAMES
from fff.schema import ArrowType

_DATE = pa.date32()
#: Microseconds.
_UNITS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
}
_OUT_OF_BOUNDS = "[DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION]"
#: No date of Spark has a year beyond.
_MOST_YEARS = 6_000_000
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _counts(value: Value) -> tuple[Int64, Bools]:
    """Days or microseconds since 1970, and where there are some."""
    values = as_array(value)
    counts = values.view(pa.int32() if pa.types.is_date32(values.type) else pa.int64())
    mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return pc.fill_null(counts, 0).to_numpy(zero_copy_only=False).astype(np.int64), mask


def _whole(value: Value) -> tuple[Int64, Bools]:
    values = as_array(value)
    mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64), mask


def _months(days: Int64) -> Int64:
    """Months since 1970 of dates."""
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _first_day(months: Int64) -> Int64:
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def _weekday(days: Int64) -> Int64:
    """Monday is 0."""
    return (days + 3) % 7


def _of_year(days: Int64) -> Int64:
    return days - _first_day(_months(days) // 12 * 12) + 1


def _week(days: Int64) -> Int64:
    """The week of ISO 8601: that of its Thursday."""
    return (_of_year(days - _weekday(days) + 3) - 1) // 7 + 1


_PARTS: dict[str, Callable[[Int64], Int64]] = {
    "year": lambda days: _months(days) // 12 + 1970,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "day": lambda days: days - _first_day(_months(days)) + 1,
    "dayofyear": _of_year,
    "dayofweek": lambda days: (days + 4) % 7 + 1,
    "weekday": _weekday,
    "isoweekday": lambda days: _weekday(days) + 1,
    "yearofweek": lambda days: _months(days - _weekday(days) + 3) // 12 + 1970,
    "unix_date": lambda days: days,
    "unix_seconds": lambda micros: micros // _UNITS["SECOND"],
    "unix_timestamp": lambda micros: (
        micros // _UNITS["SECOND"] + ((micros < 0) & (micros % _UNITS["SECOND"] > 0))
    ),
    "unix_millis": lambda micros: micros // _UNITS["MILLISECOND"],
    "unix_micros": lambda micros: micros,
    "weekofyear": _week,
    "hour": lambda micros: micros // _UNITS["HOUR"] % 24,
    "minute": lambda micros: micros // _UNITS["MINUTE"] % 60,
    "second": lambda micros: micros // _UNITS["SECOND"] % 60,
}


def _part(part: Callable[[Int64], Int64]) -> Kernel:
    def kernel(args: Sequence[Value], kind: ArrowType) -> Value:
        counts, mask = _counts(args[0])
        return pa.array(part(counts), mask=mask).cast(kind)

    return kernel


def _dates(days: Int64, mask: Bools) -> Value:
    """Dates of days, which wrap around as Java's whole numbers do."""
    return pa.array(days.astype(np.int32), pa.int32(), mask=mask).view(_DATE)


def _moved(sign: int) -> Kernel:
    def kernel(args: Sequence[Value], _: ArrowType) -> Value:
        (days, no_day), (count, no_count) = _counts(args[0]), _whole(args[1])
        return _dates(days + sign * count, no_day | no_count)

    return kernel


def _difference(args: Sequence[Value], _: ArrowType) -> Value:
    (end, no_end), (start, no_start) = _counts(args[0]), _counts(args[1])
    return pa.array((end - start).astype(np.int32), pa.int32(), mask=no_end | no_start)


def _add_months(args: Sequence[Value], _: ArrowType) -> Value | Partial:
    (days, no_day), (count, no_count) = _counts(args[0]), _whole(args[1])
    months = _months(days)
    wanted = months + count
    of_month = np.minimum(days - _first_day(months), _first_day(wanted + 1) - _first_day(wanted) - 1)
    moved, mask = _first_day(wanted) + of_month, no_day | no_count
    far = (moved != moved.astype(np.int32)) & ~mask
    return failing(_dates(moved, mask), pa.array(far), "[ARITHMETIC_OVERFLOW] overflow.")


def _moment_moved(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A moment so many months, and then so many microseconds, later."""
    (micros, mask), months, more = _counts(args[0]), args[1].as_py(), args[2].as_py()
    if months:
        days, clock = micros // _UNITS["DAY"], micros % _UNITS["DAY"]
        now = _months(days)
        wanted = now + months
        of_month = np.minimum(days - _first_day(now), _first_day(wanted + 1) - _first_day(wanted) - 1)
        moved = (_first_day(wanted) + of_month) * _UNITS["DAY"] + clock
    else:
        moved = micros + more
    wrapped = (moved < micros) != (months + more < 0)
    result = pa.array(moved, pa.int64(), mask=mask).view(kind)
    if not months and not more:
        return result
    return failing(result, pa.array(wrapped & ~mask), "[DATETIME_OVERFLOW] Datetime operation overflow.")


def _named(names: Sequence[str], place: Callable[[Int64], Int64]) -> Kernel:
    def kernel(args: Sequence[Value], _: ArrowType) -> Value:
        days, mask = _counts(args[0])
        return pa.array(names).take(pa.array(place(days), mask=mask))

    return kernel


def _next_day(args: Sequence[Value], _: ArrowType) -> Value:
    """The next Monday, 0, to Sunday, 6, after a date."""
    (days, mask), wanted = _counts(args[0]), args[1].as_py()
    return _dates(days + (wanted - _weekday(days) - 1) % 7 + 1, mask)


def _made(args: Sequence[Value], _: ArrowType) -> Value | Partial:
    """A date of its year, month and day."""
    length = length_of(args)
    parts = [_whole(column(one, length)) for one in args]
    year, month, day = (count for count, _ in parts)
    mask = parts[0][1] | parts[1][1] | parts[2][1]
    named = (month >= 1) & (month <= 12) & (np.abs(year) <= _MOST_YEARS)
    months = np.where(named, (year - 1970) * 12 + month - 1, 0)
    days = _first_day(months) + day - 1
    there = named & (day >= 1) & (_months(days) == months) & (days >= -(2**31)) & (days < 2**31)
    result = _dates(np.where(there, days, 0), mask)
    return failing(
        result, pa.array(~there & ~mask), lambda row: _no_date(*(int(one[row]) for one in (year, month, day)))
    )


def _no_date(year: int, month: int, day: int) -> str:
    """What Spark says of parts that make no date."""
    for name, part, shown, most in (
        ("Year", year, "-999999999 - 999999999", 999_999_999),
        ("MonthOfYear", month, "1 - 12", 12),
        ("DayOfMonth", day, "1 - 28/31", 31),
    ):
        if not (-most if name == "Year" else 1) <= part <= most:
            return f"{_OUT_OF_BOUNDS} Invalid value for {name} (valid values {shown}): {part}"
    if day <= texts.month_length(year, month):
        return "[ARITHMETIC_OVERFLOW] overflow."
    if (month, day) == (2, 29):
        return f"{_OUT_OF_BOUNDS} Invalid date 'February 29' as '{year}' is not a leap year"
    return f"{_OUT_OF_BOUNDS} Invalid date '{MONTH_NAMES[month - 1].upper()} {day}'"


def _moment_of(unit: int, name: str) -> Kernel:
    """Moments of counts of some unit, in microseconds."""

    def tell(row: int, counts: Int64) -> str:
        return (
            "[DATETIME_OVERFLOW] Datetime operation overflow: create a TIMESTAMP from "
            f"{counts[row]}L {name} since the epoch"
        )

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        counts, mask = _whole(args[0])
        far = (counts > (2**63 - 1) // unit) | (counts < -((2**63) // unit))
        result = pa.array(np.where(far, 0, counts) * unit, pa.int64(), mask=mask).view(kind)
        return failing(result, pa.array(far & ~mask), lambda row: tell(row, counts))

    return kernel


def _last_day(args: Sequence[Value], _: ArrowType) -> Value:
    days, mask = _counts(args[0])
    return _dates(_first_day(_months(days) + 1) - 1, mask)


def _cut(days: Int64, unit: str) -> Int64:
    """The first day of the week, month, quarter or year."""
    if unit == "WEEK":
        return days - _weekday(days)
    return _first_day(_months(days) // _MONTHS[unit] * _MONTHS[unit])


def _trunc(args: Sequence[Value], _: ArrowType) -> Value:
    days, mask = _counts(args[0])
    return _dates(_cut(days, args[1].as_py()), mask)


def _date_trunc(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    moment, unit = args[0], args[1].as_py()
    micros, mask = _counts(moment)
    if unit in _UNITS:
        start = micros // _UNITS[unit] * _UNITS[unit]
    else:
        start = _cut(micros // _UNITS["DAY"], unit) * _UNITS["DAY"]
    result = pa.array(start, pa.int64(), mask=mask).view(kind)
    return failing(result, pa.array((start > micros) & ~mask), "[ARITHMETIC_OVERFLOW] long overflow.")


TIMES: dict[str, Kernel] = {
    **{name: _part(part) for name, part in _PARTS.items()},
    "date_add": _moved(1),
    "date_sub": _moved(-1),
    "datediff": _difference,
    "add_months": _add_months,
    "try_add_months": tried(_add_months),
    "moment_moved": _moment_moved,
    "try_moment_moved": tried(_moment_moved),
    "dayname": _named([name[:3] for name in DAY_NAMES], _weekday),
    "monthname": _named([name[:3] for name in MONTH_NAMES], lambda days: _months(days) % 12),
    "next_day": _next_day,
    "date_from_unix_date": lambda args, kind: as_array(args[0]).view(kind),
    "last_day": _last_day,
    "make_date": _made,
    "timestamp_seconds": _moment_of(_UNITS["SECOND"], "seconds"),
    "timestamp_millis": _moment_of(_UNITS["MILLISECOND"], "milliseconds"),
    "timestamp_micros": _moment_of(1, "microseconds"),
    "trunc": _trunc,
    "date_trunc": _date_trunc,
}
