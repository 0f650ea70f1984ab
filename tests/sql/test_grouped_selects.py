"""Groups that the engine shows while rows come are those that Spark finds over the same rows, and in its order."""

from __future__ import annotations

import math
import os
import random
from typing import Any

import pyarrow as pa
import pytest
from property_values import LAB, rows

from fff.errors import FFFError, QueryError, SparkError
from fff.result.partial.preview import Preview
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.planner.spark_query import VIEW
from tests.sampling import every

SEEDS = 40
STATEMENTS = 12
KEYS = [
    *(
        "b",
        "i8",
        "i",
        "l",
        "m",
        "k",
        "s",
        "v",
        "dt",
        "ts",
        "tn",
        "t.s2",
        "upper(s)",
        "i % 3",
        "i > 0",
        "year(dt)",
    ),
    *("length(s)", "coalesce(v, 'none')", "CASE WHEN b THEN 'yes' ELSE 'no' END"),
]
ARGUMENTS = [
    "i",
    "i2",
    "i8",
    "i16",
    "m",
    "m2",
    "q",
    "n",
    "s",
    "c",
    "dt",
    "ts",
    "b",
    "d",
    "f",
    "length(s2)",
    "i % 7",
]
NUMBERS = ["i", "i2", "i8", "i16", "m", "q", "n", "d2", "f", "length(s)", "i % 5"]
#: No sums, whose last digits rest on an order.
WITH_NANS = "SELECT id, avg(d2) FROM lab.t AS t GROUP BY id ORDER BY avg(d2) DESC, id"
CONDITIONS = ["i > 0", "b", "s IS NOT NULL", "length(s) > 1", "m < 5 OR b2"]


def aggregate(rng: random.Random) -> str:
    kept = f" FILTER (WHERE {rng.choice(CONDITIONS)})" if rng.random() < 0.2 else ""
    number = rng.choice(NUMBERS)
    return rng.choice(
        [
            *(f"count(DISTINCT {rng.choice(ARGUMENTS[:13])})", "count(*)", f"count({rng.choice(ARGUMENTS)})", f"count_if({rng.choice(CONDITIONS)})", f"sum({number})"),
            *(f"avg({number})", f"min({rng.choice(ARGUMENTS)})", f"max({rng.choice(ARGUMENTS)})"),
            *(f"bool_and({rng.choice(CONDITIONS)})", f"bool_or({rng.choice(CONDITIONS)})"),
        ]
    ) + kept  # fmt: skip


def statement(rng: random.Random) -> str:
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 1, 2]))
    items = [*keys, *(aggregate(rng) for _ in range(rng.randint(1, 3)))]
    if rng.random() < 0.4:
        items.append(f"round(avg({rng.choice(NUMBERS[:4])}), 2) AS r")
    if rng.random() < 0.3:
        items.append(f"count(*) + {rng.randint(1, 9)} AS more")
    rest = ""
    if keys:
        rest += " GROUP BY " + rng.choice(
            [", ".join(keys), ", ".join(str(at + 1) for at in range(len(keys)))]
        )
    if rng.random() < 0.3:
        kept = ["count(*) > 2", "count(*) % 2 = 0", "sum(i8) > 0", "max(i) IS NOT NULL"]
        rest += f" HAVING {rng.choice([*kept, *(['more > 6', 'more % 2 = 1'] * ('more' in items[-1]))])}"
    if keys and rng.random() < 0.5:  # to the last key, so that it is one order
        first = rng.choice(["count(*) DESC, ", "sum(i8) ASC NULLS LAST, ", "avg(i8) DESC, ", ""])
        first = (
            "" if "HAVING" in rest else first
        )  # behind which Spark knows no aggregates that are not selected
        ways = [
            f"{at + 1}{rng.choice(['', ' DESC', ' DESC NULLS FIRST', ' NULLS LAST'])}"
            for at in range(len(keys))
        ]
        rest += f" ORDER BY {first}{', '.join(ways)}"
        if rng.random() < 0.4:
            rest += f" LIMIT {rng.randint(1, 5)}"
    return f"SELECT {', '.join(items)} FROM lab.t AS t{rest}"


def plain(table: pa.Table) -> list[tuple[Any, ...]]:
    """Rows to compare: moments that Python has none for as numbers, the last digits of floating-point sums aside."""
    return list(zip(*map(_plain, table.columns), strict=True))


def _plain(column: pa.ChunkedArray) -> list[object]:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us")).cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    return [_rounded(value) for value in column.to_pylist()]


def _rounded(value: object) -> object:
    return f"{value:.10g}" if isinstance(value, float) and math.isfinite(value) else repr(value)


@pytest.mark.spark
@pytest.mark.parametrize("seed", every(20, range(int(os.environ.get("FFF_GROUPED", SEEDS)))))
def test_groups_are_those_of_spark(spark: SparkEngine, seed: int) -> None:
    rng = random.Random(seed)
    data, made, refused = rows(rng, rng.choice([1, 30, 200])), 0, 0
    for sql in [WITH_NANS, *(statement(rng) for _ in range(STATEMENTS))]:
        try:
            prepared = prepare(sql, LAB)
        except FFFError:
            refused += 1
            continue
        upper = prepared.upper
        assert upper is not None
        assert upper.counted is not None, sql
        if upper.grouped is None:
            continue
        view = data.select([field.name for field in prepared.only_block.fields])
        preview = Preview(upper.grouped)
        try:
            for at in range(0, len(view), 40):
                preview.add(view.slice(at, 40))
            got = preview.result()
        except (FFFError, pa.ArrowException):
            continue  # then it is Spark's
        made += 1
        try:
            expected = spark.run_over(upper.counted, {VIEW: view})
        except SparkError as error:
            if "OVERFLOW" in str(error):  # of a sum
                continue
            raise
        assert all(
            name in ("", its) for name, its in zip(upper.names, expected.column_names, strict=False)
        ), sql
        if "ORDER BY" in sql:
            assert plain(got) == plain(expected), sql
        else:
            assert sorted(plain(got), key=repr) == sorted(plain(expected), key=repr), sql
    assert made >= STATEMENTS // 2, (made, refused)


def test_too_many_groups_are_left_to_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fff.result.partial.preview.PREVIEW_GROUPS", 5)
    data = rows(random.Random(1), 30)
    for sql in (
        "SELECT id, count(*) FROM lab.t GROUP BY id",
        "SELECT b, count(DISTINCT id) FROM lab.t GROUP BY b",
    ):
        prepared = prepare(sql, LAB)
        assert prepared.upper is not None
        assert prepared.upper.grouped is not None
        with pytest.raises(QueryError, match="more groups"):
            Preview(prepared.upper.grouped).add(
                data.select([field.name for field in prepared.only_block.fields])
            )
