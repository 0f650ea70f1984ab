"""SQLite files as sources."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import fff
from fff.errors import QueryError, SourceError
from fff.federation import Federation
from fff.quals import Qual
from fff.structs import replace
from fff.web.client import WebClient
from fff_sources.adbc import connection
from fff_sources.adbc.asking import statement
from fff_sources.load import lint, load_catalog
from tests.engine.duck import over_duck
from tests.sources.databases import CONDITIONS, answer, cut, opened, requests, rows_of_t

pytest.importorskip("adbc_driver_sqlite", reason="pip install 'fff[sqlite]'")

SPEC = """
version: 1
sources:
  db: {type: adbc, driver: sqlite, uri: "data/my #1.db"}
"""
HARD = 'a"b; DROP TABLE t; --'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir()
    fill(
        tmp_path,
        "CREATE TABLE t (k INTEGER PRIMARY KEY, n INT, x REAL, name TEXT COLLATE NOCASE, tag VARCHAR(9))",
        "CREATE TABLE pairs (a TEXT NOT NULL, b INT NOT NULL, v TEXT, PRIMARY KEY (b, a)) WITHOUT ROWID",
        "CREATE TABLE loose (id PRIMARY KEY, day DATE, ok BOOLEAN, price DECIMAL(10,2), raw BLOB, made INT AS (1 + 1))",
        'CREATE TABLE "a""b; DROP TABLE t; --" ("c ""d" TEXT, "e?" INT)',
        "CREATE VIEW big AS SELECT k, name FROM t WHERE k > 100",
        "CREATE INDEX by_tag ON t (tag)",
    )
    with sqlite3.connect(tmp_path / "data/my #1.db") as db:
        db.executemany("INSERT INTO t VALUES (:k, :n, :x, :name, :tag)", rows_of_t())
        db.executemany("INSERT INTO pairs VALUES (?, ?, ?)", [(f"a{i % 7}", i, f"v{i}") for i in range(50)])
        db.execute(
            "INSERT INTO loose (id, day, ok, price, raw) VALUES (5, '2024-02-29', 1, 12.5, x'00ff'), "
            "('5', 3, 'true', 12, 'text'), (NULL, NULL, NULL, NULL, NULL)"
        )
        db.execute(
            f'INSERT INTO "{HARD.replace(chr(34), chr(34) * 2)}" VALUES (?, 1), (?, 2)', (HARD, "x\0y")
        )
    db.close()
    return tmp_path


def fill(folder: Path, *statements: str) -> None:
    with sqlite3.connect(folder / "data/my #1.db") as db:
        for one in statements:
            db.execute(one)
    db.close()


async def found(federation: Federation, name: str) -> Any:
    await federation.discover(f"SELECT * FROM db.`{name}`")
    [table] = federation.catalog.find(["db", name])
    return table


async def test_tables_columns_and_keys_are_found(folder: Path) -> None:
    async with opened(folder, SPEC) as federation:
        tables = {name: await found(federation, name) for name in ("t", "pairs", "loose", "big", HARD)}
        listed = [table.name for table in federation.catalog.tables(offered=False) if table.source == "db"]
    assert listed == sorted(tables)
    types = {name: {one.name: one.type for one in table.columns} for name, table in tables.items()}
    assert types["t"] == {"k": "bigint", "n": "bigint", "x": "double", "name": "string", "tag": "string"}
    assert types["loose"] == {
        "id": "string", "day": "string", "ok": "string", "price": "double", "raw": "binary", "made": "bigint",
    }  # fmt: skip
    assert types[HARD] == {'c "d': "string", "e?": "bigint"}
    keys = {name: table.primary_key for name, table in tables.items()}
    assert keys == {"t": ("k",), "pairs": ("b", "a"), "loose": (), "big": (), HARD: ()}
    assert {one.keys for one in tables["pairs"].lookups} == {("a",), ("b",), ("v",), ("b", "a")}
    assert {one.keys for one in tables["loose"].lookups} == {
        ("id",),
        ("day",),
        ("ok",),
        ("price",),
        ("made",),
    }


async def test_show_tables_of_a_source_asks_it_for_them(folder: Path) -> None:
    async with opened(folder, SPEC) as federation:
        shown = await answer(federation, "SHOW TABLES IN db LIKE 't'")
        assert shown == [("db", "t", False)]
        assert federation.prepare("SHOW TABLES IN nosuch").warnings == (
            "no source is called nosuch; SHOW SCHEMAS has those there are",
        )


async def test_conditions_mean_what_they_mean_to_the_engine(folder: Path) -> None:
    async with opened(folder, SPEC, {"own": rows_of_t()}) as federation:
        for condition in CONDITIONS:
            expected = await answer(federation, f"SELECT k, n, x, name, tag FROM own WHERE {condition}")
            found = await answer(federation, f"SELECT k, n, x, name, tag FROM db.t WHERE {condition}")
            assert found == expected, condition


async def test_joins_ask_by_keys_in_lists(folder: Path) -> None:
    own = [{"b": number, "a": f"a{number % 5}"} for number in range(0, 60, 3)]
    async with opened(folder, SPEC, {"own": own}) as federation:
        expected = sorted((f"v{one['b']}",) for one in own if one["b"] < 50 and one["b"] % 7 == one["b"] % 5)
        sql = "SELECT v FROM own JOIN pairs USING (a, b)"
        assert await answer(federation, sql) == expected
        federation.reset()
        assert sum((await requests(federation, sql)).values()) <= 2


async def test_what_is_sent_takes_the_indexes(folder: Path) -> None:
    async with opened(folder, SPEC) as federation:
        table = await found(federation, "t")
        source = federation.catalog.adapter_of(table)
        described = source._found["t"]
    db = sqlite3.connect(folder / "data/my #1.db")

    def plan(names: tuple[str, ...], keys: list[tuple[object, ...]], **narrowed: Any) -> tuple[str, str]:
        asked = statement(
            source._dialect, described, replace(table, **narrowed), ["n"], names=names, keys=keys
        )
        values = [one[0].as_py() for one in asked.values]
        steps = db.execute(f"EXPLAIN QUERY PLAN {asked.sql}", values).fetchall()
        return asked.sql, " / ".join(step[3] for step in steps)

    assert "SEARCH t USING INTEGER PRIMARY KEY" in plan(("k",), [(1,), (2,)])[1]
    sql, steps = plan(("tag",), [("x'); DROP",), ("y",)])
    assert "SEARCH t USING INDEX by_tag" in steps
    assert "DROP" not in sql
    sql, steps = plan((), [], quals=(Qual("k", ">=", 5), Qual("tag", "=", "b")), rows_wanted=7)
    assert "by_tag" in steps
    assert sql.endswith("LIMIT 7)")
    assert "USE TEMP B-TREE" not in plan((), [], sort="-k", rows_wanted=7)[1]
    db.close()


async def test_no_more_is_read_than_limit_takes(folder: Path) -> None:
    fill(
        folder,
        "CREATE TABLE many (id INTEGER PRIMARY KEY, v TEXT)",
        "INSERT INTO many WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000) "
        "SELECT i, CASE WHEN i > 50000 THEN 'late' END FROM c",
    )
    async with opened(folder, SPEC) as federation:
        assert len(await answer(federation, "SELECT id, v FROM many WHERE id > 20")) == 100_000 - 20
        assert await answer(federation, "SELECT v, id FROM many WHERE v = 'late' AND id < 50003") == [
            ("late", 50001),
            ("late", 50002),
        ]
        federation.reset()
        await federation.discover("SELECT id FROM many")
        execution = federation.execute(federation.prepare("SELECT id, v FROM many LIMIT 5"))
        rows = [row async for batch in execution.batches() for row in batch.to_pylist()]
        assert len(rows) == 5
        [access] = [one for one in execution.snapshot().access if one.requests]
        assert access.rows == 5


async def test_order_and_limit_go_along_where_they_mean_the_same(folder: Path, monkeypatch: Any) -> None:
    sent: list[str] = []

    def spied(*args: Any, **kwargs: Any) -> Any:
        asked = statement(*args, **kwargs)
        sent.append("" if asked is None else asked.sql)
        return asked

    def told() -> bool:
        texts, sent[:] = list(sent), []
        return any(re.search(r" LIMIT [0-9]+\)$", sql) for sql in texts)

    monkeypatch.setattr("fff_sources.adbc.source.statement", spied)
    async with opened(folder, SPEC, {"own": rows_of_t()}) as federation:
        over_duck(federation)
        await cut(federation, told, exact_like=False)


async def test_texts_are_sorted_by_databases_that_have_them_in_utf_8(folder: Path) -> None:
    for name, encoding in (("one", "UTF-8"), ("two", "UTF-16le")):
        with sqlite3.connect(folder / f"data/{name}.db") as db:
            db.execute(f"PRAGMA encoding = '{encoding}'")
            db.execute('CREATE TABLE s (v TEXT COLLATE NOCASE, d DATE COLLATE NOCASE, "n nulls first" INT)')
        db.close()
    spec = "version: 1\nsources:\n"
    spec += "".join(f"  {n}: {{type: adbc, driver: sqlite, uri: data/{n}.db}}\n" for n in ("one", "two"))
    async with opened(folder, spec) as federation:
        await federation.discover("SELECT * FROM one.s, two.s")
        tables = [federation.catalog.find([name, "s"])[0] for name in ("one", "two")]
    assert [table.sortable for table in tables] == [("v", "-v", "d", "-d"), ()]


@pytest.mark.parametrize(
    ("statement", "select", "said"),
    [
        ("INSERT INTO t (k, n) VALUES (500, 'five')", "n", "'n' is no bigint"),
        ("INSERT INTO t (k, x) VALUES (500, 'x')", "x", "'x' is no double"),
        ("INSERT INTO t (k, name) VALUES (500, x'c3')", "name", "'name' is a BLOB"),
        ("INSERT INTO t (k, name) VALUES (500, CAST(x'c3' AS TEXT))", "name", "'name' is no string"),
    ],
)
async def test_a_value_of_another_kind_is_an_error_and_nothing_else(
    folder: Path, statement: str, select: str, said: str
) -> None:
    fill(folder, statement)
    async with opened(folder, SPEC) as federation:
        assert len(await answer(federation, "SELECT k FROM t")) == 121, "which is not read"
        federation.reset()
        await federation.discover("SELECT * FROM t")
        execution = federation.execute(federation.prepare(f"SELECT k, {select} FROM t"))
        with pytest.raises(SourceError, match=said) as caught:
            _ = [batch async for batch in execution.batches()]
        assert "columns" in caught.value.render()


async def test_the_spec_names_tables_and_gives_types(folder: Path) -> None:
    spec = f"""
version: 1
sources:
  db:
    type: adbc
    driver: sqlite
    uri: ${{env:FILE}}
    tables:
      days: {{table: loose, columns: {{day: string, id: string, ok: string, raw: string}}}}
      hard: {HARD!r}
      dated: {{table: d, columns: {{at: timestamp_ntz, on: date, money: "decimal(10,2)"}}}}
"""
    fill(
        folder,
        'CREATE TABLE d (at DATETIME, "on" DATE, money NUMERIC)',
        "INSERT INTO d VALUES ('2024-02-29 10:00:00', '2024-02-29', 1.25), (NULL, NULL, NULL)",
    )
    async with opened(folder, spec, FILE="data/my #1.db") as federation:
        assert [one.name for one in federation.catalog.tables(offered=False) if one.source == "db"] == [
            "days",
            "hard",
            "dated",
        ]
        assert await answer(federation, "SELECT id, day FROM days WHERE id = '5'") == [
            ("5", "2024-02-29"),
            ("5", "3"),
        ]
        assert await answer(federation, 'SELECT `e?`, `c "d` FROM hard') == [(1, HARD), (2, "x\0y")]
        dated = await answer(federation, "SELECT at, `on`, money FROM dated WHERE `on` = DATE'2024-02-29'")
        assert [tuple(map(str, row)) for row in dated] == [("2024-02-29 10:00:00", "2024-02-29", "1.25")]


async def test_nothing_is_asked_or_written_before_its_time(folder: Path) -> None:
    before = (folder / "data/my #1.db").read_bytes()
    (folder / "data/my #1.db").unlink()
    async with opened(folder, SPEC) as federation:
        with pytest.raises(SourceError, match="there is no such file"):
            await federation.discover("SELECT * FROM db.t")
        assert not (folder / "data/my #1.db").exists()
        (folder / "data/my #1.db").write_text("no database, but long enough to be looked at" * 100)
        with pytest.raises(SourceError, match=r"the database says: .*not a database"):
            await federation.discover("SELECT * FROM db.t")
        (folder / "data/my #1.db").write_bytes(before)
        assert len(await answer(federation, "SELECT k FROM db.t")) == 120
    assert (folder / "data/my #1.db").read_bytes() == before


async def test_a_driver_that_is_missing_is_named(folder: Path, monkeypatch: Any) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(connection, "importlib", type("", (), {"import_module": staticmethod(missing)}))
    async with opened(folder, SPEC) as federation:
        with pytest.raises(SourceError, match="needs adbc-driver-sqlite") as caught:
            await federation.discover("SELECT * FROM db.t")
        assert "pip install 'fff[sqlite]'" in caught.value.render()
        [problem] = lint(folder / "fff.yaml")
        assert "driver: sqlite needs adbc-driver-sqlite" in str(problem)


def test_a_missing_secret_is_told_once_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text("version: 1\nsources:\n  db: {type: adbc, driver: sqlite, uri: '${env:NO_SUCH}'}\n")
    [problem] = lint(file, environ={})
    assert str(problem).count("sources.db.uri") == 1


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("driver: mysql, uri: x", "driver"),
        ("driver: sqlite", "uri"),
        ("driver: sqlite, uri: x, schema: public", "a SQLite file has no schemas"),
        ("driver: sqlite, uri: x, tables: {t: {columns: {a: txt}}}", "unknown type 'txt'"),
        ("driver: sqlite, uri: x, tabels: {}", "tabels"),
    ],
)
def test_what_is_wrong_with_a_spec_is_told(tmp_path: Path, part: str, said: str) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(f"version: 1\nsources:\n  db: {{type: adbc, {part}}}\n")
    assert any(said in str(problem) for problem in lint(file))
    with pytest.raises(Exception, match=said):
        load_catalog([file], environ={}, cwd=tmp_path, client=WebClient())


@pytest.mark.parametrize("name", ["db.t", "t"])
async def test_a_database_that_is_a_file_is_explained_before_anybody_asked_it(
    folder: Path, name: str
) -> None:
    async with opened(folder, SPEC) as federation:
        sql = f"SELECT name FROM {name} WHERE k = 3"
        await federation.look_into_files(sql)
        assert "lookup t.lookup[k]" in federation.explain(federation.prepare(sql))


async def test_a_database_of_a_server_is_not_asked_to_explain(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "AdbcConnection", None)
    async with opened(folder, SPEC.replace("sqlite", "postgresql")) as federation:
        await federation.look_into_files("SELECT 1 FROM db.t")
        with pytest.raises(QueryError, match="which tables db has is not declared") as caught:
            federation.prepare("SELECT 1 FROM db.t")
    assert "declare its tables" in str(caught.value.hint)


@pytest.mark.spark
def test_nulls_that_come_first_are_in_order(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "shop.db") as database:
        database.executescript("CREATE TABLE t (x INTEGER); INSERT INTO t VALUES (2), (NULL), (1), (3)")
    database.close()
    spec = tmp_path / "fff.yaml"
    spec.write_text("version: 1\nsources:\n  db: {type: adbc, driver: sqlite, uri: shop.db}\n")
    with fff.connect(spec) as connection:
        for order, wanted in (("x", [None, 1]), ("x DESC NULLS FIRST", [None, 3])):
            result = connection.sql(f"SELECT x FROM db.t ORDER BY {order} LIMIT 2")
            assert (result.to_arrow()["x"].to_pylist(), list(result.warnings)) == (wanted, [])
