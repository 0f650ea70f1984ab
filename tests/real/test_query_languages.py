"""The join of `test_servers` over servers that are asked in a language: OData, GraphQL, SPARQL. One SQL text for all."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.running import CommandLine, Ran, executable, free_port, process
from tests.real.two_tables import SQL, Data

pytestmark = pytest.mark.slow

RDF = "http://race.example/"


def join(fff: CommandLine, spec: str, url: str, expected: Data, *options: str) -> Ran:
    fff.spec(spec, url=url)
    ran = fff.rows(SQL, *options)
    assert ran.rows == expected.joined
    return ran


# ------------------------------------------------------------------------------------------------------------- OData


@pytest.fixture(scope="module")
def odata(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    node = executable("node", "FFF_REAL_NODE")
    packages = os.environ.get("FFF_REAL_ODATA_MODULES")
    if not packages:
        pytest.skip("FFF_REAL_ODATA_MODULES does not name a node_modules with simple-odata-server")
    folder = tmp_path_factory.mktemp("odata")
    (folder / "db.json").write_text(json.dumps({"r": data.r, "s": data.s}))
    port = free_port()
    script = Path(__file__).with_name("odata_server.js")
    command = ["env", f"NODE_PATH={packages}", node, str(script), str(port), str(folder / "db.json")]
    with process(command, f"http://127.0.0.1:{port}/$metadata", folder / "log"):
        yield f"http://127.0.0.1:{port}"


ODATA = 'version: 1\nsources: {there: {type: odata, client: {base_url: "<url>"}<more>}}'


def test_odata_finds_its_tables(fff: CommandLine, odata: str, data: Data) -> None:
    ran = join(fff, ODATA.replace("<more>", ""), odata, data)
    assert ran.access("r.scan")["requests"] == 1
    assert "there.s" in fff.run("source", "list").out
    assert "_id" in fff.run("source", "show", "there.s").out


@pytest.mark.parametrize("batch", [1, 50])
def test_odata_by_pages_and_keys(fff: CommandLine, odata: str, data: Data, batch: int) -> None:
    more = ", paging: skip, page_size: 100, tables: {r: {lookups: []}, s: {lookups: [x]<batch>}}"
    text = more.replace("<batch>", f", batch: {{size: {batch}}}" if batch > 1 else "")
    sql = SQL + " AND r.id < 100"
    fff.spec(ODATA.replace("<more>", text), url=odata)
    ran = fff.rows(sql)
    assert ran.rows == [row for row in data.joined if int(row[0]) < 100]
    scanned = ran.access("r.scan")
    assert (scanned["requests"], scanned["rows"]) == (1, 100), "the server is told of the condition"


def test_odata_literals(fff: CommandLine, odata: str) -> None:
    fff.spec(ODATA.replace("<more>", ", tables: {s: {}}"), url=odata)
    sql = "SELECT y FROM s WHERE x = :x"
    assert len(fff.rows(sql, "-p", "x=k0003").rows) == 1
    assert fff.rows(sql, "-p", "x=' or 1 eq 1 or 'a' eq '").rows == []


# ----------------------------------------------------------------------------------------------------------- GraphQL


@pytest.fixture(scope="module")
def graphql(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = executable("json-graphql-server", "FFF_REAL_JSON_GRAPHQL_SERVER")
    folder = tmp_path_factory.mktemp("graphql")
    rows = {"items": data.r, "keys": [row | {"id": number} for number, row in enumerate(data.s)]}
    (folder / "db.js").write_text(f"module.exports = {json.dumps(rows)};")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    with process([program, str(folder / "db.js"), "-p", str(port), "-h", "127.0.0.1"], url, folder / "log"):
        yield url


GRAPHQL = """
version: 1
sources:
  there:
    type: graphql
    client: {base_url: "<url>"}
    tables:
      r:
        field: allItems
        paginator: {type: page_number, base_page: 0, page_size: 100, total_rows_path: _allItemsMeta.count}
        <columns>
      s:
        columns: {x: string, y: int, grp: string}
        lookups:
          - field: "allKeys(filter: {x: $x})"
            keys: [x]
"""


@pytest.mark.parametrize("columns", ["columns: {id: int, x: string, v: int}", ""])
def test_graphql(fff: CommandLine, graphql: str, data: Data, columns: str) -> None:
    ran = join(fff, GRAPHQL.replace("<columns>", columns), graphql, data)
    assert ran.access("r.scan")["requests"] == 10
    access = ran.access("s.lookup[x]")
    assert access["requests"] == access["distinct_keys"] == 250


def test_graphql_says_what_it_does_not_know(fff: CommandLine, graphql: str) -> None:
    fff.spec(GRAPHQL.replace("<columns>", "columns: {nosuch: int}"), url=graphql)
    ran = fff.query("SELECT nosuch FROM r", "--on-source-error", "fail")
    assert (ran.code, ran.out) == (4, "")
    assert 'Cannot query field "nosuch"' in ran.err


# ------------------------------------------------------------------------------------------------------------ SPARQL


@pytest.fixture(scope="module")
def sparql(data: Data, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    program = executable("oxigraph", "FFF_REAL_OXIGRAPH")
    folder = tmp_path_factory.mktemp("oxigraph")
    lines = []
    for name, rows in (("r", data.r), ("s", data.s)):
        for number, row in enumerate(rows):
            subject = f"<{RDF}{name}/{number}>"
            lines.append(f"{subject} a <{RDF}{name.upper()}> .")
            for part, value in row.items():
                written = json.dumps(value) if isinstance(value, str) else str(value)
                lines.append(f"{subject} <{RDF}{part}> {written} .")
    (folder / "race.ttl").write_text("\n".join(lines))
    store = ["--location", str(folder / "store")]
    subprocess.run(
        [program, "load", *store, "--file", str(folder / "race.ttl")],
        check=True,
        capture_output=True,
        timeout=120,
    )
    port = free_port()
    command = [program, "serve-read-only", *store, "--bind", f"127.0.0.1:{port}"]
    with process(command, f"http://127.0.0.1:{port}/", folder / "log"):
        yield f"http://127.0.0.1:{port}/query"


SPARQL = """
version: 1
sources:
  there:
    type: sparql
    method: <method>
    client: {base_url: "<url>"}
    prefixes: {"": "http://race.example/"}
    tables:
      r:
        class: ":R"
        page_size: 200
        order_by: [row]
        lookups: []
        columns: {row: string, id: {type: int, predicate: ":id"}, x: {predicate: ":x", term: literal}, v: {type: int, predicate: ":v"}}
      s:
        query: "SELECT ?x ?y ?grp WHERE { <keys> ?s a :S ; :x ?x ; :y ?y ; :grp ?grp }"
        lookups: [x]
        columns: {x: {type: string<term>}, y: int, grp: string}
"""


@pytest.mark.parametrize(
    ("method", "keys", "term"),
    [("GET", "", ""), ("POST", "{keys}", ", term: literal"), ("POST", "", ", term: literal")],
)
def test_sparql(fff: CommandLine, sparql: str, data: Data, method: str, keys: str, term: str) -> None:  # noqa: PLR0917
    spec = SPARQL.replace("<method>", method).replace("<keys>", keys).replace("<term>", term)
    ran = join(fff, spec, sparql, data)
    assert ran.access("r.scan")["requests"] == 6  # the last page is as long as asked for
    sql = "SELECT y FROM s WHERE x IN ('k0003', 'a\" } #', 'b\\\\')"
    assert fff.rows(sql).rows == [(str(row["y"]),) for row in data.s if row["x"] == "k0003"]


def test_sparql_finds_columns(fff: CommandLine, sparql: str, data: Data) -> None:
    spec = SPARQL.replace("<method>", "POST").replace("<keys>", "")
    spec = spec.replace("        columns: {x: {type: string<term>}, y: int, grp: string}\n", "")
    ran = join(fff, spec, sparql, data)
    assert ran.report["complete"]
    shown = fff.run("source", "show", "there.s").out
    assert "bigint" in shown
