"""A PostgreSQL server as a source."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from aiohttp import web

from fff.errors import SourceError
from tests.engine.duck import over_duck
from tests.engine.site import run, until
from tests.sources.databases import CONDITIONS, answer, cut, opened, requests, rows_of_t
from tests.sources.postgres import PASSWORD, USER, WRITTEN, PostgresServer, postgres_server
from tests.web.serving import Serve

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="pip install 'fff[postgresql]'")

SPEC = """
version: 1
sources:
  db: {type: adbc, driver: postgresql, uri: "${env:DB}"}
"""
SCHEMA = """
CREATE TABLE t (k bigint PRIMARY KEY, n smallint, x float8, name text, tag varchar(30));
CREATE TABLE pairs (a text, b int, v text, PRIMARY KEY (b, a));
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE DOMAIN zip AS varchar(5);
CREATE TABLE kinds (
  id uuid PRIMARY KEY, amount numeric(12,3), free numeric, wide numeric(50,2), day date, at timestamp, moment timestamptz,
  ok boolean, half real, code char(4), raw bytea, doc jsonb, many int[], feels mood, zip zip, "Odd ""name" text);
INSERT INTO kinds VALUES
  ('6BA7B810-9dad-11d1-80b4-00c04fd430c8', 1.5, 1.50, 3, '2024-02-29', '2024-02-29 10:00:00.123456',
   '2024-02-29 10:00+02', true, 0.1, 'ab', '\\x00ff', '{"a": 1}', '{1,NULL}', 'ok', '00501', 'x'),
  ('6ba7b811-9dad-11d1-80b4-00c04fd430c8', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'ab', NULL, NULL, NULL, 'sad',
   NULL, 'y');
CREATE VIEW seen AS SELECT n, count(*) AS rows FROM t GROUP BY n;
CREATE TABLE parent (id int PRIMARY KEY);
CREATE TABLE heir () INHERITS (parent);
INSERT INTO parent VALUES (1);
INSERT INTO heir VALUES (1);
CREATE TABLE parts (id int, v text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10);
CREATE SCHEMA other;
CREATE TABLE other."T; DROP" (id int);
INSERT INTO other."T; DROP" VALUES (42);
CREATE TABLE many AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, 60000) i;
CREATE TABLE odd (id int PRIMARY KEY, x float4, moment timestamp, price numeric(6,2));
INSERT INTO odd VALUES (1, 'NaN', '2024-01-01 00:00:00.000001', 1.05), (2, 'Infinity', '2024-01-01 00:00:00.000002', 1),
  (3, NULL, NULL, NULL), (4, -0.0, NULL, 1.06), (5, 8, NULL, NULL), (6, NULL, NULL, NULL);
CREATE TABLE cased ("Id" int PRIMARY KEY, id int, "ID" text);
INSERT INTO cased VALUES (1, 10, 'a'), (2, 20, 'b');
CREATE TABLE odd_times (id int, day date, amount numeric(5,1));
INSERT INTO odd_times VALUES (1, '2024-01-01', 1), (2, 'infinity', 2), (3, '2024-01-03', 'NaN');
"""


ADDRESSES = ["10.0.0.1", "10.0.0.1/8", "2001:db8::/32", "::1"]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as running:
        with dbapi.connect(running.uri) as connection, connection.cursor() as cursor:
            for statement in SCHEMA.split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
            columns = pa.Table.from_pylist(rows_of_t()).cast(
                pa.schema(
                    [
                        ("k", pa.int64()),
                        ("n", pa.int16()),
                        ("x", pa.float64()),
                        ("name", pa.string()),
                        ("tag", pa.string()),
                    ]
                )
            )
            cursor.adbc_ingest("t", columns, mode="append")
            pairs = [{"a": f"a{i % 7}", "b": i, "v": f"v{i}"} for i in range(50)]
            cursor.adbc_ingest(
                "pairs",
                pa.Table.from_pylist(pairs).cast(
                    pa.schema([("a", pa.string()), ("b", pa.int32()), ("v", pa.string())])
                ),
                mode="append",
            )
            connection.commit()
        yield running


def said(server: PostgresServer, since: int) -> list[str]:
    """The queries that the server was sent after so many characters of its log, parameters behind them."""
    text = server.log()[since:].replace("\n\t", " ")
    found = re.findall(r"execute [^:]*: (DECLARE .*|SELECT .*)(?:\n.*DETAIL: +parameters: (.*))?", text)
    return [f"{sql} | {values}" for sql, values in found if "pg_catalog" not in sql]


@pytest.mark.slow
async def test_tables_columns_and_keys_are_found(server: PostgresServer, tmp_path: Path) -> None:
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        await federation.discover("SELECT * FROM db.kinds, db.t, db.pairs, db.parent, db.parts, db.seen")
        tables = {one.name: one for one in federation.catalog.tables(offered=False) if one.source == "db"}
    assert sorted(tables) == [
        "cased",
        "heir",
        "kinds",
        "many",
        "odd",
        "odd_times",
        "pairs",
        "parent",
        "parts",
        "seen",
        "t",
    ]
    assert {one.name: one.type for one in tables["kinds"].columns} == {
        "id": "string", "amount": "decimal(12,3)", "free": "string", "wide": "string", "day": "date",
        "at": "timestamp_ntz", "moment": "timestamp", "ok": "boolean", "half": "float", "code": "string",
        "raw": "binary", "doc": "string", "many": "string", "feels": "string", "zip": "string", 'Odd "name': "string",
    }  # fmt: skip
    keys = {name: one.primary_key for name, one in tables.items() if one.columns}
    assert keys == {
        "kinds": ("id",),
        "t": ("k",),
        "pairs": ("b", "a"),
        "parent": (),
        "parts": ("id",),
        "seen": (),
    }


@pytest.mark.slow
async def test_conditions_mean_what_they_mean_to_the_engine(server: PostgresServer, tmp_path: Path) -> None:
    async with opened(tmp_path, SPEC, {"own": rows_of_t()}, DB=server.uri) as federation:
        for condition in CONDITIONS:
            expected = await answer(federation, f"SELECT k, n, x, name, tag FROM own WHERE {condition}")
            found = await answer(federation, f"SELECT k, n, x, name, tag FROM db.t WHERE {condition}")
            assert found == expected, condition


@pytest.mark.slow
async def test_columns_that_differ_in_case_alone(server: PostgresServer, tmp_path: Path) -> None:
    spec = SPEC.replace('"${env:DB}"}', '"${env:DB}", tables: {cased: {columns: {ID_2: binary}}}}')
    async with opened(tmp_path, spec, DB=server.uri) as federation:
        assert await answer(federation, "SELECT Id, id_1, ID_2 FROM db.cased WHERE id_1 = 20") == [
            (2, 20, b"b")
        ]
        assert await answer(federation, "SELECT id_1 FROM db.cased WHERE Id = 1") == [(10,)]


#: Conditions, and the names of the rows that fulfil them.
OF_KINDS = (
    ("TRUE", ["x", "y"]),
    ("id = '6ba7b810-9dad-11d1-80b4-00c04fd430c8'", ["x"]),
    ("id = '6BA7B810-9dad-11d1-80b4-00c04fd430c8'", []),
    ("id = 'no uuid'", []),
    ("amount = 1.5", ["x"]),
    ("amount > 1.499", ["x"]),
    ("free = '1.50'", ["x"]),
    ("day = DATE'2024-02-29'", ["x"]),
    ("day >= DATE'2024-03-01'", []),
    ("at = TIMESTAMP_NTZ'2024-02-29 10:00:00.123456'", ["x"]),
    ("at < TIMESTAMP_NTZ'2024-02-29 10:00:00.123457'", ["x"]),
    ("ok", ["x"]),
    ("ok = true", ["x"]),
    ("half < 0.2", ["x"]),
    ("code = 'ab'", ["x", "y"]),
    ("code = 'ab  '", []),
    ("code LIKE '_b'", ["x", "y"]),
    ("feels = 'sad'", ["y"]),
    ("feels = 'glad'", []),
    ("many = '{1,NULL}'", ["x"]),
    ("zip LIKE '005%'", ["x"]),
    ("zip = '501'", []),
)


@pytest.mark.slow
async def test_each_type_is_read_and_compared(server: PostgresServer, tmp_path: Path) -> None:
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        for condition, expected in OF_KINDS:
            rows = await answer(federation, f'SELECT `Odd "name` FROM kinds WHERE {condition}')
            assert [name for (name,) in rows] == expected, condition


@pytest.mark.parametrize("declared", ["", "{tables: {ips: {columns: {ip: string}}}, "])
async def test_addresses_are_written_as_the_server_shows_them(
    server: PostgresServer, tmp_path: Path, declared: str
) -> None:
    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS ips")
        cursor.execute(
            "CREATE TABLE ips AS SELECT CAST(x AS inet) AS ip FROM unnest($1) x", [[*ADDRESSES, None]]
        )
    spec = SPEC.replace("{type: adbc, ", declared + "type: adbc, ") if declared else SPEC
    async with opened(tmp_path, spec, DB=server.uri) as federation:
        assert await answer(federation, "SELECT ip FROM ips WHERE ip IS NOT NULL") == [
            (one,) for one in ADDRESSES
        ]
        assert await answer(federation, "SELECT ip FROM ips WHERE ip = '10.0.0.1'") == [("10.0.0.1",)]


async def test_values_are_the_ones_that_the_database_has(server: PostgresServer, tmp_path: Path) -> None:
    own = [{"amount": "1.500", "half": 0.1}]
    async with opened(tmp_path, SPEC, {"own": own}, DB=server.uri) as federation:
        sql = (
            "SELECT amount, free, wide, day, at, moment, ok, code, raw, doc, many, feels FROM kinds WHERE ok"
        )
        [row] = await answer(federation, sql)
        assert [str(value) for value in row] == [
            "1.500", "1.50", "3.00", "2024-02-29", "2024-02-29 10:00:00.123456", "2024-02-29 08:00:00+00:00", "True",
            "ab", "b'\\x00\\xff'", '{"a": 1}', "{1,NULL}", "ok",
        ]  # fmt: skip


async def test_joins_ask_by_keys_in_arrays(server: PostgresServer, tmp_path: Path) -> None:
    own = [{"b": number, "a": f"a{number % 5}"} for number in range(0, 60, 3)]
    async with opened(tmp_path, SPEC, {"own": own}, DB=server.uri) as federation:
        expected = sorted((f"v{one['b']}",) for one in own if one["b"] < 50 and one["b"] % 7 == one["b"] % 5)
        sql = "SELECT v FROM own JOIN pairs USING (a, b)"
        assert await answer(federation, sql) == expected
        federation.reset()
        assert sum((await requests(federation, sql)).values()) <= 2


async def test_no_more_is_read_than_limit_takes(server: PostgresServer, tmp_path: Path) -> None:
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        assert len(await answer(federation, "SELECT id, v FROM many WHERE id > 20")) == 60_000 - 20
        since = len(server.log())
        assert len(await answer(federation, "SELECT v FROM db.many LIMIT 5")) == 5
        [asked] = said(server, since)
        assert re.search(r'SELECT CAST\("v" AS text\).*FROM "public"."many" LIMIT 5', asked)


@pytest.mark.slow
async def test_order_and_limit_go_along_where_they_mean_the_same(
    server: PostgresServer, tmp_path: Path
) -> None:
    read = 0

    def told() -> bool:
        nonlocal read
        since, read = read, len(server.log())
        return any(re.search(r" LIMIT [0-9]+ \|", sql) for sql in said(server, since))

    async with opened(tmp_path, SPEC, {"own": rows_of_t()}, DB=server.uri) as federation:
        over_duck(federation)
        await cut(federation, told, exact_like=True)
        for sql, expected in (
            ("SELECT id FROM odd ORDER BY x DESC LIMIT 3", [(1,), (2,), (5,)]),
            ("SELECT id FROM odd ORDER BY x LIMIT 2", [(3,), (6,)]),
            ("SELECT id FROM odd WHERE x > 7 ORDER BY x LIMIT 2", [(2,), (5,)]),
            ("SELECT id FROM odd WHERE x <= double('NaN') ORDER BY id LIMIT 3", [(1,), (2,), (4,)]),
            (
                "SELECT id FROM odd WHERE moment >= TIMESTAMP_NTZ'2024-01-01 00:00:00.000002' ORDER BY moment LIMIT 1",
                [(2,)],
            ),
            ("SELECT id FROM odd WHERE price > 1.05 ORDER BY price DESC LIMIT 1", [(4,)]),
        ):
            told()
            assert await answer(federation, sql) == expected, sql
            assert told() == ("NaN" not in sql), sql


async def test_schemas_and_tables_are_named(server: PostgresServer, tmp_path: Path) -> None:
    spec = """
version: 1
sources:
  all: {type: adbc, driver: postgresql, uri: "${env:DB}", schema: other}
  some:
    type: adbc
    driver: postgresql
    uri: "${env:DB}"
    tables:
      hard: {table: "T; DROP", schema: other, columns: {id: string}}
      times: {table: odd_times, columns: {day: string, amount: string}}
"""
    async with opened(tmp_path, spec, DB=server.uri) as federation:
        assert await answer(federation, "SELECT id FROM all.`T; DROP`") == [(42,)]
        assert await answer(federation, "SELECT id FROM hard WHERE id = '42'") == [("42",)]
        assert await answer(federation, "SELECT id, day, amount FROM times WHERE id > 1") == [
            (2, "infinity", "2.0"),
            (3, "2024-01-03", "NaN"),
        ]


@pytest.mark.parametrize(("column", "kind"), [("day", "date"), ("amount", "decimal")])
async def test_what_no_type_of_ours_holds_is_an_error(
    server: PostgresServer, tmp_path: Path, column: str, kind: str
) -> None:
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        await federation.discover("SELECT * FROM odd_times")
        with pytest.raises(SourceError, match=f"a value of '{column}' is no {kind}"):
            await run(federation, f"SELECT {column} FROM odd_times")


async def test_domains_of_domains_are_what_these_are_made_from(
    server: PostgresServer, tmp_path: Path
) -> None:
    statements = (
        "CREATE DOMAIN price AS numeric(5,2)",
        "CREATE DOMAIN fine AS price",
        "CREATE DOMAIN finer AS fine CHECK (value > 0)",
        "CREATE DOMAIN word AS varchar(9)",
        "CREATE TABLE doms (a price, b finer, c word, d int)",
        "INSERT INTO doms VALUES (1.5, 20.5, 'x', 3)",
    )
    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        assert len(await answer(federation, "SELECT * FROM doms WHERE b > 9")) == 1
        (table,) = federation.catalog.find(["db", "doms"])
        assert [one.type for one in table.columns] == ["decimal(5,2)", "decimal(5,2)", "string", "int"]


async def test_who_may_not_read_is_told_so(server: PostgresServer, tmp_path: Path) -> None:
    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    for password, said in {"guest": "GRANT SELECT", "other": "the password in `uri`"}.items():
        uri = server.uri.replace(f"{USER}:{WRITTEN}", f"guest:{password}")
        async with opened(tmp_path, SPEC, DB=uri) as federation:
            with pytest.raises(SourceError) as caught:
                await answer(federation, "SELECT * FROM t")
            assert said in (caught.value.hint or "")


@pytest.mark.parametrize("wrong", ["wrongpass", WRITTEN])
async def test_passwords_are_nowhere(server: PostgresServer, tmp_path: Path, wrong: str) -> None:
    uri = (
        server.uri.replace(WRITTEN, wrong) if wrong != WRITTEN else server.uri.replace("/postgres?", "/nope?")
    )
    spec = SPEC.replace("${env:DB}", uri)
    async with opened(tmp_path, spec) as federation:
        with pytest.raises(SourceError, match="the database says: ") as caught:
            await federation.discover("SELECT * FROM db.t")
        told = caught.value.render() + repr(caught.value.__cause__) + repr(caught.value.__context__)
        assert USER in told or "nope" in told
        assert not any(secret in caught.value.render() for secret in (wrong, PASSWORD, uri))
        redact = federation._client.redactor.text
        assert redact(f"{wrong} and {uri}").count("***") >= 2


async def test_a_connection_that_was_lost_is_made_again(server: PostgresServer, tmp_path: Path) -> None:
    async with opened(tmp_path, SPEC, DB=server.uri) as federation:
        sql = "SELECT n FROM db.t WHERE k = 7"
        first = await answer(federation, sql)
        with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            assert cursor.fetchall() == [(1,)], "one idle connection"
        federation.reset()
        assert await answer(federation, sql) == first


@pytest.mark.slow
async def test_what_nobody_waits_for_is_stopped(server: PostgresServer, tmp_path: Path) -> None:
    def busy() -> int:
        with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'FETCH%' AND state = 'active'"
            )
            return int(cursor.fetchall()[0][0])

    with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE VIEW slow AS SELECT pg_sleep(60)::text AS z")
    try:
        async with opened(tmp_path, SPEC, DB=server.uri) as federation:
            await federation.discover("SELECT z FROM slow")
            running = asyncio.ensure_future(run(federation, "SELECT z FROM db.slow"))
            await until(lambda: busy() == 1)
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            await until(lambda: busy() == 0)
            assert running.done()
    finally:
        with dbapi.connect(server.uri, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("DROP VIEW slow")


async def test_a_database_an_api_and_a_parquet_file_are_joined_each_with_its_own_conditions(
    server: PostgresServer, tmp_path: Path, serve: Serve
) -> None:
    async def names(request: web.Request) -> web.Response:
        numbers = request.query["id"].split(",")
        return web.json_response([{"id": int(one), "title": f"title {one}"} for one in numbers])

    served = await serve(names)
    prices = pa.table({"k": list(range(1000)), "price": [number / 2 for number in range(1000)]})
    pq.write_table(prices, tmp_path / "prices.parquet")
    spec = f"""
version: 1
sources:
  db: {{type: adbc, driver: postgresql, uri: "${{env:DB}}"}}
  api:
    client: {{base_url: "{served.url}"}}
    tables:
      titles:
        columns: {{id: bigint, title: string}}
        lookups: [{{keys: [id], endpoint: {{path: /titles}}, batch: {{size: 50, separator: ","}}}}]
"""
    sql = """
SELECT t.k, t.name, p.price, api.title FROM db.t AS t JOIN parquet.`prices.parquet` AS p ON p.k = t.k
JOIN api.titles AS api ON api.id = t.k WHERE t.n = 3 AND t.name LIKE 'b%' AND p.price < 20
"""
    async with opened(tmp_path, spec, DB=server.uri) as federation:
        since = len(server.log())
        rows = await answer(federation, sql)
    expected = [
        (one["k"], one["name"], one["k"] / 2, f"title {one['k']}")
        for one in rows_of_t()
        if one["n"] == 3 and (one["name"] or "").startswith("b") and one["k"] < 40
    ]
    assert rows == sorted(expected, key=repr)
    assert len(rows) > 1
    asked: Any = said(server, since)
    assert all('"n" =' in one and "LIKE" in one and "b%" in one.partition(" | ")[2] for one in asked)
    wanted = {number for path in served.paths for number in re.findall(r"\d+", path.partition("id=")[2])}
    assert {int(one) for one in wanted} <= set(range(40)), "the API is asked for what a condition has left"
    assert len(served.paths) <= 2
