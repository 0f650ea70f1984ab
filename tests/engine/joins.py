"""Small sites, statements that join their tables, and what DuckDB says of them."""

from __future__ import annotations

import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pyarrow as pa

from fff.federation import Federation
from tests.engine.duck import answer
from tests.engine.site import Row, Site, access, federated
from tests.web.serving import Serve

INTS = {"a": "int", "b": "int"}
JOIN = "SELECT r.a, s.b FROM web.r JOIN web.s ON r.b = s.a"
#: Of two blocks that Spark joins: the query in FROM keeps the eddy from it.
LEFT = "SELECT r.a, s.b FROM (SELECT a, b FROM web.r GROUP BY a, b) r LEFT JOIN web.s ON r.b = s.a"
#: Statements of one block and of several, over r, s and t.
SHAPES = [
    LEFT,
    "SELECT r.a, s.b, t.b FROM web.r LEFT JOIN web.s ON r.b = s.a LEFT JOIN web.t ON s.b = t.a",
    "SELECT a FROM web.r WHERE b IN (SELECT a FROM web.t WHERE b > 1)",
    "SELECT a, b FROM web.r x WHERE EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b AND s.b > x.a)",
    "SELECT a FROM web.r x WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b)",
    "SELECT a FROM web.r UNION ALL SELECT b FROM web.t",
    "SELECT a FROM web.r EXCEPT SELECT b FROM web.r",
    "SELECT x.a, (SELECT max(s.b) FROM web.s WHERE s.a = x.b) AS m FROM web.r x",
    "WITH k AS (SELECT b FROM web.r WHERE a < 4) SELECT s.b, k.b FROM k JOIN web.s ON s.a = k.b",
    "SELECT t.a, count(*) AS n FROM web.t LEFT JOIN web.r ON r.a = t.b GROUP BY t.a",
    "SELECT q.n, s.b FROM (SELECT b, count(*) AS n FROM web.r GROUP BY b) q JOIN web.s ON s.a = q.b",
    "SELECT 1 AS x UNION SELECT 2",
]


def oracle(site: Site, sql: str) -> list[Row]:
    """The same SQL in DuckDB over the same rows."""
    tables = {
        name: pa.table(
            [pa.array([row[at] for row in rows], pa.int32()) for at in range(len(columns))], names=columns
        )
        for name, (columns, rows) in site.tables.items()
    }
    found = answer(sql, tables)
    return sorted(found, key=lambda row: tuple((value is None, str(value)) for value in row))


def two(rows: int = 60, keys: int = 7) -> Site:
    """r is scanned, s has one or two rows a key; key 0 has none."""
    r = [(i, i * 5 % keys) for i in range(rows)]
    s = [(k, 10 * k + copy) for k in range(1, keys) for copy in range(1 + k % 2)]
    return Site({"r": (("a", "b"), r), "s": (("a", "b"), s)})


def lookup_only() -> dict[str, dict[str, object]]:
    return {"r": access("r", INTS), "s": access("s", INTS, scan=False, lookups=["a"])}


def mixed() -> dict[str, dict[str, object]]:
    """r is scanned, s only answers by key, t does both."""
    return {
        "r": access("r", INTS),
        "s": access("s", INTS, scan=False, lookups=["a"]),
        "t": access("t", INTS, lookups=["a"]),
    }


def random_site(rng: random.Random) -> Site:
    def value() -> int | None:
        return None if rng.random() < 0.1 else rng.randrange(6)

    return Site(
        {name: (("a", "b"), [(value(), value()) for _ in range(rng.randrange(0, 25))]) for name in "rst"},
        page=4,
        jitter=rng,
    )


#: 10 and 4 pages; some of either have no partner, some have two, some have NULL.
R: list[Row] = [(number, None if number % 7 == 3 else number % 20) for number in range(100)]
S: list[Row] = [(None if number % 9 == 5 else number % 30, number) for number in range(40)]
T: list[Row] = [(number, number % 3) for number in range(12, 25)]


@contextlib.asynccontextmanager
async def sparkless(serve: Serve, folder: Path) -> AsyncIterator[tuple[Federation, Site]]:
    """r and s are scanned, t answers by key as well; whoever starts Spark fails."""
    site = Site({"r": (("a", "b"), R), "s": (("a", "b"), S), "t": (("a", "b"), T)})
    tables = {"r": access("r", INTS), "s": access("s", INTS), "t": access("t", INTS, lookups=["a"])}
    async with federated(serve, site, folder, tables) as (one, _):

        def refuse(*_: object) -> None:
            raise AssertionError("Spark is started")

        one._start_spark = refuse  # type: ignore[method-assign,assignment]
        yield one, site
