"""One join over servers that nobody here wrote. Each is started where it is installed (docs/real_servers.md)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.running import CommandLine, executable, free_port, process
from tests.real.two_tables import SQL, Data

pytestmark = pytest.mark.slow

#: the tables of a spec: R as the server pages it, and S
TABLES = """
version: 1
sources:
  there:
    client: {base_url: "<url>"}
    tables:
      r:
        columns: {id: int, x: string, v: int}
        scan: {endpoint: <scan>}
      s:
        columns: {x: string, y: int, grp: string}
        key_columns: [{name: x, require: required}]
        lookups: [<lookup>]
"""


def spec(fff: CommandLine, url: str, scan: str, lookup: str) -> None:
    fff.spec(TABLES.replace("<scan>", scan).replace("<lookup>", lookup), url=url)


# --------------------------------------------------------------------------------------------------------- Datasette


@pytest.fixture(scope="module")
def datasette(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = executable("datasette", "FFF_REAL_DATASETTE")
    folder = tmp_path_factory.mktemp("datasette")
    with contextlib.closing(sqlite3.connect(folder / "race.db")) as database, database:
        database.execute("CREATE TABLE r (id INTEGER PRIMARY KEY, x TEXT, v INTEGER)")
        database.execute("CREATE TABLE s (n INTEGER PRIMARY KEY, x TEXT, y INTEGER, grp TEXT)")
        database.executemany("INSERT INTO r VALUES (:id, :x, :v)", data.r)
        database.executemany("INSERT INTO s (x, y, grp) VALUES (:x, :y, :grp)", data.s)
    port = free_port()
    command = [program, "serve", str(folder / "race.db"), "-h", "127.0.0.1", "-p", str(port)]
    with process(command, f"http://127.0.0.1:{port}/race.json", folder / "log"):
        yield f"http://127.0.0.1:{port}/race"


DATASETTE_SCANS = {
    "next_url in the body": "{path: r.json, params: {_shape: objects}, data_selector: rows, paginator: {type: json_link, next_url_path: next_url, page_size: 100, page_size_param: _size}}",
    "Link header": "{path: r.json, params: {_shape: array}, paginator: {type: header_link, page_size: 100, page_size_param: _size}}",
    "cursor": "{path: r.json, params: {_shape: objects}, data_selector: rows, paginator: {type: cursor, cursor_path: next, cursor_param: _next, page_size: 100, page_size_param: _size}}",
    "whatever there is": "{path: r.json, params: {_shape: objects, _size: 100}, data_selector: rows, paginator: auto}",
    "CSV": '{path: r.csv, format: csv, params: {_stream: "on"}}',
}  # fmt: skip
DATASETTE_LOOKUPS = {
    "one": ('{keys: [x], endpoint: {path: s.json, params: {x__exact: "{x}", _shape: array}}}', 250, "s.lookup[x]"),
    "batch": (
        '{keys: [x], batch: {size: 50, separator: ","}, endpoint: {path: s.json, params: {x__in: "{x}", _shape: objects}, data_selector: rows, paginator: {type: json_link, next_url_path: next_url, page_size: 20, page_size_param: _size}}}',
        40,
        "s.lookup[x]x50",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("scan", "lookup"),
    [
        *((scan, "one") for scan in DATASETTE_SCANS),
        ("next_url in the body", "batch"),
        ("Link header", "batch"),
    ],
)
def test_datasette(fff: CommandLine, datasette: str, data: Data, scan: str, lookup: str) -> None:
    text, most, name = DATASETTE_LOOKUPS[lookup]
    spec(fff, datasette, DATASETTE_SCANS[scan], text)
    ran = fff.rows(SQL)
    assert ran.rows == data.joined
    assert ran.access("r.scan")["requests"] == (1 if scan == "CSV" else 10)
    access = ran.access(name)
    assert access["distinct_keys"] == 250
    assert access["requests"] == most if most == 250 else access["requests"] <= most


DISCOVERED = """
version: 1
sources:
  there:
    type: datasette
    client: {base_url: "<url>"}
"""


def test_datasette_tells_its_tables_itself(fff: CommandLine, datasette: str, data: Data) -> None:
    fff.spec(DISCOVERED, url=datasette.removesuffix("/race"))
    shown = fff.run("source", "show", "there.s")
    assert shown.code == 0, shown.err
    assert "lookup  s.lookup[x]x100" in shown.out
    assert fff.run("source", "list", "-o", "csv").out.count("there.") == 2
    ran = fff.rows(SQL)
    assert ran.rows == data.joined
    scan, lookup = ran.access("r.scan"), ran.access("s.lookup[x]x100")
    assert scan["requests"] == 1, "as many rows a page as the server gives"
    assert lookup["requests"] <= 4
    one = fff.rows(f"{SQL} WHERE r.x = 'k0007' AND s.x = 'k0007'")
    assert one.rows == [row for row in data.joined if row[1] == "k0007"]


# ------------------------------------------------------------------------------------------------------- json-server


@contextlib.contextmanager
def json_server(program: str, data: Data, folder: Path, *options: str) -> Iterator[str]:
    rows = [row | {"id": str(number)} for number, row in enumerate(data.s)]
    file = folder / "db.json"
    file.write_text(json.dumps({"r": data.r, "s": rows}))
    port = free_port()
    with process(
        [program, *options, "--port", str(port), str(file)], f"http://127.0.0.1:{port}/s/1", folder / "log"
    ):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def json_server_0(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = executable("json-server", "FFF_REAL_JSON_SERVER", "0.17")
    folder = tmp_path_factory.mktemp("json-server")
    with json_server(program, data, folder, "--host", "127.0.0.1", "--quiet") as url:
        yield url


@pytest.fixture(scope="module")
def json_server_1(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = executable("json-server", "FFF_REAL_JSON_SERVER_1", "1.")
    folder = tmp_path_factory.mktemp("json-server-1")
    with json_server(program, data, folder, "--host", "127.0.0.1") as url:
        yield url


ONE = "{keys: [x], endpoint: s}"
REPEATED = "{keys: [x], batch: {size: 25}, endpoint: s}"
LINKS = "{path: r, params: {_page: 1, _limit: 100}, paginator: header_link}"
PAGES = (
    "{path: r, paginator: {type: page_number, page_param: _page, page_size: 100, page_size_param: _limit}}"
)
BODY = "{path: r, data_selector: data, paginator: {type: page_number, page_param: _page, page_size: 100, page_size_param: _per_page, total_path: pages}}"
NEXT = "{path: r, data_selector: data, params: {_page: 1, _per_page: 100}, paginator: {type: cursor, cursor_path: next, cursor_param: _page}}"


@pytest.mark.parametrize("scan", [LINKS, PAGES])
@pytest.mark.parametrize("lookup", [ONE, REPEATED])
def test_json_server_0(fff: CommandLine, json_server_0: str, data: Data, scan: str, lookup: str) -> None:
    spec(fff, json_server_0, scan, lookup)
    ran = fff.rows(SQL)
    assert ran.rows == data.joined
    assert ran.access("r.scan")["requests"] == (10 if scan == LINKS else 11)
    if lookup == ONE:
        assert ran.access("s.lookup[x]")["requests"] == 250
    else:
        assert ran.access("s.lookup[x]x25")["requests"] <= 25


@pytest.mark.parametrize("scan", [BODY, NEXT])
def test_json_server_1(fff: CommandLine, json_server_1: str, data: Data, scan: str) -> None:
    spec(fff, json_server_1, scan, ONE)
    ran = fff.rows(SQL)
    assert ran.rows == data.joined
    assert ran.access("r.scan")["requests"] == 10
    assert ran.access("s.lookup[x]")["requests"] == 250


def test_a_batch_of_which_a_server_reads_the_last_key_alone_is_an_error(
    fff: CommandLine, json_server_1: str
) -> None:
    spec(fff, json_server_1, BODY, REPEATED)
    ran = fff.query(SQL, "--on-source-error", "fail")
    assert (ran.code, ran.out) == (4, "")
    assert "there.s" in ran.err
    assert "batch" in ran.err
