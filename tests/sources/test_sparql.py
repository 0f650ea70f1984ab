"""SPARQL endpoints: the queries that go over the wire, and their answers as rows."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.load import lint
from fff_sources.sparql import terms
from fff_sources.sparql.select import bindable
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

XSD = "http://www.w3.org/2001/XMLSchema#"
ENTITY = "http://www.wikidata.org/entity/"
SPEC = """
version: 1
sources:
  wd:
    type: sparql
    client: {{base_url: "{url}/sparql", headers: {{User-Agent: "test (mailto:a@b.example)"}}}}
    prefixes: {{wd: "http://www.wikidata.org/entity/", wdt: "http://www.wikidata.org/prop/direct/"}}
    tables:
      {tables}
"""
HUMANS = """people:
        query: |
          PREFIX schema: <http://schema.org/>  # of its own
          SELECT ?item ?label ?year WHERE { ?item wdt:P31 wd:Q5 ; rdfs:label ?label } # the end
        columns: {item: {type: string, term: iri}, label: {type: string, term: "@en"}, year: int, note: string}
"""


class Endpoint:
    """Answers the same rows to every query, and notes the queries."""

    def __init__(self, rows: list[dict[str, Any]], names: list[str] | None = None) -> None:
        self.answer = {"head": {"vars": names or []}, "results": {"bindings": rows}}
        self.queries: list[str] = []

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        self.queries.append(" ".join(str(form.get("query") or request.query["query"]).split()))
        return web.json_response(self.answer, content_type="application/sparql-results+json")


def uri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": ENTITY + name}


def typed(value: str, kind: str) -> dict[str, str]:
    return {"type": "literal", "value": value, "datatype": XSD + kind}


Asked = tuple[Reader, Endpoint, Served]


@pytest.fixture
def over(read: Callable[..., Reader], serve: Serve) -> Callable[..., Any]:
    async def start(
        tables: str, rows: list[dict[str, Any]] | None = None, names: list[str] | None = None
    ) -> Asked:
        endpoint = Endpoint(rows or [], names)
        served = await serve(endpoint)
        return read(SPEC.format(url=served.url, tables=tables)), endpoint, served

    return start


async def test_a_scan_projects_the_columns_needed(over: Callable[..., Any]) -> None:
    rows = [
        {"item": uri("Q1"), "label": {"type": "literal", "value": "one", "xml:lang": "en"}, "year": typed("1903", "integer")},
        {"item": uri("Q2"), "year": {"type": "literal", "value": "1937"}},
        {"item": {"type": "bnode", "value": "t1"}, "note": typed("x", "string")},
    ]  # fmt: skip
    reader, endpoint, served = await over(HUMANS, rows)
    assert await reader.scan("people") == [
        {"item": ENTITY + "Q1", "label": "one", "year": 1903, "note": None},
        {"item": ENTITY + "Q2", "label": None, "year": 1937, "note": None},
        {"item": "t1", "label": None, "year": None, "note": "x"},
    ]
    await reader.scan("people", ["label"])
    assert endpoint.queries[1] == (
        "PREFIX wd: <http://www.wikidata.org/entity/> PREFIX wdt: <http://www.wikidata.org/prop/direct/> "
        "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX schema: <http://schema.org/> # of its own "
        "SELECT ?label WHERE { { SELECT ?item ?label ?year WHERE { ?item wdt:P31 wd:Q5 ; rdfs:label ?label } # the end } }"
    )
    (first, _) = served.asked
    assert first.method == "POST"
    assert first.content_type == "application/x-www-form-urlencoded"
    assert first.headers["Accept"] == "application/sparql-results+json"
    assert first.headers["User-Agent"] == "test (mailto:a@b.example)"


async def test_keys_are_terms_and_never_text(over: Callable[..., Any]) -> None:
    reader, endpoint, _ = await over(HUMANS)

    async def said(number: int, *keys: object) -> list[str]:
        before = len(endpoint.queries)
        await reader.lookup("people", *keys, columns=["item"], number=number)
        return [query.split("WHERE {", 1)[1].strip() for query in endpoint.queries[before:]]

    text, *_ = await said(0, ENTITY + "Q1", "no iri", "Q7", f"{ENTITY}> ?s ?p ?o . <x", ENTITY + "Q2")
    assert text.startswith(f"VALUES (?item) {{ (<{ENTITY}Q1>) (<{ENTITY}Q2>) }} {{ SELECT * WHERE {{")
    assert text.endswith("# the end } FILTER(BOUND(?item)) } } }")
    text, *_ = await said(1, 'a" } DELETE { ?s ?p ?o', "b\\", "c\n")
    assert text.startswith(r'VALUES (?label) { ("a\" } DELETE { ?s ?p ?o"@en) ("b\\"@en) ("c\n"@en) }')
    text, *_ = await said(2, 5, 6)  # 5, 5.0 and "5" are one value
    assert text.startswith(f"FILTER(<{XSD}decimal>(?year) IN (5, 6)) {{ SELECT * WHERE {{")
    text, *_ = await said(3, "x'y")
    assert text.startswith("""FILTER(STR(?note) IN ("x'y")) { SELECT""")
    assert await said(0, "nothing that is an IRI") == []


async def test_keys_go_where_the_query_wants_them(over: Callable[..., Any]) -> None:
    table = 'p: {query: "SELECT ?a WHERE { {keys} ?a wdt:P1 ?b } LIMIT", columns: {a: {term: iri}}}'
    reader, endpoint, _ = await over(table.replace(" LIMIT", ""))
    await reader.lookup("p", "urn:x")
    await reader.scan("p")
    assert endpoint.queries[0].endswith(
        "SELECT ?a WHERE { { SELECT ?a WHERE { VALUES (?a) { (<urn:x>) } ?a wdt:P1 ?b } } }"
    )
    assert endpoint.queries[1].endswith("SELECT ?a WHERE { { SELECT ?a WHERE { ?a wdt:P1 ?b } } }")


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT ?x (COUNT(?l) AS ?n) WHERE { {keys} ?x a ex:C OPTIONAL { ?x rdfs:label ?l } } GROUP BY ?x", "x"),
        ("SELECT ?x (STR(?l) AS ?name) { {keys} ?x rdfs:label ?l }", "x l"),
        ("SELECT ?x ?n { {keys} ?x ex:p ?m BIND(?m + 1 as ?n) FILTER(?z > 1) }", "x m"),
        ("SELECT ?x ?xLabel { {keys} ?x a ex:C SERVICE wikibase:label { bd:serviceParam ?l ?xLabel } }", "x"),
        ("SELECT ?x ?l { {keys} ?x a ex:C MINUS { ?x ex:p ?m } FILTER EXISTS { ?x ex:q ?q } }", "x"),
        ("SELECT * { { SELECT $x (MAX(?v) AS ?w) { {keys} $x ex:v ?v } GROUP BY $x } ?x ex:l ?l # ?y\n }", "x v"),
        ("SELECT ?x ?l { {keys} { ?x ex:l ?l } UNION { ?x (ex:m/ex:n)* ?l } SERVICE ex:s { ?x ex:p '?q' } }", "x l"),
        ("SELECT ?x ?l { ?x a ex:C OPTIONAL { {keys} ?x ex:l ?l } }", ""),
        ("SELECT ?x ?l { { {keys} ?x ex:l ?l } UNION { {keys} ?x ex:m ?m } }", "x"),
        ("SELECT ?x { ?x a ex:C }", ""),
    ],
)  # fmt: skip
def test_keys_bind_the_variables_that_the_braces_around_them_have_values_for(query: str, names: str) -> None:
    assert bindable(query) == bindable(query, values=True) == set(names.split())


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("SELECT ?x ?l { { {keys} } ?x ex:l ?l OPTIONAL { ?x ex:m ?m } }", "x l"),
        ("SELECT ?x ?l { GRAPH ?g { {\n{keys}} ?x ex:l ?l } }", "x l"),
        ("SELECT ?x (COUNT(?l) AS ?n) { ?x ex:l ?l OPTIONAL { ?x ex:m ?m } } GROUP BY ?x {keys} # the end", "x l"),
        ("SELECT ?x { ?x a ex:C } HAVING (EXISTS { ?x ex:l ?l }) {keys}", "x"),
        ("SELECT ?x { ?x a ex:C } {keys} ORDER BY ?x", ""),
        ("SELECT ?x { { {keys} } UNION { ?x a ex:C } ?x ex:l ?l }", ""),
        ("SELECT ?x { { ?x a ex:C } UNION { {keys} } ?x ex:l ?l }", ""),
        ("SELECT ?x { ?x ex:l ?l OPTIONAL { {keys} } }", ""),
        ("SELECT ?x { ?x ex:l ?l MINUS { {keys} } }", ""),
        ("SELECT ?x ?l { ?x a ex:C OPTIONAL { { {keys} } ?x ex:l ?l } }", ""),
        ("SELECT ?x { {keys} }", ""),
    ],
)  # fmt: skip
def test_values_bind_from_braces_of_their_own_and_from_the_end_where_a_comparison_cannot(
    query: str, names: str
) -> None:
    assert bindable(query, values=True) == set(names.split())
    assert bindable(query) == set()


async def test_a_key_that_cannot_be_bound_where_keys_go_is_joined_to_the_query(
    over: Callable[..., Any],
) -> None:
    query = "SELECT ?x (COUNT(?l) AS ?n) WHERE { {keys} ?x ex:l ?l } GROUP BY ?x"
    reader, endpoint, _ = await over(f'p: {{query: "{query}", columns: {{x: {{term: iri}}, n: int}}}}')
    await reader.lookup("p", 4, number=1)
    await reader.lookup("p", "urn:x", number=0)
    plain = query.replace("{keys} ", "")
    counted, bound = (text.split("WHERE {", 1)[1].strip() for text in endpoint.queries)
    assert counted == (
        f"FILTER(<{XSD}decimal>(?n) IN (4)) {{ SELECT * WHERE {{ {{ {plain} }} FILTER(BOUND(?n)) }} }} }}"
    )
    assert bound == "{ " + query.replace("{keys}", "VALUES (?x) { (<urn:x>) }") + " } }"


@pytest.mark.parametrize(
    "query", ["SELECT ?x ?l { { {keys} } ?x ex:l ?l }", "SELECT ?x ?l { ?x ex:l ?l } {keys}"]
)
async def test_values_are_put_where_the_query_has_keys(over: Callable[..., Any], query: str) -> None:
    reader, endpoint, _ = await over(f'p: {{query: "{query}", columns: {{x: {{term: iri}}, l: string}}}}')
    await reader.lookup("p", "urn:x", number=0)
    await reader.lookup("p", "a", number=1)
    bound, compared = endpoint.queries
    assert query.replace("{keys}", "VALUES (?x) { (<urn:x>) }") in bound
    assert 'WHERE { FILTER(STR(?l) IN ("a")) { SELECT * WHERE {' in compared


async def test_from_stands_at_the_outermost_query(over: Callable[..., Any]) -> None:
    query = "SELECT ?s (wd:from(?o) AS ?p) FROM <http://ex/g> from named wd:g # FROM <x>\n { ?s ?p ?o . ?from ?a <FROM> }"
    reader, endpoint, _ = await over(f"p: {{query: {json.dumps(query)}, columns: {{s: {{term: iri}}}}}}")
    await reader.scan("p")
    await reader.lookup("p", "urn:x")
    for text in endpoint.queries:
        assert "SELECT ?s FROM <http://ex/g> from named wd:g WHERE { " in text
        assert "{ SELECT ?s (wd:from(?o) AS ?p) # FROM <x> { ?s ?p ?o . ?from ?a <FROM> } }" in text


@pytest.mark.parametrize(("bad", "zoned"), [("fail", "string"), ('"null"', "date"), ("skip", "date")])
async def test_a_date_that_is_none_is_text_where_it_would_be_an_error_and_other_types_are_as_declared(
    over: Callable[..., Any], bad: str, zoned: str
) -> None:
    """A number that is too large makes no text of those that are compared with numbers."""
    rows = [
        {"zoned": typed("2020-01-01Z", "date"), "day": typed("2020-01-01", "date"), "n": typed("1", "integer")},
        {"zoned": typed("2020-01-01", "date"), "day": typed("2020-01-02", "date"), "n": typed("9" * 20, "integer")},
    ]  # fmt: skip
    table = f'p: {{query: "SELECT * {{ ?a ?b ?c }}", on_bad_record: {bad}}}'
    reader, _, _ = await over(table, rows, ["zoned", "day", "n"])
    await reader.catalog.discover([reader.table("p")])
    assert [column.type for column in reader.table("p").columns] == [zoned, "date", "bigint"]
    if bad == "fail":
        with pytest.raises(SourceError, match="is not a bigint"):
            await reader.scan("p")
    else:
        assert [row["n"] for row in await reader.scan("p")][:1] == ([1] if bad != "skip" else [])


async def test_a_class_with_predicates(over: Callable[..., Any]) -> None:
    reader, endpoint, _ = await over(
        'films: {class: "wd:Q11424", class_predicate: "wdt:P31", batch_size: 2, columns: {film: string, title: {predicate: rdfs:label, '
        'term: "@en"}, imdb: {predicate: "wdt:P345", optional: true}, runs: {type: bigint, predicate: "wdt:P2047", optional: true}}}'
    )
    await reader.scan("films", ["imdb"])
    title = '?film rdfs:label ?title . FILTER(LCASE(LANG(?title)) = "en")'
    runs = "OPTIONAL { ?film wdt:P2047 ?runs . }"
    assert endpoint.queries[0].endswith(
        f"SELECT ?imdb WHERE {{ ?film wdt:P31 wd:Q11424 . {title} OPTIONAL {{ ?film wdt:P345 ?imdb . }} {runs} }}"
    )
    await reader.lookup("films", "tt1", "tt2", "tt3", columns=["film"], number=2)
    assert len(endpoint.queries) == 3  # two batches
    assert endpoint.queries[1].endswith(
        f'SELECT ?film WHERE {{ FILTER(STR(?imdb) IN ("tt1", "tt2")) ?film wdt:P31 wd:Q11424 . {title} ?film wdt:P345 ?imdb . {runs} }}'
    )
    await reader.lookup("films", 94, columns=["film"], number=3)
    assert f"FILTER(<{XSD}decimal>(?runs) IN (94))" in endpoint.queries[-1]
    await reader.lookup("films", ENTITY + "Q1", columns=["film"], number=0)
    assert f"VALUES (?film) {{ (<{ENTITY}Q1>) }}" in endpoint.queries[-1]


async def test_pages_are_asked_for_in_an_order(read: Callable[..., Reader], serve: Serve) -> None:
    queries: list[str] = []

    async def answer(request: web.Request) -> web.StreamResponse:
        queries.append(" ".join(request.query["query"].split()))
        start = int(queries[-1].partition("OFFSET ")[2].split()[0])
        rows = [
            {"a": {"type": "literal", "value": str(number)}} for number in range(start, min(start + 2, 5))
        ]
        return web.json_response({"head": {"vars": ["a"]}, "results": {"bindings": rows}})

    served = await serve(answer)
    spec = SPEC.replace("prefixes:", "method: GET\n    page_size: 2\n    prefixes:")
    tables = 'p: {query: "SELECT ?a ?b { ?a ?p ?b }", columns: {a: int, b: string}}\n      q: {query: "SELECT * { ?a ?p ?b }", columns: {a: int, b: string}, order_by: [b]}'
    reader = read(spec.format(url=served.url, tables=tables))
    assert await reader.scan("p", ["a"]) == [{"a": number} for number in range(5)]
    assert [query.rpartition("} ")[2] for query in queries] == [
        f"ORDER BY ?a OFFSET {start} LIMIT 2" for start in (0, 2, 4, 5)
    ]
    await reader.scan("q", ["a"])
    assert queries[-1].endswith("ORDER BY ?b OFFSET 5 LIMIT 2")
    assert {request.method for request in served.asked} == {"GET"}


async def test_columns_come_from_an_answer_where_none_are_declared(over: Callable[..., Any]) -> None:
    rows = [
        {"a": uri("Q1"), "b": typed("1", "integer"), "c": typed("2013-01-01T00:00:00Z", "dateTime"), "d": typed("94", "decimal")},
        {"a": uri("Q2"), "b": typed("2", "int"), "e": typed("1", "integer")},
        {"e": {"type": "literal", "value": "x"}},
    ]  # fmt: skip
    table = 'p: {query: "SELECT ?a ?b ?c ?d ?e ?f { ?a ?b ?c }"}'
    reader, endpoint, _ = await over(table, rows, ["a", "b", "c", "d", "e", "f"])
    assert endpoint.queries == []
    await reader.catalog.discover([reader.table("p")])
    assert [query[-44:] for query in endpoint.queries] == [
        "{ { SELECT ?a ?b ?c ?d ?e ?f { ?a ?b ?c } } } LIMIT 100"[-44:]
    ]
    assert [column.type for column in reader.table("p").columns] == [
        "string", "bigint", "timestamp", "decimal(38,18)", "string", "string",
    ]  # fmt: skip
    assert (await reader.scan("p", ["c", "e"]))[0] == {"c": dt.datetime(2013, 1, 1, tzinfo=dt.UTC), "e": None}


@pytest.mark.parametrize("body", ["<html>log in</html>", "{}", '{"head": {}, "boolean": true}'])
async def test_whatever_is_no_result_is_an_error(
    read: Callable[..., Reader], serve: Serve, body: str
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type="text/html" if "html" in body else "application/json")

    served = await serve(answer)
    spec = SPEC.format(url=served.url, tables='p: {query: "SELECT * { ?a ?b ?c }"}\n      q: {query: "SELECT * { ?a ?b ?c }", columns: {a: string}}')  # fmt: skip
    reader = read(spec)
    with pytest.raises(SourceError, match="the answer is"):
        await reader.catalog.discover([reader.table("p")])
    with pytest.raises(SourceError, match=r"the answer (is|has)"):
        await reader.scan("q")


def test_mistakes_in_a_spec(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    tables = """
      a: {query: "ASK { ?a ?b ?c }", columns: {a: string}}
      b: {columns: {a: string}}
      c: {query: "SELECT * { {keys} ?a ?b ?c } LIMIT 5", columns: {a: string}}
      d: {query: "SELECT * { {keys} { SELECT * { ?a ?b '} LIMIT 4' } LIMIT 5 } }", columns: {a: {term: "en"}, "a b": string}, lookups: [z]}
      e: {class: "wd:Q5 . ?x ?y ?z", columns: {a: strin, b: {predicate: "} x {"}, c: {predicate: "wdt:P1/wdt:P2*"}}}
      f: {class: "wd:Q5", columns: {b: {predicate: "wdt:P1"}}}"""
    file.write_text(SPEC.format(url="http://h", tables=tables))
    said = [
        (error.path or "").removeprefix("sources.wd.tables.") + ": " + error.message.rsplit(": ", 1)[-1]
        for error in lint(file, environ={})
    ]
    assert [line.split(": ")[0] for line in said] == [
        "a.query", "b", "c.query", "d.columns.a.term", "d.columns.a b", "d.lookups", "e.columns.a.type",
        "e.columns.b.predicate", "e.class", "f.columns",
    ], said  # fmt: skip
    file.write_text(
        SPEC.format(url="http://h", tables="a: {query: 'SELECT * {}', batch_size: 0, page_size: 0}")
    )
    assert len(lint(file, environ={})) == 2
    file.write_text(SPEC.format(url="http://h", tables="a: {querry: x}"))
    assert "did you mean 'query'?" in str(lint(file, environ={})[0])


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("a\\b", r'"a\\b"'), ("a\\u0041", r'"a\\\u00750041"'), ("\\U0001F600", r'"\\\u00550001F600"'), ("\\", r'"\\"'), ("\r\t", r'"\r\t"'),
        ("\\\\u", r'"\\\\\u0075"'), ("é'", "\"é'\""), ("\0", None), ("\ud800", None),
    ],
)  # fmt: skip
def test_a_text_as_a_literal(text: str, written: str | None) -> None:
    assert terms.string(text) == written


def test_a_term() -> None:
    assert terms.term("xsd:date", dt.date(2020, 1, 2)) == '"2020-01-02"^^xsd:date'
    assert (
        terms.term(f"<{XSD}dateTime>", dt.datetime(2020, 1, 2, tzinfo=dt.UTC))
        == f'"2020-01-02T00:00:00Z"^^<{XSD}dateTime>'
    )
    assert terms.iri("http://a/\n") is None
    assert [kind for kind in ("@en-GB", "@", "date", "xsd:date", "<x y:z>", "<u:r#n>") if terms.is_kind(kind)] == [
        "@en-GB", "xsd:date", "<u:r#n>",
    ]  # fmt: skip


async def test_recorded_answers_of_wikidata(
    shared_folder: Path, read: Callable[..., Reader], serve: Serve
) -> None:
    recorded = [
        row
        for row in map(json.loads, (shared_folder / "recorded" / "index.jsonl").read_text().splitlines())
        if row["api"] == "wikidata_sparql"
    ]
    bodies = {
        row["url"].partition("#")[2]: (shared_folder / "recorded" / row["body"]).read_bytes()
        for row in recorded
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        body = bodies[request.path.split("/")[1]]
        return web.Response(body=body, content_type="application/sparql-results+json")

    served = await serve(answer)
    rows = {}
    for name, body in bodies.items():
        spec = SPEC.format(url=f"{served.url}/{name}", tables='t: {query: "SELECT * { ?a ?b ?c }"}')
        reader = read(spec)
        await reader.catalog.discover([reader.table("t")])
        rows[name] = await reader.scan("t")
        assert len(rows[name]) == len(json.loads(body)["results"]["bindings"])
        assert list(rows[name][0]) == json.loads(body)["head"]["vars"]
    assert rows["multi_vars_sparql_results"][1] == {
        "entity": "t284055162",
        "entityLabel": "FAKE BNODE",
        "year": 1970,
    }
    (film,) = rows["sparql_results_with_optional_values"]
    assert film["publicationDate"] == dt.datetime(2013, 1, 1, tzinfo=dt.UTC)
    assert (film["duration"], film["genre"], film["label"]) == (decimal.Decimal(94), None, "Tarzan")
