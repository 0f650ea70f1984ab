"""What an EOT covers, against brute force over small domains that hold NULL, NaN, texts in both cases and the last code point."""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Callable
from decimal import Decimal
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from fff.dataflow.plan.extents import EVERY, Coverage, Extent, ValueSet

_DAY = dt.date(2026, 1, 30)
_LAST = "\U0010ffff"
DOMAINS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "int": (pa.int32(), [-2, -1, 0, 1, 2]),
    "double": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 2.5, math.inf, math.nan]),
    "decimal": (pa.decimal128(5, 2), [Decimal("-1.00"), Decimal("0.00"), Decimal("0.01"), Decimal("1.50")]),
    "date": (pa.date32(), [_DAY + dt.timedelta(days=n) for n in range(4)]),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        [dt.datetime(2026, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=n) for n in range(3)],
    ),
    "text": (
        pa.string(),
        ["", "A", "B", "a", "a" + _LAST, "a" + _LAST + "b", "ab", "abc", "b", "\ud7ff", "\ue000", _LAST],
    ),
}
_ORDER: dict[str, Callable[[Any], Any]] = {
    "double": lambda value: (value != value, 0.0 if value != value else value)  # noqa: PLR0124 - NaN
}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda one, two: one == two,
    "<>": lambda one, two: one != two,
    "<": lambda one, two: one < two,
    "<=": lambda one, two: one <= two,
    ">": lambda one, two: one > two,
    ">=": lambda one, two: one >= two,
}
Members = frozenset[int]  # of a domain, by place; that of NULL is behind the last one


def drawn(rng: random.Random, kind: str, depth: int = 0) -> tuple[ValueSet, Members]:
    """A set, and which members of the domain with NULL are in it by definition."""
    values = DOMAINS[kind][1]
    order = _ORDER.get(kind, lambda value: value)
    what, one = rng.randrange(6 if depth < 3 else 3), rng.choice(values)
    if what == 0:
        operator = rng.choice(list(COMPARED))
        test = COMPARED[operator]
        made = ValueSet.compared(operator, one)
        assert made is not None
        return made, frozenset(n for n, value in enumerate(values) if test(order(value), order(one)))
    if what == 1:
        some = rng.sample([*values, None], rng.randrange(3))
        ranks = [None if value is None else order(value) for value in some]
        inside = {n for n, value in enumerate(values) if order(value) in ranks}
        return ValueSet.points(some), frozenset(inside | ({len(values)} if None in some else set()))
    if what == 2:
        low, high = rng.choice([None, *values]), rng.choice([None, *values])
        return ValueSet.between(low, high), frozenset(
            n
            for n, value in enumerate(values)
            if (low is None or order(value) >= order(low)) and (high is None or order(value) < order(high))
        )
    if what == 3 and kind == "text":
        return ValueSet.prefix(one), frozenset(n for n, value in enumerate(values) if value.startswith(one))
    first, one_of = drawn(rng, kind, depth + 1)
    second, other_of = drawn(rng, kind, depth + 1)
    if what == 4:
        return first | second, one_of | other_of
    return (first & second, one_of & other_of) if rng.random() < 0.5 else (first - second, one_of - other_of)


def members(made: ValueSet, kind: str) -> Members:
    arrow, values = DOMAINS[kind]
    return frozenset(made.mask(pa.array([*values, None], arrow)).nonzero()[0].tolist())


@pytest.mark.parametrize("kind", DOMAINS)
def test_sets_hold_what_their_definition_says(kind: str) -> None:
    rng = random.Random(kind)
    subsets = 0
    for _ in range(200):
        one, inside = drawn(rng, kind)
        assert members(one, kind) == inside, one
        two, others = drawn(rng, kind)
        if one <= two:  # of more values than the domain has
            assert inside <= others
            subsets += 1
        assert (one & two) | (one - two) == one
        assert (one - two) | two == one | two
        assert not (one - two) & two
        assert members(EVERY - one, kind) == frozenset(range(len(DOMAINS[kind][1]) + 1)) - inside
    assert subsets > 20


def extent(rng: random.Random) -> tuple[Extent, frozenset[tuple[int, int]]]:
    (one, a), (two, b) = drawn(rng, "int"), drawn(rng, "text")
    every_a, every_b = range(len(DOMAINS["int"][1]) + 1), range(len(DOMAINS["text"][1]) + 1)
    if rng.random() < 0.4:
        return Extent.of({"N": one}), frozenset(product(a, every_b))
    if rng.random() < 0.4:
        return Extent.of({"s": two}), frozenset(product(every_a, b))
    return Extent.of({"n": one, "S": two}), frozenset(product(a, b))


def test_what_is_covered_and_what_is_left() -> None:
    rng = random.Random(5)
    whole = 0
    for _ in range(400):
        coverage, here = Coverage(), frozenset[tuple[int, int]]()
        for _ in range(rng.randrange(5)):
            one, rows = extent(rng)
            coverage.add(one)
            here |= rows
        wanted, rows = extent(rng)
        left = coverage.left(wanted)
        found = [
            frozenset(
                product(
                    members(dict(part.columns).get("n", EVERY), "int"),
                    members(dict(part.columns).get("s", EVERY), "text"),
                )
            )
            for part in left
        ]
        assert frozenset().union(*found) == rows - here, "neither more nor less"
        assert sum(map(len, found)) == len(rows - here), "each row once"
        whole += coverage.covers(wanted) and bool(rows)
    assert whole > 20


def test_windows_that_adjoin_are_all_but_null() -> None:
    coverage = Coverage()
    for values in (ValueSet.compared(">=", 2020), ValueSet.compared("<", 2020)):
        assert values is not None
        coverage.add(Extent.of({"year": values}))
    assert len(coverage.extents) == 1
    assert coverage.covers(Extent.of({"year": ValueSet.between(None, None)}))
    assert [one.text for one in coverage.left(Extent())] == ["year IS NULL"]
    coverage.add(Extent.of({"year": ValueSet.points([None])}))
    assert coverage.covers(Extent())
    apart = ValueSet.compared(">", 2020)
    assert apart is not None
    assert not ValueSet.between(None, None) <= apart | ValueSet.between(None, 2020), "2020 is in neither"


def test_prefixes_end_where_the_next_begins() -> None:
    assert ValueSet.prefix("ab") <= ValueSet.prefix("a")
    assert not ValueSet.prefix("Ab") <= ValueSet.prefix("a"), "case counts"
    assert not ValueSet.prefix("b") <= ValueSet.prefix("a")
    assert ValueSet.prefix("a") | ValueSet.prefix("b") == ValueSet.between("a", "c")
    assert ValueSet.points(["a" + _LAST * 9]) <= ValueSet.prefix("a")
    assert ValueSet.prefix(_LAST) == ValueSet.between(_LAST, None)
    assert ValueSet.prefix("") == ValueSet.between("", None)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            ValueSet.between(dt.date(2026, 1, 1), dt.date(2026, 2, 1)),
            "c >= '2026-01-01' AND c < '2026-02-01'",
        ),
        (ValueSet.compared(">", 3), "c > 3"),
        (ValueSet.points([1, None]), "(c = 1 OR c IS NULL)"),
        (ValueSet.prefix("it's 5%"), "c LIKE 'it''s 5\\%%'"),
        (ValueSet.between(None, None), "c IS NOT NULL"),
        (ValueSet(), "false"),
        (EVERY, "true"),
    ],
)
def test_extents_are_read_as_conditions(values: ValueSet | None, text: str) -> None:
    assert values is not None
    assert Extent.of({"c": values}).text == text
