"""What Spark's functions and operators refuse for its types is told before the first request; and what they take is taken."""

from __future__ import annotations

import os
import random

import pyarrow as pa
import pytest
from planner_fakes import catalog, table

from fff.errors import QueryError, SparkError
from fff.schema import result_field
from fff.spark.argument_types import KINDS, STANDS_FOR
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.scalars.argument_types import ARGUMENT_TYPES, SPARK_VERSION

COLUMNS = (
    "b boolean, i int, l bigint, d double, m decimal(10,2), s string, x binary, dt date, ts timestamp, a array<int>, "
    "p map<string,int>, r struct<k:int,n:string>, i2 int, s2 string, a2 array<string>"
)
LAB = catalog(table("lab.t", COLUMNS, scans=1), table("lab.u", COLUMNS, scans=1))
#: What Spark refuses when it analyses the statement, and the place that is underlined.
REFUSED = [
    ("SELECT abs(a) FROM t", "a"),
    ("SELECT abs(array(1)) FROM t", "array(1)"),
    ("SELECT sum(a) FROM t", "a"),
    ("SELECT s, sum(t.p) FROM t GROUP BY s", "t.p"),
    ("SELECT lower(map('a', i)) FROM t", "map('a', i)"),
    ("SELECT LOWER((p)) FROM t", "(p)"),
    ("SELECT date_add('x', 'y', 1) FROM t", "'x'"),
    ("SELECT date_add(dt, b) FROM t", "b"),
    ("SELECT i FROM t WHERE year(i) = 2020", "i"),
    ("SELECT i FROM t WHERE year(length(s)) = 2020", "length(s)"),
    ("SELECT i FROM t JOIN u USING (i) WHERE upper(u.a) = 'A'", "u.a"),
    ("SELECT q FROM (SELECT a AS q FROM t) WHERE length(q) > 1", "q"),
    ("SELECT i FROM t WHERE size(s) > 1", "s"),
    ("SELECT explode(i) FROM t", "i"),
    ("SELECT i FROM t ORDER BY sqrt(dt)", "dt"),
    ("SELECT count(*) FROM t HAVING max(p) > 1", "p"),
    ("SELECT CAST(i AS DATE), ceil(CAST(s AS DATE)) FROM t", "CAST(s AS DATE)"),
    ("SELECT i FROM t WHERE 1 + array(1) > 0", "array(1)"),
    ("SELECT a - 1 FROM t", "a"),
    ("SELECT i * b FROM t", "b"),
    ("SELECT -i, i / (r) FROM t", "(r)"),
    ("SELECT i FROM t WHERE a = 1", "a = 1"),
    ("SELECT i FROM t WHERE i > 0 AND b < dt", "b < dt"),
    ("SELECT t.i FROM t JOIN u ON t.i = u.a", "t.i = u.a"),
    ("SELECT i FROM t WHERE p = p", "p = p"),
    ("SELECT i FROM t WHERE i = TRUE", "i = TRUE"),
    ("SELECT i FROM t WHERE b = 1", "b = 1"),
    ("SELECT i FROM t WHERE dt = 20200101", "dt = 20200101"),
]
TAKEN = [
    "SELECT abs(s), abs(NULL), lower(i), lower(NULL), upper(b) FROM t",
    "SELECT sum(s), max(a), count(p), avg(i) FROM t",
    "SELECT date_add(dt, 1), date_add('2020-01-01', 1), date_add(s, i), date_add(DAY, 1, dt) FROM t",
    "SELECT year(s), year('2020'), year(ts), size(a), size(p), length(x), reverse(a) FROM t",
    "SELECT array(1)[0] + 1, a[0] + 1, 1 + a[0], 1 + array(1)[0], size (a) + 1, 1 + size(a), r.k + 1 FROM t",
    "SELECT transform(a, i -> abs(i)), filter(a2, a -> length(a) > 0), transform(a, b -> b + 1) FROM t",
    "SELECT lower(s) AS a FROM t ORDER BY length(a)",
    "SELECT i AS z, z + 1 FROM t WHERE i NOT IN (i) AND NOT (b) = (i > 1)",
    "SELECT count(*) * 2, count(a), max(a), t.* FROM t GROUP BY ALL",
    "SELECT i FROM t WHERE s = 1 AND i = '1' AND dt = '2020-01-01' AND dt = ts AND b = 'true' AND a = a AND x = s",
    "SELECT i FROM t WHERE b = (i > 1) AND i + 1 = i2 AND a = array(i) AND r = r AND m = d",
    "SELECT dt - dt, dt + 1, ts - ts, dt + INTERVAL 1 DAY, ts - INTERVAL '1' HOUR, -s, s + 1 FROM t",
    "SELECT a2 = split(s, ','), a = sequence(1, 2), concat(a, a) = a, coalesce(a, a) = a FROM t",
]


@pytest.mark.parametrize(("sql", "place"), REFUSED)
def test_what_is_refused(sql: str, place: str) -> None:
    with pytest.raises(QueryError) as told:
        prepare(sql, LAB)
    assert told.value.span is not None
    assert sql[told.value.span.start : told.value.span.end] == place
    assert "[DATATYPE_MISMATCH]" in told.value.message or "[INVALID_PARAMETER_VALUE]" in told.value.message


@pytest.mark.parametrize("sql", TAKEN)
def test_what_is_taken(sql: str) -> None:
    assert prepare(sql, LAB)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_refuses_and_takes_the_same(spark: SparkEngine) -> None:
    [lab, _] = LAB.tables()
    empty = pa.schema([(field.name, field.arrow) for field in lab.columns]).empty_table()
    views = {"t": empty, "u": empty}
    for sql, _ in REFUSED:
        with pytest.raises(SparkError):
            spark.check(sql, views)
    for sql in TAKEN:
        spark.check(sql, views)


@pytest.mark.spark
def test_what_is_known_is_of_this_spark(spark: SparkEngine) -> None:
    assert spark.run_over("SELECT version()", {}).column(0)[0].as_py().split()[0] == SPARK_VERSION


@pytest.mark.slow
@pytest.mark.spark
def test_what_spark_takes_is_refused_nowhere(spark: SparkEngine) -> None:
    """Functions over types at random."""
    columns = {name: kind for stands, (kinds, _) in zip(STANDS_FOR.values(), KINDS.values(), strict=True)
               for name, kind in zip(stands, kinds, strict=False)}  # fmt: skip
    probed = pa.schema(list(columns.items())).empty_table()
    asked = catalog(
        table("lab.probed", ", ".join(f"{name} {_spelled(kind)}" for name, kind in columns.items()), scans=1)
    )
    spark.frame(probed).createOrReplaceTempView("probed")
    rng = random.Random(int(os.environ["FFF_FUZZ_LONG_SEED"]))
    calls = [(entry.split(":")[0], entry.count("/") + 1) for entry in ARGUMENT_TYPES.split()]
    stands = [one for some in STANDS_FOR.values() for one in some] + ["NULL"]

    def written(depth: int) -> str:
        if not depth or rng.random() < 0.5:
            return rng.choice(stands)
        if rng.random() < 0.2:
            return (
                f"({written(depth - 1)} {rng.choice(('+', '*', '=', '<', '<>', '||'))} {written(depth - 1)})"
            )
        name, count = rng.choice(calls)
        return f"{name}({', '.join(written(depth - 1) for _ in range(count))})"

    refused, wrong = 0, []
    for _ in range(int(os.environ.get("FFF_FUZZ_COUNT", "3000"))):
        name, count = rng.choice(calls)
        call = f"{name}({', '.join(written(1) for _ in range(count))})"
        sql = f"SELECT {call} AS z FROM probed"
        try:
            prepare(sql, asked)
        except QueryError as error:
            if "[DATATYPE_MISMATCH]" not in error.message:
                continue
            refused += 1
            with_spark = _judged(spark, call)
            if not with_spark.startswith("["):
                wrong.append(f"{call}: {error.message}, and Spark takes it")
    assert refused
    assert not wrong


def _judged(spark: SparkEngine, call: str) -> str:
    try:
        [told] = spark.judged([call], "probed")
    except SparkError:
        return "[]"
    return told


def _spelled(kind: pa.DataType) -> str:
    return result_field("", kind).type
