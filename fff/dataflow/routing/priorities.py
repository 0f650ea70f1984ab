"""What the user wants to see first (R8): predicates over plan columns, applied to tuples and to lookup keys.

A predicate holds for a tuple as soon as each of its columns, or one that an equality class holds equal to it, is spanned:
whatever is true of W.key is true of R.key in every result with W.key = R.key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Bools, Int64, numpy_mask
from fff.dataflow.lookups.access import LookupModule
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.expressions import (
    And,
    Column,
    Compare,
    Expr,
    InList,
    Literal,
    Not,
    Or,
    columns_of,
    evaluate,
)
from fff.structs import Struct, replace

_LONG = pa.int64()


class _Applied(Struct, frozen=True):
    """A predicate, and where each of its columns is read."""

    expr: Expr
    places: Mapping[Column, Column]


class Priorities:
    """The predicates in force; at least one."""

    def __init__(self, predicates: Sequence[Expr], block: Block) -> None:
        assert predicates
        self._block = block
        self._predicates = tuple((_widened(predicate), columns_of(predicate)) for predicate in predicates)
        self._equal = {
            member: equality.members for equality in block.plan.equalities for member in equality.members
        }
        self._by_span: dict[int, tuple[_Applied, ...]] = {}

    def split(self, batch: TupleBatch) -> Iterator[tuple[TupleBatch, bool]]:
        """The batch in at most two parts, none of them empty: prioritised tuples (True) first, then the others."""
        mask = self.mask(batch)
        if mask is None or not mask.any():
            yield batch, False
        elif mask.all():
            yield batch, True
        else:
            yield batch.take(np.flatnonzero(mask)), True
            yield batch.take(np.flatnonzero(~mask)), False

    def mask(self, batch: TupleBatch) -> Bools | None:
        """Which tuples are prioritised; None when no predicate can be evaluated on tuples of this span."""

        def read(place: Column) -> pa.Array:
            return self._block.values(batch, place)

        span = batch.state.span
        applied = self._by_span.get(span)
        if applied is None:
            applied = self._by_span[span] = self._applicable(lambda place: bool(span >> place.alias & 1))
        return _any_true(applied, read, len(batch))

    def keys(self, table: int, module: LookupModule, keys: Int64) -> Int64:
        """Those of the keys of a lookup that say by themselves that what they bring is prioritised."""
        chosen = np.zeros(len(keys), np.bool_)
        for alias in self._block.stems[table].aliases:
            columns = [Column(alias, column) for column in module.plan.columns]
            applied = self._applicable(columns.__contains__)
            if applied and len(keys):
                values = dict(zip(columns, module.columns(keys), strict=True))
                mask = _any_true(applied, values.__getitem__, len(keys))
                assert mask is not None
                chosen |= mask
        return keys[chosen]

    def _applicable(self, known: Callable[[Column], bool]) -> tuple[_Applied, ...]:
        """The predicates all of whose columns, or equal ones, are known."""
        applied = []
        for expr, columns in self._predicates:
            places = {
                column: next(
                    (place for place in (column, *self._equal.get(column, ())) if known(place)), None
                )
                for column in columns
            }
            read = {column: place for column, place in places.items() if place is not None}
            if len(read) == len(places):
                applied.append(_Applied(expr, read))
        return tuple(applied)


def _any_true(applied: Sequence[_Applied], read: Callable[[Column], pa.Array], length: int) -> Bools | None:
    result: Bools | None = None
    for one in applied:
        places = one.places

        def resolve(column: Column, places: Mapping[Column, Column] = places) -> pa.Array:
            values = read(places[column])
            return values.cast(_LONG) if pa.types.is_integer(values.type) else values

        mask = numpy_mask(evaluate(one.expr, resolve, length))
        result = mask if result is None else result | mask
    return result


def _widened(expr: Expr) -> Expr:
    """Integer constants as 64-bit ones: an equality class may hold integers of several widths."""
    match expr:
        case Literal(type=kind):
            return replace(expr, type=_LONG) if pa.types.is_integer(kind) else expr
        case InList(type=kind):
            return replace(expr, type=_LONG) if pa.types.is_integer(kind) else expr
        case Compare(left=left, right=right):
            return replace(expr, left=_widened(left), right=_widened(right))
        case Not(item=item):
            return Not(_widened(item))
        case And(items=items):
            return And(tuple(map(_widened, items)))
        case Or(items=items):
            return Or(tuple(map(_widened, items)))
    return expr
