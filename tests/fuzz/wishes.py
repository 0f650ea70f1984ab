"""Random priorities over a plan's columns: whatever the user may want to see first."""

from __future__ import annotations

import random

from fff.dataflow.plan.expressions import And, Column, Compare, Expr, InList, IsNull, Literal, Not, Or
from fff.dataflow.plan.plan import BlockPlan
from fff.structs import replace
from tests.fuzz.generate import DOMAINS


def random_wishes(plan: BlockPlan, rng: random.Random) -> tuple[Expr, ...]:
    """None to three predicates; none takes back what was wished before."""
    return tuple(_predicate(plan, rng) for _ in range(rng.choice([0, 1, 1, 1, 2, 3])))


def _predicate(plan: BlockPlan, rng: random.Random) -> Expr:
    kind = rng.choice(["value", "value", "value", "list", "null", "columns", "plan", "both", "either", "not"])
    if kind == "plan" and plan.predicates:
        return rng.choice(plan.predicates).expr
    if kind == "both":
        return And((_value(plan, rng), _value(plan, rng)))
    if kind == "either":
        return Or((_value(plan, rng), _predicate(plan, rng)))
    if kind == "not":
        return Not(_value(plan, rng))
    if kind == "null":
        return IsNull(_column(plan, rng))
    if kind == "list":
        value = _value(plan, rng)
        return InList(_left(value), (_literal(value).value, None), _literal(value).type)
    if kind == "columns":
        left, right = _column(plan, rng), _column(plan, rng)
        if plan.field_of(left).type == plan.field_of(right).type:
            return Compare(rng.choice(["=", "<", "<>"]), left, right)
    return _value(plan, rng)


def _value(plan: BlockPlan, rng: random.Random) -> Compare:
    column = _column(plan, rng)
    field = plan.field_of(column)
    value = rng.choice(DOMAINS[field.type][:3])
    compare = Compare("=", column, Literal(value, field.arrow))
    return compare if rng.random() < 0.7 else replace(compare, op=rng.choice(["<", ">=", "<>", "<=>"]))


def _column(plan: BlockPlan, rng: random.Random) -> Column:
    """Any column, or one that is equal to others: these matter most."""
    if plan.equalities and rng.random() < 0.6:
        return rng.choice(rng.choice(plan.equalities).members)
    alias = rng.randrange(len(plan.aliases))
    return Column(alias, rng.randrange(len(plan.tables[plan.aliases[alias].table].columns)))


def _left(compare: Compare) -> Column:
    assert isinstance(compare.left, Column)
    return compare.left


def _literal(compare: Compare) -> Literal:
    assert isinstance(compare.right, Literal)
    return compare.right
