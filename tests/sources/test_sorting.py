"""`ORDER BY x LIMIT n` over sources that can be asked to sort: few pages, and the answer of the whole scan."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

from fff.access.first_rows import OrderedPrefix
from fff.catalog import Page, ScanMethod, Table
from fff.dataflow.plan.expressions import Column
from fff.federation import Federation
from fff.quals import Qual
from fff.schema import Field
from fff.sql import explain
from fff.sql.plan import FirstRows
from fff.stats import AccessMeter
from fff_sources.ckan.search import Search
from fff_sources.ckan.search import is_sortable as ckan_sorts
from fff_sources.datasette.asking import TablePage
from fff_sources.http.portal import PortalColumn
from fff_sources.load import lint
from fff_sources.odata.edm import Property
from fff_sources.odata.words import ODataWords
from fff_sources.socrata.soql import Soql
from fff_sources.socrata.soql import is_sortable as socrata_sorts
from tests.engine.duck import over_duck
from tests.engine.site import run
from tests.sources.fake_datasette import FakeDatasette
from tests.sources.fake_datasette import spec as datasette
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

Read = Callable[..., Reader]
Row = dict[str, Any]
SPEC = """
version: 1
sources:
  api:
    client: {{base_url: "{url}", retry: {{max_attempts: 1}}}}
    tables:
      t:
        columns: {{id: int, x: int, d: date, s: string}}
        {more}
        key_columns: [{{name: s}}]
        scan:
          endpoint: {{path: t, data_selector: items, sort: {sort}, paginator: {{type: offset, page_size: 10, total_path: total}}}}
"""
JSON_API = "{param: sort, columns: [x, d]}"


class Sorting:
    """Rows by offset, sorted by whatever `sort` and `dir` say; NULLs where the source likes them."""

    def __init__(self, rows: list[Row], *, nulls_first: bool = False, refuses: bool = False) -> None:
        self.rows, self.nulls_first, self.refuses = rows, nulls_first, refuses

    async def __call__(self, asked: web.Request) -> web.Response:
        by = asked.query.get("sort")
        if by is not None and self.refuses:
            return web.json_response({"error": "unknown parameter sort"}, status=400)
        found = [row for row in self.rows if asked.query.get("s") in (None, row["s"])]
        if by is not None:
            name = by.removeprefix("-").removeprefix("the_")
            falling = by.startswith("-") or asked.query.get("dir") == "down"
            given = sorted((row for row in found if row[name] is not None), key=lambda row: row[name])
            lacking = [row for row in found if row[name] is None]
            given = given[::-1] if falling else given
            found = lacking + given if self.nulls_first else given + lacking
        start, size = int(asked.query.get("offset", 0)), int(asked.query.get("limit", 10))
        return web.json_response({"items": found[start : start + size], "total": len(found)})


def made(count: int, rng: random.Random, values: int = 40) -> list[Row]:
    rows = []
    for number in range(count):
        x = None if rng.random() < 0.1 else rng.randrange(values)
        day = None if x is None else f"2024-01-{1 + x % 28:02d}"
        rows.append({"id": number, "x": x, "d": day, "s": f"s{number % 3}"})
    return rows


ROWS = made(100, random.Random(3))


def spec(served: Served, sort: str = JSON_API, more: str = "") -> str:
    return SPEC.format(url=served.url, sort=sort, more=more)


async def answer(reader: Reader, sql: str) -> tuple[list[Any], list[str]]:
    """The rows of a statement, in their order, and the warnings."""
    federation = over_duck_of(reader)
    found, execution = await run(federation, sql)
    assert execution.outcome.complete
    return found, list(execution.outcome.warnings)


def over_duck_of(reader: Reader) -> Federation:
    federation = Federation(reader.catalog, reader.client)
    over_duck(federation)
    return federation


def sorts(served: Served) -> list[str | None]:
    return [request.query.get("sort") for request in served.asked]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT id, x FROM t ORDER BY x DESC, id LIMIT 3", ["-x"]),
        ("SELECT id FROM t WHERE x IS NOT NULL ORDER BY x, id LIMIT 3", ["x"]),
        ("SELECT id FROM t ORDER BY x NULLS LAST, id LIMIT 3", ["x"]),
        ("SELECT id FROM t ORDER BY d DESC, id DESC LIMIT 2 OFFSET 2", ["-d"]),
        ("SELECT id FROM t WHERE s <> 's1' AND x < 30 ORDER BY x DESC, id LIMIT 2", ["-x"] * 3),
        # All of it, in no order: NULLs first, no LIMIT, text, no column, another column before it, groups.
        ("SELECT id FROM t ORDER BY x, id LIMIT 3", [None] * 10),
        ("SELECT id FROM t ORDER BY x DESC, id", [None] * 10),
        ("SELECT id FROM t ORDER BY s, id LIMIT 3", [None] * 10),
        ("SELECT id FROM t ORDER BY x + 1 DESC, id LIMIT 3", [None] * 10),
        ("SELECT id FROM t ORDER BY id, x LIMIT 3", [None] * 10),
        ("SELECT x, count(*) AS c FROM t GROUP BY x ORDER BY x DESC LIMIT 3", [None] * 10),
    ],
)
async def test_what_is_asked(serve: Serve, read: Read, sql: str, asked: list[str | None]) -> None:
    served = await serve(Sorting(ROWS))
    found, warnings = await answer(read(spec(served)), sql)
    assert sorts(served) == asked
    assert not warnings
    plain = await serve(Sorting(ROWS))
    assert found == (await answer(read(spec(plain, "null")), sql))[0]


@pytest.mark.parametrize(
    ("sort", "said"),
    [
        ("{param: sort, columns: {x: the_x}}", {"sort": "-the_x"}),
        ("{param: sort, direction_param: dir, descending: down, columns: [x]}", {"sort": "x", "dir": "down"}),
        ("{param: sort, direction_param: dir, columns: [x]}", {"sort": "x", "dir": "desc"}),
        ("{param: sort, descending: '{column} desc', columns: [x]}", {"sort": "x desc"}),
        ("{param: sort, descending: null, columns: [x]}", {}),
        ("{param: sort, columns: [d]}", {}),
    ],
)
async def test_ways_to_say_it(serve: Serve, read: Read, sort: str, said: Mapping[str, str]) -> None:
    async def nothing(_: web.Request) -> web.Response:
        return web.json_response({"items": [], "total": 0})

    served = await serve(nothing)
    await answer(read(spec(served, sort)), "SELECT id FROM t ORDER BY x DESC LIMIT 3")
    [request] = served.asked
    assert {name: text for name, text in request.query.items() if name in ("sort", "dir")} == said


async def test_a_declared_order_need_not_be_asked_for(serve: Serve, read: Read) -> None:
    served = await serve(Sorting(sorted(ROWS, key=lambda row: row["x"] or 0)))
    await answer(read(spec(served, more="order: [x]")), "SELECT id FROM t WHERE x > 0 ORDER BY x LIMIT 3")
    assert set(sorts(served)) == {None}


async def test_explain_says_so(serve: Serve, read: Read) -> None:
    served = await serve(Sorting(ROWS))
    text = explain(over_duck_of(read(spec(served))).prepare("SELECT id FROM t ORDER BY x DESC LIMIT 3"))
    assert "stops once the first 3 rows by x DESC are there: the scan is asked for in that order" in text
    assert served.asked == []


async def test_lookups_are_not_sorted(serve: Serve, read: Read) -> None:
    served = await serve(Sorting(ROWS))
    await answer(read(spec(served)), "SELECT id FROM t WHERE s = 's1' ORDER BY x DESC, id LIMIT 3")
    assert set(sorts(served)) == {None}


async def test_a_source_that_refuses_is_read_in_full(serve: Serve, read: Read) -> None:
    served = await serve(Sorting(ROWS, refuses=True))
    sql = "SELECT id FROM t ORDER BY x DESC, id LIMIT 3"
    found, warnings = await answer(read(spec(served)), sql)
    assert sorts(served) == ["-x", *[None] * 10]
    assert warnings == ["api.t: the source refuses to sort by -x (HTTP 400), so all of it was read"]
    plain = await serve(Sorting(ROWS))
    assert found == (await answer(read(spec(plain, "null")), sql))[0]


async def test_a_source_that_ignores_it_is_found_out(serve: Serve, read: Read) -> None:
    served = await serve(Sorting(ROWS))
    sql = "SELECT id FROM t ORDER BY x DESC, id LIMIT 3"
    found, warnings = await answer(read(spec(served, JSON_API.replace("sort,", "by,"))), sql)
    assert len(served.asked) == 10
    assert warnings == ["api.t: the scan does not come in the order asked for, so all of it was read"]
    plain = await serve(Sorting(ROWS))
    assert found == (await answer(read(spec(plain, "null")), sql))[0]


async def test_statements_of_one_session_do_not_take_one_order_for_another(serve: Serve, read: Read) -> None:
    rows = [{"id": n, "x": n, "d": f"2024-01-{1 + n % 10:02d}", "s": "s"} for n in range(50)]
    served = await serve(Sorting(rows))  # the first pages by x are sorted by d as well
    reader = read(spec(served))
    federation = Federation(reader.catalog, reader.client, keep=True)
    over_duck(federation)
    found, _ = await run(federation, "SELECT id FROM t ORDER BY x NULLS LAST LIMIT 3")
    assert sorted(found) == [(0,), (1,), (2,)]
    assert sorts(served) == ["x"]
    found, _ = await run(federation, "SELECT id FROM t ORDER BY d NULLS LAST, id LIMIT 4")
    assert found == [(0,), (10,), (20,), (30,)]


@pytest.mark.parametrize(("order", "pages"), [("x", 1), ("X", 1), ("id", 3), ("-x", 3), (None, 3)])
async def test_only_pages_in_the_order_wanted_may_end_a_scan(order: str | None, pages: int) -> None:
    class Shared:
        """A scan that another statement has begun, in an order of its own."""

        name, tables = "api", ()

        async def scan(self, *_: object, **__: object) -> AsyncGenerator[Page]:
            for start in (0, 5, 10):
                yield Page(pa.RecordBatch.from_pydict({"x": range(start, start + 5)}), order=order)

    adapter: Any = Shared()
    table = Table("api", "t", (Field.of("x", "bigint"),))
    prefix = OrderedPrefix(adapter, FirstRows(Column(0, 0), 2), ())
    scan = prefix.scan(table, ScanMethod("t.scan"), ["x"], meter=AccessMeter(), window=1)
    assert len([page async for page in scan]) == pages


@pytest.mark.parametrize("runs", [4, pytest.param(60, marks=pytest.mark.slow)])
async def test_the_answer_is_that_of_the_whole_scan(serve: Serve, read: Read, runs: int) -> None:
    rng, requests = random.Random(7), [0, 0]
    for _ in range(runs):
        rows = made(rng.randrange(20, 80), rng, rng.choice([2, 40]))
        served = await serve(Sorting(rows, nulls_first=rng.random() < 0.5))
        where = rng.choice(["", "WHERE x > 2", "WHERE s <> 's1' AND x BETWEEN 1 AND 20"])
        nulls = rng.choice(["", "NULLS FIRST", "NULLS LAST"])
        by = f"{rng.choice(['x', 'd'])} {rng.choice(['', 'DESC'])} {nulls}"
        sql = f"SELECT id FROM t {where} ORDER BY {by}, id LIMIT {rng.randrange(1, 9)} OFFSET {rng.choice([0, 3])}"
        found, warnings = await answer(read(spec(served)), sql)
        asked = len(served.asked)
        plain, _ = await answer(read(spec(served, "null")), sql)
        assert (found, warnings) == (plain, []), sql
        requests[0] += asked
        requests[1] += len(served.asked) - asked
    assert requests[0] < requests[1]


def test_mistakes_are_found(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"

    def found(sort: str) -> str:
        text = SPEC.format(url="http://h", more="", sort=sort)
        file.write_text(text, encoding="utf-8")
        return "\n".join(error.render() for error in lint(file, environ={}))

    assert found(JSON_API) == ""
    assert "did you mean" in found("{param: sort, columns: [idd]}")
    assert "s is of type string, which sources may sort in other orders" in found("{param: p, columns: [s]}")
    assert "must have {column} in it" in found("{param: p, ascending: up, columns: [x]}")
    assert "must not name columns" in found(
        "{param: p, direction_param: d, ascending: '{column}', columns: [x]}"
    )
    assert "columns" in found("{param: p, columns: []}")


# ----------------------------------------------------------------------------------------------------------- adapters


async def test_datasette(serve: Serve, read: Read) -> None:
    served = await serve(FakeDatasette())
    reader = read(datasette(served))
    federation = over_duck_of(reader)
    sql = "SELECT id, v FROM ds.r ORDER BY v DESC LIMIT 2"
    await federation.discover(sql)
    before = len(served.asked)
    found, _ = await run(federation, sql)
    assert sorted(found) == [(6, 6), (7, 7)]
    [request] = served.asked[before:]
    assert request.query["_sort_desc"] == "v"


def test_words_of_other_languages() -> None:
    properties = {name: Property(name, "Edm.Int32") for name in ("ID", "No", "X")}
    odata = ODataWords("T", properties, key=("ID", "No"))
    assert dict(odata.sorted("-X").question(["X"], [], {}).params)["$orderby"] == "X desc,ID,No"
    assert dict(odata.sorted("No").question(["X"], [], {}).params)["$orderby"] == "No,ID"
    soql = Soql("p", "x").sorted("-group").qualified((Qual("x", ">", 1),))
    assert dict(soql.question(["x"], [], {}).params)["$order"] == "`group` DESC,:id"
    search = Search("r", {"x": PortalColumn("x", "int4", "int")}).sorted("-x")
    assert dict(search.question(["x"], [], {}).params)["sort"] == "x desc,_id"
    assert ("_sort", "x") in TablePage("p", "x").sorted("x").question(["x"], [], {}).params


def test_what_is_sorted_alike() -> None:
    assert Property("x", "Edm.Int64").sortable("bigint")
    assert not Property("x", "Edm.Int64", many=True).sortable("bigint")
    assert not Property("x", "Edm.String").sortable("int")
    assert Property("x", "Edm.DateTimeOffset").sortable("timestamp")
    assert not Property("x", "Edm.DateTimeOffset").sortable("timestamp_ntz"), "zones would be dropped"
    assert socrata_sorts("number", "int")
    assert not socrata_sorts("number", "double")
    assert socrata_sorts("calendar_date", "date")
    assert not socrata_sorts("text", "string")
    assert ckan_sorts("x", "int4", "int")
    assert not ckan_sorts("x y", "int4", "int")
    assert not ckan_sorts("x", "text", "int")
    assert ckan_sorts("x", "timestamp", "timestamp_ntz")
