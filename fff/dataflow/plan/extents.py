"""What an EOT covers: sets of values by column, as conjunctions, and what such a conjunction leaves of another.

Sets are exact: intervals with open, closed or no ends, and NULL apart, for which no comparison holds. The order is the
engine's own: texts by code point whatever the case, NaN above every number, -0.0 and 0.0 one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property, total_ordering
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fff.dataflow.arrays import Bools, numpy_mask
from fff.structs import Struct

#: The last code point, and the gap that no text has one of.
_LAST, _GAP, _BEHIND_GAP = 0x10FFFF, 0xD800, 0xE000


@total_ordering
class Verge(Struct, frozen=True, dict=True):
    """A place in the order of values: just before `value`, or `behind` it."""

    value: Any
    behind: bool = False

    @cached_property
    def _place(self) -> tuple[bool, Any, bool]:
        nan = self.value != self.value
        return nan, 0 if nan else self.value, self.behind

    def __lt__(self, other: Verge) -> bool:
        return self._place < other._place

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Verge) and self._place == other._place

    def __hash__(self) -> int:
        return hash(self._place)


class Stretch(Struct, frozen=True):
    """The values between two verges; None: no bound."""

    low: Verge | None = None
    high: Verge | None = None

    def __bool__(self) -> bool:
        return self.low is None or self.high is None or self.low < self.high

    def __and__(self, other: Stretch) -> Stretch:
        lows = [one.low for one in (self, other) if one.low is not None]
        highs = [one.high for one in (self, other) if one.high is not None]
        return Stretch(max(lows, default=None), min(highs, default=None))

    def mask(self, values: pa.Array) -> Bools:
        """Which values are in it; NULL is not."""
        inside = numpy_mask(pc.is_valid(values))
        if self.low is not None:
            inside &= ~_before(values, self.low)
        if self.high is not None:
            inside &= _before(values, self.high)
        return inside

    def text(self, name: str) -> str:
        """As an SQL condition, for people."""
        low, high = self.low, self.high
        if low is not None and high is not None and low.value == high.value:
            return f"{name} = {quoted(low.value)}"
        if low is not None and type(low.value) is str and self == _prefix(low.value):
            escaped = low.value.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
            return f"{name} LIKE {quoted(escaped + '%')}"
        parts = [] if low is None else [f"{name} {'>' if low.behind else '>='} {quoted(low.value)}"]
        parts += [] if high is None else [f"{name} {'<=' if high.behind else '<'} {quoted(high.value)}"]
        return " AND ".join(parts) or f"{name} IS NOT NULL"


def _before(values: pa.Array, verge: Verge) -> Bools:
    """Which values are before an verge; of NULL anything is said."""
    floating = pa.types.is_floating(values.type)
    nan = numpy_mask(pc.is_nan(values)) if floating else np.zeros(len(values), np.bool_)
    if verge.value != verge.value:
        return np.ones(len(values), np.bool_) if verge.behind else ~nan
    if pa.types.is_integer(values.type):
        values = values.cast(pa.int64())
    compare = pc.less_equal if verge.behind else pc.less
    return numpy_mask(compare(values, pa.scalar(verge.value, values.type))) & ~nan


def _prefix(text: str) -> Stretch:
    """The texts that begin with one: up to, and without, the least text that is behind all of these."""
    stem = text.rstrip(chr(_LAST))
    if not stem:
        return Stretch(Verge(text))
    code = ord(stem[-1]) + 1
    return Stretch(Verge(text), Verge(stem[:-1] + chr(_BEHIND_GAP if code == _GAP else code)))


class ValueSet(Struct, frozen=True):
    """Some values of a column. Equal sets are equal: stretches ascend, and none touches another."""

    stretches: tuple[Stretch, ...] = ()
    null: bool = False

    @staticmethod
    def of(stretches: Iterable[Stretch], *, null: bool = False) -> ValueSet:
        """The values of several stretches."""
        rising: list[Stretch] = []
        some = [one for one in stretches if one]
        unbounded = [one for one in some if one.low is None]
        bounded = sorted((one for one in some if one.low is not None), key=lambda one: one.low)  # type: ignore[arg-type,return-value]
        for one in (*unbounded, *bounded):
            last = rising[-1] if rising else None
            if last is None or (last.high is not None and one.low is not None and last.high < one.low):
                rising.append(one)
            elif last.high is not None:
                high = None if one.high is None else max(last.high, one.high)
                rising[-1] = Stretch(last.low, high)
        return ValueSet(tuple(rising), null)

    @staticmethod
    def points(values: Iterable[Any]) -> ValueSet:
        """These values; None is NULL."""
        some = list(values)
        points = (Stretch(Verge(one), Verge(one, behind=True)) for one in some if one is not None)
        return ValueSet.of(points, null=None in some)

    @staticmethod
    def between(low: Any, high: Any) -> ValueSet:
        """Values from `low` up to, and without, `high`; None: no bound."""
        ends = (None if value is None else Verge(value) for value in (low, high))
        return ValueSet.of([Stretch(*ends)])

    @staticmethod
    def prefix(text: str) -> ValueSet:
        """The texts that begin with one."""
        return ValueSet.of([_prefix(text)])

    @staticmethod
    def compared(operator: str, value: Any) -> ValueSet | None:
        """The values for which a comparison with a constant is true; None where it is none of a value's place."""
        at, behind = Verge(value), Verge(value, behind=True)
        match operator:
            case "=":
                return ValueSet((Stretch(at, behind),))
            case "<>":
                return ValueSet.of([Stretch(None, at), Stretch(behind)])
            case "<" | "<=":
                return ValueSet.of([Stretch(None, at if operator == "<" else behind)])
            case ">" | ">=":
                return ValueSet.of([Stretch(behind if operator == ">" else at)])
        return None

    def __bool__(self) -> bool:
        return self.null or bool(self.stretches)

    def __or__(self, other: ValueSet) -> ValueSet:
        return ValueSet.of((*self.stretches, *other.stretches), null=self.null or other.null)

    def __and__(self, other: ValueSet) -> ValueSet:
        both = (one & two for one in self.stretches for two in other.stretches)
        return ValueSet.of(both, null=self.null and other.null)

    def __sub__(self, other: ValueSet) -> ValueSet:
        left = list(self.stretches)
        for gone in other.stretches:
            before = Stretch(None, gone.low) if gone.low is not None else None
            behind = Stretch(gone.high) if gone.high is not None else None
            left = [one & side for one in left for side in (before, behind) if side is not None]
        return ValueSet.of(left, null=self.null and not other.null)

    def __le__(self, other: ValueSet) -> bool:
        return not self - other

    def mask(self, values: pa.Array) -> Bools:
        """Which values are in it."""
        inside: Bools = numpy_mask(pc.is_null(values)) & self.null
        for one in self.stretches:
            inside |= one.mask(values)
        return inside

    def text(self, name: str) -> str:
        """As an SQL condition, for people."""
        if self == EVERY:
            return "true"
        parts = [one.text(name) for one in self.stretches] + [f"{name} IS NULL"] * self.null
        return " OR ".join(parts) if len(parts) == 1 else f"({' OR '.join(parts)})" if parts else "false"


#: Every value, and NULL: what a column is that nothing is said of.
EVERY = ValueSet((Stretch(),), null=True)


class Extent(Struct, frozen=True):
    """The rows whose values are in these sets, by column (in lower case); of other columns any value will do."""

    columns: tuple[tuple[str, ValueSet], ...] = ()

    @staticmethod
    def of(columns: Mapping[str, ValueSet]) -> Extent:
        """Rows by the sets of their columns."""
        limited = {name.lower(): values for name, values in columns.items() if values != EVERY}
        return Extent(tuple(sorted(limited.items(), key=lambda one: one[0])))

    def __bool__(self) -> bool:
        return all(values for _, values in self.columns)

    def __and__(self, other: Extent) -> Extent:
        mine = dict(self.columns)
        return Extent.of(mine | {name: mine.get(name, EVERY) & values for name, values in other.columns})

    def mask(self, rows: pa.RecordBatch) -> Bools:
        """Which rows are in it; they have its columns."""
        inside = np.ones(len(rows), np.bool_)
        places = {name.lower(): place for place, name in enumerate(rows.schema.names)}
        for name, values in self.columns:
            inside &= values.mask(rows.column(places[name]))
        return inside

    def minus(self, other: Extent) -> list[Extent]:
        """The rows that are not in another one, as extents that share none."""
        left, inside = [], dict(self.columns)
        for name, values in other.columns if self else ():
            mine = inside.get(name, EVERY)
            left.append(Extent.of({**inside, name: mine - values}))
            inside[name] = mine & values
        return [one for one in left if one]

    def with_union(self, other: Extent) -> Extent | None:
        """Both, where they differ in one column at most; None where one extent cannot say it."""
        mine, theirs = dict(self.columns), dict(other.columns)
        differing = [name for name in {**mine, **theirs} if mine.get(name, EVERY) != theirs.get(name, EVERY)]
        if len(differing) > 1:
            return None
        return Extent.of(mine | {name: mine.get(name, EVERY) | theirs.get(name, EVERY) for name in differing})

    @property
    def text(self) -> str:
        """As an SQL condition, for people."""
        return " AND ".join(values.text(name) for name, values in self.columns) or "true"


#: Every row.
ALL = Extent()


class Coverage:
    """Extents of which every row is here, as they become so."""

    def __init__(self) -> None:
        self.extents: list[Extent] = []

    def add(self, extent: Extent) -> None:
        """Every row of another extent is here. What adjoins in one column becomes one."""
        for known in self.extents:
            both = extent.with_union(known)
            if both is not None:
                self.extents.remove(known)
                self.add(both)
                return
        self.extents.append(extent)

    def left(self, extent: Extent) -> list[Extent]:
        """What is not here of an extent."""
        parts = [extent] if extent else []
        for known in self.extents:
            parts = [left for part in parts for left in part.minus(known)]
        return parts

    def covers(self, extent: Extent) -> bool:
        """Whether every row of an extent is here."""
        return not self.left(extent)


def quoted(value: object) -> str:
    """A value as an SQL literal, for people to read."""
    return str(value) if isinstance(value, int | float) else "'" + str(value).replace("'", "''") + "'"
