"""Groups that show before the slowest source has answered anything, and never get into the answer. DuckDB is Spark."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

from fff.federation import Execution, Federation, RunOptions
from fff.stats import MISSING, Snapshot
from tests.engine.duck import DuckSpark, over_duck
from tests.engine.joins import INTS, lookup_only, oracle
from tests.engine.site import Row, Site, access, federated, rows_of, until
from tests.web.serving import Serve

#: r has a key of s for each of its rows; s answers for keys 1 and 2 at once, and never for 3 and 4 while it hangs.
R = [(10, 1), (11, 1), (12, 2), (10, 3), (13, 3), (13, 3), (14, 4), (None, 4), (None, 4)]
S = [(1, 100), (2, 200), (3, 300), (3, 301), (4, None)]
SUMS = "SELECT r.a, count(*) AS n, sum(r.b) AS rb, sum(s.b) AS sb, count(s.b) AS k FROM web.r JOIN web.s ON r.b = s.a GROUP BY r.a"


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refresh whenever something has changed."""
    monkeypatch.setattr("fff.spark.refresh_pacer.RefreshPacer.wait", lambda self, now: 0.0)


def site(*hanging: str, **more: list[Row]) -> Site:
    tables: dict[str, tuple[tuple[str, ...], list[Row]]] = {
        "r": (("a", "b"), list(R)),
        "s": (("a", "b"), list(S)),
    }
    tables |= {name: (("a", "b"), rows) for name, rows in more.items()}
    found = Site(tables)
    found.faults |= {("s", key): "hang" for key in hanging}
    return found


@asynccontextmanager
async def stalled(
    serve: Serve,
    where: Site,
    tmp_path: Path,
    sql: str,
    tables: Mapping[str, Any] | None = None,
    **options: Any,
) -> AsyncIterator[tuple[Federation, Execution, asyncio.Task[list[Row]]]]:
    """A statement that is being run over sources one of which hangs."""
    async with federated(serve, where, tmp_path, tables or lookup_only()) as (federation, _):
        over_duck(federation)
        execution = federation.execute(
            federation.prepare(sql), RunOptions(**{"seed": 1, "refresh": True, "policy": "rank"} | options)
        )
        reading = asyncio.create_task(rows_of(execution))
        try:
            yield federation, execution, reading
        finally:
            where.over.set()
            await asyncio.gather(reading, return_exceptions=True)


async def shown(execution: Execution, groups: int) -> Snapshot:
    await until(lambda: sum(map(bool, execution.snapshot().under_way)) == groups)
    return execution.snapshot()


def counted(execution: Execution, rows: pa.Table) -> pa.Table:
    """The counted upper query over some rows."""
    upper, [block] = execution.prepared.upper, execution.prepared.blocks
    assert upper is not None
    assert upper.counted is not None
    return DuckSpark().run_over(upper.counted, {block.view: rows})


def by_key(one: Snapshot) -> dict[object, tuple[object, ...]]:
    """What is shown of each group, and how many rows it rests on: of complete ones, of those under way."""
    assert len(one.under_way) == len(one.rests_on) == len(one.sample)
    return {
        row[0]: (*row[1:], *rests)
        for row, *rests in zip(one.sample, one.rests_on, one.under_way, strict=True)
    }


async def test_first_groups_show_while_a_lookup_has_answered_nothing(serve: Serve, tmp_path: Path) -> None:
    where = site("1", "2", "3", "4")
    async with stalled(serve, where, tmp_path, SUMS) as (_, execution, reading):
        one = await shown(execution, 6)
        no = MISSING
        assert by_key(one) == {
            10: (2, 4, no, no, 0, 2), 11: (1, 1, no, no, 0, 1), 12: (1, 2, no, no, 0, 1),
            13: (2, 6, no, no, 0, 2), 14: (1, 4, no, no, 0, 1), None: (2, 8, no, no, 0, 2),
        }  # fmt: skip
        assert (one.rows, one.sample_rows, one.sample_is) == (0, 0, "current groups")
        assert not any(one.settled)
        where.over.set()
        assert await reading == oracle(where, SUMS)
    last = execution.snapshot()
    assert (last.under_way, last.sample_rows, last.sample_is) == ((), 6, "final")


async def test_a_group_that_a_complete_row_has_reached_rests_on_complete_rows_alone(
    serve: Serve, tmp_path: Path
) -> None:
    where = site("3", "4")
    async with stalled(serve, where, tmp_path, SUMS) as (_, execution, reading):
        groups = {
            10: (1, 1, 100, 1, 1, 0), 11: (1, 1, 100, 1, 1, 0), 12: (1, 2, 200, 1, 1, 0),
            13: (2, 6, MISSING, MISSING, 0, 2), 14: (1, 4, MISSING, MISSING, 0, 1),
            None: (2, 8, MISSING, MISSING, 0, 2),
        }  # fmt: skip

        def reached() -> bool:
            now = execution.snapshot()
            return len(now.sample) == len(now.rests_on) and by_key(now) == groups

        await until(reached)
        one = execution.snapshot()
        assert one.sample_rows == 3
        where.over.set()
        assert await reading == oracle(where, SUMS)


async def test_first_groups_show_while_a_scan_has_brought_nothing(serve: Serve, tmp_path: Path) -> None:
    """Nothing waits for a table that is only scanned: its rows will look for the others."""
    where = site()
    where.faults["s", "scan"] = "hang"
    tables = {"r": access("r", INTS), "s": access("s", INTS)}
    async with stalled(serve, where, tmp_path, SUMS, tables) as (_, execution, reading):
        one = await shown(execution, 6)
        assert by_key(one)[13] == (2, 6, MISSING, MISSING, 0, 2)
        where.over.set()
        assert await reading == oracle(where, SUMS)


async def test_keys_of_two_tables_are_known_once_both_have_answered(serve: Serve, tmp_path: Path) -> None:
    where = site("1", "2", "3", "4", t=[(1, 7), (3, 7), (3, 8), (9, 9)])
    sql = (
        "SELECT t.b, count(*) AS n, avg(s.b) AS m, max(r.a) AS top FROM web.r JOIN web.s ON r.b = s.a "
        "JOIN web.t ON r.b = t.a GROUP BY t.b"
    )
    tables = lookup_only() | {"t": access("t", INTS, lookups=["a"])}
    async with stalled(serve, where, tmp_path, sql, tables) as (_, execution, reading):
        one = await shown(execution, 2)
        assert by_key(one) == {7: (5, MISSING, 13, 0, 5), 8: (3, MISSING, 13, 0, 3)}
        where.over.set()
        assert await reading == oracle(where, sql)


async def test_a_statement_without_groups_has_one(serve: Serve, tmp_path: Path) -> None:
    where = site("1", "2", "3", "4")
    sql = "SELECT count(*) AS n, sum(s.b) AS sb, sum(r.b) / count(*) AS rb FROM web.r JOIN web.s ON r.b = s.a"
    async with stalled(serve, where, tmp_path, sql) as (_, execution, reading):
        one = await shown(execution, 1)
        assert one.sample == ((9, MISSING, 25 / 9),)
        assert (one.rests_on, one.under_way) == ((0,), (9,))
        where.over.set()
        assert await reading == oracle(where, sql)


@pytest.mark.parametrize(
    ("rest", "groups"),
    [
        ("WHERE r.a + s.b > 1 GROUP BY r.a", 0),  # whether a row counts is not known
        ("GROUP BY r.a HAVING count(s.b) = 0", 0),  # nor whether a group does
        ("GROUP BY r.a HAVING count(*) > 1", 2),
        ("GROUP BY s.b, r.a", 0),
        ("GROUP BY r.a ORDER BY n DESC LIMIT 1", 1),
    ],
)
async def test_what_cannot_be_said_is_not_shown(serve: Serve, tmp_path: Path, rest: str, groups: int) -> None:
    where = site("3", "4")
    sql = f"SELECT r.a, count(*) AS n FROM web.r JOIN web.s ON r.b = s.a {rest}"
    async with stalled(serve, where, tmp_path, sql) as (_, execution, reading):
        await until(lambda: where.hanging.is_set() and execution.snapshot().rows == 3)
        upper = execution._spark_sink
        assert upper is not None
        assert upper._partial is not None
        found = upper._partial.groups(upper._partial.take(3), None, lambda rows: counted(execution, rows))
        assert (0 if found is None else len(found.table)) == groups
        where.over.set()
        assert await reading == oracle(where, sql)


async def test_once_the_run_is_stopped_only_complete_rows_count(serve: Serve, tmp_path: Path) -> None:
    where = site("3", "4")
    async with stalled(serve, where, tmp_path, SUMS) as (_, execution, reading):
        await shown(execution, 3)
        execution.interrupt()
        rows = await reading
    assert sorted(row[0] for row in rows) == [10, 11, 12]
    assert execution.outcome.exit_code == 3
    assert (execution.outcome.rows, execution.outcome.report["rows"]) == (3, 3)
    last = execution.snapshot()
    assert (last.under_way, len(last.sample), last.sample_rows) == ((), 3, 3)


async def test_without_a_live_view_nothing_of_it_is_run(serve: Serve, tmp_path: Path) -> None:
    where = site("3", "4")
    async with federated(serve, where, tmp_path, lookup_only()) as (federation, _):
        duck = over_duck(federation)
        execution = federation.execute(federation.prepare(SUMS), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: where.hanging.is_set() and execution.snapshot().rows == 3)
        where.over.set()
        assert await reading == oracle(where, SUMS)
    assert len(duck.asked) == 2, "checked, and run once"


SIMPLE = "SELECT r.a, count(*) AS n, sum(r.b), avg(s.b) AS m, min(s.b), count(s.b) FROM web.r JOIN web.s ON r.b = s.a GROUP BY r.a"


@asynccontextmanager
async def starting(
    serve: Serve, where: Site, tmp_path: Path
) -> AsyncIterator[tuple[DuckSpark, Execution, asyncio.Task[list[Row]]]]:
    """`SIMPLE` being run while Spark starts, until it is told to be `up`."""
    async with federated(serve, where, tmp_path, lookup_only()) as (federation, _):
        duck = over_duck(federation)
        duck.up.clear()
        execution = federation.execute(federation.prepare(SIMPLE), RunOptions(seed=1, refresh=True))
        yield duck, execution, asyncio.create_task(rows_of(execution))


async def test_groups_of_simple_statements_show_while_spark_starts(serve: Serve, tmp_path: Path) -> None:
    where = site("3", "4")
    async with starting(serve, where, tmp_path) as (duck, execution, reading):
        await until(lambda: execution.snapshot().sample_rows == 3 and len(execution.snapshot().sample) == 6)
        one, no = execution.snapshot(), MISSING
        assert one.columns == ("a", "n", "sum(b)", "m", "min(b)", "count(b)")
        assert by_key(one) == {
            10: (1, 1, 100.0, 100, 1, 1, 0), 11: (1, 1, 100.0, 100, 1, 1, 0), 12: (1, 2, 200.0, 200, 1, 1, 0),
            13: (2, 6, no, no, no, 0, 2), 14: (1, 4, no, no, no, 0, 1), None: (2, 8, no, no, no, 0, 2),
        }  # fmt: skip
        assert (duck.asked, one.spark.refreshes) == ([], 0)
        duck.up.set()
        await until(lambda: execution.snapshot().spark.refreshes > 0)
        assert by_key(execution.snapshot()) == by_key(one), "Spark says the same"
        where.over.set()
        assert await reading == oracle(where, SIMPLE)


async def test_all_groups_show_once_all_rows_are_there_while_spark_starts(
    serve: Serve, tmp_path: Path
) -> None:
    where = site("3", "4")
    async with starting(serve, where, tmp_path) as (duck, execution, reading):
        where.over.set()
        await until(lambda: execution.snapshot().phase == "aggregating" and any(execution.snapshot().settled))
        one = execution.snapshot()
        assert (sum(one.rests_on), all(one.settled)) == (one.rows, True)
        assert not reading.done()
        duck.up.set()
        wanted = oracle(where, SIMPLE)
        assert await reading == wanted
        assert len(one.sample) == len(wanted)


class HeldUp(DuckSpark):
    """Spark that is up, and has not done with its first query over rows while `held`."""

    def __init__(self) -> None:
        super().__init__()
        self.running, self.released = threading.Event(), threading.Event()

    def run_over(self, sql: str, views: Mapping[str, Any], stop: threading.Event | None = None) -> pa.Table:
        if not sql.startswith("DESCRIBE"):
            self.running.set()
            assert self.released.wait(60)
        return super().run_over(sql, views, stop)


class Later(Site):
    """A site that answers for the key 3 when told to."""

    told: asyncio.Event

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if request.path.endswith("/a/3"):
            await self.told.wait()
        return await super().answer(request)


@pytest.mark.parametrize(
    ("join", "rest"),
    [
        ("JOIN", "GROUP BY r.a"),
        ("JOIN", "GROUP BY 1 HAVING n + 0 > 0 ORDER BY n DESC, r.a LIMIT 9"),
        ("LEFT JOIN", "GROUP BY r.a"),
    ],
)
async def test_groups_do_not_stand_still_while_spark_is_busy(
    serve: Serve, tmp_path: Path, join: str, rest: str
) -> None:
    sql = f"SELECT r.a, count(*) AS n, round(avg(s.b), 1) AS m FROM web.r {join} web.s ON r.b = s.a {rest}"
    simple = site("4")
    where = Later(simple.tables, faults=simple.faults)
    where.told = asyncio.Event()
    async with federated(serve, where, tmp_path, lookup_only()) as (federation, _):
        spark = HeldUp()
        federation._start_spark = lambda options: spark  # type: ignore[method-assign,assignment,return-value]
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        await until(lambda: execution.snapshot().sample_rows == 3 and spark.running.is_set())
        where.told.set()
        await until(lambda: execution.snapshot().sample_rows == 4)
        one = execution.snapshot()
        assert one.spark.refreshes == 0
        assert ((13, 4, 300.5), 4) in zip(one.sample, one.rests_on, strict=True)
        spark.released.set()
        where.over.set()
        assert await reading == oracle(where, sql)


@pytest.mark.parametrize(
    ("items", "rest"),
    [
        ("r.a, sum(DISTINCT s.b)", "GROUP BY r.a"),
        ("r.a, first(s.b)", "GROUP BY r.a"),
        ("r.a, stddev(s.b)", "GROUP BY r.a"),
        ("r.a, sum(s.b) OVER (PARTITION BY r.a)", "GROUP BY r.a, s.b"),
        ("r.a, sum(s.b), rand()", "GROUP BY r.a"),
        ("r.a, sum(s.b)", "GROUP BY r.a ORDER BY rand()"),
        ("DISTINCT r.a, sum(s.b)", "GROUP BY r.a"),
        ("r.a, sum(s.b)", "GROUP BY ROLLUP (r.a)"),
        ("cast(r.a AS DOUBLE), sum(s.b)", "GROUP BY cast(r.a AS DOUBLE)"),
    ],
)
async def test_what_the_engine_cannot_group_waits_for_spark(
    serve: Serve, tmp_path: Path, items: str, rest: str
) -> None:
    async with federated(serve, site(), tmp_path, lookup_only()) as (federation, _):
        prepared = federation.prepare(f"SELECT {items} FROM web.r JOIN web.s ON r.b = s.a {rest}")
        assert prepared.upper is not None
        assert prepared.upper.grouped is None


@pytest.mark.spark
@pytest.mark.usefixtures("spark")  # joins the JVM that is there
@pytest.mark.slow
async def test_spark_makes_the_first_groups_of_any_statement(serve: Serve, tmp_path: Path) -> None:
    where = site("3", "4")
    sql = (
        "SELECT concat('a', r.a) AS a, avg(r.b) AS rb, percentile(s.b, 0.5) AS mid, coalesce(sum(s.b), 0) AS c, "
        "sum(CASE WHEN s.a > 1 THEN r.b END) AS w FROM web.r JOIN web.s ON r.b = s.a GROUP BY r.a ORDER BY r.a"
    )
    async with federated(serve, where, tmp_path, lookup_only()) as (federation, _):
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1, refresh=True))
        reading = asyncio.create_task(rows_of(execution))
        one, no = await shown(execution, 3), MISSING
        assert by_key(one) == {
            "a10": (1.0, 100.0, 100, None, 1, 0), "a11": (1.0, 100.0, 100, None, 1, 0),
            "a12": (2.0, 200.0, 200, 2, 1, 0), "a13": (3.0, no, no, 6, 0, 2), "a14": (4.0, no, no, 4, 0, 1),
            None: (4.0, no, no, 8, 0, 2),
        }  # fmt: skip
        where.over.set()
        assert len(await reading) == 6
