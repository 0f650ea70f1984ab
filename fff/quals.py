"""Qualifiers: comparisons of a column with a constant that requests may carry, so that sources send fewer rows.

A table narrowed by qualifiers stands for those of its rows that fulfil them all. Answers may hold others (a source may
ignore what it is told), so conditions are always checked again; answers must hold those. What was read of a narrowed
table therefore answers for another narrowing only where that is implied by this one (ledger P15).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from fff.structs import Struct

#: `since`: rows that have come or changed since then, as `ChangesSince` says; no condition of a statement.
Operator = Literal["=", "<>", "<", "<=", ">", ">=", "in", "like", "since"]


class Qual(Struct, frozen=True):
    """`column operator value`; NULL fulfils none. The value is of the column's type, for `in` a tuple of such, for `like` an SQL pattern."""

    column: str
    operator: Operator
    value: Any

    def implies(self, other: Qual) -> bool:
        """Whether an answer to the other is certain to hold every row that is wanted here."""
        if self == other:
            return True
        if self.column.lower() != other.column.lower():
            return False
        if self.operator == "in":
            return all(Qual(self.column, "=", one).implies(other) for one in self.value)
        if self.operator == "=" and other.operator == "in":
            return self.value in other.value
        if self.operator in ("=", *_UP, *_DOWN) and other.operator in _STRICT:
            # A bound may be sent wider than it was meant, an equality is not; only whole numbers are never widened.
            if self.operator == "=" and (type(self.value) is not int or type(other.value) is not int):
                return False
            side = _UP if other.operator in _UP else _DOWN
            if self.operator not in ("=", *side):
                return False
            strict = other.operator in (">", "<") and self.operator not in (">", "<")
            beyond = self.value > other.value if side is _UP else self.value < other.value
            return bool(beyond or (self.value == other.value and not strict))
        return False

    def ensures(self, operator: str, value: Any) -> bool:
        """Whether whatever fulfils it, in the sense of SQL, fulfils `column operator value`, too."""
        if self.operator == "in":
            return all(Qual(self.column, "=", one).ensures(operator, value) for one in self.value)
        match operator:
            case "like":
                return self.operator == "like" and bool(self.value == value)
            case "<>" if self.operator == "<>":
                return bool(self.value == value)
            case "<>" if self.operator == "=":
                return bool(self.value != value)
            case "in" if self.operator == "=":
                return self.value in value
            case ">" | ">=" | "<" | "<=" if self.operator in ("=", *(_UP if operator in _UP else _DOWN)):
                beyond = self.value > value if operator in _UP else self.value < value
                strict = operator in (">", "<") and self.operator != operator
                return bool(beyond or (self.value == value and not strict))
        return False


class ChangesSince(Struct, frozen=True):
    """How a table can be asked for the rows that have come or changed since it was read.

    Attributes:
        column: rises in a row with every change: a moment, a date, a whole number, or text that sorts like one.
        param: says from which value of it on.
        lookback: from how far before the greatest value seen: seconds of moments and dates, else a difference.
        deletions: whether rows may go, of which such an answer says nothing.
    """

    column: str
    param: str
    lookback: int = 0
    deletions: bool = True

    def since(self, greatest: Any) -> Qual:
        """What to ask for where this is the greatest value of the column that was seen."""
        value = greatest
        if isinstance(greatest, dt.datetime):
            value = greatest - dt.timedelta(seconds=self.lookback)
        elif isinstance(greatest, dt.date):
            value = greatest - dt.timedelta(days=-(-self.lookback // _DAY_S))
        elif isinstance(greatest, int):
            value = greatest - self.lookback
        return Qual(self.column, "since", value)


_DAY_S = 86_400
_UP = (">", ">=")
_DOWN = ("<", "<=")
_STRICT = (*_UP, *_DOWN)

#: All of them hold, in no order of any meaning; none: nothing is left out.
Quals: TypeAlias = tuple[Qual, ...]


def implied(wanted: Quals, had: Quals) -> bool:
    """Whether what was read under some qualifiers holds everything that is wanted under others."""
    return all(any(one.implies(other) for one in wanted) for other in had)


def common(several: Sequence[Quals]) -> Quals:
    """The narrowest qualifiers under which everything is read that any of several readers wants."""
    offered = dict.fromkeys(qual for quals in several for qual in quals)
    shared = [qual for qual in offered if all(implied(quals, (qual,)) for quals in several)]
    return in_order(
        qual for qual in shared if not any(other != qual and other.implies(qual) for other in shared)
    )


def tightest(quals: Iterable[Qual]) -> Quals:
    """The same without those bounds of a column beside which a closer one says the same comparison."""
    closest: dict[tuple[str, str], Qual] = {}
    others = []
    for qual in quals:
        place = qual.column.lower(), qual.operator
        if qual.operator not in _STRICT:
            others.append(qual)
        elif place not in closest or (qual.value > closest[place].value) == (qual.operator in _UP):
            closest[place] = qual
    return in_order(dict.fromkeys([*others, *closest.values()]))


def in_order(quals: Iterable[Qual]) -> Quals:
    """One order for the same qualifiers, so that equal narrowings are equal."""
    return tuple(sorted(quals, key=lambda qual: (qual.column.lower(), qual.operator, repr(qual.value))))


def text_of(value: object) -> str:
    """A value as `explain` shows it."""
    if isinstance(value, tuple):
        return ", ".join(map(text_of, value))
    return value.isoformat() if isinstance(value, dt.date) else str(value)
