"""What was read of a table under other qualifiers, put together: the parts that are here, and the rest to ask for.

Extents are of values as they are declared, qualifiers of values as sources compare them, which may have more digits or a
time of day: bounds are sent wider (`fff.sql.analysis.pushdown`). So an answer is certain to hold the values whose own bound
would be sent inside of the one that was. The parts share no row, as each takes only its own values.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from decimal import Decimal
from itertools import product
from typing import Any, Generic, TypeVar

import pyarrow as pa

from fff.catalog import KeyColumn, Page, Table
from fff.dataflow.plan.extents import Extent, Stretch, ValueSet, Verge
from fff.quals import Qual, Quals, in_order, tightest
from fff.schema import ArrowType, Field
from fff.sql.analysis.pushdown import quals_of
from fff.stats import AccessMeter
from fff.structs import Struct, replace

P = TypeVar("P")

#: More requests for what is between the parts, and the whole is asked for instead.
_MOST = 2
_SECOND, _DAY = dt.timedelta(seconds=1), dt.timedelta(days=1)


class Patches(Struct, Generic[P], frozen=True):
    """Parts that are here, each with the rows to take of it, and what to ask for."""

    here: tuple[tuple[P, Extent], ...]
    rest: tuple[tuple[Quals, Extent], ...]

    @property
    def columns(self) -> set[str]:
        """The columns (in lower case) by which rows are told apart."""
        return {name for _, extent in (*self.here, *self.rest) for name, _ in extent.columns}

    def movable(self, table: Table) -> list[str]:
        """The columns by whose values a row may have moved from one reading to another, and be in both or in none.

        A row of another primary key is another row.
        """
        if len({id(part) for part, _ in self.here}) + len(self.rest) < 2:
            return []
        sides = [dict(extent.columns) for _, extent in (*self.here, *self.rest)]
        fixed = {name.lower() for name in table.primary_key}
        return [
            field.name
            for field in table.columns
            if (name := field.name.lower()) not in fixed
            and any(one.get(name) != sides[0].get(name) for one in sides)
        ]


def patches(table: Table, parts: Iterable[tuple[P, Quals]]) -> Patches[P] | None:
    """How a table under its qualifiers is put together of parts that were read under others; None: ask for all of it."""
    wanted = wanted_extent(table)
    left, here = [wanted], []
    for part, quals in parts:
        held = certain(table, quals)
        if held is None:
            continue
        taken = [piece for piece in (one & held for one in left) if piece]
        here += [(part, piece) for piece in taken]
        left = [piece for one in left for piece in one.minus(held)]
    rest = [(quals, piece) for one in left for quals, piece in _requests_for(table, one)]
    if not here or len(rest) > _MOST or any(quals in (None, table.quals) for quals, _ in rest):
        return None
    return Patches(tuple(here), tuple((quals, piece) for quals, piece in rest if quals is not None))


def certain(table: Table, quals: Quals) -> Extent | None:
    """The values that an answer under qualifiers is certain to hold of rows that the table's own want; None: who knows."""
    sets: dict[str, ValueSet] = {}
    for qual in quals:
        if any(one.implies(qual) for one in table.quals):
            continue
        field = table.column(qual.column)
        values = None if field is None else _certain(qual, field.arrow)
        if values is None:
            return None
        name = qual.column.lower()
        sets[name] = sets[name] & values if name in sets else values
    return Extent.of(sets)


def _certain(qual: Qual, arrow: ArrowType) -> ValueSet | None:
    """The declared values for which a qualifier surely holds, whatever the source keeps beyond them."""
    value, strict = qual.value, qual.operator in ("<", ">")
    if qual.operator == "like":
        stem = str(value).removesuffix("%")
        if "%" in stem:
            return None
        return ValueSet.points([stem]) if stem == value else ValueSet.prefix(stem)
    if qual.operator == "in":
        return ValueSet.points(list(value))
    if qual.operator == "since" or pa.types.is_floating(arrow):
        return None
    if pa.types.is_integer(arrow) or (qual.operator == "=" and _is_exact(arrow)):
        return ValueSet.compared(*_whole(qual.operator, value))
    if qual.operator in (">", ">="):
        low = _least(value, arrow, strict=strict)
        return None if low is None else ValueSet.of([Stretch(low)])
    if qual.operator in ("<", "<="):
        high = _greatest(value, arrow, strict=strict)
        return None if high is None else ValueSet.of([Stretch(None, high)])
    return None


def _is_exact(arrow: ArrowType) -> bool:
    return bool(pa.types.is_string(arrow) or pa.types.is_boolean(arrow))


def _whole(operator: str, value: Any) -> tuple[str, Any]:
    """A comparison of whole numbers: there is nothing between them."""
    if operator == ">":
        return ">=", value + 1
    return ("<", value + 1) if operator == "<=" else (operator, value)


def _least(value: Any, arrow: ArrowType, *, strict: bool) -> Verge | None:
    """From where on values are certain to be in an answer from `value` on."""
    try:
        if pa.types.is_decimal(arrow):
            return Verge(value + Decimal(1).scaleb(-arrow.scale), behind=strict)
        if pa.types.is_date(arrow):
            return Verge(value + _DAY * (2 if strict else 1))
        if pa.types.is_timestamp(arrow):
            shifted = value if arrow.tz is not None else value + _DAY
            whole = shifted.replace(microsecond=0)
            return Verge(whole if whole == shifted and not strict else whole + _SECOND)
    except OverflowError:
        pass
    return None


def _greatest(value: Any, arrow: ArrowType, *, strict: bool) -> Verge | None:
    """Up to where values are certain to be in an answer up to `value`."""
    try:
        if pa.types.is_decimal(arrow):
            return Verge(value - Decimal(1).scaleb(-arrow.scale), behind=not strict)
        if pa.types.is_date(arrow):
            return Verge(value - _DAY * (2 if strict else 1))
        if pa.types.is_timestamp(arrow):
            shifted = value - (_SECOND if arrow.tz is not None else _DAY)
            whole = shifted.replace(microsecond=0)
            return Verge(whole if whole == shifted and strict else whole + _SECOND)
    except OverflowError:
        pass
    return None


def wanted_extent(table: Table) -> Extent:
    """No less than the values that a table's qualifiers want: its bounds are no narrower than what they were made of."""
    sets: dict[str, ValueSet] = {}
    for qual in table.quals:
        field, name = table.column(qual.column), qual.column.lower()
        values = ValueSet.between(None, None)  # and not NULL
        if qual.operator == "in":
            values = ValueSet.points(list(qual.value))
        elif field is not None and pa.types.is_integer(field.arrow):
            values = ValueSet.compared(*_whole(qual.operator, qual.value)) or values
        elif (
            qual.operator in ("<", "<=", ">", ">=")
            and field is not None
            and not pa.types.is_floating(field.arrow)
        ):
            at, behind = Verge(qual.value), Verge(qual.value, behind=True)
            values = ValueSet.of([Stretch(at) if qual.operator in (">", ">=") else Stretch(None, behind)])
        elif qual.operator == "=" and field is not None and _is_exact(field.arrow):
            values = ValueSet.points([qual.value])
        elif qual.operator == "like":
            stem, *others = str(qual.value).split("%")
            values = ValueSet.prefix(stem) if others else ValueSet.points([stem])
        sets[name] = sets[name] & values if name in sets else values
    return Extent.of(sets)


def _requests_for(table: Table, left: Extent) -> list[tuple[Quals | None, Extent]]:
    """What is left, stretch by stretch, with the qualifiers to ask for it; None where the source cannot be told that."""
    known = dict(wanted_extent(table).columns)
    sides = [(name, values) for name, values in left.columns if known.get(name) != values]
    if any(values.null for _, values in sides):
        return [(None, left)]
    pieces: list[tuple[Quals | None, Extent]] = []
    for some in product(*([(name, one) for one in values.stretches] for name, values in sides)):
        quals: Quals | None = table.quals
        for name, stretch in some:
            more = _bounds(table, name, stretch, known.get(name))
            quals = None if quals is None or more is None else tightest((*quals, *more))
        piece = left & Extent.of({name: ValueSet((stretch,)) for name, stretch in some})
        pieces.append((quals, piece))
    return pieces


def _bounds(table: Table, name: str, stretch: Stretch, known: ValueSet | None) -> Quals | None:
    """Qualifiers for a stretch of a column, but for the ends that the table has anyway."""
    key = next((one for one in table.key_columns if one.name.lower() == name), None)
    field = table.column(name)
    if key is None or field is None:
        return None
    lows = {one.low for one in known.stretches} if known is not None else {None}
    highs = {one.high for one in known.stretches} if known is not None else {None}
    low, high = (
        None if stretch.low in lows else stretch.low,
        None if stretch.high in highs else stretch.high,
    )
    quals: list[Qual] = []
    for ends in ((low, None), (None, high)):
        if ends != (None, None):
            bounds = _range_quals(replace(key, name=field.name), field, ends)
            if not bounds:
                return None
            quals += bounds
    return in_order(quals)


def _range_quals(key: KeyColumn, field: Field, ends: Sequence[Verge | None]) -> Quals:
    low, high = ((None if one is None else (one.value, one.behind)) for one in ends)
    if high is not None:
        value, behind = high
        whole = pa.types.is_integer(field.arrow) and not behind
        high = (value - 1, False) if whole else (value, not behind)
    return quals_of(key, field, low=low, high=high)


async def put_together(
    table: Table,
    patched: Patches[list[Page]],
    ask: Callable[[Quals], AsyncGenerator[Page]],
    columns: Sequence[str],
    meter: AccessMeter,
) -> AsyncGenerator[Page]:
    """Every row: first those of the parts that are here, each with its EOT, then what is asked for."""
    if movable := patched.movable(table):
        names = " and ".join(movable)
        meter.warn(
            f"{table.full_name}: parts that were read at different times, by {names}, were put together: a row whose "
            f"{names} changed in between may be lacking, or be here twice; read anew (--no-cache, or after reset) it is whole"
        )
    empty: pa.RecordBatch | None = None
    for pages, extent in patched.here:
        for page in pages:
            meter.cached += 1
            empty = page.rows.slice(0, 0).select(list(columns))
            yield Page(_taken(page.rows, extent, columns))
        if empty is not None:
            yield Page(empty, ends=extent)
    for quals, extent in patched.rest:
        async with aclosing(ask(quals)) as asked:
            async for page in asked:
                ends = None if page.ends is None else page.ends & extent
                rows = _taken(page.rows, extent, columns)
                yield replace(page, rows=rows, ends=ends, total_rows=None, pages=None, order=None)


def _taken(rows: pa.RecordBatch, extent: Extent, columns: Sequence[str]) -> pa.RecordBatch:
    """The rows in an extent, with these columns alone."""
    return rows.filter(pa.array(extent.mask(rows))).select(list(columns))
