"""Joins by inequality: rows between bounds are found in sorted runs, and no row that matches is left out."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.arrays import ArrowColumn
from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.events import Emit, Route, ScanEnd, ScanRows, Start
from fff.dataflow.plan.expressions import And, Column, Compare, Expr
from fff.dataflow.plan.plan import AliasPlan, BlockPlan, Predicate, ScanPlan, TablePlan
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.store import stem as stem_module
from fff.dataflow.store.sorted_runs import LEAST, MOST, SortedRuns, Within, ordinals
from fff.policies import make_policy
from fff.schema import Field
from tests.dataflow.blocks import quick

OPERATORS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
edges = st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST])
wholes = st.one_of(st.none(), st.integers(-6, 6), edges)
Row = tuple[int | None, int | None]
rows = st.lists(st.tuples(wholes, wholes), max_size=25)


def plan_of(predicates: list[Expr], kind: str = "bigint") -> BlockPlan:
    fields = tuple(Field.of(name, kind) for name in "ab")
    return BlockPlan(
        tables=tuple(TablePlan(f"t.{name}", fields, scans=(ScanPlan("scan"),)) for name in "rs"),
        aliases=tuple(AliasPlan(name, number, active=True) for number, name in enumerate("rs")),
        equalities=(),
        predicates=tuple(Predicate(expr) for expr in predicates),
        output=tuple(Column(alias, column) for alias in range(2) for column in range(2)),
    )


def joined(plan: BlockPlan, tables: list[list[Row]], page: int) -> list[tuple[object, ...]]:
    eddy = Eddy(plan, make_policy("adaptive", plan), random.Random(1))
    found: list[tuple[object, ...]] = []

    def feed(*events: object) -> None:
        for event in events:
            for instruction in eddy.handle(event):  # type: ignore[arg-type]
                if isinstance(instruction, Emit):
                    columns = eddy.gather(instruction.batch).columns
                    found.extend(zip(*(column.to_pylist() for column in columns), strict=True))

    feed(Start())
    for at in range(0, max(map(len, tables)), page):
        for number, table in enumerate(tables):
            part = table[at : at + page]
            if part:
                types = [field.arrow for field in plan.tables[number].columns]
                columns = [
                    pa.array(values, kind)
                    for values, kind in zip(zip(*part, strict=True), types, strict=True)
                ]
                feed(ScanRows(number, 0, pa.record_batch(columns, ["a", "b"])))
            while eddy.has_work:
                feed(Route())
    feed(*(ScanEnd(number, 0, len(table)) for number, table in enumerate(tables)))
    while eddy.has_work:
        feed(Route())
    assert eddy.finished
    return found


def expected(predicates: list[tuple[int, str, int]], tables: list[list[Row]]) -> list[tuple[object, ...]]:
    def holds(left: int | None, op: str, right: int | None) -> bool:
        return left is not None and right is not None and bool(OPERATORS[op](left, right))

    return [
        (*r, *s)
        for r in tables[0]
        for s in tables[1]
        if all(holds(r[a], op, s[b]) for a, op, b in predicates)
    ]


compares = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(sorted(OPERATORS)), st.integers(0, 1)),
    min_size=1,
    max_size=3,
)


@pytest.mark.slow
@quick
@given(compares, st.tuples(rows, rows), st.integers(1, 9), st.tuples(st.booleans(), st.booleans()))
def test_every_pair_within_the_bounds_is_found_once(
    predicates: list[tuple[int, str, int]],
    tables: tuple[list[Row], list[Row]],
    page: int,
    how: tuple[bool, bool],
) -> None:
    mirrored, together = how
    mirror = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    exprs: list[Expr] = [
        Compare(mirror[op], Column(1, b), Column(0, a))
        if mirrored
        else Compare(op, Column(0, a), Column(1, b))  # type: ignore[arg-type]
        for a, op, b in predicates
    ]
    plan = plan_of([And(tuple(exprs))] if together and len(exprs) > 1 else exprs)
    found = joined(plan, list(tables), page)
    assert sorted(found, key=repr) == sorted(expected(predicates, list(tables)), key=repr)


#: Values in their order; some have the same integer.
POOLS: dict[str, tuple[object, ...]] = {
    "double": (-math.inf, -1.5, -5e-324, -0.0, 5e-324, 1.5, math.inf, math.nan),
    "string": ("", "a", "a\0", "aaaaaaaa", "aaaaaaaab", "aaaaaaaac", "b", "\u00e9"),
    "decimal(10,2)": tuple(Decimal(f"{number}.00") for number in (-999, -1, 0, 1, 2, 10**7)),
    "decimal(38,2)": tuple(Decimal(f"{number}.00") for number in (-(10**30), -1, 0, 1, 10**25, 10**30)),
}


@quick
@given(st.sampled_from(sorted(POOLS)), compares, st.randoms(use_true_random=False), st.integers(1, 9))
def test_other_types_are_found_by_bounds_too(
    kind: str, predicates: list[tuple[int, str, int]], rng: random.Random, page: int
) -> None:
    pool = POOLS[kind]
    places = [*range(len(pool)), None]
    tables: list[list[Row]] = [
        [(rng.choice(places), rng.choice(places)) for _ in range(rng.randint(0, 20))] for _ in "rs"
    ]
    values = [
        [tuple(None if place is None else pool[place] for place in row) for row in table] for table in tables
    ]
    plan = plan_of([Compare(op, Column(0, a), Column(1, b)) for a, op, b in predicates], kind)  # type: ignore[arg-type]
    assert len(Constraints(plan).bounds(1, 1)) == len(predicates), "by sorted runs, not pair by pair"
    found = joined(plan, values, page)  # type: ignore[arg-type]
    wanted = [
        tuple(None if place is None else pool[place] for place in row) for row in expected(predicates, tables)
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))


@pytest.mark.slow
@pytest.mark.parametrize("reach", ["both on one column", "a column between two", "two columns around one"])
def test_a_narrow_range_meets_few_rows(reach: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not every row of the other table, of which all but a few are then thrown away."""
    pairs = 0
    match = stem_module.SteM.match

    def counted(*args: object) -> object:
        nonlocal pairs
        found = match(*args)  # type: ignore[arg-type]
        pairs += len(found[0])
        return found

    monkeypatch.setattr(stem_module.SteM, "match", counted)
    count = 600
    keys, lows = (random.Random(seed).sample(range(count), count) for seed in (1, 2))
    points: list[Row] = [(key, key) for key in keys]
    ranges: list[Row] = [(low, low + 3) for low in lows]
    predicates = [(0, ">=", 0), (0, "<=", 1)]
    if reach == "two columns around one":
        predicates, points, ranges = [(0, "<=", 0), (1, ">=", 0)], ranges, points
    plan = plan_of([Compare(op, Column(0, a), Column(1, b)) for a, op, b in predicates])  # type: ignore[arg-type]
    assert sorted(joined(plan, [points, ranges], 50)) == sorted(expected(predicates, [points, ranges]))
    assert pairs < 8 * count


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [3, None, -128, 127]),
        (pa.int32(), [3, None, -5]),
        (pa.int64(), [LEAST, MOST, None, 0]),
        (pa.float64(), [0.0, None, math.inf, -1.5, -math.inf, 1e-300, -1e-300]),
        (pa.float32(), [3.5, None, -3.5]),
        (pa.string(), ["b", None, "", "a", "\u00e9", "ab"]),
        (pa.decimal128(10, 2), [Decimal("1.50"), None, Decimal("-7.25")]),
        (pa.decimal128(38, 0), [Decimal(10**30), None, Decimal(-(10**30)), Decimal(0)]),
        (pa.date32(), [dt.date(2020, 1, 1), None, dt.date(1960, 5, 5)]),
        (pa.timestamp("us", "UTC"), [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None, dt.datetime(1960, 1, 1, tzinfo=dt.UTC)]),
    ],
)  # fmt: skip
def test_integers_stand_for_values_in_their_order(kind: pa.DataType, values: list[object]) -> None:
    array = pa.array([None, *values], kind).slice(1)
    numbers, valid = ordinals(array)
    assert valid.tolist() == [value is not None for value in values]
    known = [
        (value, number) for value, number in zip(values, numbers.tolist(), strict=True) if value is not None
    ]
    assert sorted(known, key=lambda pair: pair[0]) == sorted(known, key=lambda pair: pair[1])  # type: ignore[arg-type, return-value]


def test_runs_merge_and_stay_few() -> None:
    column = ArrowColumn(pa.int64())
    runs = SortedRuns(column)
    rng = np.random.default_rng(2)
    every = Within(0, np.array([LEAST]), np.array([MOST]))
    for page in range(1, 200):
        column.append(pa.array(rng.integers(-99, 99, 10)))
        assert runs.counts(every).tolist() == [10 * page]
    assert len(runs._runs) <= 12
    positions, found = runs.match(every)
    assert sorted(found.tolist()) == list(range(1990))
    assert set(positions.tolist()) == {0}
    assert runs.nbytes == 2 * 8 * 1990
