"""Joins by inequality: rows between bounds are found in sorted runs, and no row that matches is left out."""

from __future__ import annotations

import datetime as dt
import math
import operator
import random
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fff.dataflow.columns import ArrowColumn
from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.events import Emit, Route, ScanEnd, ScanRows, Start
from fff.dataflow.plan.expressions import And, Column, Compare, Evaluated, Expr, FunctionCall, Literal
from fff.dataflow.plan.plan import AliasPlan, BlockPlan, JoinKind, Predicate, ScanPlan, TablePlan
from fff.dataflow.routing import right_sides
from fff.dataflow.routing.constraints import Constraints
from fff.dataflow.routing.selection import Selections
from fff.dataflow.store import stem as stem_module
from fff.dataflow.store.sorted_runs import LEAST, MOST, SortedRuns, Within, hashes, ordinals
from fff.policies import make_policy
from fff.schema import Field
from tests.dataflow.blocks import quick

OPERATORS = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "<>": np.not_equal,
    "=": operator.eq,
}
BOUNDS = sorted(OPERATORS.keys() - {"<>", "="})
edges = st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST])
wholes = st.one_of(st.none(), st.integers(-6, 6), edges)
Row = tuple[int | None, int | None]
rows = st.lists(st.tuples(wholes, wholes), max_size=25)


def plan_of(predicates: list[Expr], kind: str = "bigint", join: JoinKind = "inner") -> BlockPlan:
    fields = tuple(Field.of(name, kind) for name in "ab")
    return BlockPlan(
        tables=tuple(TablePlan(f"t.{name}", fields, scans=(ScanPlan("scan"),)) for name in "rs"),
        aliases=(AliasPlan("r", 0, active=True), AliasPlan("s", 1, active=True, kind=join)),
        equalities=(),
        predicates=tuple(Predicate(expr, on=None if join == "inner" else 1) for expr in predicates),
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


def expected(
    predicates: list[tuple[int, str, int]], tables: list[list[Row]], join: JoinKind = "inner"
) -> list[tuple[object, ...]]:
    def holds(left: int | None, op: str, right: int | None) -> bool:
        return left is not None and right is not None and bool(OPERATORS[op](left, right))

    matches = [
        [s for s in tables[1] if all(holds(r[a], op, s[b]) for a, op, b in predicates)] for r in tables[0]
    ]
    none = (None, None)
    return [
        (*r, *s)
        for r, some in zip(tables[0], matches, strict=True)
        for s in {
            "inner": some,
            "left": some or [none],
            "semi": [none] if some else [],
            "anti": [] if some else [none],
        }[join]
    ]


compares = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(BOUNDS), st.integers(0, 1)),
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


@quick
@given(
    st.lists(
        st.tuples(
            st.integers(0, 1),
            st.sampled_from(sorted(OPERATORS)),
            st.integers(0, 1),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=3,
    ),
    st.tuples(rows, rows),
    st.integers(1, 9),
)
def test_what_is_computed_has_bounds_and_what_fails_passes(
    predicates: list[tuple[int, str, int, int]], tables: tuple[list[Row], list[Row]], page: int
) -> None:
    """On either side of a comparison, or on both: bit 0 adds to the row of r, bit 1 to that of s, which fails at the end."""

    def side(alias: int, column: int, more: int) -> Expr:
        plain = Column(alias, column)
        args = (plain, Literal(1, pa.int64()))
        return FunctionCall("add", args, pa.int64(), fails=True) if more >> alias & 1 else plain

    def undropped(r: Row, s: Row) -> bool:
        for a, op, b, more in predicates:
            left, right = r[a], s[b]
            if left is None or right is None:  # an addition behind it is not reached, or is NULL
                if more >> 1 & 1 and right == MOST and left is None:
                    return False
                if more & 1 and left == MOST:
                    continue
                return False
            sums = left + (more & 1), right + (more >> 1)
            if max(sums) <= MOST and not OPERATORS[op](*sums):
                return False
        return True

    exprs = [Compare(op, side(0, a, more), side(1, b, more)) for a, op, b, more in predicates]  # type: ignore[arg-type]
    found = joined(plan_of(list(exprs)), list(tables), page)
    expected = [(*r, *s) for r in tables[0] for s in tables[1] if undropped(r, s)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


OUTER: list[JoinKind] = ["left", "semi", "anti"]


@pytest.mark.slow
@quick
@given(
    st.sampled_from(OUTER),
    st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from(sorted(OPERATORS)), st.integers(0, 1)),
        min_size=1,
        max_size=3,
    ),
    st.tuples(rows, rows),
    st.integers(1, 9),
    st.sampled_from([(5, 0), (1 << 20, 0), (1 << 20, 1)]),
)
def test_right_sides_have_every_match_within_the_bounds(
    join: JoinKind,
    predicates: list[tuple[int, str, int]],
    tables: tuple[list[Row], list[Row]],
    page: int,
    steps: tuple[int, int],
) -> None:
    plan = plan_of([Compare(op, Column(0, a), Column(1, b)) for a, op, b in predicates], join=join)  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(right_sides, "PROBE_PAIRS", steps[0])
        patching.setattr(right_sides, "_FARTHEST_FROM", steps[1])
        found = joined(plan, list(tables), page)
    assert sorted(found, key=repr) == sorted(expected(predicates, list(tables), join), key=repr)


@pytest.mark.parametrize("join", ["inner", "left", "semi", "anti"])
def test_equal_texts_that_begin_alike_are_told_apart(join: JoinKind, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a predicate, not a link: texts are equal by their hashes, not by their first eight bytes."""
    evaluated = 0
    passing = Selections.passing

    def counted(self: Selections, predicate: int, batch: TupleBatch) -> object:
        nonlocal evaluated
        evaluated += len(batch)
        return passing(self, predicate, batch)

    monkeypatch.setattr(Selections, "passing", counted)
    rng = random.Random(1)
    texts = ["", "\u00e9", None, *(f"https://a.org/{number}" for number in range(90))]
    tables: list[list[Row]] = [[(rng.choice(texts), None) for _ in range(100)] for _ in "rs"]  # type: ignore[misc]
    plan = plan_of([Compare("=", Column(0, 0), Column(1, 0))], "string", join)
    found = joined(plan, tables, 30)
    assert sorted(found, key=repr) == sorted(expected([(0, "=", 0)], tables, join), key=repr)
    assert evaluated < 600, "not 10,000"


@quick
@given(st.lists(st.one_of(st.none(), st.text(max_size=12))), st.integers(0, 3))
def test_hashes_are_those_of_values(texts: list[str | None], offset: int) -> None:
    numbers, valid = hashes(pa.array([None, "x", "", *texts], pa.string()).slice(offset))
    whole, _ = hashes(pa.array(sorted({text for text in texts if text is not None}), pa.string()))
    known = dict(zip(sorted({text for text in texts if text is not None}), whole.tolist(), strict=True))
    got = [*numbers.tolist()][max(0, 3 - offset) :]
    kept = texts[max(0, offset - 3) :]
    assert len(set(known.values())) == len(known)
    assert valid.tolist()[max(0, 3 - offset) :] == [text is not None for text in kept]
    assert all(number == known[text] for number, text in zip(got, kept, strict=True) if text is not None)


#: Of 150 rows each, by what ON says: those of the first table, those of the second.
EXISTING: dict[str, tuple[list[tuple[int, str, int]], list[Row], list[Row]]] = {
    "most match": ([(0, "<", 0)], [(n * 7 % 150, 0) for n in range(150)], [(n * 11 % 150, 0) for n in range(150)]),
    "none matches": ([(0, ">", 0)], [(n, 0) for n in range(150)], [(n + 150, 0) for n in range(150)]),
    "others": ([(0, "<>", 0)], [(n, 0) for n in range(150)], [(n, 0) for n in range(150)]),
    "none overlaps": (
        [(1, ">", 0), (0, "<", 1)],
        [(3 * n + 1, 3 * n + 2) for n in range(150)],
        [(3 * n, 3 * n + 1) for n in range(150)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("join", ["semi", "anti"])
@pytest.mark.parametrize("case", EXISTING)
@pytest.mark.parametrize("page", [20, 150])
def test_whether_there_is_a_match_takes_few_pairs(
    case: str, join: JoinKind, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = 0
    agreeing = right_sides.RightSides._agreeing

    def counted(*args: object) -> object:
        nonlocal pairs
        pairs += len(args[3])  # type: ignore[arg-type]
        return agreeing(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(right_sides.RightSides, "_agreeing", counted)
    predicates, *tables = EXISTING[case]
    plan = plan_of([Compare(op, Column(0, a), Column(1, b)) for a, op, b in predicates], join=join)  # type: ignore[arg-type]
    assert sorted(joined(plan, tables, page)) == sorted(expected(predicates, tables, join))  # type: ignore[arg-type]
    assert pairs < 20 * 150, "not 22,500"


#: Values in their order; some have the same integer.
POOLS: dict[str, tuple[object, ...]] = {
    "double": (-math.inf, -1.5, -5e-324, -0.0, 5e-324, 1.5, math.inf, math.nan),
    "string": ("", "a", "a\0", "aaaaaaaa", "aaaaaaaab", "aaaaaaaac", "b", "\u00e9"),
    "decimal(10,2)": tuple(Decimal(f"{number}.00") for number in (-999, -1, 0, 1, 2, 10**7)),
    "decimal(38,2)": tuple(Decimal(f"{number}.00") for number in (-(10**30), -1, 0, 1, 10**25, 10**30)),
}


@pytest.mark.slow
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
    runs = SortedRuns(lambda rows: Evaluated(column.take(rows), None))
    rng = np.random.default_rng(2)
    every = Within.anything(1)
    for page in range(1, 200):
        column.append(pa.array(rng.integers(-99, 99, 10)))
        runs.extend_to(column.length)
        assert runs.counts(every).tolist() == [10 * page]
    assert len(runs.runs) <= 12
    positions, found = runs.match(every)
    assert sorted(found.tolist()) == list(range(1990))
    assert set(positions.tolist()) == {0}
    assert runs.nbytes == 2 * 8 * 1990
