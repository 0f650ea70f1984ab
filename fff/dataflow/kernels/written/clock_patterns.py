"""Patterns of dates and moments, as `yyyy-MM-dd`: moments written by them and read by them, in English and in UTC.

`pieces` splits a pattern; `writable` and `readable` say whether all that is in it is what Java makes of it, so that
nothing else is asked of `write` and `read`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import accumulate

from fff.dataflow.kernels import texts
from fff.structs import lazy_pattern

DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_SECOND, _MINUTE, _HOUR, _DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
_PIECE = lazy_pattern(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z']", re.DOTALL)
_MARK = "'"
_OPEN, _CLOSED = "[", "]"
#: Texts in every pattern that mean the time zone, which is UTC.
_ZONES = {
    **dict.fromkeys(("z", "zz", "zzz", "VV"), "UTC"),
    "zzzz": "Coordinated Universal Time",
    **{"X" * count: "Z" for count in range(1, 6)},
    "x": "+00",
    "xx": "+0000",
    "xxx": "+00:00",
    "xxxx": "+0000",
    "xxxxx": "+00:00",
    **dict.fromkeys(("Z", "ZZ", "ZZZ"), "+0000"),
    "ZZZZ": "GMT",
    "ZZZZZ": "Z",
    "O": "GMT",
    "OOOO": "GMT",
}
_QUARTERS = ("1st", "2nd", "3rd", "4th")
#: Days, and microseconds of the day, to what a letter stands for.
_WRITERS: dict[str, Callable[[int, int, int, int, int], str]] = {}


def pieces(pattern: str) -> list[str] | None:
    """Runs of one letter, brackets around what may be left out, and what means itself, with a mark in front of it.

    None where a quote does not end, or something else is wrong.
    """
    split: list[str] = []
    end = 0
    for match in _PIECE.finditer(pattern):
        if match.start() != end:
            return None
        end = match.end()
        part = match[0]
        if match[1]:
            split.append(part)
        elif part == "''":
            split.append(_MARK + "'")
        elif part[0] == "'":
            split.append(_MARK + part[1:-1].replace("''", "'"))
        elif part in "#{}":  # kept for later by Java
            return None
        else:
            split.append(part if part in "[]" else _MARK + part)
    return split if end == len(pattern) else None


def writable(pattern: str) -> bool:
    """Whether moments are written by the pattern as Java does."""
    split = pieces(pattern)
    if split is None or min(accumulate(map(_opens, split)), default=0) < 0:
        return False
    return all(one[0] in "'[]" or one in _ZONES or one in _WRITERS for one in split)


def _opens(piece: str) -> int:
    return (piece == _OPEN) - (piece == _CLOSED)


def write(pattern: str, micros: int) -> str:
    """A moment by a pattern that is writable."""
    days, clock = divmod(micros, _DAY)
    year, month, day = texts.date_of(days)
    written = []
    for one in _split(pattern):
        if one[0] == _MARK:
            written.append(one[1:])
        elif one[0] not in "[]":
            written.append(_ZONES[one] if one in _ZONES else _WRITERS[one](year, month, day, days, clock))
    return "".join(written)


@lru_cache(maxsize=256)
def _split(pattern: str) -> tuple[str, ...]:
    return tuple(pieces(pattern) or ())


def _year(year: int, width: int) -> str:
    shown = f"{abs(year):0{width}d}"
    sign = "-" if year < 0 else "+" if width > 3 and len(shown) > width else ""
    return sign + shown


def _of_year(year: int, days: int) -> int:
    return days - texts.days_of(year, 1, 1) + 1


def _numbers(letter: str, number: Callable[[int, int, int, int, int], int]) -> None:
    for width in (1, 2):
        _WRITERS[letter * width] = lambda *of, width=width: f"{number(*of):0{width}d}"


for _width in (1, 3, 4, 5, 6):
    _WRITERS["y" * _width] = lambda year, *_, width=_width: _year(year, width)
_WRITERS["yy"] = lambda year, *_: f"{abs(year) % 100:02d}"
_numbers("M", lambda _, month, *__: month)
_numbers("L", lambda _, month, *__: month)
_numbers("d", lambda _, __, day, *___: day)
_numbers("H", lambda *of: of[4] // _HOUR)
_numbers("k", lambda *of: of[4] // _HOUR or 24)
_numbers("K", lambda *of: of[4] // _HOUR % 12)
_numbers("h", lambda *of: of[4] // _HOUR % 12 or 12)
_numbers("m", lambda *of: of[4] // _MINUTE % 60)
_numbers("s", lambda *of: of[4] // _SECOND % 60)
_numbers("Q", lambda _, month, *__: (month + 2) // 3)
_numbers("q", lambda _, month, *__: (month + 2) // 3)
for _letter in "ML":
    _WRITERS[_letter * 3] = lambda _, month, *__: MONTH_NAMES[month - 1][:3]
    _WRITERS[_letter * 4] = lambda _, month, *__: MONTH_NAMES[month - 1]
for _letter in "Qq":
    _WRITERS[_letter * 3] = lambda _, month, *__: f"Q{(month + 2) // 3}"
    _WRITERS[_letter * 4] = lambda _, month, *__: f"{_QUARTERS[(month - 1) // 3]} quarter"
for _width in (1, 2, 3):
    _WRITERS["E" * _width] = lambda *of: DAY_NAMES[(of[3] + 3) % 7][:3]
_WRITERS["EEEE"] = lambda *of: DAY_NAMES[(of[3] + 3) % 7]
_WRITERS["D"] = lambda *of: str(_of_year(of[0], of[3]))
_WRITERS["DDD"] = lambda *of: f"{_of_year(of[0], of[3]):03d}"
_WRITERS["a"] = lambda *of: "PM" if of[4] >= 12 * _HOUR else "AM"
for _width in range(1, 10):
    _WRITERS["S" * _width] = lambda *of, width=_width: f"{of[4] % _SECOND:06d}000"[:width]

#: Runs of letters that are read, and what they look like. What has been read is not given back, as in Java.
_DIGITS = {
    "yyyy": r"(?:[0-9]{4}|\+[0-9]{5,19}|-[0-9]{4,19})",
    "y": r"-?[0-9]{1,19}+",
    "yyy": r"-?[0-9]{3,19}+",
    "yy": "[0-9]{2}",
    **{"y" * n: rf"(?:[0-9]{{{n}}}(?![0-9])|\+[0-9]{{{n + 1},19}}+|-[0-9]{{{n},19}}+)" for n in (5, 6)},
    **dict.fromkeys("MdHhmsD", "[0-9]{1,19}+"),
    **{letter * 2: "[0-9]{2}" for letter in "MdHhms"},
    **{"S" * count: f"[0-9]{{1,{count}}}+" for count in range(1, 10)},
    "DD": "[0-9]{2,3}+",
    "DDD": "[0-9]{3}",
}
_WORDS = {
    "MMM": "|".join(name[:3] for name in MONTH_NAMES),
    "MMMM": "|".join(MONTH_NAMES),
    "a": "AM|PM",
    "X" * 3: r"Z|[+-][0-9]{2}:[0-9]{2}",
}
_FIXED = frozenset({"yy", "MM", "dd", "HH", "hh", "mm", "ss", "DDD"})
#: Letters of Unicode that Java takes for these of ASCII where it looks at no case.
_ALIKE = str.maketrans("\u0131\u0130\u017f\u212a", "iisk")
#: No digit: what stands between what is read.
_BETWEEN = lazy_pattern(r"[ -/:-@A-Z\^_`a-z|~\\]*")
_MOST_OFFSET = 18 * 60


def readable(pattern: str) -> bool:
    """Whether moments are read by the pattern as Java does."""
    split = pieces(pattern)
    return split is not None and _is_readable(split)


def _is_readable(split: list[str]) -> bool:
    letters = [one for one in split if one[0].isalpha()]
    fields = [one[0] for one in letters]
    if (
        not letters
        or len(set(fields)) < len(fields)
        or not all(one in _DIGITS or one in _WORDS for one in letters)
    ):
        return False
    if {"H", "h"} <= set(fields) or ("a" in fields and "h" not in fields):
        return False
    depth = 0
    chain: list[str] = []  # numbers without anything between them
    for one in split:
        depth += _opens(one)
        if depth < 0 or (one[0] == _MARK and not _BETWEEN.fullmatch(one[1:])):
            return False
        if one in {_OPEN, _CLOSED} and chain and not _FIXED.issuperset(chain):
            return False
        if one not in _DIGITS:
            chain = []
        elif one[0] == "S":  # which is none of them in Java
            if not _FIXED.issuperset(chain):
                return False
            chain = []
        elif chain and not (
            one in _FIXED and _FIXED.issuperset(chain[1:]) and (chain[0] in _FIXED or chain[0] == "yyyy")
        ):
            return False  # where one number ends and the other begins
        else:
            chain.append(one)
    return depth == 0


class BeyondError(Exception):
    """A moment that is further away than any of Spark's."""


def read(pattern: str, text: str) -> int | None:
    """The moment in a text by a pattern that is readable; None where there is none. Raises BeyondError."""
    regex, names = _regex(pattern)
    match = regex.fullmatch(text.translate(_ALIKE))
    if match is None:
        return None
    parts = {name: part for name, part in zip(names, match.groups(), strict=True) if part is not None}
    if "yy" in _split(pattern):
        parts["two"] = "digits"
    day = _day(parts)
    clock = _clock(parts)
    if day is None or clock is None:
        return None
    offset = parts.get("X", "Z")
    if offset not in "Zz":
        minutes = int(offset[1:3]) * 60 + int(offset[4:6])
        if int(offset[4:6]) > 59 or minutes > _MOST_OFFSET:
            return None
        clock -= (-1 if offset[0] == "-" else 1) * minutes * _MINUTE
    micros = day * _DAY + clock
    if not -(2**63) <= micros < 2**63:
        raise BeyondError
    return micros


@lru_cache(maxsize=256)
def _regex(pattern: str) -> tuple[re.Pattern[str], tuple[str, ...]]:
    regex, names = "", []
    for one in _split(pattern):
        if one in {_OPEN, _CLOSED}:
            regex += "(?:" if one == _OPEN else ")?+"
        elif one[0] == _MARK:
            regex += re.escape(one[1:])
        else:
            regex += f"({_DIGITS.get(one) or _WORDS[one]})"
            names.append(one[0])
    return re.compile(regex, re.IGNORECASE), tuple(names)


def _day(parts: dict[str, str]) -> int | None:
    """Days since 1970; of what is not there, the first."""
    written = parts.get("y", "1970")
    year = int(written) + (2000 if parts.get("two") else 0)
    if abs(year) > 999_999_999 or (written[0] == "-" and not year):
        return None
    named = parts.get("M", "1")
    if named.isdecimal():
        month = int(named)
    else:
        month = [name[:3].lower() for name in MONTH_NAMES].index(named[:3].lower()) + 1
    day = int(parts.get("d", "1"))
    if "D" in parts:
        number = int(parts["D"])
        days = texts.days_of(year, 1, 1) + number - 1
        date = texts.date_of(days)
        same = [date[0] == year, "M" not in parts or date[1] == month, "d" not in parts or date[2] == day]
        return days if all(same) else None
    if not 1 <= month <= 12 or not 1 <= day <= texts.month_length(year, month):
        return None
    return texts.days_of(year, month, day)


def _clock(parts: dict[str, str]) -> int | None:
    """Microseconds of the day."""
    hour, minute, second = (int(parts.get(name, "0")) for name in "Hms")
    if "h" in parts:
        hour = int(parts["h"])
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts.get("a", "").lower() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    fraction = int(f"{parts.get('S', '0'):0<6}"[:6])
    return hour * _HOUR + minute * _MINUTE + second * _SECOND + fraction
