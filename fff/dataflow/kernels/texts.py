"""How Spark reads values from texts and writes them as texts. One value at a time: kernels ask for different values only."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from fff.schema import MOST_DIGITS, ArrowType
from fff.structs import lazy_pattern

#: What Spark takes off both ends before it reads a value: blanks and control characters of ASCII.
_AROUND = "".join(map(chr, range(0x21))) + "\x7f"
#: And before it reads a double, a float or a decimal: what Java takes off, which is not DEL.
_BLANKS = _AROUND[:-1]
_WHOLE = lazy_pattern(r"[+-]?\d+", re.ASCII)
_REAL = lazy_pattern(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_HEXADECIMAL = lazy_pattern(
    r"([+-]?)0[xX](?=\.?[0-9a-fA-F])([0-9a-fA-F]*)\.?([0-9a-fA-F]*)[pP]([+-]?\d+)", re.ASCII
)
#: Java's decimals are read from the digits of any script, as far as one of its characters holds them.
_DIGITS = lazy_pattern(
    r"[+-]?(?=\.?\d)[^\D\U00010000-\U0010ffff]*\.?[^\D\U00010000-\U0010ffff]*(?:[eE]([+-]?[^\D\U00010000-\U0010ffff]+))?"
)
_DATE = lazy_pattern(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
#: A moment: a date, and a clock with as much of it as there is, whose zone is a distance from UTC.
_MOMENT = lazy_pattern(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?"
    r"(?: *(Z|UTC|([+-])(\d{1,2}):(\d{1,2})))?)?)?)?)?)?",
    re.ASCII,
)
_MOST_OFFSET = 18 * 60
#: Java's decimals have powers of ten above minus this, and up to it; a longer text than that is none of them.
_JAVA_POWERS, _LONG = 2**31, 1000
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "1"}), frozenset({"f", "false", "n", "no", "0"})
_WORDS = {
    "inf": np.inf,
    "+inf": np.inf,
    "infinity": np.inf,
    "+infinity": np.inf,
    "-inf": -np.inf,
    "-infinity": -np.inf,
}
_WORDS |= {"nan": np.nan}
#: What comes after the greatest float, if there were one more.
_ABOVE_FLOATS = 2.0**128
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_WIDE = Context(prec=2000, rounding=ROUND_HALF_UP)
#: Beyond these exponents a decimal is zero or out of every range.
_FAR = 400


def read_integer(text: str, kind: ArrowType) -> int | None:
    """A whole number of the type."""
    text = text.strip(_AROUND)
    if not _WHOLE.fullmatch(text):
        return None
    value = int(text) if len(text) < 100 else int(text.lstrip("+-0")[:99] or "0")
    half = 1 << (kind.bit_width - 1)
    return value if -half <= value < half else None


def read_boolean(text: str) -> bool | None:
    """A truth, in one of its spellings."""
    text = text.strip(_AROUND).lower()
    return True if text in _TRUE else False if text in _FALSE else None


def read_double(text: str) -> float | None:
    """A double, as Java reads it, or one of Spark's words for those that are no numbers."""
    text = text.strip(_BLANKS)
    if (word := _WORDS.get(text.lower())) is not None:
        return word
    plain = text[:-1] if text[-1:] in {"d", "D", "f", "F"} else text
    if _REAL.fullmatch(plain):
        return float(plain)
    if (found := _HEXADECIMAL.fullmatch(plain)) is not None:
        sign, whole, rest, exponent = found.groups()
        if not (whole + rest).strip("0"):
            return -0.0 if sign == "-" else 0.0
        try:
            return float.fromhex(plain)
        except OverflowError:  # it is too great, or its exponent for Python
            return float(f"{sign}0") if exponent.startswith("-") else float(f"{sign}inf")
    return None


def _exact(text: str) -> Fraction:
    """A number near a double, with all its digits."""
    if (found := _HEXADECIMAL.fullmatch(text)) is None:
        return Fraction(text)
    sign, whole, rest, exponent = found.groups()
    return Fraction(int(f"{sign}{whole}{rest}", 16)) * Fraction(2) ** (int(exponent) - 4 * len(rest))


def read_float(text: str) -> float | None:
    """A float, as Java reads it: rounded once, where the way over double would round twice."""
    wide = read_double(text)
    if wide is None or not np.isfinite(wide):
        return wide
    with np.errstate(over="ignore"):
        near = np.float32(wide)
        beyond = np.nextafter(near, np.float32(np.inf if wide > float(near) else -np.inf))
    ends = [_ABOVE_FLOATS if np.isinf(one) else abs(float(one)) for one in (near, beyond)]
    if abs(wide) != sum(ends) / 2 or (exact := _exact(text.strip(_BLANKS).rstrip("dDfF"))) == Fraction(wide):
        return float(near)
    return float(max(near, beyond) if exact > Fraction(wide) else min(near, beyond))


def read_date(text: str) -> int | None:
    """A date in days since 1970: a year, a month or a day, whatever stands behind that and a blank or a T."""
    match = _DATE.fullmatch(text.strip(_AROUND))
    if match is None:
        return None
    year, month, day = int(match[1] + match[2]), int(match[3] or 1), int(match[4] or 1)
    if not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        return None
    days = days_of(year, month, day)
    return days if -(2**31) <= days < 2**31 else None


def read_moment(text: str) -> int | None:
    """A moment in microseconds since 1970, in UTC where it names no distance from it."""
    match = _MOMENT.fullmatch(text.strip(_AROUND))
    if match is None:
        return None
    year, month, day = int(match[1] + match[2]), int(match[3] or 1), int(match[4] or 1)
    hour, minute, second = (int(match[place] or 0) for place in (5, 6, 7))
    if not 1 <= month <= 12 or not 1 <= day <= month_length(year, month):
        return None
    offset = int(match[11] or 0) * 60 + int(match[12] or 0)
    if hour > 23 or minute > 59 or second > 59 or int(match[12] or 0) > 59 or offset > _MOST_OFFSET:
        return None
    minutes = hour * 60 + minute - (-offset if match[10] == "-" else offset)
    micros = (days_of(year, month, day) * 1440 + minutes) * 60_000_000 + second * 1_000_000
    micros += int(f"{match[8] or '':0<6}"[:6])
    return micros if -(2**63) <= micros < 2**63 else None


def month_length(year: int, month: int) -> int:
    """How many days a month has, in the calendar of today at all times."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if leap and month == 2 else _MONTH_DAYS[month - 1]


def days_of(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date."""
    shifted = year - (month <= 2)
    era, rest = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + rest * 365 + rest // 4 - rest // 100 + of_year - 719_468


def date_of(days: int) -> tuple[int, int, int]:
    """Year, month and day."""
    era, rest = divmod(days + 719_468, 146_097)
    of_era = (rest - rest // 1460 + rest // 36_524 - rest // 146_096) // 365
    of_year = rest - (365 * of_era + of_era // 4 - of_era // 100)
    shifted = (5 * of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return of_era + era * 400 + (month <= 2), month, of_year - (153 * shifted + 2) // 5 + 1


def is_decimal(text: str) -> bool:
    """Whether a text is a number, however great."""
    match = _DIGITS.fullmatch(text.strip(_BLANKS))
    if match is None:
        return False
    power = match[1] or "0"
    return len(power) < _LONG and -_JAVA_POWERS < int(power) <= _JAVA_POWERS


def is_beyond_decimals(text: str) -> bool:
    """Whether a number that a text says has more digits before its point than any decimal."""
    number = Decimal(text.strip(_BLANKS)).as_tuple()
    return isinstance(number.exponent, int) and len(number.digits) + number.exponent > MOST_DIGITS


def read_decimal(text: str, kind: ArrowType) -> Decimal | None:
    """A decimal of the type, halves rounded away from zero."""
    return fitted(Decimal(text.strip(_BLANKS)), kind) if is_decimal(text) else None


def fitted(value: Decimal, kind: ArrowType) -> Decimal | None:
    """A decimal in a decimal type, halves rounded away from zero; None where it is too great."""
    if not value.is_finite():
        return None
    if value and abs(value.adjusted()) > _FAR:
        return None if value.adjusted() > 0 else Decimal(0).scaleb(-kind.scale)
    try:
        rounded = value.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    except InvalidOperation:
        return None
    return rounded if not rounded or rounded.adjusted() < kind.precision - kind.scale else None


def write_date(days: int) -> str:
    """A date as ISO 8601 writes it; years of more than four digits with a sign."""
    year, month, day = date_of(days)
    shown = f"{year:04d}" if 0 <= year <= 9999 else f"{year:+05d}"
    return f"{shown}-{month:02d}-{day:02d}"


def write_moment(micros: int) -> str:
    """A wall-clock reading, the fraction of its seconds without zeros at its end."""
    days, rest = divmod(micros, 86_400_000_000)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{write_date(days)} {clock}" + (f".{fraction:06d}".rstrip("0") if fraction else "")
