"""Keys of tables that are read by key only, which a statement computes, spells out in pairs or bounds: what is asked, and what comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fff.errors import InfeasibleQuery, QueryError
from tests.engine.site import Row, Site, access, federated, run
from tests.sampling import every_row
from tests.web.serving import Serve

V = [(k, "abc"[k % 3], 10 * k) for k in range(1, 9)]
T = [(k, k * 3 % 7, f"0{k}") for k in range(5)]
DAYS = [(f"2020-01-{day:02}", day) for day in range(1, 32)]
TABLES = {
    "v": access("v", {"k": "int", "s": "string", "n": "int"}, scan=False, lookups=["k"]),
    "days": access("days", {"d": "date", "n": "int"}, scan=False, lookups=["d"]),
    "t": access("t", {"k": "int", "b": "bigint", "s": "string"}),
    "pairs": {
        "columns": {"k": "int", "s": "string", "n": "int"},
        "lookups": [{"keys": ["k", "s"], "endpoint": {"path": "get/joint/ks/{k}{s}"}}],
    },
}


def site() -> Site:
    joint = [(f"{k}{s}", k, s, n) for k, s, n in V]
    return Site(
        {
            "v": (("k", "s", "n"), V),
            "days": (("d", "n"), DAYS),
            "t": (("k", "b", "s"), list(T)),
            "joint": (("ks", "k", "s", "n"), joint),
        }
    )


async def asked(serve: Serve, tmp_path: Path, sql: str) -> tuple[list[Row], list[str]]:
    """The rows, and the keys that were asked for, in order; no Spark has been started for them."""
    web = site()
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, execution = await run(federation, sql)
    assert execution.outcome.complete
    assert not execution.outcome.report["spark"]["used"]
    assert set(web.keys.values()) <= {1}, "a key is asked for once"
    return rows, sorted(key for _, _, key in web.keys)


@pytest.mark.parametrize(
    ("condition", "keys"),
    every_row(
        2,
        [
            ("k = 1 + 1", [2]),
            ("k = int('3')", [3]),
            ("3 = k", [3]),
            ("k = CAST('3' AS BIGINT)", [3]),
            ("k = 7 div 2", [3]),
            ("k = 6 / 2", [3]),
            ("k = 3.0", [3]),
            ("k = 3.5", []),
            ("k = 5000000000", []),
            ("k <=> 1", [1]),
            ("k IN (1, 1 + 1, bigint(4), 2.5)", [1, 2, 4]),
            ("k = 1 OR k = 4 / 2", [1, 2]),
            ("k BETWEEN 2 AND 4", [2, 3, 4]),
            ("k > 2 AND 5 > k", [3, 4]),
            ("k BETWEEN 4 AND 2", []),
            ("k BETWEEN 1 AND 2 OR k BETWEEN 7 AND 8", [1, 2, 7, 8]),
            ("k BETWEEN 1 AND 8 AND k IN (8, 9)", [8]),
            ("NOT (k < 2 OR k > 4)", [2, 3, 4]),
            ("NOT (k <> 2 AND k <> 4)", [2, 4]),
            ("NOT k NOT IN (2, 3)", [2, 3]),
            ("1 = 0", []),
            ("k > 5 AND NULL", []),
            ("(k, s) IN ((1, 'b'), (2, 'x'))", [1, 2]),
            ("(k, s) = (1, 'b')", [1]),
            ("(k = 1 AND n > 0) OR (k = 3 AND s = 'a')", [1, 3]),
        ],
    ),
)
async def test_constants_bind(serve: Serve, tmp_path: Path, condition: str, keys: list[int]) -> None:
    rows, got = await asked(serve, tmp_path, f"SELECT k FROM v WHERE {condition}")
    assert got == [str(key) for key in keys]
    wrong = {2} if "'x'" in condition else set()
    assert rows == [(key,) for key in keys if key not in wrong]


async def test_pairs_ask_for_no_other_combinations(serve: Serve, tmp_path: Path) -> None:
    where = "(k, s) IN ((1, 'b'), (1 + 1, 'c'), (3, 'b'), (4, upper('b')))"
    rows, keys = await asked(serve, tmp_path, f"SELECT k, n FROM pairs WHERE {where}")
    assert rows == [(1, 10), (2, 20)]
    assert keys == ["1b", "2c", "3b", "4B"]
    rows, keys = await asked(
        serve, tmp_path, f"SELECT k, n FROM pairs WHERE {where} AND s <> 'b' AND k IN (2, 3)"
    )
    assert (rows, keys) == ([(2, 20)], ["2c"])


async def test_days_between_two_dates(serve: Serve, tmp_path: Path) -> None:
    where = "d >= DATE '2020-01-30' - INTERVAL 1 DAY AND d < '2020-02-01'"
    rows, keys = await asked(serve, tmp_path, f"SELECT n FROM days WHERE {where}")
    assert rows == [(29,), (30,), (31,)]
    assert keys == ["2020-01-29", "2020-01-30", "2020-01-31"]


@pytest.mark.parametrize(
    ("condition", "told", "hint"),
    [
        ("k = 1 / 0", "[DIVIDE_BY_ZERO] Division by zero", "so nothing binds k of web.v"),
        ("k = CAST('x' AS INT)", "[CAST_INVALID_INPUT] The value 'x'", "so nothing binds k"),
        ("k BETWEEN 1 AND 5000", "nothing binds k", "5,000 values of k are between its bounds: up to 1,000"),
        (
            "k + 1 = 3",
            "nothing binds k",
            "k + 1 = 3 does not say which values k has: have k alone on one side",
        ),
        ("(k, s) IN ((1, NULL))", "nothing binds k", "in rows both have to be of one type"),
        ("k = 1 OR n > 3", "nothing binds k", "k = 1 OR n > 3 does not say which values k has"),
        ("k > 3", "nothing binds k", "k > 3 does not say which values k has"),
        ("k IN (n, 3)", "nothing binds k", "k IN (n, 3) does not say which values k has"),
    ],
)
async def test_what_binds_nothing_is_told_before_any_request(
    serve: Serve, tmp_path: Path, condition: str, told: str, hint: str
) -> None:
    web = site()
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        with pytest.raises(InfeasibleQuery) as refused:
            federation.prepare(f"SELECT k FROM v WHERE {condition}")
        await asyncio.sleep(0)
    assert told in refused.value.message
    assert hint in refused.value.render()
    assert not web.keys


@pytest.mark.parametrize(
    ("condition", "computed"),
    [
        ("v.k = t.k + 1", lambda k, b: k + 1),
        ("t.b + 1 = v.k", lambda k, b: b + 1),
        ("v.k = CAST(t.s AS INT)", lambda k, b: k),
        ("v.k = CAST(b % 2 AS INT)", lambda k, b: b % 2),
        ("v.k = t.k + t.b", lambda k, b: k + b),
        ("v.k = length(t.s) + b", lambda k, b: 2 + b),
        ("v.k = coalesce(t.k, 7)", lambda k, b: k),
        ("CASE WHEN t.b > 3 THEN 1 ELSE t.k END = v.k", lambda k, b: 1 if b > 3 else k),
    ],
)
async def test_keys_are_computed_from_columns_of_another_table(
    serve: Serve, tmp_path: Path, condition: str, computed: Callable[[int, int], int]
) -> None:
    rows, keys = await asked(serve, tmp_path, f"SELECT t.k, n FROM t JOIN v ON {condition} WHERE b < 6")
    wanted = {k: computed(k, b) for k, b, _ in T if b < 6}
    assert keys == sorted({str(key) for key in wanted.values()})
    assert rows == [(k, 10 * key) for k, key in wanted.items() if 0 < key < 9]


async def test_a_computed_key_leads_to_the_next(serve: Serve, tmp_path: Path) -> None:
    where = "v.k = t.k * 2 AND u.k = v.n - 16 AND t.k < 3"
    rows, keys = await asked(serve, tmp_path, f"SELECT t.k, v.n, u.n FROM t, v, v u WHERE {where}")
    assert rows == [(1, 20, 40)]
    assert keys == ["0", "2", "24", "4"]
    rows, keys = await asked(
        serve, tmp_path, "SELECT u.k, v.n FROM v u, v WHERE u.k = 1 + 1 AND v.k = u.k * 2"
    )
    assert (rows, keys) == ([(2, 40)], ["2", "4"])


async def test_a_key_computed_from_null_is_none(serve: Serve, tmp_path: Path) -> None:
    web = site()
    web.tables["t"][1].append((None, None, None))
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, _ = await run(federation, "SELECT v.n FROM t, v WHERE v.k = t.k + 4")
        assert rows == [(n,) for n in range(40, 90, 10)]
        rows, _ = await run(federation, "SELECT v.n FROM t, v WHERE v.k = coalesce(t.k, 8)")
        assert sorted(rows) == [(n,) for n in (10, 20, 30, 40, 80)]
        with pytest.raises(InfeasibleQuery, match="nothing binds k"):
            federation.prepare("SELECT v.n FROM t, t x, v WHERE v.k = coalesce(t.k, x.k)")


async def test_a_limit_stops_behind_a_computed_key(serve: Serve, tmp_path: Path) -> None:
    web = site()
    web.tables["t"] = (web.tables["t"][0], [(n % 8, n, "") for n in range(200)])
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        rows, _ = await run(federation, "SELECT v.n FROM t, v WHERE v.k = t.k + 1 LIMIT 3")
    assert len(rows) == 3
    assert web.scans["t"] <= 5  # of 20


async def test_a_key_that_cannot_be_computed_is_told_as_spark_tells_it(serve: Serve, tmp_path: Path) -> None:
    web = site()
    web.tables["t"][1].append((9, 9, "no number"))
    sql = "SELECT v.n FROM t, v WHERE v.k = CAST(t.s AS INT)"
    async with federated(serve, web, tmp_path, TABLES) as (federation, _):
        with pytest.raises(QueryError, match="CAST_INVALID_INPUT") as told:
            await run(federation, sql)
        rows, _ = await run(federation, sql.replace("CAST", "TRY_CAST") + " AND t.k > 2")
    assert told.value.span is not None
    assert sql[told.value.span.start : told.value.span.end] == "v.k = CAST(t.s AS INT)"
    assert rows == [(30,), (40,)]


NEXT = {k: n for k, _, n in V}


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT t.k, v.n FROM t LEFT JOIN v ON v.k = t.b + 1", [(k, NEXT.get(b + 1)) for k, b, _ in T]),
        ("SELECT t.k, v.n FROM v RIGHT JOIN t ON v.k = t.b + 1", [(k, NEXT.get(b + 1)) for k, b, _ in T]),
        ("SELECT t.k FROM t LEFT SEMI JOIN v ON v.k = t.b + 1", [(k,) for k, b, _ in T if b + 1 in NEXT]),
        ("SELECT t.k FROM t LEFT ANTI JOIN v ON v.k = t.b + 1", [(k,) for k, b, _ in T if b + 1 not in NEXT]),
        (
            "SELECT k FROM t WHERE EXISTS (SELECT 1 FROM v WHERE v.k = t.b + 1 AND n > 20)",
            [(k,) for k, b, _ in T if NEXT.get(b + 1, 0) > 20],
        ),
        (
            "SELECT k FROM t WHERE NOT EXISTS (SELECT 1 FROM v WHERE v.k = t.b + 1 AND n > 20)",
            [(k,) for k, b, _ in T if NEXT.get(b + 1, 0) <= 20],
        ),
        (
            "SELECT t.k, x.n, y.n FROM t LEFT JOIN v x ON x.k = t.b - 1 LEFT JOIN v y ON y.k = x.k + 1",
            [(k, NEXT.get(b - 1), NEXT.get(b) if b - 1 in NEXT else None) for k, b, _ in T],
        ),
        (
            "SELECT * FROM t LEFT JOIN v ON v.k = CAST(t.s AS INT) AND t.k > 2",
            [(*row, *(V[row[0] - 1] if row[0] > 2 else (None,) * 3)) for row in T],
        ),
    ],
)
async def test_the_other_side_of_a_left_semi_or_anti_join_computes_keys(
    serve: Serve, tmp_path: Path, sql: str, rows: list[Row]
) -> None:
    found, _ = await asked(serve, tmp_path, sql)
    assert sorted(found, key=str) == sorted(rows, key=str)
