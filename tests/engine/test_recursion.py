"""Recursive queries follow links of tables that are read by key: each key is asked once, level by level, and Spark recurs over that."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

from fff.errors import FFFError, InfeasibleQuery
from fff.spark.session import SparkEngine
from fff.sql import explain
from tests.engine.duck import over_duck
from tests.engine.site import Site, access, federated, run
from tests.web.serving import Serve

#: 1 → 2 → 3 → 4 (and → 7) → 5 → nothing; 8 → 9 → 8; 6 → 60, which is not there.
V = [
    (1, 2, "a"), (2, 3, None), (3, 4, "c"), (3, 7, "c"), (4, 5, "d"), (5, None, "e"), (6, 60, "f"), (7, 5, "g"), (8, 9, "h"), (9, 8, "i"),
]  # fmt: skip
S = [(1, 6), (2, 1), (3, None)]
U = [("a", 2), ("c", 3), ("d", 5)]
TABLES = {
    "v": access("v", {"k": "int", "nx": "int", "s": "string"}, scan=False, lookups=["k"]),
    "u": access("u", {"s": "string", "n": "int"}, scan=False, lookups=["s"]),
    "q": access("q", {"id": "int", "k": "int"}),
}


def site() -> Site:
    return Site({"v": (("k", "nx", "s"), V), "u": (("s", "n"), U), "q": (("id", "k"), S)})


def column(rows: list[tuple[object, ...]], at: int, kind: pa.DataType) -> pa.Array:
    return pa.array([row[at] for row in rows], kind)


DATA = {
    "v": pa.table({"k": column(V, 0, pa.int32()), "nx": column(V, 1, pa.int32()), "s": column(V, 2, pa.string())}),
    "u": pa.table({"s": column(U, 0, pa.string()), "n": column(U, 1, pa.int32())}),
    "q": pa.table({"id": column(S, 0, pa.int32()), "k": column(S, 1, pa.int32())}),
}  # fmt: skip
#: The keys of `v` that are asked for, and the statement.
FOLLOWED = [
    ("1 2 3 4 5 7", "WITH RECURSIVE w AS (SELECT k, nx FROM v WHERE k = 1 UNION ALL SELECT v.k, v.nx FROM w JOIN v ON v.k = w.nx) SELECT * FROM w"),
    ("1 2 3", "WITH RECURSIVE w(a, d) AS (SELECT 1, 0 UNION ALL SELECT v.nx, d + 1 FROM w JOIN v ON v.k = w.a WHERE d < 3) SELECT * FROM w"),
    ("1 2 3 4 5 6 7 60", "WITH RECURSIVE w AS (SELECT k, id FROM q UNION ALL SELECT v.nx, id * 10 FROM w, v WHERE v.k = w.k) SELECT * FROM w"),
    ("2 3 4 5 7", "WITH RECURSIVE w(a) AS (SELECT 2 UNION ALL SELECT 3 UNION ALL (SELECT v.nx FROM w JOIN v ON v.k = w.a)) SELECT a, count(*) AS c FROM w GROUP BY a"),
    ("3 4 5 7", "WITH RECURSIVE w(a) AS (VALUES (3), (NULL) UNION ALL SELECT nx FROM w JOIN v ON k = a) SELECT a FROM w WHERE a > 4"),
    ("2 4 6 61", "WITH RECURSIVE w(a, d) AS (SELECT 1, 0 UNION ALL SELECT v.nx, d + 1 FROM v JOIN w ON v.k = w.a + 1 WHERE w.d < 5) SELECT * FROM w"),
    ("1 2 3 4 5 7", "WITH RECURSIVE w(a, p) AS (SELECT 1, 'x' UNION ALL SELECT v.nx, concat(p, '/', v.nx) FROM w JOIN v ON v.k = w.a) SELECT p FROM w"),
    ("1 2", "WITH RECURSIVE w(a) AS (SELECT 1 UNION ALL SELECT u.n FROM w JOIN v ON v.k = w.a JOIN u ON u.s = v.s) SELECT * FROM w"),
    ("8 9", "WITH RECURSIVE w(a) AS (SELECT 8 UNION ALL SELECT v.nx FROM w JOIN v ON v.k = w.a) SELECT * FROM w LIMIT 5"),
    ("1 2 3 4 5 6 7 60", "WITH RECURSIVE w(a, s) AS (SELECT k, id FROM q UNION ALL SELECT v.nx, w.s FROM w JOIN v ON v.k = w.a WHERE w.s IS NULL OR w.s > 0) SELECT * FROM w"),
]  # fmt: skip
#: Those that are refused, as ever: what the engine does not compute, or takes some rows of, starts no recursion.
REFUSED = [
    "WITH RECURSIVE w AS ((SELECT k, nx FROM v WHERE k = 1 LIMIT 1) UNION ALL SELECT v.k, v.nx FROM w JOIN v ON v.k = w.nx) SELECT * FROM w",
    "WITH RECURSIVE w(a) AS (SELECT max(k) FROM q UNION ALL SELECT v.nx FROM w JOIN v ON v.k = w.a) SELECT * FROM w",
    "WITH RECURSIVE w(a) AS (SELECT 1 UNION ALL SELECT v.nx FROM w JOIN v ON v.k = w.a AND rand() < 2) SELECT * FROM w",
    "WITH RECURSIVE w(a) AS (SELECT 1 UNION ALL SELECT int(sinh(v.nx)) FROM w JOIN v ON v.k = w.a) SELECT * FROM w",
    "WITH RECURSIVE w(a) AS (SELECT 1L UNION ALL SELECT v.nx FROM w JOIN v ON v.k = w.a) SELECT * FROM w",
    "WITH RECURSIVE w(a) AS (SELECT 1 UNION SELECT v.nx FROM w JOIN v ON v.k = w.a) SELECT * FROM w",
]


@pytest.mark.spark
@pytest.mark.slow
async def test_rows_are_those_of_spark(spark: SparkEngine, serve: Serve, tmp_path: Path) -> None:
    for keys, sql in FOLLOWED:
        web = site()
        async with federated(serve, web, tmp_path, TABLES) as (federation, _):
            federation._start_spark = lambda _: spark  # type: ignore[method-assign]
            expected = spark.run_over(sql, DATA)
            execution = federation.execute(federation.prepare(sql))
            got = pa.Table.from_batches([batch async for batch in execution.batches()])
        assert Counter(map(repr, got.to_pylist())) == Counter(map(repr, expected.to_pylist())), sql
        assert got.schema.types == expected.schema.types, sql
        assert execution.outcome.complete, sql
        asked = sorted(int(key) for table, _, key in web.keys if table == "v")
        assert " ".join(map(str, asked)) == keys, sql
        assert max(web.keys.values()) == 1, sql
        assert web.scans["q"] <= 1


@pytest.mark.spark
@pytest.mark.slow
async def test_a_cycle_ends_where_spark_ends_it(spark: SparkEngine, serve: Serve, tmp_path: Path) -> None:
    """With an error, after each key has been asked once."""
    web = site()
    sql = "WITH RECURSIVE w(a, d) AS (SELECT 8, 0 UNION ALL SELECT v.nx, d + 1 FROM w JOIN v ON v.k = w.a WHERE d < 900) SELECT * FROM w"
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        federation._start_spark = lambda _: spark  # type: ignore[method-assign]
        with pytest.raises(FFFError, match="RECURSION_LEVEL_LIMIT_EXCEEDED"):
            await run(federation, sql)
    assert sorted(web.keys.items()) == [(("v", "k", "8"), 1), (("v", "k", "9"), 1)]


@pytest.mark.spark
@pytest.mark.slow
async def test_what_is_not_read_is_missing(spark: SparkEngine, serve: Serve, tmp_path: Path) -> None:
    sql = FOLLOWED[0][1]
    for fault, options in (({("v", "3"): 500}, {"on_source_error": "partial"}), ({}, {"max_requests": 2})):
        web = site()
        web.faults |= fault  # type: ignore[arg-type]
        async with federated(serve, web, tmp_path, TABLES) as (federation, _):
            federation._start_spark = lambda _: spark  # type: ignore[method-assign]
            rows, execution = await run(federation, sql, **options)
        assert rows == [(1, 2), (2, 3)]
        assert (execution.outcome.exit_code, execution.outcome.complete) == (3, False)
        assert {part["predicate"] for part in execution.outcome.report["missing"]} == {"k = 3"}
        assert sum(1 for key in web.keys if key[2] not in "123") == 0


@pytest.mark.parametrize(
    ("rest", "keys"), [("LIMIT 3", 8), ("LIMIT 2 OFFSET 3", 10), ("WHERE a > 50 LIMIT 3", 60)]
)
async def test_a_limit_ends_it(serve: Serve, tmp_path: Path, rest: str, keys: int) -> None:
    """Links are followed until there are as many rows, unless these are chosen among others."""
    sql = f"WITH RECURSIVE w(a) AS (SELECT 1 UNION ALL SELECT v.nx FROM w JOIN v ON v.k = w.a) SELECT a FROM w {rest}"
    web = Site({**site().tables, "v": (("k", "nx", "s"), [(k, k + 1, "x") for k in range(60)])})
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert execution.outcome.complete
    assert len(set(rows)) == int(rest.split("LIMIT ")[1][0])
    assert max(web.keys.values()) == 1
    assert (len(web.keys) >= keys) if "WHERE" in rest else (len(web.keys) <= keys)


async def test_explain_tells_how_links_are_followed(serve: Serve, tmp_path: Path) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        text = explain(federation.prepare(FOLLOWED[2][1]))
    assert "w (k): q.k of block 1" in text
    assert "w: what this block's own rows make, level by level, each once" in text
    assert "keys_1 (k): distinct v.k of block 2" in text


@pytest.mark.parametrize("sql", REFUSED)
async def test_what_is_not_proven_is_refused(serve: Serve, tmp_path: Path, sql: str) -> None:
    async with federated(serve, site(), tmp_path, TABLES) as (federation, _):
        with pytest.raises(InfeasibleQuery, match="nothing binds k") as raised:
            federation.prepare(sql)
    assert "recursive" in (raised.value.hint or "")
