"""A scan in windows: ranges of a column that are asked for apart, each with pages of its own.

Windows are half-open: every value is in one of them. Sources are told of a range by the parameters of its
bounds, which may bring rows of the windows beside it; those are left out by their value, so that none comes
twice.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fff.catalog import KeyColumn, Page, Table
from fff.dataflow.plan.extents import Extent, ValueSet
from fff.errors import SourceError
from fff.quals import Qual, in_order, tightest
from fff.schema import ArrowType, Field
from fff.sql.analysis.pushdown import quals_between
from fff.structs import Struct, replace
from fff_sources.http import templates
from fff_sources.http.response.values import from_text
from fff_sources.http.spec import spec
from fff_sources.http.tables import HttpAccess

#: More are a mistake.
MOST = 10_000
_DAY = dt.timedelta(days=1)
_LONGEST = dt.timedelta.max.days
#: Windows that have failed while none has ended, after which the others are not tried.
_HOPELESS = 3


class ScanWindow(Struct, frozen=True):
    """Values from `low` up to, and without, `high`; None: no bound. `null`: NULL, and no value."""

    column: Field
    low: Any = None
    high: Any = None
    null: bool = False
    below: bool = False  # no window is below it, and there should be no rows
    above: bool = False

    @property
    def extent(self) -> Extent:
        """The rows that are in it: what its EOT covers."""
        low, high = (None if one is None else _read(one, self.column.arrow) for one in (self.low, self.high))
        inside = ValueSet(null=True) if self.null else ValueSet.between(low, high)
        return Extent.of({self.column.name: inside})

    @property
    def said(self) -> str:
        """Where one without two bounds is."""
        side, bound = ("from", self.low) if self.high is None else ("before", self.high)
        return (
            f"with {self.column.name} {side} {templates.text_of(bound)}{' on' if self.high is None else ''}"
        )

    def may_have(self, qual: Qual) -> bool:
        """Whether a row of it can fulfil a qualifier."""
        if qual.column.lower() != self.column.name.lower():
            return True
        if self.null:
            return False
        above = self.high is None or self.high > qual.value
        match qual.operator:
            case ">" | ">=":
                return above
            case "<":
                return self.low is None or self.low < qual.value
            case "<=":
                return self.low is None or self.low <= qual.value
            case "=":
                return above and (self.low is None or self.low <= qual.value)
            case _:
                return True

    def beyond(self, values: pa.Array) -> list[ScanWindow]:
        """Where no window is, and values are all the same."""
        found = []
        if self.below and pc.any(pc.less(values, pa.scalar(self.low, values.type))).as_py():
            found.append(ScanWindow(self.column, high=self.low))
        if self.above and pc.any(pc.greater_equal(values, pa.scalar(self.high, values.type))).as_py():
            found.append(ScanWindow(self.column, low=self.high))
        return found

    def narrowed(self, table: Table, key: KeyColumn, *, exact: bool) -> Table:
        """The table narrowed to the window, as far as its source can be told."""
        name = self.column.name.lower()
        others = [qual for qual in table.quals if qual.column.lower() != name or qual.operator == "<>"]
        if self.null:
            return replace(table, quals=in_order(others))
        own = quals_between(key, self.column, self.low, self.high, exact=exact)
        mine = [qual for qual in (*own, *table.quals) if qual not in others]
        return replace(table, quals=in_order([*others, *tightest(mine)]))

    def kept(self, rows: pa.RecordBatch) -> tuple[pa.RecordBatch, int]:
        """The rows that are in it, and how many of the others have NULL."""
        values = rows.column(self.column.name)
        nulls = values.null_count
        if self.null:
            return rows.filter(values.is_null()), nulls
        inside = values.is_valid()
        for bound, compare in ((self.low, pc.greater_equal), (self.high, pc.less)):
            if bound is not None:
                inside = pc.and_(inside, compare(values, pa.scalar(bound, values.type)))
        return rows.filter(pc.fill_null(inside, False)), nulls


class WindowsLeft:
    """Which windows of a scan have ended, each in every variant of the table; `empty`: a page without rows."""

    def __init__(self, windows: Iterable[ScanWindow], variants: int, empty: pa.RecordBatch) -> None:
        self._left = dict.fromkeys(windows, variants)
        self._of = len(self._left) * variants
        self._failed = 0
        self.empty = empty

    def ended(self, window: ScanWindow) -> bool:
        """One variant of it has come whole; whether all have."""
        self._left[window] -= 1
        return not self._left[window]

    def failed(self) -> bool:
        """One variant of one has failed; whether the scan had better go on without it: the source answers, or may yet."""
        self._failed += 1
        any_succeeded = any(left < self._of // len(self._left) for left in self._left.values())
        return self._of > 1 and (any_succeeded or self._failed < _HOPELESS)


def windows_of(access: HttpAccess, table: Table, now: float) -> list[ScanWindow]:
    """The windows of a scan that can have rows which fulfil the table's qualifiers; `now` is seconds since 1970."""
    declared = access.windows
    column = None if declared is None else table.column(declared.column)
    assert declared is not None, "who calls has looked"
    assert column is not None, "the spec was checked"
    edges = list(_edges(declared, column.arrow, now))
    if declared.outside == "ask":
        edges = [None, *edges, None]

    def wanted(window: ScanWindow) -> bool:
        return all(window.may_have(qual) for qual in table.quals)

    windows = [ScanWindow(column, low, high) for low, high in itertools.pairwise(edges)]
    if declared.outside != "ask":
        windows[0] = replace(windows[0], below=wanted(ScanWindow(column, high=edges[0])))
        windows[-1] = replace(windows[-1], above=wanted(ScanWindow(column, low=edges[-1])))
    if isinstance(declared.nulls, dict):
        windows.append(ScanWindow(column, null=True))
    return [one for one in windows if wanted(one)]


def count(declared: spec.Windows, kind: ArrowType, now: float) -> int:
    """How many windows there are. Raises ValueError where what is said does not fit the column, or makes too many."""
    number = sum(1 for _ in _edges(declared, kind, now)) - 1
    return number + 2 * (declared.outside == "ask") + isinstance(declared.nulls, dict)


def _edges(declared: spec.Windows, kind: ArrowType, now: float) -> Iterator[Any]:
    """Where windows begin, and where the last one ends."""
    low = from_text(templates.text_of(declared.start), kind)
    high = _today(kind, now) if declared.end is None else from_text(templates.text_of(declared.end), kind)
    step: Any
    if not pa.types.is_integer(kind) and not pa.types.is_decimal(kind) and declared.size > _LONGEST:
        raise ValueError(f"windows of {declared.size:g} days are longer than any time")
    if pa.types.is_date(kind) or pa.types.is_integer(kind):
        if declared.size != int(declared.size):
            raise ValueError(f"{declared.size:g} is not a whole number")
        step = int(declared.size) if pa.types.is_integer(kind) else int(declared.size) * _DAY
    elif pa.types.is_decimal(kind):
        step = Decimal(str(declared.size))
    else:
        step = declared.size * _DAY
    if high <= low:
        raise ValueError(f"{templates.text_of(high)} is not behind {templates.text_of(low)}")
    if (high - low) / step > MOST:
        raise ValueError(f"these are more than {MOST:,} windows")
    while high - low > step:  # not to the border behind the end, which may be later than any time
        yield low
        low += step
    yield low
    yield high


def _today(kind: ArrowType, now: float) -> Any:
    """The end of today, wherever that is."""
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        raise ValueError("numbers have no end of their own: say where it is")
    day = dt.datetime.fromtimestamp(now, dt.UTC).date() + 2 * _DAY
    return from_text(day.isoformat(), kind)


def _strays(values: pa.Array, asked: Table, column: str) -> bool:
    """Whether values are beyond the bounds that the source was told."""
    bounds = [
        (qual.operator, pa.scalar(qual.value, values.type)) for qual in asked.quals if qual.column == column
    ]
    outside = [pc.less(values, bound) for operator, bound in bounds if operator in (">", ">=")]
    outside += [pc.greater(values, bound) for operator, bound in bounds if operator in ("<", "<=")]
    return any(pc.any(one).as_py() for one in outside)


def _read(value: Any, kind: ArrowType) -> Any:
    """A bound as values of the column are read."""
    return pa.scalar(value, kind).as_py()


def asking(access: HttpAccess, window: ScanWindow) -> HttpAccess:
    """The access method for one window: for that of NULL with the parameters that ask for it."""
    declared = access.windows
    if not window.null or declared is None or not isinstance(declared.nulls, dict):
        return access
    params = {**access.endpoint.params, **declared.nulls}
    return replace(access, endpoint=access.endpoint.model_copy(update={"params": params}))


async def within(
    pages: AsyncGenerator[Page],
    window: ScanWindow,
    columns: Sequence[str],
    declared: spec.Windows,
    *,
    asked: Table,
    left: WindowsLeft,
    warn: Callable[[str], None],
) -> AsyncGenerator[Page]:
    """The pages of a window without the rows of others, and with these columns alone; at the end its EOT, or that it failed.

    `asked` is what was asked for.
    """
    whole, lacks = True, window.extent
    async with contextlib.aclosing(pages):
        while True:
            try:
                page = await anext(pages)
            except StopAsyncIteration:
                break
            except SourceError as error:
                if asked.sort is not None or not left.failed():
                    raise
                yield Page(left.empty, error.reason, lacks=lacks, error=error)
                return
            whole = whole and page.truncated is None
            rows, nulls = window.kept(page.rows)
            if len(rows) < len(page.rows) and _strays(
                page.rows.column(declared.column), asked, declared.column
            ):
                warn(
                    f"{asked.full_name}: rows came that are far outside of their window: the source seems to "
                    f"ignore the parameters of {declared.column}, so that each window reads more than its own"
                )
            yield replace(
                page,
                rows=rows.select(list(columns)),
                lacks=None if page.truncated is None else lacks,
                total_rows=None,
                pages=None,
                order=None,
            )
            for place in window.beyond(page.rows.column(declared.column)):
                reason = f"rows came {place.said}, where the spec says there are none (windows.outside)"
                yield Page(left.empty, reason, lacks=place.extent)
            if nulls and declared.nulls == "none":
                reason = f"rows came without {declared.column}, of which the spec says there are none"
                yield Page(left.empty, reason, lacks=replace(window, null=True).extent)
    if whole and left.ended(window):
        yield Page(left.empty, ends=window.extent)
