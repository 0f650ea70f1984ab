"""Moments read and written by patterns, made of parts, moved and set apart by units."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, Int64
from fff.dataflow.kernels.arithmetic import tried
from fff.dataflow.kernels.times import TIMES
from fff.dataflow.kernels.values import Kernel, Partial, Value, as_array, column, failing, over_unique
from fff.dataflow.kernels.written.clock_patterns import BeyondError, read, write
from fff.schema import ArrowType

_SECOND, _DAY = 1_000_000, 86_400_000_000
_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1_000,
    "SECOND": _SECOND,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": _DAY,
    "WEEK": 7 * _DAY,
}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_OVERFLOW = "[DATETIME_OVERFLOW] Datetime operation overflow."
#: Stands for a moment beyond all of Spark's.
_BEYOND = "beyond"


def _counts(value: Value, length: int) -> tuple[Int64, Bools]:
    """Days, microseconds or whole numbers, and where there are none."""
    values = column(value, length)
    if pa.types.is_date32(values.type):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())
    mask = pc.is_null(values).to_numpy(zero_copy_only=False)
    return pc.fill_null(values, 0).to_numpy(zero_copy_only=False).astype(np.int64), mask


def _length(args: Sequence[Value]) -> int:
    return max((len(arg) for arg in args if isinstance(arg, pa.Array)), default=1)


def _formatted(args: Sequence[Value], kind: ArrowType) -> Value:
    """Moments by a pattern that is writable."""
    moments, pattern = as_array(args[0]).view(pa.int64()), args[1].as_py()
    return over_unique(
        moments,
        lambda one: pa.array(
            [None if each is None else write(pattern, each) for each in one.to_pylist()], kind
        ),
    )


def _from_unixtime(args: Sequence[Value], kind: ArrowType) -> Value:
    """Seconds since 1970 as a text; what is beyond all moments wraps around."""
    counts, mask = _counts(args[0], len(args[0]))
    with np.errstate(over="ignore"):
        micros = counts * _SECOND
    return _formatted([pa.array(micros, pa.int64(), mask=mask), args[1]], kind)


def _parsed(name: str, unit: int = 1) -> Kernel:
    """Moments in texts by a pattern that is readable, in whole units; `name` is what Spark tells to try."""

    def kernel(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
        text, pattern = as_array(args[0]), args[1].as_py()

        def one(each: str) -> int | str | None:
            try:
                moment = read(pattern, each)
            except BeyondError:
                return _BEYOND
            return None if moment is None else (moment if unit == 1 else _quotient(moment, unit))

        coded = text.dictionary_encode()
        moments = [None if each is None else one(each) for each in coded.dictionary.to_pylist()]
        counts = pa.array([None if each == _BEYOND else each for each in moments], pa.int64()).take(
            coded.indices
        )
        beyond = pa.array([each == _BEYOND for each in moments], pa.bool_()).take(coded.indices)
        missed = pc.and_(pc.is_valid(text), pc.is_null(counts))
        result = counts.view(kind) if unit == 1 else counts
        if name == "":
            return failing(
                result, pc.fill_null(beyond, fill_value=False), "[ARITHMETIC_OVERFLOW] long overflow."
            )
        return failing(
            result,
            missed,
            lambda row: (
                f"[CANNOT_PARSE_TIMESTAMP] Text '{text[row].as_py()}' could not be parsed. "
                f"Use `{name}` to tolerate invalid input string and return NULL instead."
            ),
        )

    return kernel


def _quotient(count: int, unit: int) -> int:
    """Without its fraction, as Java divides."""
    return -(-count // unit) if count < 0 else count // unit


def _second(args: Sequence[Value], kind: ArrowType) -> Value:
    """The seconds of a minute with their fraction."""
    micros, mask = _counts(args[0], len(as_array(args[0])))
    in_minute = pa.array(micros % 60_000_000, pa.int64(), mask=mask)
    return over_unique(
        in_minute,
        lambda one: pa.array(
            [None if each is None else Decimal(each).scaleb(-6) for each in one.to_pylist()], kind
        ),
    )


def _first_day(months: Int64) -> Int64:
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


def _month(days: Int64) -> Int64:
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _beyond(days: Int64, clock: Int64) -> Bools:
    """Where a day and its microseconds are no moment of 64 bits."""
    (first, least), (last, most) = divmod(-(2**63), _DAY), divmod(2**63 - 1, _DAY)
    below = (days < first) | ((days == first) & (clock < least))
    outside: Bools = below | (days > last) | ((days == last) & (clock > most))
    return outside


def _added(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A moment so many units later: `timestampadd(unit, count, moment)`, in another order."""
    length = _length(args)
    (micros, no_moment), (count, no_count) = (_counts(one, length) for one in args[:2])
    unit, mask = args[2].as_py(), no_moment | no_count
    if unit in _MONTHS:
        months = count * _MONTHS[unit]
        far = np.abs(count) > (2**31 - 1) // _MONTHS[unit]
        days, clock = micros // _DAY, micros % _DAY
        wanted = _month(days) + np.where(far, 0, months)
        of_month = np.minimum(
            days - _first_day(_month(days)), _first_day(wanted + 1) - _first_day(wanted) - 1
        )
        moved_days = _first_day(wanted) + of_month
        far |= _beyond(moved_days, clock)
        with np.errstate(over="ignore"):
            moved = np.where(far, 0, moved_days) * _DAY + clock
    else:
        far = np.abs(count) > (2**63 - 1) // _MICROS[unit]
        with np.errstate(over="ignore"):
            step = np.where(far, 0, count) * _MICROS[unit]
            moved = micros + step
        far |= (moved < micros) != (step < 0)
    result = pa.array(moved, pa.int64(), mask=mask).view(kind)
    return failing(result, pa.array(far & ~mask), _OVERFLOW)


def _apart(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """How many whole units lie between two moments: `timestampdiff(unit, start, end)`, in another order."""
    length = _length(args)
    (start, no_start), (end, no_end) = (_counts(one, length) for one in args[:2])
    unit, mask = args[2].as_py(), no_start | no_end
    days = end // _DAY - start // _DAY
    clock = end % _DAY - start % _DAY
    if unit in _MONTHS:
        first, last = start // _DAY, end // _DAY
        last = last - ((days > 0) & (clock < 0)) + ((days < 0) & (clock > 0))
        packed = [_month(one) * 32 + (one - _first_day(_month(one))) for one in (first, last)]
        months = _trunc(_trunc(packed[1] - packed[0], 32), _MONTHS[unit])
        return pa.array(months, kind, mask=mask)
    back, ahead = (days > 0) & (clock < 0), (days < 0) & (clock > 0)
    days = days - back + ahead
    clock = clock + back * _DAY - ahead * _DAY
    size = _MICROS[unit]
    if size >= _DAY:
        return pa.array(_trunc(days, size // _DAY), kind, mask=mask)
    each = _DAY // size
    far = np.abs(days) > (2**63 - 1) // each
    whole, rest = np.where(far, 0, days) * each, _trunc(clock, size)
    with np.errstate(over="ignore"):
        total = whole + rest
    far |= ((whole ^ total) & (rest ^ total)) < 0
    return failing(pa.array(total, kind, mask=mask), pa.array(far & ~mask), _OVERFLOW)


def _trunc(count: Int64, unit: int) -> Int64:
    return np.where(count < 0, -(-count // unit), count // unit)


def _made(args: Sequence[Value], kind: ArrowType) -> Value | Partial:
    """A moment of year, month, day, hour, minute and seconds, these with six digits behind the point."""
    length = _length(args)
    (hour, no_hour), (minute, no_minute) = (_counts(one, length) for one in args[3:5])
    seconds = column(args[5], length)
    no_second = pc.is_null(seconds).to_numpy(zero_copy_only=False)
    written = [0 if one is None else int(one.scaleb(6)) for one in seconds.to_pylist()]
    micros = np.array(written, np.int64).astype(np.int32).astype(np.int64)  # as Java narrows them
    dates = TIMES["make_date"]([column(one, length) for one in args[:3]], pa.date32())
    failed = dates.failed if isinstance(dates, Partial) else None
    days, no_day = _counts(dates.values if isinstance(dates, Partial) else dates, length)
    parts = [
        valid.to_numpy(zero_copy_only=False)
        for valid in (pc.is_null(column(one, length)) for one in args[:3])
    ]
    mask = no_hour | no_minute | no_second | parts[0] | parts[1] | parts[2]
    second, fraction = micros // _SECOND, micros % _SECOND
    leap = second == 60
    split = leap & (fraction != 0)
    clock = hour * 3_600_000_000 + minute * 60_000_000 + micros
    beyond = _beyond(days + clock // _DAY, clock % _DAY)
    messages: dict[int, str] = {}
    for row in np.flatnonzero(~mask):
        one = _refusal(int(hour[row]), int(minute[row]), int(second[row]))
        if split[row]:
            messages[int(row)] = (
                "[INVALID_FRACTION_OF_SECOND] Valid range for seconds is [0, 60] (inclusive), but the provided value is "
                f"{seconds[int(row)].as_py()}. To avoid this error, use `try_make_timestamp`, which returns NULL on error."
            )
        elif failed is not None and failed.rows[row]:
            messages[int(row)] = failed.tell(int(row))
        elif one is not None:
            messages[int(row)] = one
        elif beyond[row]:
            messages[int(row)] = "[ARITHMETIC_OVERFLOW] long overflow."
    bad = np.zeros(length, np.bool_)
    bad[list(messages)] = True
    moved = np.where(bad | no_day, 0, days) * _DAY + np.where(bad, 0, clock)
    result = pa.array(moved, pa.int64(), mask=mask | bad).view(kind)
    return failing(result, pa.array(bad), lambda row: messages[row])


def _refusal(hour: int, minute: int, second: int) -> str | None:
    for name, value, most in (
        ("HourOfDay", hour, 23),
        ("MinuteOfHour", minute, 59),
        ("SecondOfMinute", second, 60),
    ):
        if not 0 <= value <= most:
            return (
                "[DATETIME_FIELD_OUT_OF_BOUNDS.WITHOUT_SUGGESTION] "
                f"Invalid value for {name} (valid values 0 - {min(most, 59)}): {value}"
            )
    return None


MOMENTS: dict[str, Kernel] = {
    "date_format": _formatted,
    "from_unixtime": _from_unixtime,
    "to_timestamp": _parsed("try_to_timestamp"),
    "to_day": _parsed("try_to_date"),
    "try_to_timestamp": _parsed(""),
    "to_unix": _parsed("try_to_timestamp", _SECOND),
    "second_exact": _second,
    "moment_added": _added,
    "moments_apart": _apart,
    "make_timestamp": _made,
    "try_make_timestamp": tried(_made),
}
