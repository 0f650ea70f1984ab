"""Inequalities between a row and the tuples that probe for it, where no equality says which rows these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.expressions import And, Column, Compare, Expr
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.store.sorted_runs import LEAST, MOST, Within, exact, ordinals, sortable
from fff.structs import Struct

_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Bound(Struct, frozen=True):
    """`own op other`: what a column of a row must be to one of a tuple."""

    own: int
    op: str
    other: Column


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
                        and isinstance(other, Column)
                        and own.alias == alias
                        and span >> other.alias & 1
                        and sortable(_kind(plan, own))
                        and _kind(plan, own) == _kind(plan, other)
                    ):
                        bounds.append(Bound(own.index, op, other))
    return tuple(bounds)


def _conjuncts(expr: Expr) -> Iterator[Expr]:
    if isinstance(expr, And):
        for item in expr.items:
            yield from _conjuncts(item)
    else:
        yield expr


def _kind(plan: BlockPlan, column: Column) -> pa.DataType:
    return plan.tables[plan.aliases[column.alias].table].columns[column.index].arrow


def within(
    known: Sequence[Bound],
    values: Callable[[Column], pa.Array],
    widest: Callable[[int, int], int],
    count: int,
) -> Within:
    """Between which bounds the matches of each of `count` tuples lie, by the column that has most bounds.

    `values`: of a column of the tuples; `widest`: how far one column of the stored rows is below another at most.
    """
    column = max(
        (bound.own for bound in known), key=lambda own: len({b.op[0] for b in known if b.own == own})
    )
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
            for far in reach[:1]:
                np.maximum(lows, _moved(other, -widest(column, far)), out=lows)
        else:
            np.maximum(lows, _moved(other, 1) if strict else other, out=lows)
        if strict:  # nothing is beyond the ends
            valid &= other != (LEAST if bound.op == "<" else MOST)
        lows[~valid], highs[~valid] = MOST, LEAST
    return Within(column, lows, highs)


def _moved(values: Int64, by: int) -> Int64:
    """Values + by, as far as there are numbers."""
    if by >= 0:
        return np.where(values > MOST - min(by, int(MOST)), MOST, values + min(by, int(MOST)))
    by = min(-by, int(MOST))
    return np.where(values < LEAST + by, LEAST, values - by)
