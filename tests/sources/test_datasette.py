from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from aiohttp import web

from fff.errors import QueryError, SourceError
from fff.federation import Federation
from fff_cli.commands.source import list_all
from fff_sources.datasette.asking import affinity, comparisons, spark_type, tilde
from fff_sources.load import lint
from tests.sources.discovering import lookups, rows, types
from tests.sources.fake_datasette import FakeDatasette, spec
from tests.sources.reading import Reader
from tests.web.serving import Serve

TEXT = 'Infinity, \\" -Infinity'


@pytest.mark.parametrize("later", [False, True])
async def test_tables_and_columns_are_found(serve: Serve, read: Callable[..., Reader], later: bool) -> None:
    served = await serve(FakeDatasette(later=later))
    reader = read(spec(served))
    assert served.asked == [], "nothing is asked before somebody asks"
    assert list(reader.catalog.tables(offered=False)) == []
    assert await types(reader, "ds.r") == {
        "id": "bigint", "x": "string", "v": "bigint", "f": "double", "made": "string", "odd": "string",
        "price": "double", "raw": "string",
    }  # fmt: skip
    assert len(served.asked) == 3, "the databases, the tables of one, the columns of one"
    assert [table.name for table in reader.catalog.tables(offered=False)] == [
        "r",
        "a table/",
        "loose",
        "sums",
    ]
    assert reader.table("r").primary_key == ("id",)
    assert lookups(reader, "ds.r") == {("id",), ("x",), ("v",), ("f",), ("made",), ("price",)}
    assert await types(reader, "ds.sums") == {"x": "string", "w": "string"}
    assert lookups(reader, "ds.sums") == {("x",)}, "an expression has no affinity"


async def test_keys_that_may_be_null_identify_nothing(serve: Serve, read: Callable[..., Reader]) -> None:
    reader = read(spec(await serve(FakeDatasette()), "database: race"))
    await types(reader, "ds.loose")
    await types(reader, "ds.a table/")
    assert reader.table("loose").primary_key == ()
    assert reader.table("a table/").primary_key == ("a b", "y")
    assert ("a b", "y") in lookups(reader, "ds.a table/")


async def test_a_scan_follows_the_cursor_and_asks_for_needed_columns(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served, "database: race"))
    await types(reader, "ds.r")
    before = len(served.asked)
    found = await reader.scan("r", ["id", "f"])
    assert found == [{"id": number, "f": number / 2} for number in range(8)]
    asked = served.asked[before:]
    assert [request.query.get("_next") for request in asked] == [None, "3", "6"]
    assert {tuple(request.query.getall("_col")) for request in asked} == {("id", "f")}
    assert {request.query["_size"] for request in asked} == {"max"}


async def test_lookups_of_one_key_and_of_many(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served, "database: race"))
    await types(reader, "ds.a table/")
    keys = [method.keys for method in reader.table("a table/").lookups]
    before = len(served.asked)
    for text, y in (("q'", 1), ("z, z", 2), ("[1]", 3), ("é&=", 4), ("none", None), ("", None)):
        found = await reader.lookup("a table/", text, number=keys.index(("a b",)))
        assert [row["y"] for row in found] == ([] if y is None else [y])
    many = await reader.lookup("a table/", "z, z", "q'", "[1]", "", "none", number=keys.index(("a b",)))
    assert sorted(row["y"] for row in many) == [1, 2, 3]
    assert len(served.asked) == before + 7
    assert await reader.lookup("a table/", ("[1]", 3), number=keys.index(("a b", "y"))) == [
        {"a b": "[1]", "y": 3}
    ]


async def test_a_join_over_names_alone(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served))
    sql = "SELECT r.x, w FROM r JOIN ds.sums ON r.x = sums.x WHERE r.id IN (1, 2)"
    federation = Federation(reader.catalog, reader.client)
    with pytest.raises(QueryError, match="which tables ds has"):
        federation.prepare(sql)
    assert served.asked == []
    assert await rows(reader, sql) == [("k1", "2"), ("k1", "6"), ("k2", "3"), ("k2", "7")]


async def test_names_of_the_statement_itself_are_no_reason_to_ask(
    serve: Serve, read: Callable[..., Reader]
) -> None:
    served, other = await serve(FakeDatasette()), await serve(FakeDatasette())
    reader = read(spec(served) + spec(other)[spec(other).index("  ds:") :].replace("  ds:", "  other:"))
    sql = "WITH few AS (SELECT x FROM ds.r) SELECT Few.x FROM Few JOIN ds.sums ON Few.x = sums.x"
    await Federation(reader.catalog, reader.client).discover(sql)
    assert (len(served.asked), other.asked) == (4, [])


async def test_a_misspelt_table_is_asked_for_once(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served))
    for _ in range(2):
        with pytest.raises(QueryError, match="did you mean"):
            await rows(reader, "SELECT * FROM ds.loos")
    assert len(served.asked) == 2


async def test_a_source_that_cannot_be_asked_hides_no_other(
    serve: Serve, read: Callable[..., Reader], capsys: pytest.CaptureFixture[str]
) -> None:
    served = await serve(FakeDatasette())
    down = spec(await serve(FakeDatasette(databases=())), "database: race")
    reader = read(spec(served) + down[down.index("  ds:") :].replace("  ds:", "  other:"))
    await list_all(reader.catalog)
    assert "warning: other" in capsys.readouterr().err
    assert {table.source for table in reader.catalog.tables(offered=False)} == {"ds"}


async def test_several_databases(serve: Serve, read: Callable[..., Reader]) -> None:
    reader = read(spec(await serve(FakeDatasette(databases=("race", "log")))))
    assert await rows(reader, "SELECT v FROM ds.log_r WHERE id = 3") == [(3,)]
    assert {table.name for table in reader.catalog.tables(offered=False)} >= {"race_r", "log_r"}


async def test_an_instance_without_sql(serve: Serve, read: Callable[..., Reader]) -> None:
    reader = read(spec(await serve(FakeDatasette(sql=False)), "tables: {r: {columns: {v: int, ID: bigint}}}"))
    found = await types(reader, "ds.r")
    assert (found["v"], found["id"], found["x"]) == ("int", "bigint", "string")
    assert lookups(reader, "ds.r") == set(), "without a type nobody knows what a request must say"
    assert len(await reader.scan("r", ["id", "v"])) == 8


async def test_hidden_tables_when_wanted(serve: Serve, read: Callable[..., Reader]) -> None:
    reader = read(spec(await serve(FakeDatasette()), "hidden: true"))
    assert await types(reader, "ds.r_fts") == {"x": "string"}


async def test_what_is_no_datasette(serve: Serve, read: Callable[..., Reader]) -> None:
    async def other(request: web.Request) -> web.Response:
        return web.json_response({"hello": "world"})

    reader = read(spec(await serve(other)))
    with pytest.raises(
        SourceError, match=r"ds: the answer does not describe a table \(it lacks 'databases'\)"
    ) as caught:
        await rows(reader, "SELECT * FROM ds.r")
    assert "root of a Datasette" in str(caught.value.hint)


async def test_a_type_for_a_column_that_is_none(serve: Serve, read: Callable[..., Reader]) -> None:
    reader = read(spec(await serve(FakeDatasette()), "tables: {r: {columns: {nix: int}}}"))
    with pytest.raises(SourceError, match="'nix', which is no column"):
        await types(reader, "ds.r")


async def test_fractions_are_asked_for_as_numbers(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served, "database: race"))
    await types(reader, "ds.r")
    keys = [method.keys for method in reader.table("r").lookups]
    assert await reader.lookup("r", 0.5, columns=["id"], number=keys.index(("f",))) == [{"id": 1}]
    assert served.asked[-1].query["f__in"] == "[0.5]"


async def test_infinite_numbers_are_values_and_found(serve: Serve, read: Callable[..., Reader]) -> None:
    fake = FakeDatasette()
    fake.db.execute("INSERT INTO r (id, x, f) VALUES (100, ?, 9e999), (101, 'y', -9e999)", (TEXT,))
    reader = read(spec(await serve(fake), "database: race"))
    assert await rows(reader, "SELECT id, x, f FROM ds.r WHERE id >= 100") == [
        (100, TEXT, math.inf),
        (101, "y", -math.inf),
    ]
    assert await rows(reader, "SELECT id FROM ds.r WHERE f IS NULL") == []
    assert sorted(await rows(reader, "SELECT id FROM ds.r WHERE f > 3.4")) == [(7,), (100,)]
    assert await rows(reader, "SELECT id FROM ds.r WHERE f < -1.7976931348623157E308") == [(101,)]
    assert await rows(reader, "SELECT id FROM ds.r WHERE f > -1.7976931348623157E308 AND f < 0.5") == [(0,)]
    keys = [method.keys for method in reader.table("r").lookups]
    found = await reader.lookup("r", math.inf, -math.inf, columns=["id"], number=keys.index(("f",)))
    assert [row["id"] for row in found] == [100, 101]


async def test_whole_numbers_that_a_double_rounds_are_told(serve: Serve, read: Callable[..., Reader]) -> None:
    fake = FakeDatasette()
    fake.db.execute('ALTER TABLE r ADD COLUMN "é" DECIMAL')
    fake.db.execute('INSERT INTO r (id, x, price, "é") VALUES (100, ?, 9007199254740993, 1e15)', (TEXT,))
    fake.db.execute('INSERT INTO r (id, price, "é") VALUES (101, 9007199254740994, 9007199254740995)')
    url = await serve(fake)
    reader = read(spec(url, "database: race"))
    await types(reader, "ds.r")
    assert {row["price"] for row in await reader.scan("r", ["price"])} == {1.5, 2.0**53, 2.0**53 + 2}
    [told] = reader.meter.warnings
    assert "'price' has whole numbers that a double rounds" in told
    assert (reader.meter.warnings[told], reader.meter.doubts) == (1, 1)
    assert len(await reader.scan("r", ["é"])) == 10
    assert reader.meter.doubts == 2
    reader = read(spec(url, "database: race\n    tables: {r: {columns: {price: 'decimal(38,0)'}}}"))
    await types(reader, "ds.r")
    assert 9007199254740993 in [row["price"] for row in await reader.lookup("r", 100, columns=["price"])]
    assert reader.meter.doubts == 0


def test_unknown_keys_and_types(tmp_path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        "version: 1\nsources:\n  d:\n    type: datasette\n    client: {base_url: 'https://d.example', ath: 1}\n"
        "    databse: x\n    tables: {r: {columns: {a: strin}}}\n"
    )
    found = [error.message.partition(": ")[2] for error in lint(file, environ={}, cwd=tmp_path)]
    assert len(found) == 4
    assert any(text.startswith("sources.d.client.auth: must be a mapping") for text in found), (
        "if it is meant"
    )
    assert any(text.startswith("sources.d.client.ath: unknown key") for text in found)
    assert any(text.startswith("sources.d.databse: unknown key") for text in found)
    assert any("sources.d.tables.r.columns.a" in text and "strin" in text for text in found)


def test_types_of_sqlite() -> None:
    said = ["INT", "varchar(20)", "", "any", "double precision", "BOOLEAN", "DATETIME", "decimal(5,2)"]
    assert [affinity(kind) for kind in said] == [
        "INTEGER", "TEXT", "NONE", "NONE", "REAL", "NUMERIC", "NUMERIC", "NUMERIC",
    ]  # fmt: skip
    assert [spark_type(kind) for kind in said] == [
        "bigint", "string", "string", "string", "double", "string", "string", "double",
    ]  # fmt: skip
    assert tilde("a table/é") == "a+table~2F~C3~A9"


async def test_conditions_are_filters(serve: Serve, read: Callable[..., Reader]) -> None:
    served = await serve(FakeDatasette())
    reader = read(spec(served, "database: race"))
    sql = "SELECT id FROM ds.r WHERE v > 2 AND v <> 5 AND f BETWEEN 1.5 AND 3.5 AND made > '2023'"
    assert await rows(reader, sql) == [(3,), (4,), (6,), (7,)]
    asked = [(name, text) for name, text in served.asked[-1].query.items() if "__" in name]
    assert asked == [
        ("f__lte", "3.5000000000000004"),
        ("f__gte", "1.4999999999999998"),
        ("v__not", "5"),
        ("v__gt", "2"),
    ]
    before = len(served.asked)
    assert await rows(reader, "SELECT id FROM ds.r WHERE x = 'k1' AND v >= 4") == [(5,)]
    assert [(one.query["x__exact"], one.query["v__gte"]) for one in served.asked[before:]] == [("k1", "4")]


def test_what_sqlite_compares_as_we_do() -> None:
    assert comparisons("TEXT", "string") == ("=", "like")
    assert comparisons("REAL", "double") == ("<", "<=", ">", ">=")
    assert comparisons("INTEGER", "bigint") == ("=", "<>", "<", "<=", ">", ">=")
    assert comparisons("INTEGER", "string") == ("=",)
    assert comparisons("", "bigint") == ()
