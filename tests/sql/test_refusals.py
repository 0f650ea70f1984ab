"""What Spark refuses for the shape of a statement is refused before the first request, and nothing that it takes."""

from __future__ import annotations

import planner_fakes
import pyarrow as pa
import pytest

from fff.errors import QueryError, SparkError
from fff.spark.session import SparkEngine
from fff.sql import prepare
from fff.sql.refusals.kinds import INCOMPARABLE

CATALOG = planner_fakes.catalog(
    planner_fakes.table("w.t", "id int, k int, s string, d double, dt date", scans=1),
    planner_fakes.table("w.u", "k int, name string, n bigint, ok boolean", scans=1),
    planner_fakes.table(
        "w.n",
        "id int, arr array<int>, m map<string,int>, st struct<a:int,b:string>, items array<struct<sku:string,qty:int>>",
        scans=1,
    ),
)
EMPTY = {
    table.name: pa.schema([(field.name, field.arrow) for field in table.columns]).empty_table()
    for table in CATALOG.tables()
}
#: Statements, and what is underlined in them.
REFUSED = [
    ("SELECT id FROM t ORDER BY 2", "2"),
    ("SELECT id FROM t ORDER BY 0", "0"),
    ("SELECT id FROM t ORDER BY -1", "1"),
    ("SELECT id, s FROM t ORDER BY 1, 3", "3"),
    ("SELECT s, count(*) FROM t GROUP BY 3", "3"),
    ("SELECT s, count(*) FROM t GROUP BY 0", "0"),
    ("SELECT s, count(*) FROM t GROUP BY 2", "2"),
    ("SELECT s, count(*) FROM t GROUP BY -1", "1"),
    ("SELECT * FROM t ORDER BY 6", "6"),
    ("SELECT s, sum(k) FROM t GROUP BY 1 ORDER BY 3", "3"),
    ("SELECT s, k, sum(k) FROM t GROUP BY ROLLUP(1, 4)", "4"),
    ("SELECT s, sum(k) FROM t GROUP BY CUBE(s, 9)", "9"),
    ("SELECT s FROM t GROUP BY GROUPING SETS ((1), (2))", "2"),
    ("SELECT id FROM t UNION SELECT k, s FROM t", "k, s FROM t"),
    ("SELECT id FROM t UNION ALL SELECT k, name FROM u", "k, name FROM u"),
    ("SELECT id, s FROM t EXCEPT SELECT k FROM u", "k FROM u"),
    ("SELECT id FROM t INTERSECT SELECT k, n FROM u", "k, n FROM u"),
    ("SELECT id FROM t UNION ALL SELECT arr FROM n", "arr"),
    ("SELECT id FROM t UNION SELECT st FROM n", "st"),
    ("SELECT id FROM t INTERSECT SELECT arr FROM n", "arr"),
    ("SELECT m FROM n UNION SELECT m FROM n", "m FROM n"),
    ("SELECT DISTINCT m FROM n", "m FROM n"),
    ("SELECT m FROM n EXCEPT SELECT m FROM n", "m FROM n"),
    ("SELECT id FROM t UNION ALL SELECT ok FROM u", "ok"),
    ("SELECT dt FROM t UNION ALL SELECT ok FROM u", "ok"),
    ("SELECT ok FROM u UNION SELECT dt FROM t", "dt"),
    ("SELECT id FROM t UNION ALL SELECT dt FROM t", "dt"),
    ("SELECT * FROM t UNION ALL SELECT * FROM u", "* FROM u"),
    ("SELECT * FROM t EXCEPT SELECT id, k, s, d FROM t", "id, k, s, d FROM t"),
    ("(SELECT id FROM t) UNION (SELECT id, k FROM t) ORDER BY 1", "id, k FROM t"),
    ("SELECT id FROM t UNION SELECT k FROM u ORDER BY 2", "2"),
    ("SELECT id FROM t WHERE id IN (SELECT k, n FROM u)", "k, n FROM u"),
    ("SELECT id FROM t WHERE (id, k) IN (SELECT k FROM u)", "k FROM u"),
    ("SELECT id FROM t WHERE id = (SELECT k, n FROM u)", "k, n FROM u"),
    ("SELECT (SELECT k, n FROM u) FROM t", "k, n FROM u"),
    ("SELECT s FROM t GROUP BY sum(k)", "sum"),
    ("SELECT s FROM t GROUP BY s, count(*)", "count"),
    ("SELECT sum(row_number() OVER (ORDER BY id)) FROM t", "row_number"),
    ("SELECT upper(s) OVER (ORDER BY id) FROM t", "upper(s) OVER"),
    ("SELECT abs(k) OVER () FROM t", "abs(k) OVER"),
    ("SELECT rank() OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "rank"),
    ("SELECT sum(k) OVER (ORDER BY s RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "s"),
    ("SELECT sum(k) OVER (RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "sum(k) OVER (RANGE BETWEEN 1"),
    ("SELECT sum(k) OVER (ORDER BY id, k RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "sum(k) OVER (ORDER BY id, k RANGE BETWEEN 1"),
    ("SELECT sum(k) OVER w FROM t", "w"),
    ("SELECT sum(k) OVER w FROM t WINDOW x AS (ORDER BY id)", "w"),
    ("SELECT sum(DISTINCT k) OVER (ORDER BY id) FROM t", "k"),
    ("SELECT count(DISTINCT k) OVER () FROM t", "k"),
    ("SELECT sum(k) FILTER (WHERE sum(k) > 1) FROM t", "sum"),
    ("SELECT upper(s) FILTER (WHERE id > 1) FROM t", "upper(s) FILTER"),
    ("SELECT s FROM t GROUP BY k", "s"),
    ("SELECT s || 'x' FROM t GROUP BY k", "s"),
    ("SELECT upper(s), k FROM t GROUP BY upper(s)", "k"),
    ("SELECT s FROM t GROUP BY upper(s)", "s"),
    ("SELECT s, count(*) FROM t GROUP BY s HAVING k > 1", "k"),
    ("SELECT s, count(*) FROM t GROUP BY s ORDER BY k", "k"),
    ("SELECT s, count(*) FROM t GROUP BY s ORDER BY max(k), id", "id"),
    ("SELECT * FROM t GROUP BY s", "*"),
    ("SELECT *, count(*) FROM t", "*"),
    ("SELECT t.*, count(*) FROM t GROUP BY id", "*"),
    ("SELECT u.n FROM t LEFT SEMI JOIN u ON t.k = u.k", "n"),
    ("SELECT t.id FROM t LEFT ANTI JOIN u ON t.k = u.k WHERE u.n > 1", "n"),
    ("SELECT t.id FROM t LEFT SEMI JOIN u ON t.k = u.k ORDER BY u.n", "n"),
    ("SELECT DISTINCT s FROM t ORDER BY k", "k"),
    ("SELECT DISTINCT s FROM t ORDER BY id + 1", "id"),
    ("SELECT grouping(s) FROM t GROUP BY s", "grouping"),
    ("SELECT grouping(s) FROM t", "grouping"),
    ("SELECT * FROM (SELECT id FROM t) AS q(y, z)", "y"),
    ("WITH w(a, b) AS (SELECT id FROM t) SELECT * FROM w", "w(a, b"),
    ("WITH w(a) AS (SELECT id, s FROM t) SELECT * FROM w", "w(a"),
    ("WITH w AS (SELECT id FROM t), w AS (SELECT k FROM u) SELECT * FROM w", "w"),
    ("SELECT filter(arr, (x, y, z) -> x > 1) FROM n", "x, y, z) -> x > 1"),
    ("SELECT map_filter(m, k -> true) FROM n", "k"),
    ("SELECT zip_with(arr, arr, x -> x) FROM n", "x -> x"),
    ("SELECT st.c FROM n", "c"),
    ("SELECT st.a.b FROM n", "b"),
    ("SELECT n.st.nope FROM n", "nope"),
    ("SELECT items.nope FROM n", "nope"),
    ("SELECT arr['a'] FROM n", "'a'"),
    ("SELECT arr[true] FROM n", "arr"),
    ("SELECT st[0] FROM n", "0"),
    ("SELECT id[0] FROM n", "0"),
    ("SELECT id.x FROM n", "x"),
    ("SELECT s.x FROM t", "x"),
    ("SELECT id, q FROM n LATERAL VIEW explode(arr) x AS q, r", "q"),
    ("SELECT id, q FROM n LATERAL VIEW explode(m) x AS q", "q"),
    ("SELECT id FROM n LATERAL VIEW upper(id) x AS q", "upper"),
    ("SELECT id FROM n LATERAL VIEW posexplode(arr) x AS q", "q"),
    ("SELECT explode(arr) + 1 FROM n", "explode"),
    ("SELECT id FROM n WHERE explode(arr) = 1", "explode"),
    ("SELECT explode(explode(arr)) FROM n", "explode"),
    ("SELECT sum(explode(arr)) FROM n", "explode"),
    ("SELECT id FROM n ORDER BY explode(arr)", "explode"),
    ("SELECT explode(arr) AS (a, b) FROM n", "a"),
    ("SELECT id AS (a, b) FROM n", "id AS (a, b"),
    ("SELECT inline(items) AS (a) FROM n", "a"),
    ("SELECT sum(k) AS a, s FROM t GROUP BY a", "a"),
    ("SELECT id FROM t QUALIFY id = 1", "id = 1"),
    ("SELECT id FROM t QUALIFY sum(k) > 1", "sum(k) > 1"),
]  # fmt: skip
TAKEN = [
    "SELECT t.id, u.name FROM t JOIN u ON t.k = u.k ORDER BY t.id, u.name",
    "SELECT t.id, u.name FROM t LEFT JOIN u ON t.k = u.k AND u.ok ORDER BY t.id, u.name",
    "SELECT t.id, u.name FROM t RIGHT JOIN u ON t.k = u.k WHERE t.id IS NULL OR t.id > 2",
    "SELECT t.id, u.name FROM t FULL JOIN u ON t.k = u.k",
    "SELECT t.id, u.name FROM t FULL JOIN u ON t.k = u.k AND t.s = 'a'",
    "SELECT coalesce(t.k, u.k) AS kk, count(*) FROM t FULL JOIN u ON t.k = u.k GROUP BY coalesce(t.k, u.k)",
    "SELECT k, t.id, u.n FROM t FULL JOIN u USING (k)",
    "SELECT k, t.id, u.n FROM t LEFT JOIN u USING (k) WHERE u.n IS NULL",
    "SELECT * FROM t NATURAL JOIN u",
    "SELECT * FROM t NATURAL LEFT JOIN u",
    "SELECT * FROM t LEFT SEMI JOIN u USING (k)",
    "SELECT * FROM t LEFT ANTI JOIN u USING (k)",
    "SELECT a.id, b.id FROM t a JOIN t b ON a.k = b.k AND a.id < b.id",
    "SELECT a.id, b.id FROM t a LEFT JOIN t b ON a.k = b.k AND a.id < b.id WHERE b.id IS NULL",
    "SELECT a.id, count(b.id) FROM t a LEFT JOIN t b ON a.k = b.k AND a.id <> b.id GROUP BY a.id",
    "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE u.k = t.k AND u.n > t.id)",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT * FROM u WHERE u.k = t.k AND u.n > t.id * 5)",
    "SELECT id FROM t WHERE k IN (SELECT k FROM u WHERE n > 10) OR s = 'c'",
    "SELECT id FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL)",
    "SELECT id FROM t WHERE k NOT IN (SELECT k FROM u)",
    "SELECT id FROM t WHERE (k, s) IN (SELECT k, name FROM u)",
    "SELECT id FROM t WHERE (k, s) NOT IN (SELECT k, 'a' FROM u WHERE k IS NOT NULL)",
    "SELECT id FROM t WHERE k = (SELECT max(k) FROM u)",
    "SELECT id FROM t WHERE k > (SELECT avg(k) FROM u WHERE u.ok = (t.id > 3))",
    "SELECT id, (SELECT count(*) FROM u WHERE u.k = t.k) AS c FROM t",
    "SELECT id, (SELECT max(n) FROM u WHERE u.k = t.k) + 1 AS c FROM t ORDER BY id",
    "SELECT id, (SELECT first(name) FROM u WHERE u.k = t.k AND u.ok) IS NULL AS c FROM t",
    "SELECT id, EXISTS (SELECT 1 FROM u WHERE u.k = t.k) AS e FROM t",
    "SELECT id, k IN (SELECT k FROM u) AS e FROM t",
    "SELECT id, k NOT IN (SELECT k FROM u WHERE k > 1) AS e FROM t",
    "SELECT CASE WHEN EXISTS (SELECT 1 FROM u WHERE u.k = t.k) THEN 'y' ELSE 'n' END AS e, count(*) FROM t GROUP BY 1",
    "WITH a AS (SELECT k, count(*) AS c FROM t GROUP BY k) SELECT u.name, a.c FROM u LEFT JOIN a ON a.k = u.k",
    "WITH a AS (SELECT k FROM t WHERE id < 6), b AS (SELECT k FROM u WHERE ok) SELECT * FROM a INTERSECT SELECT * FROM b",
    "WITH a AS (SELECT * FROM t), b AS (SELECT * FROM a WHERE k > 1) SELECT x.id, y.id FROM a x JOIN b y ON x.k = y.k",
    "WITH a AS (SELECT * FROM t) SELECT * FROM (WITH a AS (SELECT * FROM u) SELECT * FROM a) q",
    "WITH a(x, y) AS (SELECT id, k FROM t) SELECT x, y FROM a WHERE y IS NOT NULL UNION ALL SELECT y, x FROM a",
    "SELECT k FROM t UNION SELECT k FROM u",
    "SELECT k FROM t UNION ALL SELECT n FROM u",
    "SELECT k FROM t EXCEPT SELECT k FROM u",
    "SELECT k FROM t EXCEPT ALL SELECT k FROM u",
    "SELECT k FROM t INTERSECT SELECT k FROM u",
    "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "SELECT k, s FROM t MINUS SELECT k, name FROM u",
    "SELECT id, s FROM t UNION ALL SELECT 1.5, 'x' UNION SELECT k, name FROM u",
    "SELECT id FROM t UNION SELECT 'a'",
    "(SELECT id FROM t ORDER BY id LIMIT 2) UNION ALL (SELECT k FROM u ORDER BY k DESC LIMIT 2)",
    "SELECT id FROM t UNION ALL SELECT k FROM u ORDER BY 1 NULLS LAST LIMIT 5",
    "SELECT s, k, count(*) FROM t GROUP BY s, k WITH ROLLUP",
    "SELECT s, k, count(*), grouping(s), grouping_id() FROM t GROUP BY CUBE (s, k)",
    "SELECT s, k, sum(d) FROM t GROUP BY GROUPING SETS ((s), (k), (s, k), ())",
    "SELECT s, count(*) FROM t GROUP BY ROLLUP (s) HAVING grouping(s) = 1",
    "SELECT year(dt) AS y, count(*) FROM t GROUP BY year(dt) ORDER BY y",
    "SELECT y, max(id) FROM (SELECT id, year(dt) AS y FROM t) GROUP BY y",
    "SELECT s, count(*) FILTER (WHERE k > 1) AS c, collect_set(k) IS NOT NULL FROM t GROUP BY s",
    "SELECT s, sort_array(collect_list(id)) FROM t GROUP BY s",
    "SELECT s, max_by(id, d), min_by(id, d) FROM t WHERE d IS NOT NULL GROUP BY s",
    "SELECT count(DISTINCT s), count(DISTINCT s, k), sum(DISTINCT k), approx_count_distinct(k) FROM t",
    "SELECT percentile(d, 0.5), median(k), stddev(k), corr(id, k) FROM t",
    "SELECT s, any_value(s), bool_or(k > 1), every(id > 0) FROM t GROUP BY s",
    "SELECT mode(k), histogram_numeric(k, 2) IS NULL FROM t",
    "SELECT listagg(s, ',') WITHIN GROUP (ORDER BY id) FROM t",
    "SELECT id, row_number() OVER (PARTITION BY s ORDER BY id) FROM t",
    "SELECT id, sum(k) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM t",
    "SELECT id, lag(k, 1, -1) OVER (ORDER BY id), lead(s) OVER (ORDER BY id) FROM t",
    "SELECT id, first_value(s) IGNORE NULLS OVER (PARTITION BY k ORDER BY id) FROM t",
    "SELECT id, ntile(3) OVER (ORDER BY id), percent_rank() OVER (ORDER BY k) FROM t",
    "SELECT id, rank() OVER w, dense_rank() OVER w FROM t WINDOW w AS (ORDER BY k NULLS LAST)",
    "SELECT s, count(*), rank() OVER (ORDER BY count(*) DESC) FROM t GROUP BY s",
    "SELECT id, sum(sum(k)) OVER (ORDER BY id) FROM t GROUP BY id",
    "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY s ORDER BY d DESC, id) AS rn FROM t) WHERE rn = 1",
    "SELECT id FROM t QUALIFY row_number() OVER (PARTITION BY s ORDER BY id) = 1",
    "SELECT id, a FROM n LATERAL VIEW explode(arr) x AS a",
    "SELECT id, a FROM n LATERAL VIEW OUTER explode(arr) x AS a",
    "SELECT id, pos, a FROM n LATERAL VIEW posexplode(arr) x AS pos, a",
    "SELECT id, kk, vv FROM n LATERAL VIEW explode(m) x AS kk, vv",
    "SELECT id, sku, qty FROM n LATERAL VIEW inline(items) x AS sku, qty",
    "SELECT id, i.sku FROM n LATERAL VIEW explode(items) x AS i WHERE i.qty > 1",
    "SELECT id, explode(arr) AS a FROM n",
    "SELECT id, explode_outer(arr) FROM n",
    "SELECT id, inline(items) FROM n",
    "SELECT id, posexplode(arr) AS (p, q) FROM n",
    "SELECT id, stack(2, 'a', id, 'b', id + 1) AS (c, d) FROM t",
    "SELECT n.id, e.* FROM n, LATERAL explode(n.arr) AS e(val)",
    "SELECT n.id, e.col FROM n, LATERAL explode(arr) e",
    "SELECT id, st.a, st.b, m['a'], arr[0], items[0].sku, items.qty FROM n WHERE size(arr) > 1",
    "SELECT id, get(arr, 5), try_element_at(arr, 9), element_at(m, 'zz') FROM n",
    "SELECT st, count(*) FROM n GROUP BY st",
    "SELECT arr, count(*) FROM n GROUP BY arr",
    "SELECT id, transform(arr, (x, i) -> x * i), filter(arr, x -> x > id), aggregate(arr, 0, (acc, x) -> acc + x) FROM n",
    "SELECT id, exists(arr, x -> x IS NULL), forall(arr, x -> x > 0), zip_with(arr, arr, (a, b) -> a + b) FROM n",
    "SELECT id, map_keys(m), map_values(m), map_entries(m), size(m) FROM n",
    "SELECT id, to_json(st), to_json(arr) FROM n",
    "SELECT from_json('{\"a\":1}', 'a int').a, id FROM t",
    "SELECT n.id, t.id FROM n JOIN t ON array_contains(n.arr, t.k)",
    "SELECT n.id, u.name FROM n JOIN u ON n.st.a = u.k",
    "SELECT n.id, u.name FROM n LEFT JOIN u ON n.st.a = u.k",
    "SELECT n.st.* FROM n",
    "SELECT n.id, n.st.* FROM n WHERE st IS NOT NULL",
    "SELECT struct(id, k) AS p, named_struct('z', s).z FROM t",
    "SELECT * FROM (SELECT s, k, d FROM t) PIVOT (sum(d) AS sd, count(*) AS c FOR k IN (1, 2, 3 AS three))",
    "SELECT * FROM (SELECT s, k, d FROM t) PIVOT (max(d) FOR (s, k) IN (('a', 1) AS a1, ('b', 2) AS b2))",
    "SELECT * FROM t PIVOT (count(id) FOR s IN ('a', 'b'))",
    "SELECT * FROM (SELECT id, k, n FROM t JOIN u USING (k)) UNPIVOT (val FOR col IN (k, n))",
    "SELECT * FROM (SELECT id, k FROM t) UNPIVOT INCLUDE NULLS (val FOR col IN (k AS kay))",
    "SELECT * FROM VALUES (1, 'a'), (2, NULL) AS q(x, y) JOIN t ON t.k = q.x",
    "SELECT * FROM t, (VALUES (1), (2)) q(z) WHERE t.k = z",
    "SELECT id FROM t ORDER BY k DESC NULLS FIRST, s LIMIT 4 OFFSET 1",
    "SELECT s, k FROM t SORT BY k",
    "SELECT DISTINCT s, k > 1 FROM t",
    "SELECT DISTINCT upper(s) AS u FROM t ORDER BY u",
    "SELECT * EXCEPT (dt, d) FROM t WHERE id IN (1, 2, 3)",
    "SELECT id AS a, a + 1 AS b, b * 2 FROM t",
    "SELECT t.id, q.m FROM t, LATERAL (SELECT max(n) AS m FROM u WHERE u.k = t.k) q",
    "SELECT t.id, q.n FROM t LEFT JOIN LATERAL (SELECT n FROM u WHERE u.k = t.k ORDER BY n LIMIT 1) q",
    "SELECT t.id, q.n FROM t JOIN LATERAL (SELECT n FROM u WHERE u.k > t.k ORDER BY n LIMIT 2) q ON q.n > 10",
    "SELECT t.id, q.z FROM t, LATERAL (SELECT t.k + t.id AS z) q WHERE z > 4",
    "SELECT max(id), s || '!' FROM t GROUP BY s",
    "SELECT id + 1, -k, NOT (k > 1), k IS NULL, s LIKE 'a%', CAST(id AS string), id IN (1, 2), k BETWEEN 1 AND 2 FROM t",
    "SELECT count(*), count(1), sum(k) / 2, max(s), avg(d), count(DISTINCT k) FROM t",
    "SELECT 1, 'a', 1.5, NULL, TRUE, DATE '2020-01-01', INTERVAL '1' DAY, X'00', 1e3, 1L, 1BD FROM t LIMIT 1",
    "SELECT concat(s, 'x'), s || 'x', upper(s), coalesce(s, 'z'), if(k > 1, s, 'q'), CASE WHEN k = 1 THEN 2 ELSE 3 END, nvl(k, 0) FROM t",
    "SELECT CASE k WHEN 1 THEN 'a' WHEN 2 THEN 'b' END, k::string, arr[0], st.a, m['a'] FROM n JOIN t USING (id)",
    "SELECT extract(year FROM dt), date_add(dt, 1), dt + INTERVAL '1' DAY, dt - DATE '2020-01-01' FROM t",
    "SELECT row_number() OVER (ORDER BY id), sum(k) OVER (PARTITION BY s) FROM t",
    "SELECT (SELECT max(k) FROM u), EXISTS (SELECT 1 FROM u) FROM t LIMIT 1",
    "SELECT t.id, (t.id), ((t.id + 1)), +id FROM t",
    "SELECT (id, k), struct(id, s), array(id, k), map(id, k) FROM t",
    "SELECT id % 2, id div 2, id / 2, id & 1, id | 1, id ^ 1, ~id, id << 1, 2 * id - 1 FROM t",
    "SELECT s RLIKE 'a', s ILIKE 'A', s NOT LIKE 'b', k <=> 1, k != 1, k <> 1, NOT k = 1, s IS NOT NULL FROM t",
    "SELECT cast(d AS decimal(10,2)), try_cast(s AS int), d::int, date(dt), string(id) FROM t WHERE d < 100",
    "SELECT first(id), last(k), collect_list(k), any_value(s) FROM (SELECT * FROM t ORDER BY id)",
    "SELECT substring(s, 1, 2), substr(s FROM 1), trim(s), trim(BOTH 'a' FROM s), position('a' IN s), overlay(s PLACING 'x' FROM 1), left(s, 1) FROM t",
    "SELECT * FROM (SELECT max(id) FROM t), (SELECT count(*) FROM u)",
    "SELECT * FROM (SELECT id + 1 FROM t) q WHERE `(id + 1)` > 3",
    "SELECT current_date = current_date(), current_user() IS NULL, pi(), e() FROM t LIMIT 1",
    "WITH RECURSIVE w AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM w WHERE i < 4) SELECT w.i, u.name FROM w LEFT JOIN u ON u.k = w.i",
    "SELECT id, k, sum(k) OVER (PARTITION BY s ORDER BY id RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT * FROM t WHERE k = 1 AND s = 'a' OR k = 2 AND s = 'b'",
    "SELECT * FROM t WHERE NOT (k = 1 OR s = 'b')",
    "SELECT id FROM t WHERE s > 'a' AND dt < '2021-01-01'",
    "SELECT id FROM t WHERE s IN ('a', NULL) OR k IS NULL",
    "SELECT id FROM t WHERE NOT (s IN ('a', NULL))",
    "SELECT id FROM t WHERE d / k > 1",
    "SELECT id FROM t WHERE 10 / k > 2 AND k IS NOT NULL",
    "SELECT id, s FROM t WHERE s = 5",
    "SELECT id FROM t WHERE id = '1'",
    "SELECT sum(id) FROM t WHERE s LIKE ANY ('a%', 'b%')",
    "SELECT id FROM t WHERE length(s) BETWEEN 1 AND 2 AND s NOT ILIKE 'A'",
    "SELECT ((t.id)) FROM ((t)) WHERE ((id)) = 1",
    "SELECT t.id FROM t LEFT JOIN (SELECT DISTINCT k FROM u) q ON q.k = t.k WHERE q.k IS NULL",
    "SELECT q.k, t.id FROM (SELECT k, max(n) AS mn FROM u GROUP BY k) q JOIN t ON t.k = q.k AND t.id > q.mn / 10",
    "SELECT * FROM (SELECT k FROM u LIMIT 0) q",
    "SELECT count(*) FROM t a, t b, u WHERE a.k = u.k AND b.k = u.k",
    "SELECT t.id, x.name, y.name FROM t LEFT JOIN u x ON x.k = t.k LEFT JOIN u y ON y.k = x.n / 10",
    "SELECT id, grouping(s) FROM t GROUP BY id, s WITH CUBE HAVING id = 1",
    "SELECT s, sum(k) s FROM t GROUP BY s",
    "SELECT s AS x, count(*) AS x FROM t GROUP BY s",
    "SELECT id FROM t TABLESAMPLE (100 PERCENT)",
    "SELECT id FROM t TABLESAMPLE (3 ROWS)",
    "TABLE t",
    "VALUES (1, 'a'), (2, 'b')",
    "SELECT posexplode(array('a', 'b'))",
    "SELECT u.*, t.id FROM u JOIN t ON u.k = t.k AND u.ok = (t.id = 1)",
    "SELECT id FROM t WHERE k IN (SELECT k FROM u UNION SELECT 7)",
    "SELECT id FROM t WHERE EXISTS (SELECT k FROM u WHERE u.k = t.k GROUP BY k HAVING count(*) > 1)",
    "SELECT id FROM t WHERE (SELECT count(*) FROM u WHERE u.k = t.k) = 0",
    "SELECT id FROM t a WHERE d = (SELECT max(d) FROM t b WHERE b.s = a.s)",
    "SELECT s, count(*) c FROM t GROUP BY s HAVING c > (SELECT 1) ORDER BY c DESC, s",
    "SELECT m FROM n UNION ALL SELECT m FROM n",
    "SELECT id FROM t ORDER BY 2L", "SELECT id FROM t ORDER BY 1 + 8", "SELECT explode(m) FROM n ORDER BY 2",
    "SELECT m, count(*) FROM n GROUP BY m", "SELECT k + 1 FROM t GROUP BY 1 + k", "SELECT st.a FROM n GROUP BY st",
    "SELECT s AS k, count(*) FROM t GROUP BY s HAVING k > 'a' ORDER BY k", "SELECT filter(arr, (e, i) -> i > 0) FROM n",
    "SELECT grouping(s) FROM t GROUP BY s WITH CUBE", "SELECT explode(arr), explode(m) FROM n",
    "SELECT s FROM t GROUP BY s ORDER BY count(k), s", "SELECT DISTINCT upper(s) AS u FROM t ORDER BY u",
    "SELECT x.a FROM (SELECT st AS x FROM n)", "SELECT n.m.a, n.items.sku FROM n",
    "SELECT sum(k) OVER (ORDER BY dt RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t",
    "SELECT id FROM t WHERE EXISTS (SELECT k, n FROM u)", "SELECT id FROM t WHERE id IN (SELECT k FROM u ORDER BY 1)",
]  # fmt: skip


@pytest.mark.parametrize(("sql", "place"), REFUSED)
def test_what_spark_refuses_is_told_at_once(sql: str, place: str) -> None:
    with pytest.raises(QueryError) as raised:
        prepare(sql, CATALOG)
    span = raised.value.span
    assert span is not None
    assert sql[span.start : span.end] == place


@pytest.mark.parametrize("sql", TAKEN)
def test_what_spark_takes_is_taken(sql: str) -> None:
    assert prepare(sql, CATALOG)


@pytest.mark.spark
@pytest.mark.slow
def test_spark_refuses_and_takes_the_same(spark: SparkEngine) -> None:
    for sql, _ in REFUSED:
        with pytest.raises(SparkError):
            spark.check(sql, EMPTY)
    for sql in TAKEN:
        spark.check(sql, EMPTY)


#: A value of each type that a column of a source may have, by the letter of the type.
VALUES = {
    "b": "true", "y": "1Y", "h": "1S", "i": "1", "l": "1L", "f": "1F", "d": "1D", "m": "1.5", "s": "string(1)", "x": "X'31'",
    "t": "DATE '2020-02-29'", "T": "TIMESTAMP '2020-02-29 00:00:00'", "n": "TIMESTAMP_NTZ '2020-02-29 00:00:00'",
    "a": "array(1)", "p": "map('a', 1)", "r": "struct(1, 2)",
}  # fmt: skip


@pytest.mark.spark
@pytest.mark.slow
def test_set_operations_bring_together_what_compares(spark: SparkEngine) -> None:
    for one, left in VALUES.items():
        for other, right in VALUES.items():
            apart = one != other and not {one + other, other + one}.isdisjoint(INCOMPARABLE)
            assert _unites(spark, left, right) != apart, (one, other)


def _unites(spark: SparkEngine, left: str, right: str) -> bool:
    try:
        spark.check(f"SELECT {left} UNION ALL SELECT {right}", {})
    except SparkError:
        return False
    return True
