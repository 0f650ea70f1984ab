"""What Spark's functions and operators refuse for its types is told before the first request; and what they take is taken."""

from __future__ import annotations

import contextlib
import os
import random

import pyarrow as pa
import pytest
from planner_fakes import catalog, refused_at, table

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
    ("SELECT xpath_int(s, i) FROM t", "i"),
    ("SELECT count(*) FROM t GROUP BY session_window(i, '5 minutes')", "i"),
    ("SELECT kll_sketch_get_quantile_bigint(i, 0.5) FROM t", "i"),
    ("SELECT variant_get(i, '$.a') FROM t", "i"),
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
    ("SELECT CAST(l AS TIMESTAMP), ceil(CAST(s AS DATE)) FROM t", "CAST(s AS DATE)"),
    ("SELECT i FROM t WHERE 1 + array(1) > 0", "array(1)"),
    ("SELECT a - 1 FROM t", "a"),
    ("SELECT i * b FROM t", "b"),
    ("SELECT -i, i / (r) FROM t", "(r)"),
    ("SELECT (NOT i) AND b FROM t", "i"),
    ("SELECT i FROM t WHERE ~ s = 1 OR - a > 0", "s"),
    ("SELECT - ~ d + 1 FROM t", "d"),
    ("SELECT i FROM t WHERE a = 1", "a = 1"),
    ("SELECT i FROM t WHERE i > 0 AND b < dt", "b < dt"),
    ("SELECT t.i FROM t JOIN u ON t.i = u.a", "t.i = u.a"),
    ("SELECT i FROM t WHERE p = p", "p = p"),
    ("SELECT i FROM t WHERE i = TRUE", "i = TRUE"),
    ("SELECT i FROM t WHERE b = 1", "b = 1"),
    ("SELECT i FROM t WHERE dt = 20200101", "dt = 20200101"),
    ("SELECT CASE WHEN b THEN i WHEN i > 0 THEN a END FROM t", "a"),
    ("SELECT CASE WHEN b THEN 1 ELSE dt END AS x FROM t", "dt"),
    ("SELECT CASE WHEN i THEN 1 END FROM t", "i"),
    ("SELECT CASE dt WHEN 1 THEN 2 END FROM t", "dt WHEN 1"),
    ("SELECT i FROM t WHERE i IN (1, NULL, dt)", "dt"),
    ("SELECT i FROM t WHERE s NOT IN ('a', a)", "a"),
    ("SELECT i FROM t WHERE p IN (p)", "p"),
    ("SELECT coalesce(i, s, dt) FROM t", "dt"),
    ("SELECT nvl(b, i + 1) FROM t", "i + 1"),
    ("SELECT if(b, i, r), 1 FROM t", "r"),
    ("SELECT nvl2(a, i, b) FROM t", "b"),
    ("SELECT nullif(i, dt) FROM t", "i, dt"),
    ("SELECT greatest(i, s) FROM t", "s"),
    ("SELECT array(i, b) FROM t", "b"),
    ("SELECT i FROM t WHERE i BETWEEN dt AND 3", "i BETWEEN dt"),
    ("SELECT i FROM t WHERE m NOT BETWEEN 1 AND b AND i > 1", "m NOT BETWEEN 1 AND b"),
    ("SELECT CAST(dt AS INT) FROM t", "dt"),
    ("SELECT 1 + TRY_CAST(a AS DECIMAL(5, 2)) FROM t", "a"),
    ("SELECT upper(s), i::timestamp_ntz FROM t", "i"),
    ("SELECT dt + ts FROM t", "dt + ts"),
    ("SELECT dt + s FROM t", "dt + s"),
    ("SELECT dt * 2 FROM t", "dt"),
    ("SELECT i DIV d FROM t", "d"),
    ("SELECT year(i + 1) FROM t", "i + 1"),
    ("SELECT b OR i FROM t", "i"),
    ("SELECT NOT (i + 2) FROM t", "(i + 2)"),
    ("SELECT i FROM t WHERE a LIKE 'x'", "a"),
    ("SELECT i FROM t WHERE length(s)", "length(s)"),
    ("SELECT count(*) FROM t HAVING max(s) = 'a' AND count(*)", "count(*)"),
]
#: Forms of expressions, and of what Spark refuses among them for the types alone the share that is told before it is up.
FORMS = [
    *(f"({{}} {operator} {{}})" for operator in ("+", "-", "*", "/", "%", "DIV", "||", "&", "|", "^", "=", "<=>", "<", ">=", "<>")),
    *(f"({{}} {operator} {{}})" for operator in ("AND", "OR", "LIKE", "RLIKE", "NOT ILIKE", "IS DISTINCT FROM")),
    *("NOT {}", "(- {})", "(~ {})", "({} IS NOT NULL)", "({} BETWEEN {} AND {})", "{}::{{type}}"),
    *("({} IN ({}))", "({} IN ({}, {}))", "({} NOT IN ({}, {}, {}))", "CASE WHEN {} THEN {} END"),
    *("CASE WHEN {} THEN {} ELSE {} END", "CASE {} WHEN {} THEN {} WHEN {} THEN {} ELSE {} END"),
    *("coalesce({}, {})", "coalesce({}, {}, {})", "nvl({}, {})", "ifnull({}, {})", "nvl2({}, {}, {})"),
    *("if({}, {}, {})", "nullif({}, {})", "greatest({}, {})", "least({}, {}, {})", "array({}, {})"),
    *("{}[0]", "filter({}, v -> v = {})", "exists({}, v -> v > {})", "concat({}, {})", "array_insert({}, 1, {})"),
    *("equal_null({}, {})", "{} + {} * {}", "{} = {} AND {} < {} OR {}", "CAST({} AS {{type}})", "TRY_CAST({} AS {{type}})"),
]  # fmt: skip
TYPES = ("boolean", "tinyint", "int", "bigint", "float", "double", "decimal(5,2)", "string", "binary", "date", "timestamp",
         "timestamp_ntz", "array<string>", "map<int,int>", "struct<a:string>")  # fmt: skip
TOLD = 0.8
TAKEN = [
    "SELECT CASE WHEN b THEN 1 WHEN NOT b THEN '2' ELSE NULL END, CASE i WHEN '1' THEN dt ELSE ts END FROM t",
    "SELECT coalesce(NULL, i, 0.5, '1'), coalesce(dt, 'x'), nvl(p, p), if(b, s, i), nullif(i, '1') FROM t",
    "SELECT greatest(dt, ts), array(1, '2'), element_at(a, 1), element_at(p, s), nvl2(a, 1, 2) FROM t",
    "SELECT i FROM t WHERE i IN (1, '2', NULL) AND b IN ('true') AND a IN (a) AND (i, s) IN ((1, 'a'))",
    "SELECT i FROM t WHERE i BETWEEN 1 AND '3' AND b AND NOT s BETWEEN 'a' AND 'b' OR i NOT BETWEEN 1 AND 2",
    "SELECT CAST(i AS BOOLEAN), CAST(a AS STRING), CAST(ts AS INT), TRY_CAST(s AS DATE), i::timestamp FROM t",
    "SELECT dt + INTERVAL '1' DAY, dt - 1, - s, 1 + dt, i % 2, x || x, a || a, i || s, ~ i, i & 3 FROM t",
    "SELECT i FROM t WHERE (NOT b) = (i > 1) AND i LIKE '1%' AND b = (s = 'a') AND 1 < i AND i << 1 > 0",
    "SELECT sum(i) OVER (PARTITION BY s ORDER BY dt ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) + 1 FROM t",
    "SELECT count(*) FROM t HAVING length(max(s))",
    "SELECT count(i) FILTER (WHERE b) + 1, i1.k FROM (SELECT i, b, r AS i1 FROM t) GROUP BY i1.k",
    "SELECT transform(a, v -> CASE WHEN v > 0 THEN i ELSE v END), extract(YEAR FROM dt) + 1, trim(BOTH 'a' FROM s) FROM t",
    "SELECT abs(s), abs(NULL), lower(i), lower(NULL), upper(b) FROM t",
    "SELECT date_add(dt, -2147483648), array_repeat(i, - 2147483648), -9223372036854775808 & 1, - -2147483648 FROM t",
    "SELECT sum(s), max(a), count(p), avg(i) FROM t",
    "SELECT date_add(dt, 1), date_add('2020-01-01', 1), date_add(s, i), date_add(DAY, 1, dt) FROM t",
    "SELECT year(s), year('2020'), year(ts), size(a), size(p), length(x), reverse(a) FROM t",
    "SELECT array(1)[0] + 1, a[0] + 1, 1 + a[0], 1 + array(1)[0], size (a) + 1, 1 + size(a), r.k + 1 FROM t",
    "SELECT transform(a, i -> abs(i)), filter(a2, a -> length(a) > 0), transform(a, b -> b + 1) FROM t",
    "SELECT lower(s) AS a FROM t ORDER BY length(a)",
    "SELECT i AS z, z + 1 FROM t WHERE i NOT IN (i) AND NOT (b) = (i > 1)",
    "SELECT count(*) * 2, count(a), max(a), t.* FROM t GROUP BY ALL",
    "SELECT percentile(i, concat('0.5', '')), listagg(s, concat(',', '')) FROM t",
    "SELECT round(d, concat('1', '')) FROM t",
    "SELECT xpath_int(s, concat('a', '/b')), mask(s, concat('X', '')) FROM t",
    "SELECT i FROM t WHERE s = 1 AND i = '1' AND dt = '2020-01-01' AND dt = ts AND b = 'true' AND a = a AND x = s",
    "SELECT i FROM t WHERE b = (i > 1) AND i + 1 = i2 AND a = array(i) AND r = r AND m = d",
    "SELECT dt - dt, dt + 1, ts - ts, dt + INTERVAL 1 DAY, ts - INTERVAL '1' HOUR, -s, s + 1 FROM t",
    "SELECT a2 = split(s, ','), a = sequence(1, 2), concat(a, a) = a, coalesce(a, a) = a FROM t",
]


def test_what_is_refused() -> None:
    for sql, place in REFUSED:
        message = refused_at(sql, place, LAB)
        assert "[DATATYPE_MISMATCH]" in message or "[INVALID_PARAMETER_VALUE]" in message, sql


def test_what_is_taken() -> None:
    for sql in TAKEN:
        assert prepare(sql, LAB), sql


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
               for name, kind in zip(stands, kinds, strict=False)
               if not pa.types.is_duration(kind)}  # of which no source has columns # fmt: skip
    probed = pa.schema(list(columns.items())).empty_table()
    asked = catalog(
        table("lab.probed", ", ".join(f"{name} {_spelled(kind)}" for name, kind in columns.items()), scans=1)
    )
    spark.frame(probed).createOrReplaceTempView("probed")
    rng = random.Random(int(os.environ["FFF_FUZZ_LONG_SEED"]))
    calls = [(entry.split(":")[0], entry.count("/") + 1) for entry in ARGUMENT_TYPES.split()]
    stands = [
        one for some in STANDS_FOR.values() for one in some if one in columns or not one[1:].isdigit()
    ] + ["NULL"]

    def written(depth: int) -> str:
        if not depth or rng.random() < 0.4:
            return rng.choice(stands)
        if rng.random() < 0.6:
            form = rng.choice(FORMS)
            given = [written(depth - 1) for _ in range(form.count("{}"))]
            return form.replace("{{type}}", rng.choice(TYPES)).format(*given)
        name, count = rng.choice(calls)
        return f"{name}({', '.join(written(depth - 1) for _ in range(count))})"

    told, unknown, wrong = 0, [], []
    for _ in range(int(os.environ.get("FFF_FUZZ_COUNT", "3000"))):
        expression = written(rng.choice((1, 1, 2)))
        with_spark = _judged(spark, expression)
        try:
            prepare(f"SELECT {expression} AS z FROM probed", asked)
        except QueryError as error:
            if "[DATATYPE_MISMATCH]" not in error.message:
                continue
            told += with_spark.startswith("[")
            if not with_spark.startswith("[") and _is_taken(spark, expression, probed):
                wrong.append(f"{expression}: {error.message}, and Spark takes it")
        else:
            if with_spark.startswith("[") and with_spark != "[]":
                unknown.append(f"{expression}: {with_spark}")
    assert not wrong
    assert told > TOLD * (told + len(unknown)), unknown[:40]


def _judged(spark: SparkEngine, call: str) -> str:
    try:
        return spark.judged([call], "probed")[0]  # the first, where one is made into several columns
    except SparkError:
        return "[]"


def _is_taken(spark: SparkEngine, expression: str, probed: pa.Table) -> bool:
    """As all of Spark's analyzer has it, which looks into lambdas and for constants, too."""
    with contextlib.suppress(SparkError):
        spark.check(f"SELECT {expression} AS z FROM probed", {"probed": probed})
        return True
    return False


def _spelled(kind: pa.DataType) -> str:
    return result_field("", kind).type
