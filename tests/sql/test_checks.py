"""What Spark would refuse is told before the first request; and what it takes is taken."""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from planner_fakes import DEMO, catalog, refused_at, table

from fff.errors import InfeasibleQuery, QueryError, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare

#: What Spark refuses when it analyses the statement, and the place that is underlined.
REFUSED = [
    ("SELECT i FROM types WHERE i", "i"),
    ("SELECT i FROM types WHERE (i)", "i"),
    ("SELECT i FROM types WHERE types.d", "types.d"),
    ("SELECT i FROM types WHERE dt AND b", "dt"),
    ("SELECT i FROM types WHERE b OR NOT (l AND b)", "l"),
    ("SELECT i FROM types WHERE s", "s"),
    ("SELECT i FROM types WHERE 1", "1"),
    ("SELECT i FROM types WHERE 'true'", "'true'"),
    ("SELECT i FROM types WHERE i + 1", "i + 1"),
    ("SELECT i FROM types WHERE b AND i * 2", "i * 2"),
    ("SELECT i FROM types WHERE NOT -i", "i"),
    ("SELECT t.i FROM types t JOIN types u ON t.i", "t.i"),
    ("SELECT t.i FROM types t LEFT JOIN types u ON t.i = u.i AND u.l", "u.l"),
    ("SELECT q FROM (SELECT i AS q FROM types) WHERE q", "q"),
    ("WITH w AS (SELECT i AS q FROM types) SELECT q FROM w WHERE b(q) OR q", None),
    ("SELECT i FROM types WHERE EXISTS (SELECT 1 FROM types u WHERE u.m)", "u.m"),
    ("SELECT i FROM types GROUP BY *", "*"),
    ("SELECT i FROM types GROUP BY types.*", "*"),
    ("SELECT i FROM types GROUP BY ROLLUP(*)", "*"),
    ("SELECT i FROM types ORDER BY *", "*"),
    ("SELECT i FROM types ORDER BY types.* DESC", "*"),
    ("SELECT i FROM types SORT BY *", "*"),
    ("SELECT i FROM types CLUSTER BY *", "*"),
    ("SELECT i FROM types DISTRIBUTE BY *", "*"),
    ("SELECT * AS x FROM types", "*"),
    ("SELECT 1 + * FROM types", "*"),
    ("SELECT * EXCEPT s FROM types", "EXCEPT s"),
    ("SELECT types.* EXCEPT s, i FROM types", "EXCEPT s"),
    ("SELECT * EXCLUDE (s) FROM types", "EXCLUDE ("),
    ("SELECT * FROM (SELECT * EXCEPT s FROM types)", "EXCEPT s"),
    ("SELECT * EXCEPT FROM types", "EXCEPT FROM"),
    ("SELECT * EXCEPT () FROM types", "EXCEPT ("),
    ("SELECT * EXCEPT (i, q) FROM types", "q"),
    ("SELECT * EXCEPT (t.i) FROM types", "t.i"),
    ("SELECT t.* EXCEPT (u.i) FROM types t, types u WHERE t.i = u.i", "u.i"),
    ("SELECT * EXCEPT (i) FROM types t, types u WHERE t.i = u.i", "i"),
    ("SELECT * ILIKE 's' FROM types", "*"),
    ("SELECT * LIKE 's' FROM types", "*"),
    ("SELECT * RLIKE 's' FROM types", "*"),
    ("SELECT types.* IS NULL FROM types", "*"),
    ("SELECT 'x' || * FROM types", "*"),
    ("SELECT * EXCEPT (i) || 'x' FROM types", "*"),
    ("SELECT *::string FROM types", "*"),
    ("SELECT CAST(* AS string) FROM types", "*"),
    ("SELECT NOT * FROM types", "*"),
    ("SELECT * IN (1) FROM types", "*"),
    ("SELECT i FROM types WHERE (*) = (1, 2)", "*"),
    ("SELECT count(*) FROM types GROUP BY (i, *)", "*"),
    ("SELECT FROM types", "SELECT"),
    ("SELECT t.i, (SELECT max(l) FROM types) AS m, i FROM types t JOIN types u ON t.i = u.i", "i"),
    ("SELECT t.i FROM types t JOIN types u ON t.i = u.i WHERE i IN (SELECT max(i) FROM types)", "i"),
    ("SELECT i FROM (SELECT i, count(*) AS c FROM types GROUP BY i) t JOIN types u ON t.i = u.i", "i"),
]
TAKEN = [
    "SELECT t.i FROM types t JOIN types u ON t.i = u.i ORDER BY i, (SELECT max(i) FROM types)",
    "SELECT t.l AS i FROM types t JOIN types u ON t.i = u.i ORDER BY i, (SELECT max(i) FROM types)",
    "SELECT i FROM types t JOIN types u USING (i) WHERE i IN (SELECT max(i) FROM types)",
    "SELECT st.k FROM types st JOIN (SELECT max(i) AS k FROM types) u ON st.i = u.k",
    "SELECT i FROM types WHERE b",
    "SELECT i FROM types WHERE (b) AND NOT types.b",
    "SELECT i FROM types WHERE s AND b",
    "SELECT i FROM types WHERE NOT s",
    "SELECT i FROM types WHERE 'true' OR b",
    "SELECT i FROM types WHERE NOT NULL",
    "SELECT count(*) FROM types HAVING count(*)",
    "SELECT struct(*), count(DISTINCT i) FROM types GROUP BY ALL",
    "SELECT concat_ws(',', s, v), array(*) IS NULL FROM (SELECT s, v FROM types) WHERE s IN (*)",
    "SELECT i, count(*) FROM types GROUP BY `all`",
    "SELECT i FROM types ORDER BY `all` DESC",
    "SELECT * EXCEPT (types.s, X) FROM types",
    "SELECT /*+ COALESCE(1) */ DISTINCT * FROM types",
    "SELECT i IN (*) FROM (SELECT i, l FROM types)",
    "SELECT types.* EXCEPT (s), i FROM types UNION ALL SELECT * EXCEPT (s), i FROM types",
    "FROM types SELECT * WHERE b LIMIT 2",
    "SELECT count(ALL i), sum(ALL l) FROM types",
]


def test_what_is_refused() -> None:
    for sql, place in REFUSED:
        refused_at(sql, place, DEMO)


def test_what_is_taken() -> None:
    for sql in TAKEN:
        assert prepare(sql, DEMO), sql


@pytest.mark.spark
@pytest.mark.slow
def test_spark_refuses_and_takes_the_same(spark: SparkEngine) -> None:
    types = next(one for one in DEMO.tables() if one.name == "types")
    empty = pa.schema([(field.name, field.arrow) for field in types.columns]).empty_table()
    for sql, _ in REFUSED:
        with pytest.raises(SparkError):
            spark.run_over(sql, {"types": empty})
    for sql in TAKEN:
        spark.run_over(sql, {"types": empty})


#: Statements over a table with a column called `all`, and over one without.
CALLED_ALL = [
    "SELECT {t}.`all`, count(*) AS n FROM {t} GROUP BY all",
    "SELECT {t}.`all`, count(*) AS n FROM {t} GROUP BY ALL",
    "SELECT a, count(*) AS n FROM {t} GROUP BY ALL",
    "SELECT a, count(*) AS n FROM {t} GROUP BY `all`",
    "SELECT count(*) AS n FROM {t} GROUP BY ALL",
    "SELECT a, count(*) AS n FROM {t} GROUP BY a, all",
    "SELECT a FROM {t} ORDER BY ALL",
    "SELECT a FROM {t} ORDER BY all DESC NULLS LAST",
    "SELECT a FROM {t} ORDER BY `all` DESC",
    "SELECT a, b FROM {t} ORDER BY all, a, b",
    "SELECT a, b FROM {t} WHERE a > 0 ORDER BY ALL DESC LIMIT 2",
    "SELECT b AS `all`, count(*) AS n FROM {t} GROUP BY all",
    "SELECT x.b, count(*) AS n FROM {t} x JOIN other o ON o.a = x.a GROUP BY ALL",
    "SELECT x.a FROM {t} x LEFT JOIN other o ON o.a = x.a WHERE x.a < 3 ORDER BY ALL DESC",
    "SELECT a, n FROM (SELECT a, count(*) AS n FROM {t} GROUP BY ALL) ORDER BY ALL",
    "SELECT a FROM other WHERE a IN (SELECT a FROM {t} GROUP BY ALL) ORDER BY ALL",
    "SELECT all, a FROM {t}",
    "SELECT DISTINCT all, b FROM {t} ORDER BY all, b",
    "SELECT all, count(*) AS n FROM {t} GROUP BY 1 ORDER BY 1",
    "SELECT count(all) AS c, max(all) AS m, sum(all + 1) AS s, sum(DISTINCT all) AS d FROM {t}",
    "SELECT all * 2 AS d, all % 2 AS r, all = 1 AS one FROM {t} ORDER BY {t}.all, a",
    "SELECT a FROM {t} ORDER BY {t}.all DESC, a",
    "SELECT a, row_number() OVER (ORDER BY all, a, b) AS r FROM {t} ORDER BY r",
    "SELECT b, max_by(a, all) AS m FROM {t} GROUP BY b ORDER BY b",
    "SELECT all % 2 AS m, count(*) AS n FROM {t} GROUP BY all % 2 ORDER BY m",
    "WITH w AS (SELECT all, a FROM {t}) SELECT all, max(a) AS m FROM w GROUP BY all ORDER BY all",
    "SELECT a FROM {t} WHERE all = 3 UNION ALL SELECT a FROM {t} WHERE all < 2 ORDER BY a",
    "SELECT ALL a FROM {t} LIMIT ALL",
]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("sql", CALLED_ALL)
def test_a_column_called_all(spark: SparkEngine, sql: str) -> None:
    columns = "a bigint, b bigint, `all` bigint".replace("`", "")
    tables = catalog(
        table("x.with_it", columns, scans=1),
        table("x.without", "a bigint, b bigint", scans=1),
        table("x.other", "a bigint, c bigint", scans=1),
    )
    rows = [(1, 5, 3), (2, 5, 1), (1, 6, 3), (None, 6, 2), (3, 5, 1), (1, 5, 2)]
    a, b, every = (pa.array(values, pa.int64()) for values in zip(*rows, strict=True))
    data = {
        "with_it": pa.table({"a": a, "b": b, "all": every}),
        "without": pa.table({"a": a, "b": b}),
        "other": pa.table({"a": pa.array([1, 2, None], pa.int64()), "c": pa.array([1, 2, 3], pa.int64())}),
    }
    for name in ("with_it", "without"):
        text = sql.format(t=name)
        expected = result(lambda text=text: spark.run_over(text, data))
        got = result(lambda text=text: shapes.Run(prepare(text, tables), data, spark).result())
        assert got == expected, text


def result(run) -> object:
    """The rows, in order; or that there are none."""
    try:
        return run().to_pylist()
    except InfeasibleQuery:
        raise
    except QueryError:
        return "refused"


#: Stars that stand for some columns: which ones, and how many.
STARS = [
    "SELECT * EXCEPT (x.b) FROM t x JOIN t y ON x.a = y.a ORDER BY ALL",
    "SELECT x.* EXCEPT (b), y.b FROM t x JOIN t y ON x.a = y.a ORDER BY ALL",
    "SELECT x.* EXCEPT (x.b), y.* EXCEPT (y.a, C) FROM t x, t y WHERE x.a = y.a ORDER BY ALL",
    "SELECT * EXCEPT (a) FROM t x JOIN t y USING (a) ORDER BY ALL",
    "SELECT count(*, 1) AS n, count(1, *) AS m, count(*) AS r FROM t",
    "SELECT count(* EXCEPT (c)) AS n, count(t.* EXCEPT (b)) AS m, count(DISTINCT *) AS d FROM t",
    "SELECT count(DISTINCT a, *) AS d, count(DISTINCT * EXCEPT (a, b)) AS c FROM t",
]


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("sql", STARS)
def test_what_a_star_stands_for(spark: SparkEngine, sql: str) -> None:
    tables = catalog(table("x.t", "a bigint, b bigint, c bigint", scans=1))
    rows = [(1, 5, None), (2, None, 1), (1, 6, 3), (None, 6, 2), (3, 5, 1), (3, 5, 1)]
    columns = dict(zip("abc", (pa.array(one, pa.int64()) for one in zip(*rows, strict=True)), strict=True))
    data = {"t": pa.table(columns)}
    expected = spark.run_over(sql, data)
    got = shapes.Run(prepare(sql, tables), data, spark).result()
    assert (got.schema.names, got.to_pylist()) == (expected.schema.names, expected.to_pylist())
