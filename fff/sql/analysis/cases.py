"""What conditions say of the values of columns, case by case: `(k, s) IN ((1, 'a'), (2, 'b'))`, ORs of ANDs, bounds of few values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, Literal, Not, Operator, Or
from fff.sql.analysis.predicates import pinned
from fff.structs import replace

#: The values that columns may have, each for itself; a column that is not there may have any.
Case: TypeAlias = Mapping[Column, tuple[object, ...]]

#: So many values between two bounds are asked for one by one.
MAX_SPELLED = 1_000
#: Beyond so many cases nothing is said.
_MOST_CASES = 10_000


def cases_of(expr: Expr, *, spell: bool = False) -> tuple[Case, ...]:
    """Cases of which a row that passes is in one at least; `spell`: with the values between two bounds spelled out."""
    expr = positive(expr)
    held = pinned(expr)
    if held is not None:
        return ({held[0]: held[1]},)
    match expr:
        case Or(items=items):
            every = tuple(case for item in items for case in cases_of(item, spell=spell))
            return every if len(every) <= _MOST_CASES and all(every) else ({},)
        case And(items=items):
            combined: tuple[Case, ...] = (_spelled(items),) if spell else ({},)
            for item in items:
                cases = cases_of(item, spell=spell)
                if len(combined) * len(cases) <= _MOST_CASES:
                    combined = tuple(both(one, other) for one in combined for other in cases)
            return combined
    return ({},)


def positive(expr: Expr) -> Expr:
    """A condition with its NOTs moved to what they say of single comparisons, by Kleene's rules."""
    match expr:
        case And(items=items):
            return And(tuple(map(positive, items)))
        case Not(item=Not(item=item)):
            return positive(item)
        case Not(item=Or(items=items)):
            return And(tuple(positive(Not(item)) for item in items))
        case Not(item=And(items=items)):
            return Or(tuple(positive(Not(item)) for item in items))
        case Not(item=Compare(op=op) as item) if op in _NEGATIONS:
            return replace(item, op=_NEGATIONS[op])
    return expr


def united(cases: Sequence[Case]) -> dict[Column, tuple[object, ...]]:
    """The values of each column that all cases speak of."""
    columns = [column for column in cases[0] if all(column in case for case in cases)]
    return {
        column: tuple(dict.fromkeys(value for case in cases for value in case[column])) for column in columns
    }


def bounded(conjuncts: Sequence[Expr]) -> dict[Column, tuple[int, int]]:
    """The first and the last whole number, or date as its ordinal, that ANDed bounds leave columns that have both."""
    lowest: dict[Column, int] = {}
    highest: dict[Column, int] = {}
    for expr in _flat(conjuncts):
        match expr:
            case Compare(op=op, left=Column() as column, right=Literal(value=value)) if op in _STEPS:
                at = _ordinal(value)
                if at is None:
                    continue
                at += _STEPS[op]
                if op in (">", ">="):
                    lowest[column] = max(at, lowest.get(column, at))
                else:
                    highest[column] = min(at, highest.get(column, at))
    return {column: (low, highest[column]) for column, low in lowest.items() if column in highest}


_NEGATIONS: Mapping[str, Operator] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_STEPS = {">": 1, ">=": 0, "<": -1, "<=": 0}


def _spelled(items: Sequence[Expr]) -> Case:
    """The values of whole numbers and dates between two bounds."""
    kinds = {
        expr.left: type(expr.right.value)
        for expr in _flat(items)
        if isinstance(expr, Compare) and isinstance(expr.left, Column) and isinstance(expr.right, Literal)
    }
    made: dict[type, Callable[[int], object]] = {dt.date: dt.date.fromordinal}
    return {
        column: tuple(map(made.get(kinds[column], int), range(low, high + 1)))
        for column, (low, high) in bounded(items).items()
        if high - low < MAX_SPELLED
    }


def _ordinal(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return value.toordinal() if isinstance(value, dt.date) and not isinstance(value, dt.datetime) else None


def _flat(items: Sequence[Expr]) -> list[Expr]:
    """Items with those of ANDs among them."""
    return [one for item in items for one in (_flat(item.items) if isinstance(item, And) else [item])]


def both(one: Case, other: Case) -> dict[Column, tuple[object, ...]]:
    """What holds in two cases at once."""
    shared = {}
    for column in one.keys() & other.keys():
        allowed = set(other[column])
        shared[column] = tuple(value for value in one[column] if value in allowed)
    return {**one, **other, **shared}
