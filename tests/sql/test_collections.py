"""Arrays, maps, structs, lambdas and intervals in the engine: the corners that random expressions seldom meet."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest
from planner_fakes import DEMO
from property_scalars import plain, taken, translated
from property_values import rows

from fff.dataflow.kernels.collections.parts import Parts, made
from fff.dataflow.kernels.collections.ranks import ranks
from fff.dataflow.plan.expressions import Column, columns_of
from fff.sql import prepare
from fff.sql.analysis.predicates import map_columns
from fff.sql.scalars.typed import LeftToSparkError, always_fails


def test_ranks_are_in_the_order_of_spark() -> None:
    doubles = pa.array([0.0, -0.0, float("nan"), None, float("-inf"), -float("nan"), 1.5])
    assert ranks(doubles).tolist() == [1, 1, 3, -1, 0, 3, 2]
    lists = pa.array([[1], [], None, [1, None], [None], [1, 0], [2]], pa.list_(pa.int32()))
    assert ranks(lists).tolist() == [2, 0, -1, 3, 1, 4, 5]
    structs = pa.array([{"k": 1, "n": "b"}, {"k": None, "n": "z"}, None, {"k": 1, "n": None}])
    assert ranks(structs).tolist() == [3, 1, -1, 2]


def test_parts_of_a_slice_are_those_of_its_rows() -> None:
    whole = pa.array([[1, 2], None, [], [3], [4, 5, 6]], pa.list_(pa.int32()))
    items = Parts.of(whole.slice(1, 3))
    assert (items.values.to_pylist(), items.lengths.tolist(), items.valid.tolist()) == (
        [3],
        [0, 0, 1],
        [False, True, True],
    )
    hidden = pa.ListArray.from_arrays(
        pa.array([0, 2, 3], pa.int32()), pa.array([7, 8, 9]), mask=pa.array([True, False])
    )
    assert Parts.of(hidden).values.to_pylist() == [9]
    assert made(pa.array([1, 2]), np.array([2, 0]), np.array([True, False])).to_pylist() == [[1, 2], None]


def test_a_lambda_reads_the_columns_of_its_row_and_nothing_of_its_own() -> None:
    expr = translated("transform(a, x -> aggregate(a, x, (s, y) -> s + y * i))").expr
    fields = {column.index for column in columns_of(expr)}
    assert len(fields) == 2
    assert all(column.alias == 0 for column in columns_of(expr))
    moved = map_columns(expr, lambda column: Column(3, column.index))
    assert columns_of(moved) == {Column(3, index) for index in fields}


def test_what_fails_in_a_lambda_fails_only_where_there_are_elements() -> None:
    case = translated("transform(a, x -> 1 / 0)")
    assert case.may_fail
    assert always_fails(case.expr) is None
    [found] = taken(["transform(filter(a, x -> false), x -> 1 / 0)"], rows(random.Random(1), 30))
    assert found.found.failed is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("map(1, 2, i - i + 1, 3)", "[DUPLICATED_MAP_KEY] Duplicate map key 1 was found"),
        ("map_from_arrays(array(i, NULL), array(1, 2))", "[NULL_MAP_KEY] Cannot use null as map key."),
        ("slice(a, 0, 1)", "[INVALID_PARAMETER_VALUE.START]"),
        ("slice(a, 1, -1)", "[INVALID_PARAMETER_VALUE.LENGTH]"),
        ("getbit(i, 32)", "[INVALID_PARAMETER_VALUE.BIT_POSITION_RANGE]"),
        ("array(NULL, 1 / (i - i))", "[DIVIDE_BY_ZERO]"),
        ("(ts - ts) / (i8 - i8)", "[INTERVAL_DIVIDED_BY_ZERO]"),
        ("round(CAST(127 AS TINYINT) + i8 - i8, -1)", "OVERFLOW]"),
        ("k * 99999999999999999999999999999999999999", "[NUMERIC_VALUE_OUT_OF_RANGE"),
        ("add_months(dt, 2147483640)", "[ARITHMETIC_OVERFLOW] overflow."),
        ("(INTERVAL '0.000001' SECOND * (i8 - i8 - 1)) * -9223372036854775808L", "OVERFLOW"),
    ],
)
def test_errors_are_those_of_spark(text: str, told: str) -> None:
    [case] = taken([text], rows(random.Random(3), 60))
    assert case.found.failed is not None
    assert told in case.found.failed.message
    assert "spark.sql." not in case.found.failed.message, "a setting that nobody can make here"


def test_arrays_of_nulls_alone_keep_their_elements() -> None:
    texts = [
        "reverse(array_repeat(NULL, 3))",
        "slice(array_repeat(NULL, 3), 2, 2)",
        "filter(array(NULL, NULL), x -> TRUE)",
    ]
    lists = [case.found.values.to_pylist()[0] for case in taken(texts, rows(random.Random(1), 2))]
    assert lists == [[None] * 3, [None] * 2, [None] * 2]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "array(1, s)",
            "array_distinct(array(d, d2))",
            "map(d, 1)",
            "sort_array(array(f))",
            "split(s, 'a')[i]",
        ),
        *(
            "array_repeat(i, i2)",
            "sequence(1, i)",
            "transform(a, (x, y, z) -> x)",
            "array_sort(a, (x, y) -> x - y)",
        ),
        *("extract(HOUR FROM dt - dt2)", "dt + if(b, INTERVAL 1 DAY, INTERVAL 2 DAY)", "INTERVAL 1 QUARTER"),
        *("INTERVAL 1 YEAR + INTERVAL 1 DAY", "INTERVAL '13:00' DAY TO MINUTE", "INTERVAL i DAY", "map()"),
        *(
            "aggregate(a, 0, (s, x) -> s + 1L)",
            "map(mp, 1) = map(mp, 1)",
        ),
        *(
            "try_add(ts - ts2, (ts - ts2) * 2)",
            "sinh(d)",
            "hash(i)",
            "arrays_zip(st.k)",
        ),
        "array(NULL)[5] LIKE 'a'",  # which fails, whatever its NULL would be taken for
        *("array(1.0) = array(1.00)", "struct(i) < struct(1.5)", "array(struct(1.5)) <=> array(struct(l))"),
        *("make_dt_interval(TRUE)", "make_ym_interval(1, FALSE)"),
        *("coalesce(array(NULL)[5], 1)", "array_size(map(1, 2))"),
        "array(NULL)[5] + INTERVAL 1 DAY",
    ],
)
def test_what_is_not_proven_is_left_to_spark(text: str) -> None:
    with pytest.raises(LeftToSparkError):
        translated(text)


def test_an_interval_literal_is_read_as_it_is_written() -> None:
    texts = [
        *(
            "INTERVAL '-1 02:03:04.5' DAY TO SECOND",
            "INTERVAL 2 WEEKS",
            "INTERVAL '1 day -2 hours'",
            "INTERVAL -'10' SECOND",
        ),
        *(
            "INTERVAL '299.889987299' SECOND",
            "INTERVAL 1 DAY 2 HOURS",
            "INTERVAL '1:02' MINUTE TO SECOND",
            "INTERVAL '10' DAY / 7",
        ),
    ]
    found = [plain(case.found.values) for case in taken(texts, rows(random.Random(1), 1))]
    assert found == [
        *([-93_784_500_000], [1_209_600_000_000], [79_200_000_000], [-10_000_000]),
        *([299_889_987], [93_600_000_000], [62_000_000], [123_428_571_429]),
    ]


def test_a_statement_with_lambdas_needs_no_spark() -> None:
    prepared = prepare(
        "SELECT transform(a, x -> x + i) AS more, map(1, s) AS m, struct(i, s) AS st2 FROM types "
        "WHERE exists(a, x -> x > i) AND ts - INTERVAL '1 02' DAY TO HOUR < ts",
        DEMO,
    )
    assert prepared.upper is None
    assert [field.type for field in prepared.result.fields] == [
        "array<int>",
        "map<int,string>",
        "struct<i:int,s:string>",
    ]


@pytest.mark.parametrize(
    "text", ["array()", "INTERVAL 1 YEAR", "array(INTERVAL 1 YEAR)", "map(1, array(NULL))"]
)
def test_what_spark_gives_as_a_text_comes_from_spark(text: str) -> None:
    assert prepare(f"SELECT {text} AS a, i FROM types", DEMO).upper is not None


def test_a_condition_on_an_array_is_planned_beside_others() -> None:
    prepared = prepare("SELECT i FROM types WHERE a < array(5) AND a = array(1, 2) AND i = 3", DEMO)
    assert prepared.upper is None
