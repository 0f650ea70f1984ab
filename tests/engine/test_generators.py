"""Rows of elements: `explode` and its like in select lists and behind LATERAL, made while rows come, without Spark."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import fff
from fff.federation import RunOptions
from fff.result.projection import elements
from fff.spark.session import SparkEngine
from tests.engine.site import Row, Site, access, federated, rows_of
from tests.web.serving import Serve


def table(rng: random.Random, count: int) -> pa.Table:
    def some(make: object) -> list[object] | None:
        assert callable(make)
        return None if rng.random() < 0.2 else [make() for _ in range(rng.choice((0, 0, 1, 2, 3)))]

    def entry() -> tuple[str, int | None]:
        return f"{rng.random():.4f}", rng.choice((None, 1, 2))

    tags = [some(lambda: rng.choice((None, "a", "b", "ü"))) for _ in range(count)]
    pairs = [some(entry) for _ in range(count)]
    parts = [
        some(lambda: rng.choice((None, {"u": 1, "v": "p"}, {"u": None, "v": "q"}))) for _ in range(count)
    ]
    return pa.table(
        {
            "id": pa.array(range(count), pa.int64()),
            "n": pa.array([rng.choice((0, 1, 5)) for _ in range(count)], pa.int64()),
            "tags": pa.array(tags, pa.list_(pa.string())),
            "m": pa.array(pairs, pa.map_(pa.string(), pa.int64())),
            "st": pa.array(parts, pa.list_(pa.struct({"u": pa.int64(), "v": pa.string()}))),
        }
    )


@pytest.mark.parametrize("outer", [False, True])
def test_elements_are_those_of_their_rows(outer: bool) -> None:
    for seed in range(30):
        whole = table(random.Random(seed), 12)
        for name in ("tags", "m", "st"):
            column = whole[name].combine_chunks()
            first = seed % 5
            for lists in (column, column.slice(first, 6), column.slice(0, 0)):
                of_row, [places, *parts] = elements(lists, outer=outer)
                got = list(
                    zip(
                        of_row.to_pylist(),
                        places.to_pylist(),
                        *(one.to_pylist() for one in parts),
                        strict=True,
                    )
                )
                assert got == list(expected(lists.to_pylist(), outer=outer, width=len(parts)))


def expected(lists: list[list[object] | None], *, outer: bool, width: int) -> Iterator[Row]:
    for row, one in enumerate(lists):
        for place, part in enumerate(one or ()):
            yield (row, place, *(part if isinstance(part, tuple) else (part,)))
        if outer and not one:
            yield (row, None, *([None] * width))


ALONE = [
    "SELECT id, explode(tags) FROM t",
    "SELECT id, posexplode_outer(tags) AS (p, x) FROM t WHERE n < 5",
    "SELECT explode(tags) x, 10 / n z FROM t WHERE n > 0",
    "SELECT explode(m), id FROM t",
    "SELECT posexplode(m) AS (p, k, v), upper('a') FROM (SELECT m FROM t)",
    "SELECT explode(m) AS (k, v) FROM t UNION ALL SELECT 'x', n FROM t",
    "SELECT DISTINCT x FROM (SELECT explode(tags) x FROM t) WHERE x > 'a'",
    "SELECT q.x, b.n FROM (SELECT id, explode_outer(tags) x FROM t) q JOIN t b ON b.id = q.id AND q.x <> 'b'",
    "SELECT explode(transform(tags, y -> upper(y))) FROM t",
    "SELECT id, inline(st) FROM t",
    "SELECT inline_outer(st) AS (a, b), id FROM t WHERE n < 5",
    "SELECT u + id, v FROM (SELECT id, inline(st) FROM t) WHERE u IS NOT NULL",
    "SELECT inline(st) FROM (SELECT st FROM t)",
    "SELECT n, e.a, b FROM t LATERAL VIEW OUTER inline(st) e AS a, b",
    "SELECT n, e.a, b FROM t LATERAL VIEW inline_outer(t.st) e AS a, b WHERE b <> 'p'",
    "SELECT s.u + n FROM (SELECT n, explode(st) s FROM t)",
    "SELECT id, x FROM t LATERAL VIEW explode(tags) e AS x",
    "SELECT t.ID, e.X, E.x FROM t LATERAL VIEW explode(t.tags) e AS x WHERE t.n > 1 AND e.x = 'b'",
    "SELECT * FROM t LATERAL VIEW OUTER posexplode(tags) e AS p, x WHERE n = 5 OR p = 1",
    "SELECT id, k, v, x FROM t LATERAL VIEW explode(m) e AS k, v LATERAL VIEW OUTER explode(tags) f AS x",
    "SELECT id, x FROM t AS q, LATERAL explode(q.tags) AS e(x) WHERE id IN (1, 2, 3)",
    "SELECT x, y FROM t LATERAL VIEW explode(st) a AS x LATERAL VIEW OUTER explode(array(x.u, n)) b AS y",
    "SELECT q.x, u.n FROM (SELECT id, x FROM t LATERAL VIEW explode(tags) w AS x) q JOIN t u ON u.id = q.id",
    "SELECT transform(tags, x -> x) z, x FROM t LATERAL VIEW explode(tags) e AS x",
    "SELECT id, `a b` FROM t LATERAL VIEW explode(tags) e AS `a b` WHERE length(e.`a b`) = 1",
]
#: That stay Spark's: two generators, values that fail, names that do not tell.
SPARKS = [
    "SELECT explode(tags), explode(m) FROM t",
    "SELECT id, y FROM t LATERAL VIEW explode(array(id, id + 1)) e AS y",
    "SELECT x, count(*) FROM t LATERAL VIEW explode(tags) e AS x GROUP BY x",
    "SELECT id FROM t LATERAL VIEW explode(tags) e AS x WHERE EXISTS (SELECT 1 FROM t u WHERE u.id = t.id)",
]


def without_spark(sql: str, data: pa.Table) -> pa.Table:
    with fff.connect() as federation:
        federation.register_table("t", data)
        result = federation.sql(sql)
    assert not result.report["spark"]["used"], sql
    return result.to_arrow()


@pytest.mark.parametrize("sql", ALONE)
def test_no_spark_is_needed(sql: str) -> None:
    assert len(without_spark(sql, table(random.Random(1), 40)))


@pytest.mark.slow
@pytest.mark.spark
def test_spark_finds_the_same(spark: SparkEngine) -> None:
    for seed in range(6):
        data = table(random.Random(seed), 30)
        for sql in ALONE:
            ours, his = without_spark(sql, data), spark.run_over(sql, {"t": data})
            assert ours.schema.names == his.schema.names, sql
            assert sorted(map(repr, ours.to_pylist())) == sorted(map(repr, his.to_pylist())), sql
    with fff.connect() as federation:
        federation.register_table("t", data)
        for sql in SPARKS:
            rows = federation.sql(sql).to_arrow().to_pylist()
            assert sorted(map(repr, rows)) == sorted(
                map(repr, spark.run_over(sql, {"t": data}).to_pylist())
            ), sql


LISTS = Site(
    {
        "r": (("a", "b"), [(number, [number % 7, 50, number % 3]) for number in range(45)]),
        "s": (("a", "b"), [(key, 10 * key) for key in range(60)]),
    }
)
TABLES = {
    "r": access("r", {"a": "int", "b": "array<int>"}),
    "s": access("s", {"a": "int", "b": "int"}, scan=False, lookups=["a"]),
}


async def asked(
    serve: Serve, tmp_path: Path, sql: str
) -> tuple[list[Row], int, dict[tuple[str, str, str], int]]:
    """The rows, and how many pages and which keys were asked for."""
    site = Site(LISTS.tables)
    async with federated(serve, site, tmp_path, TABLES) as (federation, _):
        prepared = federation.prepare(sql)
        assert prepared.upper is None, "Spark is to run it"
        rows = await rows_of(federation.execute(prepared, RunOptions(seed=1)))
    return rows, site.scans["r"], dict(site.keys)


@pytest.mark.parametrize(
    "made",
    ["(SELECT a, explode(b) AS k FROM web.r) e", "(SELECT a, k FROM web.r LATERAL VIEW explode(b) x AS k) e"],
)
async def test_elements_are_keys_each_asked_for_once(serve: Serve, tmp_path: Path, made: str) -> None:
    rows, _, keys = await asked(serve, tmp_path, f"SELECT e.a, s.b FROM {made} JOIN web.s ON s.a = e.k")
    assert sorted(rows) == sorted((n, 10 * k) for n in range(45) for k in (n % 7, 50, n % 3))
    assert keys == {("s", "a", str(k)): 1 for k in (*range(7), 50)}


async def test_a_limit_stops_the_scan(serve: Serve, tmp_path: Path) -> None:
    rows, pages, _ = await asked(serve, tmp_path, "SELECT a, explode(b) FROM web.r LIMIT 20")
    assert (len(rows), pages <= 2) == (20, True)
    rows, pages, _ = await asked(
        serve, tmp_path, "SELECT a, k FROM web.r LATERAL VIEW explode(b) e AS k WHERE k = 50 LIMIT 3"
    )
    assert (len(rows), pages <= 2) == (3, True)


async def test_conditions_on_the_table_are_moved_before_the_view(serve: Serve, tmp_path: Path) -> None:
    async with federated(
        serve, LISTS, tmp_path, {"s": TABLES["s"] | {"columns": {"a": "int", "b": "array<int>"}}}
    ) as (
        federation,
        _,
    ):
        prepared = federation.prepare("SELECT k FROM web.s LATERAL VIEW explode(b) e AS k WHERE a IN (1, 2)")
    assert prepared.upper is None
