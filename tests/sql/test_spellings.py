"""Rarer spellings of plain things: taken where Spark takes them, without it where the plain spelling needs none."""

from __future__ import annotations

import pytest
import shapes
from hard_rows import CATALOG, DATA, bag

from fff.errors import QueryError, UsageError
from fff.spark.session import SparkEngine
from fff.sql import prepare

#: Answered by the engine.
ALONE = [
    "SELECT q.b FROM (SELECT cast(b AS string) FROM r) q",
    "SELECT TIMESTAMP '2020-02-28 06:00:00-18:00'::DATE AS x, DATE '2020-01-01'::string AS y FROM r",
    "SELECT q.b FROM (SELECT (try_cast((r.b) AS string)) FROM r) q",
    "WITH q AS (SELECT b::string, i AS y FROM r) SELECT y, b FROM q",
    "SELECT q.dt FROM (SELECT cast(dt AS timestamp) FROM r) q",
    "SELECT * FROM r, u JOIN u AS k USING (i)",
    "FROM r JOIN u USING (i) SELECT * EXCEPT (d) WHERE l > 0",
    "SELECT i FROM r WHERE i IN (FROM u SELECT i WHERE i > 0)",
    "SELECT q.i FROM (FROM u SELECT i) q UNION ALL FROM r SELECT i",
    "SELECT l FROM r WHERE i IN (WITH w AS (SELECT i FROM u), z AS (SELECT i FROM w) SELECT i FROM z)",
    "SELECT l FROM r WHERE i IN (WITH w AS (SELECT i FROM u) SELECT i FROM w UNION SELECT 0)",
    "SELECT q.i FROM r JOIN (WITH w AS (SELECT DISTINCT i FROM u) SELECT i FROM w) q ON q.i = r.i",
    "SELECT l FROM r WHERE b AND EXISTS (SELECT 1)",
    "SELECT cast(t AS int) + 1 AS z, z * 2 AS y, y - z x FROM r",
    "SELECT i % 7 AS l, l + 1 AS y, upper(s) AS Z, z || 'x' AS v FROM r",
    "SELECT year(dt) AS z, m * z AS y, array(s, 'x') AS w, w[0] AS v, if(b, 1, 2) AS c, m / c AS x FROM r",
    "SELECT DISTINCT t / 2 AS z, CASE WHEN z > 0 THEN -z END AS y FROM r UNION ALL SELECT d, f FROM r",
    "SELECT q.y FROM (SELECT t AS z, `Z` % 5 AS y, b FROM r) q WHERE q.b",
    "SELECT l FROM r WHERE NOT EXISTS (SELECT 1, 'a' AS x) OR i = 1",
    "SELECT CAST(NULL AS array<array<array<int>>>) AS x, i FROM u",
    "SELECT X 'F0' AS x, x '0a' AS y, X'1' AS z, i FROM r",
    "SELECT i FROM r WHERE b = b < b OR i <> l = b",
    "WITH w AS (VALUES (1), (2) UNION ALL SELECT i FROM r JOIN u USING (i)) SELECT * FROM w",
    "SELECT l FROM r WHERE i IN (VALUES (1), (2) UNION SELECT i FROM r JOIN u USING (i))",
    "SELECT b = b IS NULL, NOT b IS NULL, !b IS NULL, b <=> b = b, b != b = b, i < 5 >= b FROM r",
    "SELECT t + 1 IS NOT DISTINCT FROM l + 1 AS x FROM r WHERE i !< 0 AND t !> 5",
    "SELECT r.l FROM r JOIN u ON r.i = u.i = true AND r.b = b < true IS NOT TRUE",
    "SELECT -5::string, - 2147483648::int, -1::boolean, -5L::string, - -5::int, -t::string FROM r",
    "SELECT +5 * m, +d, +i, 1 + +5, - +t, + -3 FROM r WHERE i >= +1",
    "SELECT case, any, all, values, distinct, cross, q.case + any[0] AS x FROM (SELECT i AS case, a AS any, 3 AS all, 4 AS values, 5 AS distinct, 6 AS cross FROM u WHERE i = 1) q",
    "SELECT i ISNULL, l NOTNULL, isnull(s), s XOR, d GLOB, t RETURNING FROM r",
    "SELECT i for, l INTO, s QUALIFY FROM r ASOF",
    "SELECT i FROM r WINDOW WHERE WINDOW.b",
    "SELECT exists(a, I -> i = 1), filter(a, I -> i > 0), transform(a, X -> x + u.i), exists(a, i -> I = u.i) FROM u",
    "SELECT transform(a, X -> struct(x)) AS x, aggregate(a, 0, (Acc, Y) -> aCC + y) AS y FROM u",
    "SELECT 5e + 1 AS x, q.5e FROM (SELECT i AS 5e FROM r WHERE i < 9) q WHERE 5e < 1e1",
    "SELECT current_date FROM (SELECT i AS current_date FROM r) q WHERE current_date = 1",
    "SELECT CURRENT_TIMESTAMP + 1 AS x FROM (SELECT DISTINCT i AS Current_Timestamp FROM u) q",
    "SELECT CAST(/* 5L */ 5 AS BIGINT) * m AS x, CAST(5L AS BIGINT) * m AS y, 5::bigint * m, -CAST(5 AS BIGINT) * m FROM r",
    "SELECT locate('', s, 9), locate('a', s, 2), position('', 'abc'), locate('', s, 0) FROM r",
    "SELECT substring(1 > 2, 1, 2) AS x, position(i > 2 IN s) AS y FROM r WHERE b BETWEEN 2 > 1 AND true",
    "SELECT i || l + 1 AS x FROM r WHERE i BETWEEN 0 AND 9",
    "SELECT i | l & 1, i ^ 2 | 1 & l, i - 1 << 1 + 1 AS x, 7 div 2 * t FROM r WHERE t < 9 AND i < 9",
    "SELECT dt + INTERVAL +1 DAY AS x, dt - INTERVAL -1 MONTH AS y FROM r LIMIT +5",
    "SELECT /*+ BROADCAST(u) */ /*+ MERGE(r) */ r.i FROM r JOIN u ON r.i = u.i",
    "WITH convert(x) AS (SELECT i FROM r), arg_max (y) AS (SELECT i FROM u) SELECT x, y FROM convert JOIN arg_max ON x = y",
    "SELECT a.l, y.* EXCEPT (y.z) FROM r AS a JOIN u AS y(x, z, v) ON a.i = x",
    "SELECT x FROM (r) AS q(x, y, z, `a b`, c, d, e, f, g) WHERE `a b` > 0 LIMIT 2",
    "SELECT q.l, q.a FROM (r JOIN u ON r.i = u.i AND r.b) AS q",
    "SELECT q.l, x.s FROM u x LEFT JOIN (r JOIN u USING (i, s)) q ON x.i = q.i",
    "SELECT * FROM ((r JOIN u USING (i, s)) q JOIN (r) AS p(x, y, z, v, w, m, n, o, k) ON q.i = x) z",
    "SELECT q.i, k.l FROM ((SELECT i FROM u) q LEFT JOIN r k ON q.i = k.i AND k.b)",
    "SELECT q.l FROM ((SELECT i FROM u) q JOIN r USING (i)) AS q",
    "SELECT IDENTIFIER('r.i'), identifier ( \"identifier.L\" ) + 1, identifier.d FROM r JOIN r AS identifier ON IDENTIFIER('`r`.i') = identifier.i",
    "SELECT q.* EXCEPT (q.i), u.s FROM (SELECT i FROM r WHERE b) AS q JOIN u USING (i)",
    "SELECT IDENTIFIER('abs')(i % 9) + 1 AS x FROM r WHERE identifier ( 'IF' )(b, i, 0) > 0",
    "SELECT k.id, l FROM IDENTIFIER('range')(3) k JOIN r ON i = k.id",
    "SELECT i, x FROM u, LATERAL identifier('explode')(a) AS e(x)",
    "SELECT DISTINCT .5 AS x, CASE .5 WHEN .5 THEN i END AS y, i+.5 AS z FROM r WHERE l > .25e1",
    "SELECT q.`a``b` FROM (SELECT i AS `a``b`, s FROM r) q WHERE IDENTIFIER('`a``b`') > 0 AND IDENTIFIER('s') = 'a'",
]
#: By Spark, over their tables.
WITH_SPARK = [
    "WITH a AS (SELECT i FROM r GROUP BY i), b AS (SELECT i FROM u GROUP BY i) SELECT count(a.i) AS n FROM a FULL JOIN b ON a.i = b.i LIMIT 9",
    "SELECT q.st.k FROM (SELECT named_struct('k', i, 'j', l) AS st FROM r) q ORDER BY k",
    "SELECT st.k, count(*) AS n FROM (SELECT named_struct('k', i, 'j', l) AS st FROM r) GROUP BY k HAVING k > 0",
    "SELECT i >>> 1 AS x, -4 >>> 1 + 1 AS y, i >>> 1 >>> 1 & 3 AS z FROM r WHERE l >>> 2 >= 0",
    "SELECT q.i FROM (SELECT bigint(i) FROM r) q",
    "SELECT q.`true`, `null` FROM (SELECT true, null FROM r) q",
    "SELECT * FROM u, u",
    "SELECT u.i FROM u JOIN u USING (i) WHERE u.i = 1",
    "SELECT u.d FROM u JOIN r AS u USING (i)",
    "SELECT u.s FROM u LEFT SEMI JOIN u USING (i)",
    "SELECT count(*) AS n FROM u, u LEFT JOIN r USING (i)",
    "FROM r, u |> JOIN u USING (i)",
    "FROM r SELECT i |> LIMIT 0",
    "SELECT t AS z, z + 1 FROM r",
    "SELECT 2 AS z, m * z AS y FROM r",  # z is no constant: the product has more digits
    "SELECT max(t) AS z, z - 1 AS y FROM r",
    "SELECT q.y FROM (SELECT rand() AS z, z - z AS y FROM r WHERE EXISTS (SELECT 1)) q",
    "SELECT named_struct('a', t) AS z, z.a FROM r",
    "FROM r SELECT i EXCEPT SELECT i FROM u",
    "SELECT l FROM r WHERE EXISTS (SELECT 1 LIMIT 0) OR i = 1",
    "SELECT concat() AS x, s FROM r",
    "SELECT concat(+'5', 'x') AS x, +'7' + i AS y FROM r WHERE i < 5",
    "SELECT count(*) AS n FROM r GROUP BY NOT b, t + 1 > 1 = b",
    "SELECT max(current_date) AS x, count(*) AS n FROM (SELECT i AS current_date FROM r) q",
    "WITH q(current_date) AS (SELECT i FROM r) SELECT current_date, count(*) AS n FROM q GROUP BY current_date",
    "SELECT s COLLATE utf8_lcase || 'x' = 'AX' AS x FROM r",
    "SELECT s, any(b) = true AS x FROM r GROUP BY s",
    "SELECT s FROM r GROUP BY s HAVING any(b) = true AND any(i > 1) <=> any(b)",
    "SELECT s, any(DISTINCT b) AND true AS x FROM r GROUP BY s",
    "SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN +1 PRECEDING AND +1 FOLLOWING) AS x FROM r",
    "SELECT count(*) AS n FROM r TABLESAMPLE (100 PERCENT) REPEATABLE (1) JOIN u ON r.i = u.i",
    "SELECT x, count(*) AS n FROM u TABLESAMPLE (9 ROWS) REPEATABLE (1) AS q(x, y, z) WHERE y = 'a' GROUP BY x",
    "SELECT q.l FROM (r JOIN u ON r.i = u.i) TABLESAMPLE (100 PERCENT) REPEATABLE (1) q WHERE q.l > 0",
    "SELECT r.l FROM (r JOIN u ON r.i = u.i AND r.l IN (SELECT max(i) FROM u)) WHERE b",
    "SELECT IDENTIFIER('max')(i) AS x, count(*) AS n FROM r GROUP BY IDENTIFIER('s')",
    "SELECT IDENTIFIER('i' || '') AS x, l FROM r WHERE b",
    "SELECT l FROM r WHERE EXISTS (SELECT 1 FROM u WHERE IDENTIFIER(concat('r', '.', 's')) = u.s)",
    "SELECT IDENTIFIER('st.k') FROM (SELECT named_struct('k', i) AS st FROM r) q WHERE IDENTIFIER('st.k') > 0",
    "SELECT IDENTIFIER('st').k FROM (SELECT named_struct('k', i) AS st FROM r) q",
    "SELECT * EXCEPT (i), x.* EXCEPT (x.i), count(*) OVER () AS n FROM (SELECT i FROM r) AS x",
    "SELECT * FROM (VALUES (1), (7) AS q(i) JOIN r USING (i))",
    "SELECT x.i, l FROM (VALUES left('ab', 1), 'b' y(s) JOIN r USING (s)) JOIN u AS x ON x.s = r.s",
    "SELECT l FROM ((VALUES (1), (7)) JOIN r ON i = col1) JOIN u USING (i)",
    "SELECT r.l FROM (VALUES (1) AS q(i) JOIN r USING (i)) JOIN u, (VALUES (2) JOIN u AS z)",
    "FROM r |> WHERE i > 1 |> SELECT i UNION ALL SELECT 9 AS i",
    "FROM r |> SELECT i UNION SELECT 9 INTERSECT (SELECT 9) |> WHERE i > 1",
    "FROM r |> SELECT i EXCEPT (SELECT 7) INTERSECT SELECT i FROM r UNION ALL SELECT 1 ORDER BY i LIMIT 3",
    "SELECT count(*) AS n FROM (FROM r |> SELECT i UNION SELECT i FROM u |> WHERE i > 1) UNION ALL SELECT 2",
    "WITH RECURSIVE w(x) MAX RECURSION LEVEL 9 AS (SELECT 1 UNION ALL SELECT x + 1 FROM w WHERE x < 3) SELECT x, l FROM w JOIN r ON i = x",
    "SELECT CAST(NULL AS VOID) AS x, NULL::ARRAY<VOID> AS y, q.void FROM (SELECT i AS void FROM r) q",
]
#: By nobody.
REFUSED = [
    "SELECT DISTINCT /*+ BROADCAST(u) */ r.i FROM r JOIN u ON r.i = u.i",
    "WITH a AS (SELECT 1) SELECT i, convert(i) AS x FROM r",
    "SELECT i FROM r WHERE i ISNULL",
    "SELECT i FROM r WHERE i NOT NULL",
    "SELECT i FROM r WHERE i IN (1) = b",
    "SELECT i FROM r WHERE i IS NULL = b",
    "SELECT i FROM r WHERE i BETWEEN 1 AND l IS NULL IS NULL",
    "SELECT i FROM r WHERE i BETWEEN 1 5",
    "SELECT i FROM r WHERE b = NOT b",
    "SELECT i FROM r WHERE s ~~ 'a'",
    "SELECT i AS 'x' FROM r",
    "SELECT AS STRUCT i FROM r",
    "SELECT {fn upper(s)} FROM r",
    "SELECT 1 {# x #} FROM r",
    "SELECT 1 + /*+ x */ 1 FROM r",
    "SELECT s COLLATE 'utf8_lcase' FROM r",
    "SELECT 5e FROM r",
    "SELECT .5e FROM r",
    "SELECT 1.5e FROM r",
    "SELECT array(named_struct('k', i))[0].k FROM r ORDER BY k",
    "SELECT X 'FG' FROM r",
    "SELECT X'FG' FROM r",
    "SELECT i >>> FROM r",
    "SELECT i >>>> 1 FROM r",
    "SELECT q.b FROM (SELECT cast(cast(b AS int) AS string) FROM r) q",
    "SELECT u.i FROM u, u",
    "SELECT i FROM u, u",
    "SELECT i FROM r, u JOIN u AS k USING (i)",
    "SELECT i FROM r SELECT l",
    "SELECT cast(nope AS timestamp), bigint(nope) FROM r",
    "SELECT q.nope FROM (SELECT cast(nope AS string) FROM r) q",
    "SELECT i AS z FROM r WHERE z > 1",
    "SELECT * FROM (r, u) AS q",
    "SELECT * FROM (r LATERAL VIEW explode(array(1)) AS x) AS q",
    "SELECT r.i FROM (r) AS q",
    "SELECT q.i FROM (r JOIN u ON r.i = u.i) AS q",
    "SELECT IDENTIFIER('nope') FROM r",
    "SELECT IDENTIFIER('count')(*) FROM r",
    "SELECT IDENTIFIER('struct')(r.*) FROM r",
    "SELECT IDENTIFIER('cast')(i AS string) FROM r",
    "SELECT IDENTIFIER('extract')(YEAR FROM dt) FROM r",
    "SELECT i.5 FROM r",
    "SELECT 1 AS i JOIN r USING (i)",
    "WITH q AS (SELECT 1 CROSS JOIN r) SELECT * FROM q",
    "FROM r |> DISTINCT",
    "SELECT i FROM r, IDENTIFIER('u')",
    "WITH w MAX RECURSION LEVEL 5 AS (SELECT 1 AS x) SELECT * FROM w",
    "WITH RECURSIVE w MAX RECURSION LEVEL AS (SELECT 1 AS x) SELECT * FROM w",
    "SELECT i FROM r AS q MAX RECURSION LEVEL 5",
]


@pytest.mark.parametrize("sql", ALONE)
def test_no_spark_for_what_the_engine_answers(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is None


def test_a_parameter_names_a_column_and_is_a_text_elsewhere() -> None:
    sql = "SELECT IDENTIFIER(:p), :p AS said FROM r WHERE IDENTIFIER(:q) = 'a'"
    result = prepare(sql, CATALOG, {"p": "r.dt", "q": "s"}).result
    assert result is not None
    assert [(one.name, one.type) for one in result.fields] == [("dt", "date"), ("said", "string")]
    with pytest.raises(QueryError, match="unknown column nope") as refused:
        prepare(sql, CATALOG, {"p": "dt", "q": "nope"})
    assert refused.value.sql == sql
    called = prepare("SELECT IDENTIFIER(:p)(i) AS x, :p AS said FROM r", CATALOG, {"p": "abs"}).result
    assert called is not None
    assert called.fields[0].type == "int"
    with pytest.raises(UsageError, match="parameter z is not used"):
        prepare(sql, CATALOG, {"p": "dt", "q": "s", "z": 1})


def test_rows_without_columns_are_no_result() -> None:
    for sql in ("SELECT DISTINCT * EXCEPT (a, i, s) FROM u", "FROM u |> DROP i, s, a |> LIMIT 2"):
        with pytest.raises(QueryError, match="the result has no column"):
            prepare(sql, CATALOG)


@pytest.mark.parametrize("sql", WITH_SPARK)
def test_what_spark_takes_is_not_refused(sql: str) -> None:
    assert prepare(sql, CATALOG).upper is not None


@pytest.mark.parametrize("sql", REFUSED)
def test_what_spark_refuses_is_told_where_it_stands(sql: str) -> None:
    with pytest.raises(QueryError) as refused:
        prepare(sql, CATALOG)
    assert refused.value.span is not None


@pytest.mark.spark
@pytest.mark.slow
def test_rows_and_refusals_are_those_of_spark(spark: SparkEngine) -> None:
    for sql in ALONE + WITH_SPARK:
        got, expected = shapes.Run(prepare(sql, CATALOG), DATA, spark).result(), spark.run_over(sql, DATA)
        assert (got.column_names, bag(got)) == (expected.column_names, bag(expected)), sql
    for sql in REFUSED:
        with pytest.raises(QueryError):
            spark.run_over(sql, DATA)
