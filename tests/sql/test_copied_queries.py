"""Queries of WITH over tables that are read by key, which several places name, each for keys of its own."""

from __future__ import annotations

from contextlib import suppress

import pytest
from planner_fakes import catalog, table

from fff.errors import InfeasibleQuery, QueryError
from fff.sql import prepare
from fff.sql.nested.repeatable import VARYING, is_repeatable
from fff.sql.syntax.parse import parse_statement
from fff.sql.syntax.spark_functions import SPARK_FUNCTIONS

CATALOG = catalog(
    table("w.t", "id bigint, k bigint, s string", scans=1),
    table("w.v", "k bigint, n string, x bigint", lookups=("k",)),
)
BOUND = [
    "WITH q AS (SELECT k, n FROM v) SELECT s, count(a.n), count(b.n) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = id GROUP BY s",
    "WITH q AS (SELECT k, n FROM v), p AS (SELECT id FROM t JOIN q ON q.k = t.k GROUP BY id) SELECT p.id, q.n FROM p JOIN q ON q.k = p.id",
    "WITH q(y, z) AS (SELECT k, n FROM v WHERE x > 1) SELECT max(q.z), max(b.z) FROM t LEFT JOIN q ON q.y = t.k LEFT JOIN q AS b ON b.y = id",
    "WITH r AS (SELECT id FROM t), q AS (SELECT * FROM v), p AS (SELECT k FROM q) SELECT max(a.k), max(b.k) FROM r LEFT JOIN p a ON a.k = r.id LEFT JOIN p b ON b.k = r.id",
    "SELECT * FROM (WITH q AS (SELECT k, n FROM v) SELECT count(a.n) AS c, count(b.n) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = id)",
    "WITH q AS (SELECT k FROM v), u AS (SELECT s FROM t) SELECT (SELECT max(k) FROM q WHERE q.k = id), (SELECT min(k) FROM q WHERE q.k = t.k), u.s FROM t, u",
]  # fmt: skip
#: Rows that may be others each time, keys that one place does not have, names that mean something else there.
KEPT = [
    "WITH q AS (SELECT k FROM v LIMIT 2) SELECT count(*) FROM t JOIN q a ON a.k = t.k JOIN q b ON b.k = id",
    "WITH q AS (SELECT k, rand() r FROM v) SELECT count(*), max(r) FROM t LEFT JOIN q a USING (k) LEFT JOIN q b USING (k, r)",
    "WITH q AS (SELECT k, uniform(0, 9) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, shuffle(array(x, k)) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, randstr(3) r FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k = t.id AND a.r = b.r",
    "WITH q AS (SELECT k, row_number() OVER (ORDER BY n) r FROM v) SELECT count(*) FROM t JOIN q a ON a.k = t.k JOIN q b ON b.k = id",
    "WITH q AS (SELECT k FROM v) SELECT count(*) FROM t LEFT JOIN q a ON a.k = t.k LEFT JOIN q b ON b.k > id",
    "WITH q AS (SELECT k FROM v), v AS (SELECT id k FROM t) SELECT count(*) FROM v JOIN q a USING (k) LEFT JOIN q b USING (k)",
]  # fmt: skip


@pytest.mark.parametrize("sql", BOUND)
def test_each_place_has_its_keys(sql: str) -> None:
    prepared = prepare(sql, CATALOG)
    assert prepared.sql == sql
    read = [block for block in prepared.blocks if any(one.full_name == "w.v" for one in block.tables)]
    assert all(block.bindings for block in read)
    assert len(read) > 1 or len(read[0].bindings) > 1


@pytest.mark.parametrize("sql", KEPT)
def test_what_may_differ_from_place_to_place_is_one_query(sql: str) -> None:
    with pytest.raises(InfeasibleQuery, match="nothing binds k"):
        prepare(sql, CATALOG)


def test_every_function_of_spark_is_known_to_give_the_same_each_time_or_not() -> None:
    different = set()
    for name in SPARK_FUNCTIONS:
        for arguments in ("", "a", "a, b", "a, b, c"):
            with suppress(QueryError):
                statement = parse_statement(f"SELECT {name}({arguments}) AS q FROM t")
                different |= set() if is_repeatable(statement.tree) else {name}
    refused = {"reflect", "java_method", "try_reflect"}
    assert different | refused == VARYING
    assert not is_repeatable(parse_statement("SELECT mine(a) FROM t").tree)
    assert not is_repeatable(parse_statement("SELECT a FROM t TABLESAMPLE (1 ROWS)").tree)
