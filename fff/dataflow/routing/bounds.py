"""Comparisons between a row and what tuples that probe for it compute, where no equality of columns says which rows these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from fff.dataflow.arrays import Int64
from fff.dataflow.plan.expressions import And, Column, Compare, Evaluated, Expr, FunctionCall, columns_of
from fff.dataflow.plan.plan import BlockPlan
from fff.dataflow.store.sorted_runs import LEAST, MOST, Within, exact, hashes, ordinals, sortable
from fff.structs import Struct

#: Mirrored comparisons, and as which bounds each counts.
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_BOUNDS: Final = {"=": ("<=", ">=")}  # not of texts, of which only the beginnings are in order


class Bound(Struct, frozen=True):
    """`own op other`: what a column of a row, or what is computed of it, must be to the same of a tuple."""

    own: Expr
    op: str
    other: Expr


def bounds(plan: BlockPlan, predicates: Sequence[int], span: int, alias: int) -> tuple[Bound, ...]:
    """What the inline predicates over an alias and tuples of a span say of values of the alias's rows one by one."""
    bounds: list[Bound] = []
    for number in predicates:
        for item in _conjuncts(plan.predicates[number].expr):
            if isinstance(item, Compare) and item.op in _MIRRORED:
                for own, op, other in (
                    (item.left, item.op, item.right),
                    (item.right, _MIRRORED[item.op], item.left),
                ):
                    kind = _kind(plan, own)
                    if (
                        _reads(own, 1 << alias)
                        and _reads(other, span)
                        and kind is not None
                        and sortable(kind)
                        and kind == _kind(plan, other)
                    ):
                        ops = (op,) if pa.types.is_string(kind) else _BOUNDS.get(op, (op,))
                        bounds += (Bound(own, one, other) for one in ops)
    return tuple(bounds)


def _reads(expr: Expr, span: int) -> bool:
    """Whether an expression reads columns, and those of a span alone."""
    read = columns_of(expr)
    return bool(read) and all(span >> column.alias & 1 for column in read)


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


def widely(known: Sequence[Bound]) -> list[Expr]:
    """What has bounds, those first that have them on both sides."""
    return sorted(dict.fromkeys(bound.own for bound in known), key=lambda own: -len(_sides(known, own)))


def _sides(known: Sequence[Bound], own: Expr) -> set[str]:
    return {side for bound in known if bound.own == own for side in _BOUNDS.get(bound.op, bound.op[:1])}


def within(
    known: Sequence[Bound],
    own: Expr,
    computed: Callable[[Expr], Evaluated],
    count: int,
    widest: Callable[[Expr, Expr], int | None] | None = None,
) -> Within | None:
    """Between which bounds a value of the matches of each of `count` tuples lies.

    `computed`: an expression over the tuples, and where Spark fails: such a tuple passes on with every row, and there are
    no bounds (None).
    `widest`: how far one value of the stored rows is below another at most.
    """
    lows, highs = np.full(count, LEAST), np.full(count, MOST)
    equal = next((bound.other for bound in known if bound.own == own and bound.op == "="), None)
    if equal is not None:
        theirs = computed(equal)
        if theirs.failed is not None and theirs.failed.rows.any():
            return None
        other, valid = hashes(theirs.values)
        return Within(own, np.where(valid, other, MOST), np.where(valid, other, LEAST), hashed=True)
    for bound in known:
        if bound.own != own:
            continue
        theirs = computed(bound.other)
        other, valid = ordinals(theirs.values)
        strict = len(bound.op) == 1 and exact(theirs.values.type)
        if theirs.failed is not None and theirs.failed.rows.any():
            return None
        if bound.op[0] == "<":
            np.minimum(highs, _moved(other, -1) if strict else other, out=highs)
            # Where the tuple's value is to be below another column of the row: not further than that is away.
            reach = [b.own for b in known if b.other == bound.other and b.op[0] == ">" and b.own != own]
            far = widest(own, reach[0]) if reach and widest is not None else None
            if far is not None:
                np.maximum(lows, _moved(other, -far), out=lows)
        else:
            np.maximum(lows, _moved(other, 1) if strict else other, out=lows)
        if strict:  # nothing is beyond the ends
            valid &= other != (LEAST if bound.op == "<" else MOST)
        lows[~valid], highs[~valid] = MOST, LEAST
    sides = _sides(known, own)
    return Within(own, lows, highs, sides.pop() if len(sides) == 1 and widest is None else "")


def _moved(values: Int64, by: int) -> Int64:
    """Values + by, as far as there are numbers."""
    if by >= 0:
        return np.where(values > MOST - min(by, int(MOST)), MOST, values + min(by, int(MOST)))
    by = min(-by, int(MOST))
    return np.where(values < LEAST + by, LEAST, values - by)
