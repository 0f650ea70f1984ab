"""Comparisons between a row and what tuples that probe for it compute, where no equality of columns says which rows these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.expressions import And, Column, Compare, Expr, FunctionCall, columns_of, subexpressions
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.store.sorted_runs import LEAST, MOST, Within, exact, ordinals, sortable

#: Mirrored comparisons, and as which bounds each counts.
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_BOUNDS: Final = {"=": ("<=", ">=")}


@dataclass(frozen=True)
class Bound:
    """`own op other`: what a column of a row must be to a column of a tuple, or to what is computed of some."""

    own: int
    op: str
    other: Expr


def bounds(plan: BlockPlan, predicates: Sequence[int], span: int, alias: int) -> tuple[Bound, ...]:
    """What the inline predicates over an alias and tuples of a span say of the alias's columns one by one."""
    bounds: list[Bound] = []
    for number in predicates:
        for item in _conjuncts(plan.predicates[number].expr):
            if isinstance(item, Compare) and item.op in _MIRRORED:
                for own, op, other in (
                    (item.left, item.op, item.right),
                    (item.right, _MIRRORED[item.op], item.left),
                ):
                    if (
                        isinstance(own, Column)
                        and own.alias == alias
                        and _of_tuples(other, span)
                        and sortable(_kind(plan, own))
                        and _kind(plan, own) == _kind(plan, other)
                    ):
                        bounds += (Bound(own.index, one, other) for one in _BOUNDS.get(op, (op,)))
    return tuple(bounds)


def _of_tuples(expr: Expr, span: int) -> bool:
    """Whether tuples of a span have the value of an expression, on every row."""
    read = columns_of(expr)
    return bool(read) and all(span >> column.alias & 1 for column in read) and not _may_fail(expr)


def _may_fail(expr: Expr) -> bool:
    return (isinstance(expr, FunctionCall) and expr.fails) or any(map(_may_fail, subexpressions(expr)))


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, And):
        for item in expr.items:
            yield from _conjuncts(item)
    else:
        yield expr


def _kind(plan: BlockPlan, expr: Expr) -> pa.DataType | None:
    """The type of a column or a call."""
    if isinstance(expr, Column):
        return plan.field_of(expr).arrow
    return expr.type if isinstance(expr, FunctionCall) else None


def widely(known: Sequence[Bound]) -> list[int]:
    """The columns that have bounds, those first that have them on both sides."""
    columns = dict.fromkeys(bound.own for bound in known)
    return sorted(columns, key=lambda own: -len(_sides(known, own)))


def _sides(known: Sequence[Bound], own: int) -> set[str]:
    return {bound.op[0] for bound in known if bound.own == own}


def within(
    known: Sequence[Bound],
    column: int,
    values: Callable[[Expr], pa.Array],
    count: int,
    widest: Callable[[int, int], int] | None = None,
) -> Within:
    """Between which bounds a column of the matches of each of `count` tuples lies.

    `values`: of an expression over the tuples; `widest`: how far one column of the stored rows is below another at most.
    """
    lows, highs = np.full(count, LEAST), np.full(count, MOST)
    for bound in known:
        if bound.own != column:
            continue
        theirs = values(bound.other)
        other, valid = ordinals(theirs)
        strict = len(bound.op) == 1 and exact(theirs.type)
        if bound.op[0] == "<":
            np.minimum(highs, _moved(other, -1) if strict else other, out=highs)
            # Where the tuple's value is to be below another column of the row: not further than that is away.
            reach = [b.own for b in known if b.other == bound.other and b.op[0] == ">" and b.own != column]
            if reach and widest is not None:
                np.maximum(lows, _moved(other, -widest(column, reach[0])), out=lows)
        else:
            np.maximum(lows, _moved(other, 1) if strict else other, out=lows)
        if strict:  # nothing is beyond the ends
            valid &= other != (LEAST if bound.op == "<" else MOST)
        lows[~valid], highs[~valid] = MOST, LEAST
    sides = _sides(known, column)
    return Within(column, lows, highs, sides.pop() if len(sides) == 1 and widest is None else "")


def _moved(values: Int64, by: int) -> Int64:
    """Values + by, as far as there are numbers."""
    if by >= 0:
        return np.where(values > MOST - min(by, int(MOST)), MOST, values + min(by, int(MOST)))
    by = min(-by, int(MOST))
    return np.where(values < LEAST + by, LEAST, values - by)
