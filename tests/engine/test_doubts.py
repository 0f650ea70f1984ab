"""What a partial answer says of itself: that rows are missing, or that some may be wrong."""

from __future__ import annotations

import asyncio
import collections
import random
from pathlib import Path
from typing import Any

import pytest

from fff.catalog import ScanMethod, Table
from fff.federation import RunOptions
from fff.functions.declared import PythonFunction
from fff.schema import BOUND, WITHIN, Field
from fff.sql.analysis.soundness import bounds_of, causes_among, doubts_of
from fff.sql.binder.build_scopes import read_queries
from fff.sql.syntax.parse import parse_statement
from tests.engine.duck import over_duck
from tests.engine.joins import INTS, LEFT, lookup_only, mixed, oracle, random_site, two
from tests.engine.site import Site, access, federated, rows_of, run, until
from tests.sampling import every
from tests.sql.planner_fakes import catalog, table
from tests.web.serving import Serve

CATALOG = catalog(*(table(f"web.{name}", "a int, b int", scans=1) for name in "rst"))


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # only rows are missing
        ("SELECT r.a FROM r JOIN t ON r.a = t.a, s WHERE s.b = 1", {}),
        ("SELECT DISTINCT a, upper(b) FROM r WHERE NOT (NOT EXISTS (SELECT 1 FROM t)) LIMIT 3", {}),
        ("SELECT r.a FROM r LEFT SEMI JOIN t ON r.a = t.a ORDER BY 1", {}),
        ("SELECT a FROM r WHERE a IN (SELECT a FROM t) OR EXISTS (SELECT 1 FROM s)", {}),
        ("SELECT a FROM r UNION SELECT a FROM t INTERSECT SELECT a FROM s", {}),
        ("SELECT a FROM r GROUP BY a", {}),
        ("SELECT r.a, l.b FROM r, LATERAL (SELECT b FROM t WHERE t.a = r.a) l", {}),
        ("SELECT a, e FROM r LATERAL VIEW explode(array(a, b)) z AS e", {}),
        # rows may be wrong, but only where the doubtful side lacks something
        ("SELECT r.a FROM r LEFT JOIN t ON r.a = t.a", {"t": ["LEFT JOIN"]}),
        ("SELECT * FROM r NATURAL RIGHT JOIN web.t", {"r": ["RIGHT JOIN"]}),
        ("SELECT * FROM r JOIN s USING (a) FULL JOIN t USING (a)", {n: ["FULL JOIN"] for n in "rst"}),
        ("SELECT * FROM (r LEFT JOIN s ON r.a = s.a) JOIN t ON t.a = r.a", {"s": ["LEFT JOIN"]}),
        ("FROM r |> LEFT JOIN t ON r.a = t.a |> SELECT r.a, t.b", {"t": ["LEFT JOIN"]}),
        ("SELECT r.a FROM r LEFT ANTI JOIN t ON r.a = t.a", {"t": ["ANTI JOIN"]}),
        ("SELECT a FROM r WHERE NOT EXISTS (SELECT 1 FROM WEB.T WHERE t.a = r.a)", {"t": ["NOT EXISTS"]}),
        ("SELECT a FROM r WHERE b > 1 AND a NOT IN (SELECT a FROM t)", {"t": ["NOT IN"]}),
        ("SELECT a FROM r EXCEPT ALL SELECT a FROM t", {"t": ["EXCEPT"]}),
        ("SELECT a FROM r ORDER BY a LIMIT 2", {"r": ["ORDER BY with LIMIT"]}),
        ("(SELECT a FROM r ORDER BY a) LIMIT 2", {"r": ["ORDER BY with LIMIT"]}),
        ("SELECT * FROM (SELECT a FROM r ORDER BY a) q LIMIT 2", {"r": ["ORDER BY with LIMIT"]}),
        (
            "WITH k AS (SELECT a FROM r SORT BY a) SELECT a FROM t JOIN k USING (a) OFFSET 2",
            {"r": ["ORDER BY with LIMIT"]},
        ),
        ("SELECT a FROM r CLUSTER BY a LIMIT 2", {"r": ["ORDER BY with LIMIT"]}),
        ("SELECT a, count(*) FROM r GROUP BY a", {"r": ["aggregates"]}),
        ("SELECT any(b), any(b) = true FROM r", {"r": ["aggregates"]}),
        ("SELECT kll_sketch_agg_bigint(b) FROM r", {"r": ["aggregates"]}),
        ("SELECT vector_sum(b) FROM r", {"r": ["aggregates"]}),
        (
            "SELECT a FROM r WHERE a LIKE ANY ('x', 'y') AND b = ANY (SELECT b FROM t)",
            {"t": ["a subquery that stands for a value"]},
        ),
        ("SELECT a FROM r GROUP BY a HAVING max(b) < 3", {"r": ["aggregates"]}),
        ("SELECT a, rank() OVER (ORDER BY b) FROM r", {"r": ["window functions"]}),
        ("SELECT a FROM r QUALIFY row_number() OVER (ORDER BY b) = 1", {"r": ["window functions"]}),
        ("SELECT * FROM r PIVOT (count(*) FOR b IN (0, 1))", {"r": ["PIVOT"]}),
        ("SELECT EXISTS (SELECT 1 FROM t) FROM r", {"t": ["a subquery that stands for a value"]}),
        (
            "SELECT a FROM r WHERE b > (SELECT max(b) FROM t)",
            {"t": ["a subquery that stands for a value", "aggregates"]},
        ),
        (
            "WITH k AS (SELECT count(*) AS a FROM r), m AS (SELECT k.a FROM k JOIN s) SELECT * FROM m LEFT JOIN t",
            {"r": ["aggregates"], "t": ["LEFT JOIN"]},
        ),
    ],
)
def test_what_may_be_wrong_where_a_table_lacks_rows(sql: str, expected: dict[str, list[str]]) -> None:
    doubts = doubts_of(read_queries(parse_statement(sql), CATALOG))
    found = {name: list(causes_among(doubts, [f"web.{name}"])) for name in "rst"}
    assert {name: causes for name, causes in found.items() if causes} == expected
    assert causes_among(doubts, ["other.x"]) == ()


def test_a_table_is_known_by_what_it_is_not_by_its_name() -> None:
    """Of two sources with a table of one name, and of files, whose names have dots."""
    tables = catalog(
        *(table(f"{name}.t", "a int", scans=1) for name in ("one", "other")),
        Table("local", "x.csv", (Field.of("a", "int"),), scans=(ScanMethod("x.csv"),)),
    )

    def causes(sql: str, lacking: str) -> tuple[str, ...]:
        return causes_among(doubts_of(read_queries(parse_statement(sql), tables)), [lacking])

    sql = "SELECT x.a FROM one.t x LEFT JOIN other.t y ON x.a = y.a"
    assert causes(sql, "one.t") == ()
    assert causes(sql, "other.t") == ("LEFT JOIN",)
    for name in ("`x.csv`", "local.`x.csv`", "LOCAL.`X.csv`"):
        assert causes(f"SELECT avg(a) FROM {name}", "local.x.csv") == ("aggregates",)
        assert causes(f"SELECT a FROM one.t EXCEPT SELECT a FROM {name}", "local.x.csv") == ("EXCEPT",)


DOUBTFUL = [
    LEFT,
    "SELECT a FROM web.r x WHERE NOT EXISTS (SELECT 1 FROM web.s WHERE s.a = x.b ORDER BY 1)",
    "SELECT b, (SELECT max(s.b) FROM web.s WHERE s.a = x.b) AS m FROM web.r x",
]


@pytest.mark.parametrize("sql", DOUBTFUL)
async def test_rows_that_may_be_wrong_are_said_to_be(serve: Serve, tmp_path: Path, sql: str) -> None:
    site = two()
    site.faults["s", "3"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert collections.Counter(rows) - collections.Counter(oracle(site, sql)), "else there is nothing to say"
    outcome = execution.outcome
    assert outcome.doubts
    assert outcome.report["doubts"] == list(outcome.doubts)
    (warning,) = outcome.warnings
    assert warning.startswith("rows may be wrong, not only missing: web.s was not read in full")


@pytest.mark.parametrize("sql", [LEFT, "SELECT a FROM web.r WHERE b IN (SELECT a FROM web.s)"])
async def test_rows_that_are_right_are_not_doubted(serve: Serve, tmp_path: Path, sql: str) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert rows
    assert not collections.Counter(rows) - collections.Counter(oracle(site, sql))
    assert (execution.outcome.exit_code, execution.outcome.doubts, execution.outcome.warnings) == (3, (), ())


async def test_keys_that_a_stop_left_unread_are_missing(serve: Serve, tmp_path: Path) -> None:
    """The first page of keys hangs: all others have been found and wait, and then fetching is stopped."""
    site = two()
    site.faults["r", "scan@50"] = "hang"
    site.faults |= {("s", str(key)): "hang" for key in range(7)}
    tables = lookup_only() | {"r": access("r", INTS)}
    async with federated(serve, site, tmp_path, tables, rate_limit={"max_concurrency": 1}) as (federation, _):
        over_duck(federation)
        execution = federation.execute(federation.prepare(LEFT), RunOptions(seed=1))
        reading = asyncio.create_task(rows_of(execution))
        await until(site.hanging.is_set)
        execution.interrupt()
        await reading
        outcome = execution.outcome
    assert (outcome.exit_code, outcome.complete) == (3, False)
    assert {part.table for part in outcome.missing} == {"web.r", "web.s"}
    assert outcome.doubts == ("LEFT JOIN",)


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("SELECT a, count(*), min(b), max(b) AS m FROM r GROUP BY a", "= >= <= >=", True),
        ("SELECT upper(a), count(DISTINCT a, b), avg(b), sum(b) FROM r GROUP BY 1", "= >= ? ?", True),
        (
            "SELECT count_if(b > 1), count(b) FILTER (WHERE a > 1), -count(*), count(*) + 1 FROM r",
            ">= >= ? ?",
            True,
        ),
        (
            "SELECT sum(CASE WHEN a > 1 THEN 1 ELSE 0 END), sum(if(a > 1, 2, NULL)), sum(1) FROM r",
            ">= >= >=",
            True,
        ),
        (
            "SELECT sum(CASE WHEN a > 1 THEN 1 ELSE -1 END), sum(CASE WHEN a > 1 THEN b END) FROM r",
            "? ?",
            True,
        ),
        ("SELECT sum(1.5), max_by(a, b), first(a), bool_or(a > 1), median(b) FROM r", "? ? ? ? ?", True),
        ("SELECT count(*) AS n, n + 1, a FROM r GROUP BY a", ">= ? =", True),
        ("SELECT a, count(*) FROM r GROUP BY a HAVING count(*) > 1", "= >=", False),
        ("SELECT a, count(*) AS n FROM r GROUP BY a ORDER BY n LIMIT 2", "= >=", False),
        ("SELECT a, count(*) AS n FROM r GROUP BY a CLUSTER BY a LIMIT 2", "= >=", False),
        ("SELECT a, count(*) AS n FROM r GROUP BY a LIMIT 2", "= >=", True),
        ("SELECT max(struct(a, b)) AS m, m.a AS q FROM r", ">= ?", True),
        ("SELECT named_struct('x', count(*)) AS s, s.x AS y, r.a FROM r GROUP BY r.a", "? ? =", True),
        ("WITH k AS (SELECT a FROM r UNION SELECT b FROM t) SELECT count(*) FROM k", ">=", True),
    ],
)
def test_what_aggregates_over_too_few_rows_say(sql: str, columns: str, *, rows: bool) -> None:
    bounds = bounds_of(read_queries(parse_statement(sql), CATALOG))
    assert bounds is not None
    signs = {"certain": "=", "at_least": ">=", "at_most": "<=", "unknown": "?"}
    assert ([signs[one] for one in bounds.columns], bounds.rows) == (columns.split(), rows)
    assert not causes_among(bounds.doubts, ["web.r", "web.t"])


@pytest.mark.parametrize(
    ("sql", "void"),
    [
        ("SELECT count(*) FROM r LEFT JOIN t ON r.a = t.a", "t"),
        ("SELECT count(*) FROM r WHERE a NOT IN (SELECT a FROM t)", "t"),
        ("SELECT count(*) FROM (SELECT a FROM r GROUP BY a HAVING count(*) < 3)", "r"),
        ("SELECT count(*) FROM (SELECT a FROM r ORDER BY a LIMIT 3) JOIN t", "r"),
        ("SELECT max(b), (SELECT max(a) FROM t) FROM r", "t"),
        ("SELECT count(*) FROM r WHERE b > (SELECT max(b) FROM t)", "t"),
        ("WITH k AS (SELECT a, count(*) AS n FROM r GROUP BY a) SELECT max(n) FROM k", "r"),
    ],
)
def test_no_bound_rests_on_rows_that_may_be_wrong(sql: str, void: str) -> None:
    bounds = bounds_of(read_queries(parse_statement(sql), CATALOG))
    assert bounds is not None
    assert {name for name in "rt" if causes_among(bounds.doubts, [f"web.{name}"])} == {void}


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM r",
        "SELECT DISTINCT count(*) FROM r GROUP BY a",
        "SELECT rank() OVER (ORDER BY count(*)), count(*) FROM r GROUP BY a",
        "SELECT count(*) FROM r UNION ALL SELECT count(*) FROM t",
        "SELECT *, count(*) FROM r GROUP BY ALL",
        "SELECT a, my_own(b) FROM r GROUP BY a",
    ],
)
def test_some_statements_give_no_bounds(sql: str) -> None:
    bounds = bounds_of(read_queries(parse_statement(sql), CATALOG))
    assert bounds is None or "unknown" in bounds.columns


#: Groups by their first column, then a count, a maximum, a minimum and one that says nothing.
_SAID = "count(*) AS n, max(v) AS x, min(v) AS y, avg(v) AS z"
_GROUPS = [
    f"SELECT k, {_SAID} FROM (SELECT r.a AS k, s.b AS v FROM web.r JOIN web.s ON r.b = s.a) GROUP BY k",
    f"SELECT k, {_SAID.replace('*', 'DISTINCT v')} FROM (SELECT t.a AS k, r.b AS v FROM web.t JOIN web.r ON r.a = t.b) GROUP BY k",
    f"SELECT k, {_SAID} FROM (SELECT a AS k, b AS v FROM web.r UNION ALL SELECT a, b FROM web.t) GROUP BY k",
]


@pytest.mark.parametrize("runs", every(2, [12, 24]))
async def test_bounds_hold_whatever_fails(serve: Serve, tmp_path: Path, runs: int) -> None:
    """Against DuckDB over all rows: no group that is not there, and each number on its side of the true one."""
    rng = random.Random(7)
    lower = 0
    for number in range(runs):
        site = random_site(rng)
        fault = rng.choice([("r", "scan@4"), ("t", "scan@8"), ("s", str(rng.randrange(6))), ("r", "scan@12")])
        site.faults[fault] = rng.choice([500, "garbage"])
        folder = tmp_path / str(number)
        folder.mkdir()
        async with federated(serve, site, folder, mixed()) as (federation, _):
            over_duck(federation)
            rows, execution = await run(federation, _GROUPS[number % len(_GROUPS)], seed=number)
        truth = {row[0]: row[1:] for row in oracle(site, _GROUPS[number % len(_GROUPS)])}
        if execution.outcome.complete:
            continue
        assert execution.outcome.bounds == ("certain", "at_least", "at_least", "at_most", "unknown")
        for key, n, x, y, _ in rows:
            true_n, true_x, true_y, _ = truth[key]
            assert n <= true_n
            assert x is None or x <= true_x
            assert y is None or y >= true_y
            lower += n < true_n or x != true_x or y != true_y
    assert lower >= runs // 3, "else nothing was put to the proof"


async def test_a_partial_result_tells_its_bounds_with_its_columns(serve: Serve, tmp_path: Path) -> None:
    site = two()
    site.faults["r", "scan@30"] = 500
    async with federated(serve, site, tmp_path, lookup_only()) as (federation, _):
        over_duck(federation)
        sql = "SELECT b, count(*) AS n FROM web.r GROUP BY b"
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        [batch] = [batch async for batch in execution.batches()]
        site.faults.clear()
        whole = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        [complete] = [batch async for batch in whole.batches()]
    assert [field.metadata for field in batch.schema] == [
        {BOUND: b"certain"},
        {BOUND: b"at_least", WITHIN: b"10"},
    ]
    outcome = execution.outcome
    assert outcome.report["bounds"] == {
        "rows": "certain",
        "columns": ["certain", "at_least"],
        "within": [None, 10],
    }
    assert outcome.bounded
    assert outcome.warnings == ("numbers are bounds, and groups may be missing: web.r was not read in full",)
    assert [field.metadata for field in complete.schema] == [None, None]
    assert (whole.outcome.bounds, whole.outcome.report["bounds"]) == ((), None)


async def test_pages_that_do_not_fit_together_give_no_bounds(serve: Serve, tmp_path: Path) -> None:
    """A row comes on two pages in the place of another: it is counted twice."""
    rows = two().tables["r"][1]
    site = Site({"r": (("a", "b"), [*rows[:30], rows[29], *rows[31:]])})
    tables = {"r": access("r", INTS) | {"primary_key": ["a"]}}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        _, execution = await run(federation, "SELECT b, count(*) AS n FROM web.r GROUP BY b")
    outcome = execution.outcome
    assert (outcome.complete, outcome.doubts) == (False, ("aggregates",))
    assert (outcome.bounds, outcome.bounded) == ((), False)


#: One row of them lacks from the fifth page: nobody sees it where there is no key.
_TOTALS = [
    ("SELECT b, count(*) AS n, max(a) AS m FROM web.r GROUP BY b", (None, 10, None)),
    ("SELECT count(*) FROM web.r WHERE a % 3 = 1", (10,)),
    ("SELECT sum(CASE WHEN a > 3 THEN 2 ELSE 1 END) FROM web.r", (20,)),
    ("SELECT count(*) FROM (SELECT a FROM web.r UNION ALL SELECT b FROM web.r WHERE a > 3)", (20,)),
    ("WITH k AS (SELECT DISTINCT a FROM web.r) SELECT count(DISTINCT a) FROM k", (10,)),
    ("SELECT count(*) FROM web.r JOIN web.s ON r.b = s.a", ()),
    ("SELECT count(*) FROM web.r WHERE EXISTS (SELECT 1 FROM web.s WHERE s.a = r.b)", ()),
]


@pytest.mark.parametrize("key", [True, False])
@pytest.mark.parametrize(("sql", "within"), _TOTALS)
async def test_totals_bound_counts_from_above(
    serve: Serve, tmp_path: Path, sql: str, within: tuple[int | None, ...], *, key: bool
) -> None:
    site = two()
    site.faults["r", "scan@50"] = 500
    tables = {"r": access("r", INTS), "s": access("s", INTS)}
    if key:
        tables["r"] = access("r", INTS, lookups=["a"]) | {"primary_key": ["a"]}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        rows, execution = await run(federation, sql)
    assert execution.outcome.within == within
    if within:
        for row, whole in zip(rows, oracle(site, sql), strict=True):
            for value, right, more in zip(row, whole, within, strict=True):
                assert more is None or value <= right <= value + more


@pytest.mark.parametrize(
    ("sql", "mentions", "gains"),
    [
        ("SELECT a, count(*), max(b), sum(if(a > 1, 7, 2)), count_if(b > 1) FROM r GROUP BY CUBE (a)", 1, (None, 1, None, 7, 1)),
        ("SELECT count(b) FILTER (WHERE a > 1), sum(length(a)), sum(CASE WHEN a > 1 THEN 3 END) FROM r", 1, (1, None, 3)),
        ("WITH k AS (SELECT a FROM r) SELECT count(*) FROM (TABLE k UNION SELECT a FROM k)", 2, (1,)),
        ("WITH k AS (SELECT a FROM r) SELECT count(*) FROM (SELECT a FROM k UNION SELECT a FROM k)", 2, (1,)),
        ("SELECT count(*) FROM (SELECT explode(array(a, b)) FROM r)", None, (1,)),
        ("SELECT count(*) FROM r LATERAL VIEW explode(array(a, b)) z AS e", None, (1,)),
        ("SELECT count(*) FROM r, t", None, (1,)),
        ("SELECT count(*) FROM r TABLESAMPLE (3 ROWS)", None, (1,)),
        ("SELECT count(*) FROM (SELECT a FROM r EXCEPT SELECT a FROM t)", None, (1,)),
        ("SELECT count(*) FROM r WHERE a IN (SELECT a FROM t)", None, (1,)),
        ("SELECT count(*) FILTER (WHERE a IN (SELECT a FROM t)) FROM r", None, (1,)),
        ("SELECT count(*) FROM (SELECT a FROM r LIMIT 3)", None, (1,)),
        ("SELECT count(*) FROM (SELECT max(a) FROM r GROUP BY b)", None, (1,)),
    ],
)  # fmt: skip
def test_how_much_one_more_row_raises_an_aggregate(
    sql: str, mentions: int | None, gains: tuple[int | None, ...]
) -> None:
    bounds = bounds_of(read_queries(parse_statement(sql), CATALOG))
    assert bounds is not None
    assert (bounds.mentions, bounds.gains) == (mentions, gains)


async def test_a_row_that_came_twice_stands_for_one_that_lacks(serve: Serve, tmp_path: Path) -> None:
    """On the second page, in the place of another; and no condition lets it through."""
    rows = two().tables["r"][1]
    site = Site({"r": (("a", "b"), [*rows[:10], rows[9], *rows[11:]])}, faults={("r", "scan@50"): 500})
    tables = {"r": access("r", INTS) | {"primary_key": ["a"]}}
    async with federated(serve, site, tmp_path, tables) as (federation, _):
        over_duck(federation)
        _, execution = await run(federation, "SELECT count(*) FROM web.r WHERE a <> 9")
    assert execution.outcome.within == (11,)


@pytest.mark.parametrize("total", [{}, {"total_path": "pages"}])
async def test_what_is_no_declared_total_bounds_nothing(
    serve: Serve, tmp_path: Path, total: dict[str, str]
) -> None:
    """A number that was found by its usual name; and one that says of fewer rows than came."""
    site = two()
    site.faults["r", "scan@50"] = 500
    spec = access("r", INTS)
    spec["scan"]["endpoint"]["paginator"] = {"type": "offset", "offset_param": "offset", "limit": 10} | total
    async with federated(serve, site, tmp_path, {"r": spec}) as (federation, _):
        over_duck(federation)
        _, execution = await run(federation, "SELECT count(*) FROM web.r")
    outcome = execution.outcome
    assert (outcome.complete, outcome.within) == (False, ())


@pytest.mark.parametrize(
    ("sql", "causes"),
    [
        # The engine leaves out the rows whose value is missing; Spark, which is needed for the third, has NULL there.
        ("SELECT a, CASE WHEN odd(b) THEN 1 ELSE 0 END FROM web.r", ()),
        ("SELECT a, CASE WHEN a > 1 THEN odd(b) END FROM web.r", ()),
        ("SELECT a, CASE WHEN a > 1 THEN odd(b) END FROM web.r ORDER BY a", ("LEFT JOIN",)),
        ("SELECT a FROM web.r EXCEPT SELECT a FROM web.s WHERE odd(a)", ("EXCEPT",)),
        ("SELECT a FROM web.r WHERE b NOT IN (SELECT a FROM web.s WHERE odd(a))", ("NOT IN",)),
        ("SELECT b, count_if(odd(b)) FROM web.r GROUP BY b", ("aggregates", "LEFT JOIN")),
        ("SELECT count(*) FROM web.r WHERE odd(b)", ("aggregates",)),
    ],
)
async def test_calls_that_failed_make_rows_as_doubtful_as_lookups_do(
    serve: Serve, tmp_path: Path, sql: str, causes: tuple[str, ...]
) -> None:
    def odd(number: int) -> bool:
        if number % 5 == 3:
            raise ValueError("nobody knows")
        return number % 2 == 1

    limits: dict[str, Any] = {"batch_size": 1, "max_concurrency": 4, "timeout": None, "retries": 0}
    function = PythonFunction.of(
        "odd", odd, arguments={"number": "int"}, returns="boolean", description="", **limits
    )
    tables = {name: access(name, INTS) for name in "rs"}
    async with federated(serve, two(), tmp_path, tables) as (federation, _):
        over_duck(federation)
        federation.register(function)
        _, execution = await run(federation, sql)
    outcome = execution.outcome
    assert (outcome.complete, outcome.doubts) == (False, causes)
    assert outcome.bounds == (("at_least",) if causes == ("aggregates",) else ())
