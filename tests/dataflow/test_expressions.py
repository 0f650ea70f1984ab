"""Three-valued logic against a model small enough to be right by looking."""

from __future__ import annotations

import operator
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from math import inf, isnan, nan
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.plan.expressions import (
    And,
    Column,
    Compare,
    Expr,
    InList,
    IsNull,
    Literal,
    Not,
    Or,
    columns_of,
    evaluate,
)
from fff.schema import arrow_type
from tests.dataflow.blocks import quick

Truth = bool | None
A, B = Column(0, 0), Column(0, 1)
OPS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
PLAIN = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def ordinal(value: Any) -> Any:
    """A value under Spark's order: NaN above everything, one zero."""
    if isinstance(value, float):
        return (1, 0.0) if isnan(value) else (0, value + 0.0)
    return value


def model_compare(op: str, left: Any, right: Any) -> Truth:
    if op == "<=>":
        return left is right if left is None or right is None else ordinal(left) == ordinal(right)
    if left is None or right is None:
        return None
    return bool(PLAIN[op](ordinal(left), ordinal(right)))


def model_in(item: Any, values: tuple[Any, ...]) -> Truth:
    found = [model_compare("=", item, value) for value in values]
    return True if True in found else None if None in found or item is None else False


SAMPLES: dict[str, list[Any]] = {
    "int": [None, -1, 0, 1],
    "bigint": [None, -(2**63), 0, 2**63 - 1],
    "double": [None, nan, -0.0, 0.0, 1.5, inf, -inf],
    "float": [None, nan, -0.0, 0.0, 1.5, inf],
    "string": [None, "", "a", "B", "\u00e9", "\U0001f600", "\uffff"],
    "binary": [None, b"", b"\0", b"\xff"],
    "boolean": [None, False, True],
    "date": [None, date(1969, 12, 31), date(1970, 1, 1)],
    "timestamp_ntz": [None, datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2024, 1, 1)],  # noqa: DTZ001
    "decimal(20,2)": [None, Decimal("-1.00"), Decimal("0.00"), Decimal("1.25")],
}


def columns(kind: str, pairs: list[tuple[Any, Any]]) -> dict[Column, pa.Array]:
    arrow = arrow_type(kind)
    return {A: pa.array([a for a, _ in pairs], arrow), B: pa.array([b for _, b in pairs], arrow)}


def truths(expr: Expr, values: dict[Column, pa.Array]) -> list[Truth]:
    length = len(next(iter(values.values())))
    result = evaluate(expr, values.__getitem__, length)
    assert isinstance(result, pa.Array)
    assert result.type == pa.bool_()
    assert len(result) == length
    found: list[Truth] = result.to_pylist()
    return found


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("kind", SAMPLES)
def test_comparisons(kind: str, op: Any) -> None:
    pairs = list(product(SAMPLES[kind], repeat=2))
    if kind == "string":  # by code point, as bytes of UTF-8 compare
        expected = [model_compare(op, *(None if x is None else x.encode() for x in pair)) for pair in pairs]
    else:
        expected = [model_compare(op, *pair) for pair in pairs]
    values, arrow = columns(kind, pairs), arrow_type(kind)
    assert truths(Compare(op, A, B), values) == expected
    for left, right in product(SAMPLES[kind], repeat=2):  # each side, and both, as constants
        one = columns(kind, [(left, right)])
        want = [model_compare(op, *(x.encode() if isinstance(x, str) else x for x in (left, right)))]
        assert truths(Compare(op, A, Literal(right, arrow)), one) == want
        assert truths(Compare(op, Literal(left, arrow), B), one) == want
        assert truths(Compare(op, Literal(left, arrow), Literal(right, arrow)), one) == want


@pytest.mark.parametrize("kind", SAMPLES)
def test_in_lists(kind: str) -> None:
    sample = SAMPLES[kind]
    column = columns(kind, [(value, None) for value in sample])
    lists = [(), (None,), tuple(sample[1:2]), tuple(sample[1:]), tuple(sample), (sample[-1], None)]
    for values in lists:
        expected = [model_in(item, values) for item in sample]
        if not values:
            expected = [None if item is None else False for item in sample]
        assert truths(InList(A, values, arrow_type(kind)), column) == expected, values
        assert truths(Not(InList(A, values, arrow_type(kind))), column) == [
            None if truth is None else not truth for truth in expected
        ]


def test_is_null() -> None:
    values = columns("double", [(None, 0), (nan, 0), (0.0, 0)])
    assert truths(IsNull(A), values) == [True, False, False]
    assert truths(Not(IsNull(A)), values) == [False, True, True]


def test_constants_fill_their_column() -> None:
    values = columns("int", [(1, 1)] * 3)
    for truth in (True, False, None):
        assert truths(Literal(truth, pa.bool_()), values) == [truth] * 3
    assert evaluate(Literal(True, pa.bool_()), values.__getitem__, 0).to_pylist() == []


def test_a_boolean_column_is_a_predicate() -> None:
    values = columns("boolean", [(True, None), (None, None), (False, None)])
    assert truths(A, values) == [True, None, False]
    assert truths(Or((A, Not(A))), values) == [True, None, True], "no excluded middle"


Shape = Any
leaves = st.sampled_from([A, B, IsNull(A), Literal(None, pa.bool_()), Literal(True, pa.bool_())])
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(And, st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=8,
)


def model(expr: Expr, a: Truth, b: Truth) -> Truth:
    match expr:
        case Column():
            return a if expr == A else b
        case Literal(value=value):
            return value  # type: ignore[return-value]
        case IsNull():
            return a is None
        case Not(item=item):
            truth = model(item, a, b)
            return None if truth is None else not truth
        case And(items=items):
            found = [model(item, a, b) for item in items]
            return False if False in found else None if None in found else True
        case Or(items=items):
            found = [model(item, a, b) for item in items]
            return True if True in found else None if None in found else False
    raise AssertionError(expr)


@quick
@given(trees)
def test_kleene_logic(expr: Expr) -> None:
    pairs = list(product([True, False, None], repeat=2))
    assert truths(expr, columns("boolean", pairs)) == [model(expr, a, b) for a, b in pairs]


def test_columns_of() -> None:
    other = Column(1, 0)
    expr = And((Or((Compare("<", A, B), Not(IsNull(other)))), InList(A, (1,), pa.int32())))
    assert columns_of(expr) == {A, B, other}
    assert columns_of(Literal(1, pa.int32())) == set()
