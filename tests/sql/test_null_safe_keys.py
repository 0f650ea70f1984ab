"""Keys that equalities bind in which NULL equals NULL, and Boolean columns that say that they are true.

No row has NULL where every request binds a column, so that `k <=> a` is `k = a` there, wherever the join fills in nothing.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
import shapes
from hard_rows import bag
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery
from fff.spark.session import SparkEngine
from fff.sql import prepare

TABLES = catalog(
    table("w.t", "a int, b int, f boolean, s string", scans=1),
    table("w.v", "k int, n string", lookups=("k",)),
    table("w.two", "k int, m int, n string", lookups=("k,m",)),
    table("w.flag", "k boolean, n string", lookups=("k",)),
    table("w.either", "k int, m int, n string", lookups=("k", "m")),
    table("w.open", "k int, n string", scans=1, lookups=("k",), primary_key="k"),
)
DATA = {
    "t": pa.table(
        {
            "a": pa.array([1, None, 3, 1], pa.int32()),
            "b": pa.array([5, 6, None, None], pa.int32()),
            "f": [True, False, None, True],
            "s": ["x", "y", None, "x"],
        }
    ),
    "v": pa.table({"k": pa.array([1, 2, 3, 3], pa.int32()), "n": ["x", "two", None, "three"]}),
    "two": pa.table(
        {"k": pa.array([1, 3, 2], pa.int32()), "m": pa.array([5, 5, 6], pa.int32()), "n": ["p", "q", "r"]}
    ),
    "flag": pa.table({"k": [True, True, False], "n": ["yes", None, "no"]}),
    "open": pa.table({"k": pa.array([None, 1], pa.int32()), "n": ["none", "one"]}),
}

BOUND = [
    "SELECT t.b, v.n FROM t JOIN v ON v.k <=> t.a",
    "SELECT t.b, v.n FROM t, v WHERE t.a <=> v.k AND (v.n <=> t.s OR t.b > 0)",
    "SELECT t.b, v.n FROM t JOIN v ON v.k <=> t.a + 1",
    "SELECT t.b, v.n FROM t LEFT JOIN v ON v.k <=> t.a",
    "SELECT t.b FROM t LEFT SEMI JOIN v ON v.k <=> t.a",
    "SELECT t.b FROM t LEFT ANTI JOIN v ON v.k <=> t.a",
    "SELECT t.b, v.n FROM t JOIN v ON v.k = t.a OR (v.k IS NULL AND t.a IS NULL)",
    "SELECT t.b, v.n FROM t JOIN v ON ((t.a IS NULL) AND (v.k IS NULL)) OR (t.a = v.k)",
    "SELECT t.b, v.n FROM t JOIN v ON v.k = t.a OR (v.k IS NULL AND t.b IS NULL)",
    "SELECT n FROM v WHERE EXISTS (SELECT 1 FROM t WHERE t.a <=> v.k)",
    "SELECT t.s, two.n FROM t JOIN two ON (two.k, two.m) = (t.a, t.b)",
    "SELECT t.s, two.n FROM t, two WHERE (t.b, t.a) = (two.m, two.k) AND t.s = 'x'",
    "SELECT t.s, two.n FROM t, two WHERE (two.k, two.m) IN ((t.a, t.b))",
    "SELECT t.s, two.n FROM t LEFT JOIN two ON (two.k, two.m) = (t.a, t.b)",
    "SELECT n FROM v WHERE (k = 3) IS TRUE",
    "SELECT n FROM v WHERE nvl(k IN (1, 2), false) AND (n = 'two') IS NOT TRUE",
    "SELECT t.b, v.n FROM t JOIN v ON if(v.k = t.a, v.n = t.s OR t.b > 0, false)",
    "SELECT t.b, v.n FROM t LEFT JOIN v ON (v.k = t.a) = true",
    "SELECT t.b FROM t LEFT ANTI JOIN v ON CASE WHEN v.k = t.a THEN true END",
    "SELECT n FROM flag WHERE k",
    "SELECT n FROM flag WHERE NOT k AND n IS NOT NULL",
    "SELECT n FROM flag WHERE (k AND n = 'yes') OR (NOT k AND n = 'no')",
    "SELECT t.s, flag.n FROM t JOIN flag ON flag.k <=> t.f WHERE flag.k",
]
#: Where NULL may stand on both sides, or where an outer join fills it in.
OTHERS = [
    "SELECT t.b, v.n FROM t LEFT JOIN v ON v.k = t.b WHERE v.k <=> t.a",
    "SELECT t.b, open.n FROM t JOIN open ON open.k <=> t.a",
    "SELECT t.b, open.n FROM t JOIN open ON open.k = t.a OR (open.k IS NULL AND t.a IS NULL)",
    "SELECT n FROM open WHERE EXISTS (SELECT 1 FROM t WHERE t.a <=> open.k)",
    "SELECT t.b, v.n FROM t LEFT JOIN v ON v.k = t.a JOIN open ON open.k <=> v.k",
    "SELECT t.b FROM t WHERE f OR NOT f",
    "SELECT t.b FROM t WHERE NOT (f AND a = 1)",
    "SELECT t.b FROM t LEFT JOIN open ON open.k = t.b AND t.f WHERE NOT f",
]


@pytest.mark.parametrize("sql", BOUND)
def test_they_bind(sql: str) -> None:
    assert prepare(sql, TABLES).blocks


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT t.b, either.n FROM t JOIN either ON either.k <=> t.a",
        "SELECT t.b, v.n FROM t JOIN v ON NOT (v.k <=> t.a)",
        "SELECT n FROM flag WHERE k OR n = 'no'",
        "SELECT n FROM v WHERE (k = 3) IS NOT TRUE",
        "SELECT n FROM v WHERE nvl(k = 3, true)",
        "SELECT n FROM v WHERE if(k = 3, false, n = 'two')",
        # An error is not spared.
        "SELECT t.b, v.n FROM t JOIN v ON v.k = t.a OR (t.b / t.a > 1 AND v.k IS NULL AND t.a IS NULL)",
    ],
)
def test_others_do_not(sql: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(sql, TABLES)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("sql", [*BOUND, *OTHERS])
def test_rows_are_those_of_spark(spark: SparkEngine, sql: str) -> None:
    got = shapes.Run(prepare(sql, TABLES), DATA, spark).result()
    assert bag(got) == bag(spark.run_over(sql, DATA))
