"""GraphQL: documents and variables on the wire, connections and lists as rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError
from fff_sources.graphql import fields
from fff_sources.load import lint
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

SPEC = 'version: 1\nsources: {{hub: {{type: graphql, client: {{base_url: "{url}/graphql"}}{more}}}}}'
ISSUES = """, tables: {issues: {
  field: 'repository(owner: "a.b", name: "c)").issues(states: [OPEN])', paginator: {type: relay, page_size: 3, total_path: .totalCount},
  columns: {number: int, title: string, login: {type: string, path: author.login}, mail: {type: string, path: author.mail},
            label: {type: string, path: "labels.nodes[0].name", select: "labels(first: 1) { nodes { name } }"}},
  lookups: [{keys: [number], field: 'repository(owner: "a.b", name: "c)").issue(number: $number)'},
            {keys: [title], field: 'search(titles: $title)', batch_size: 2, types: {title: "[ID!]"}},
            {keys: [login, number], field: 'by(who: {login: $login}, n: $number).all', paginator: relay}]}}"""
WAY = 'repository(owner: "a.b", name: "c)") { issues(states: [OPEN], first: $first, after: $after)'

AFTER = "pageInfo { endCursor hasNextPage } totalCount } } }"


class Endpoint:
    """Answers with what a function makes of the variables, and notes what was asked."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.asked: list[dict[str, Any]] = []
        self.answer = answer

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        assert request.method == "POST"
        body = await request.json()
        self.asked.append(body)
        return web.json_response(self.answer(body))


Over = Callable[..., Any]


@pytest.fixture
def over(read: Callable[..., Reader], serve: Serve) -> Over:
    async def start(more: str, answer: Callable[[dict[str, Any]], Any]) -> tuple[Reader, Endpoint, Served]:
        endpoint = Endpoint(answer)
        served = await serve(endpoint)
        return read(SPEC.format(url=served.url, more=more)), endpoint, served

    return start


def issue(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "title": f"t{number}",
        "author": None if number == 2 else {"login": f"l{number}"},
    }


def issues(body: dict[str, Any]) -> Any:
    start = int(body["variables"].get("after", "0"))
    end = start + body["variables"]["first"]
    connection = {
        "edges": [{"node": issue(number)} for number in range(start, min(end, 7))],
        "pageInfo": {"hasNextPage": end < 7, "endCursor": str(end)},
        "totalCount": 7,
    }
    return {"data": {"repository": {"issues": connection}}}


async def test_a_connection_page_by_page(over: Over) -> None:
    reader, endpoint, served = await over(ISSUES, issues)
    rows = await reader.scan("issues", ["number", "login"])
    assert rows == [{"number": n, "login": None if n == 2 else f"l{n}"} for n in range(7)]
    assert [body["query"] for body in endpoint.asked] == [
        f"query($first: Int, $after: String) {{ {WAY} {{ edges {{ node {{ number author {{ login }} }} }} {AFTER}"
    ] * 3
    assert [body["variables"] for body in endpoint.asked] == [
        {"first": 3}, {"first": 3, "after": "3"}, {"first": 3, "after": "6"},
    ]  # fmt: skip
    assert reader.meter.total_rows == 7
    assert served.asked[0].content_type == "application/json"


async def test_a_field_that_says_how_long_pages_are_is_not_asked_for_so_many_again(over: Over) -> None:
    def sized(body: dict[str, Any]) -> Any:
        return issues({"variables": {"first": 2, **body.get("variables", {})}})

    reader, endpoint, _ = await over(ISSUES.replace("states: [OPEN]", "first: 2", 1), sized)
    assert [row["number"] for row in await reader.scan("issues", ["number"])] == [*range(7)]
    assert "issues(first: 2, after: $after)" in endpoint.asked[0]["query"]
    assert [body.get("variables") for body in endpoint.asked] == [None, *({"after": n} for n in "246")]


async def test_only_what_is_needed_is_selected(over: Over) -> None:
    reader, endpoint, _ = await over(ISSUES, issues)
    await reader.scan("issues", ["label", "mail", "login"])
    await reader.scan("issues", [])
    selected = [
        body["query"].partition("node { ")[2].partition(" } } pageInfo")[0] for body in endpoint.asked[::3]
    ]
    assert selected == ["author { mail login } labels(first: 1) { nodes { name } }", "number"]


async def test_keys_are_variables_and_never_text(over: Over) -> None:
    def found(body: dict[str, Any]) -> Any:
        variables = body["variables"]
        if "title" in variables:
            return {"data": {"search": [{"title": title} for title in variables["title"]]}}
        if "login" in variables:
            page = {"endCursor": "c", "hasNextPage": False}
            return {
                "data": {"by": {"all": {"edges": [{"node": issue(variables["number"])}], "pageInfo": page}}}
            }
        number = variables["number"]
        return {
            "data": {
                "repository": {"issue": issue(number)}
                if number == 1
                else ({"issue": None} if number == 2 else None)
            }
        }

    reader, endpoint, _ = await over(ISSUES, found)
    rows = await reader.lookup("issues", 1, 2, 3, 2**40, columns=["number", "title"])
    assert rows == [{"number": 1, "title": "t1"}]
    assert endpoint.asked[0] == {
        "query": 'query($number: Int!) { repository(owner: "a.b", name: "c)") { issue(number: $number) { number title } } }',
        "variables": {"number": 1},
    }
    assert len(endpoint.asked) == 3  # 2**40 is no Int of GraphQL
    odd = '") { secrets } #'
    rows = await reader.lookup("issues", odd, "b\\u0022", "c", columns=["title"], number=1)
    assert [row["title"] for row in rows] == [odd, "b\\u0022", "c"]
    assert endpoint.asked[3] == {
        "query": "query($title: [ID!]) { search(titles: $title) { title } }",
        "variables": {"title": [odd, "b\\u0022"]},
    }
    assert endpoint.asked[-1]["variables"] == {"title": ["c"]}
    await reader.lookup("issues", ("x", 5), columns=["number"], number=2)
    assert endpoint.asked[-1] == {
        "query": "query($first: Int, $after: String, $login: String!, $number: Int!) { by(who: {login: $login}, n: $number) "
        "{ all(first: $first, after: $after) { edges { node { number } } pageInfo { endCursor hasNextPage } } } }",
        "variables": {"first": 100, "login": "x", "number": 5},
    }


@pytest.mark.parametrize(
    ("kind", "types", "left"), [("bigint", "", [(2**40,)]), ("bigint", "Int!", []), ("int", "", [])]
)
async def test_a_long_key_that_the_guessed_type_cannot_say_is_not_taken_for_one_without_rows(
    over: Over, kind: str, types: str, left: list[tuple[int]]
) -> None:
    declared = f", types: {{id: '{types}'}}" if types else ""
    table = (
        f"{{columns: {{id: {kind}}}, field: all, lookups: [{{keys: [id], field: 'one(id: $id)'{declared}}}]}}"
    )
    reader, endpoint, _ = await over(f", tables: {{t: {table}}}", lambda body: {"data": {"one": {"id": 7}}})
    assert await reader.lookup("t", 7, 2**40) == [{"id": 7}]
    assert reader.unanswered == left
    assert len(endpoint.asked) == 1


async def test_lists_by_page_and_by_offset(over: Over) -> None:
    def listed(body: dict[str, Any]) -> Any:
        variables = body["variables"]
        start = variables["page"] * 2 if "page" in variables else variables["skip"]
        return {
            "data": {
                "all": list(map(issue, range(start, min(start + 2, 5)))),
                "box": {"items": list(map(issue, range(start, min(start + 2, 5))))},
                "meta": {"count": 5},
            }
        }

    reader, endpoint, _ = await over(
        ", tables: {p: {field: all, paginator: {type: page_number, base_page: 0, page_size: 2, total_rows_path: meta.count}, columns: {number: int}},"
        ' o: {field: "box(skip: $skip, take: $take).items", paginator: {type: offset, offset_param: skip, page_size: 2, page_size_param: take}, columns: {number: int}}}',
        listed,
    )
    assert sorted(row["number"] for row in await reader.scan("p", window=4)) == list(range(5))
    assert endpoint.asked[0] == {
        "query": "query($page: Int, $perPage: Int) { all(page: $page, perPage: $perPage) { number } meta { count } }",
        "variables": {"page": 0, "perPage": 2},
    }
    assert len(endpoint.asked) == 3
    assert len(await reader.scan("o")) == 5
    assert endpoint.asked[-1] == {
        "query": "query($skip: Int, $take: Int) { box(skip: $skip, take: $take) { items { number } } }",
        "variables": {"skip": 4, "take": 2},
    }


@pytest.mark.parametrize(
    ("error", "again"),
    [
        ({"extensions": {"code": "THROTTLED"}}, True),
        ({"type": "RATE_LIMITED"}, True),
        ({"type": "INTERNAL", "extensions": {"code": "RATELIMITED"}}, True),
        ({"extensions": {"code": "FORBIDDEN"}}, False),
        ({"extensions": []}, False),
    ],
)
async def test_a_question_that_came_too_soon_is_asked_again(
    over: Over, error: dict[str, Any], *, again: bool
) -> None:
    def answer(body: dict[str, Any]) -> Any:
        soon = len(endpoint.asked) == 2
        return {"data": None, "errors": [{"message": "later", **error}]} if soon else issues(body)

    reader, endpoint, _ = await over(ISSUES, answer)
    if again:
        assert [row["number"] for row in await reader.scan("issues", ["number"])] == list(range(7))
        assert len(endpoint.asked) == 4
        assert reader.meter.throttled == 1
    else:
        with pytest.raises(SourceError, match="later"):
            await reader.scan("issues", ["number"])


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"data": {"all": [{"number": 1}]}, "errors": [{"message": "half\nof it"}]}, "half of it"),
        ({"errors": [{"message": str(n)} for n in range(5)], "data": None}, "0; 1; 2; and 2 more"),
        ({"data": None}, "no data"),
        ({}, "no data"),
        ([1], "no GraphQL response"),
        ({"data": {"all": [{"number": 1}, None]}}, "not an object"),
        ({"data": {}}, "has no 'data.all'"),
    ],
)
async def test_errors_are_errors_whatever_the_status(over: Over, answer: Any, said: str) -> None:
    reader, _, _ = await over(", tables: {t: {field: all, columns: {number: int}}}", lambda _: answer)
    with pytest.raises(SourceError, match=said):
        await reader.scan("t")


@pytest.mark.parametrize(
    ("body", "said"), [('{"errors": [{"message": "no such field"}]}', "no such field"), ("<p>", "HTTP 400")]
)
async def test_a_refused_document_says_why(
    read: Callable[..., Reader], serve: Serve, body: str, said: str
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(status=400, text=body, content_type="application/json")

    served = await serve(answer)
    reader = read(SPEC.format(url=served.url, more=", tables: {t: {field: all, columns: {number: int}}}"))
    with pytest.raises(SourceError, match=said):
        await reader.scan("t")
    assert len(served.asked) == 1


async def test_a_cursor_that_goes_round_is_an_error(over: Over) -> None:
    def stuck(body: dict[str, Any]) -> Any:
        connection = {"edges": [{"node": issue(1)}], "pageInfo": {"hasNextPage": True, "endCursor": "x"}}
        return {"data": {"repository": {"issues": connection}}}

    reader, endpoint, _ = await over(ISSUES, stuck)
    with pytest.raises(SourceError, match="second time"):
        await reader.scan("issues", ["number"])
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize("info", [None, {}, {"hasNextPage": None, "endCursor": "3"}])
async def test_a_page_that_does_not_say_whether_one_follows_is_not_the_last(over: Over, info: Any) -> None:
    def silent(body: dict[str, Any]) -> Any:
        answer = issues(body)
        answer["data"]["repository"]["issues"]["pageInfo"] = info
        return answer

    reader, _, _ = await over(ISSUES, silent)
    with pytest.raises(
        SourceError, match=r"pageInfo of repository\.issues does not say whether a page follows"
    ) as caught:
        await reader.scan("issues", ["number"])
    assert "paginator: single_page" in str(caught.value)


@pytest.mark.parametrize("nodes", ["edges", "nodes"])
async def test_a_connection_without_records_has_no_next_page_to_tell_of(over: Over, nodes: str) -> None:
    """Resolvers written by hand answer so where nothing is found."""
    empty = {"data": {"all": {nodes: [], "pageInfo": None}}}
    reader, endpoint, _ = await over(EDGES.format(nodes=nodes, bad="fail"), lambda _: empty)
    assert await reader.scan("t") == []
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(("records", "info"), [([], {"endCursor": None}), (None, None)])
async def test_no_records_beside_half_of_page_info_are_no_end(over: Over, records: Any, info: Any) -> None:
    answer = {"data": {"all": {"edges": records, "pageInfo": info}}}
    reader, _, _ = await over(EDGES.format(nodes="edges", bad="fail"), lambda _: answer)
    with pytest.raises(SourceError, match="does not say whether a page follows"):
        await reader.scan("t")


EDGES = ", tables: {{t: {{field: all, paginator: {{type: relay, page_size: 2, nodes: {nodes}}}, columns: {{number: int}}, on_bad_record: {bad}}}}}"


def paged(items: list[Any], nodes: str) -> Callable[[dict[str, Any]], Any]:
    """A connection of these edges or nodes, two a page; a page of None is null."""

    def answer(body: dict[str, Any]) -> Any:
        start = int(body["variables"].get("after", "0"))
        page = items[start : start + 2]
        info = {"hasNextPage": start + 2 < len(items), "endCursor": str(start + 2)}
        return {"data": {"all": {nodes: None if page == [None, None] else page, "pageInfo": info}}}

    return answer


@pytest.mark.parametrize(("nodes", "odd"), [("edges", None), ("edges", {"node": None}), ("nodes", None)])
async def test_null_among_the_records_is_a_bad_one_wherever_it_stands(
    over: Over, nodes: str, odd: Any
) -> None:
    items = [{"node": issue(at)} if nodes == "edges" else issue(at) for at in range(4)]
    items.insert(2, odd)
    reader, _, _ = await over(EDGES.format(nodes=nodes, bad="fail"), paged(items, nodes))
    with pytest.raises(SourceError, match=r"record 3: null is not an object") as caught:
        await reader.scan("t")
    assert "on_bad_record: null or skip" in str(caught.value)
    assert "data_selector" not in str(caught.value)
    reader, _, _ = await over(EDGES.format(nodes=nodes, bad="skip"), paged(items, nodes))
    assert [row["number"] for row in await reader.scan("t")] == [0, 1, 2, 3]
    assert reader.meter.bad_records == 1


@pytest.mark.parametrize("nodes", ["edges", "nodes"])
async def test_no_records_at_all_are_none_on_the_last_page_alone(over: Over, nodes: str) -> None:
    """Some servers write null for an empty list."""
    items = [{"node": issue(at)} if nodes == "edges" else issue(at) for at in range(2)]
    reader, _, _ = await over(EDGES.format(nodes=nodes, bad="fail"), paged([*items, None, None], nodes))
    assert len(await reader.scan("t")) == 2
    reader, _, _ = await over(EDGES.format(nodes=nodes, bad="fail"), paged([None, None, *items], nodes))
    with pytest.raises(SourceError, match=f"all has null for {nodes}, and says that a page follows"):
        await reader.scan("t")


async def test_a_type_that_a_variable_should_have_is_asked_for_in_the_spec(over: Over) -> None:
    wrong = 'Variable "$after" of type "String" used in position expecting type "Cursor".'
    reader, _, _ = await over(
        EDGES.format(nodes="nodes", bad="fail"), lambda _: {"errors": [{"message": wrong}]}
    )
    with pytest.raises(SourceError, match=r"name its type in the spec: types: \{after: …\}"):
        await reader.scan("t")


# ---------------------------------------------------------------------------------------------------- introspection


def scalar(name: str) -> dict[str, Any]:
    return {"kind": "SCALAR", "name": name, "ofType": None}


def wrapped(kind: str, inner: dict[str, Any]) -> dict[str, Any]:
    return {"kind": kind, "name": None, "ofType": inner}


def plain(name: str, kind: dict[str, Any], *arguments: str) -> dict[str, Any]:
    return {"name": name, "args": [argument(*text.split(": ")) for text in arguments], "type": kind}


def argument(name: str, written: str = "Int") -> dict[str, Any]:
    written, _, default = written.partition(" = ")
    kind = scalar(written.strip("[]!"))
    if written.startswith("["):
        kind = wrapped("LIST", kind)
    return {
        "name": name,
        "defaultValue": default or None,
        "type": wrapped("NON_NULL", kind) if written.endswith("!") else kind,
    }


def thing(name: str) -> dict[str, Any]:
    return {"kind": "OBJECT", "name": name, "ofType": None}


TYPES = {
    "Query": [
        plain("things", wrapped("NON_NULL", wrapped("LIST", wrapped("NON_NULL", thing("Thing"))))),
        plain("some", wrapped("LIST", thing("Thing")), "limit", "offset"),
        plain("connected", thing("ThingConnection"), "first", "after: String", "filter: String"),
        plain("own", thing("ThingConnection"), "first: Int!", "after: Cursor"),
        plain("usual", thing("ThingConnection"), "first: Int! = 10", 'after: String! = ""'),
        plain("both", wrapped("LIST", thing("Thing")), "cursor: Cursor! = 0", "past: Cursor!"),
        plain("thing", thing("Thing"), "id: ID!", "size: String"),
        plain("of", wrapped("LIST", thing("Thing")), "id: [ID]!"),
        plain("shop", thing("Shop")),
    ],
    "Shop": [plain("things", wrapped("LIST", thing("Thing")))],
    "ThingConnection": [plain("edges", wrapped("LIST", thing("ThingEdge"))), plain("pageInfo", thing("PageInfo"))],
    "ThingEdge": [plain("node", thing("Thing"))],
    "Thing": [
        plain("id", wrapped("NON_NULL", scalar("ID"))), plain("size", scalar("Int")), plain("rate", scalar("Float")),
        plain("on", scalar("Boolean")), plain("tags", wrapped("LIST", wrapped("NON_NULL", scalar("String")))), plain("at", scalar("DateTime")),
        plain("parent", thing("Thing")), plain("colour", {"kind": "ENUM", "name": "Colour", "ofType": None}), plain("text", scalar("String"), "lang: String!"),
    ],
}  # fmt: skip
COLUMNS = {
    "id": "string", "size": "int", "rate": "double", "on": "boolean", "tags": "array<string>", "at": "string", "colour": "string",
}  # fmt: skip


def introspected(body: dict[str, Any]) -> Any:
    if "__schema" in body["query"]:
        types = [{"name": name, "kind": "OBJECT", "fields": parts} for name, parts in TYPES.items()]
        types.append({"name": "Int", "kind": "SCALAR", "fields": None})
        return {"data": {"__schema": {"queryType": {"name": "Query"}, "types": types}}}
    row = {"id": "1", "tags": ["a", "b"]}
    edges = {"edges": [{"node": row}], "pageInfo": {"hasNextPage": False, "endCursor": "1"}}
    return {
        "data": {
            "connected": edges,
            "own": edges,
            "usual": edges,
            "both": [row],
            "some": [row],
            "thing": row,
            "of": [row],
            "things": [row],
            "shop": {"things": [row, row]},
        }
    }


async def test_tables_and_columns_come_from_introspection(over: Over) -> None:
    reader, endpoint, _ = await over("", introspected)
    assert endpoint.asked == []
    await reader.catalog.list_tables()
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    assert len(endpoint.asked) == 1
    tables = {table.name: table for table in reader.catalog.tables(offered=False)}
    assert list(tables) == [
        "things",
        "connected",
        "own",
        "usual",
    ]  # `some` has pages of a kind nobody described
    assert {column.name: column.type for column in tables["connected"].columns} == COLUMNS
    assert await reader.scan("connected", ["id", "tags"]) == [{"id": "1", "tags": ["a", "b"]}]
    assert endpoint.asked[1]["variables"] == {"first": 100}
    assert await reader.scan("things", ["id"]) == [{"id": "1"}]


async def test_columns_of_a_declared_field_are_found(over: Over) -> None:
    more = ", tables: {a: {field: shop.things}, b: {field: connected}, c: {field: shop.nothing}}"
    reader, endpoint, _ = await over(more, introspected)
    await reader.catalog.discover([reader.table("a"), reader.table("b")])
    assert len(endpoint.asked) == 1
    assert {column.name: column.type for column in reader.table("a").columns} == COLUMNS
    assert await reader.scan("a", ["id"]) == [{"id": "1"}, {"id": "1"}]
    assert await reader.scan("b", ["id"]) == [{"id": "1"}]
    with pytest.raises(SourceError, match=r"no field 'shop\.nothing'"):
        await reader.catalog.discover([reader.table("c")])


async def test_variables_have_the_types_that_the_schema_says(over: Over) -> None:
    more = """, tables: {
      a: {field: own}, b: {field: own, types: {after: Other}}, c: {field: "own(after: $at)", paginator: {type: relay, after: at}},
      d: {field: things, lookups: [{keys: [id], field: "thing(id: $id)"}, {keys: [rate], field: "thing(size: {of: $rate})"}]},
      e: {field: things, lookups: [{keys: [id], field: "of(id: $id)", batch_size: 5}]}}"""
    reader, endpoint, _ = await over(more, introspected)
    await reader.catalog.discover([reader.table(name) for name in "abcde"])
    for name in "abc":
        await reader.scan(name, ["id"])
    await reader.lookup("d", "1", columns=["id"])
    await reader.lookup("e", "1", "2", columns=["id"])
    assert list(dict.fromkeys(body["query"].partition(" {")[0] for body in endpoint.asked[1:])) == [
        "query($first: Int!, $after: Cursor)",
        "query($first: Int!, $after: Other)",
        "query($first: Int!, $at: Cursor)",
        "query($id: ID!)",
        "query($id: [ID]!)",
    ]


async def test_a_variable_that_may_be_left_out_where_its_argument_has_a_default_is_not_declared_as_needed(
    over: Over,
) -> None:
    more = """, tables: {
      a: {field: usual}, b: {field: "both(cursor: $cursor)", paginator: {type: cursor, cursor_path: .next}},
      c: {field: "both(cursor: $x, past: $x)", paginator: {type: cursor, cursor_param: x, cursor_path: .next}},
      d: {field: "both(past: $x, cursor: $x)", paginator: {type: cursor, cursor_param: x, cursor_path: .next}}}"""
    reader, endpoint, _ = await over(more, introspected)
    await reader.catalog.discover([reader.table(name) for name in "abcd"])
    for name in "abcd":
        await reader.scan(name, ["id"])
    assert [body["query"].partition(" {")[0] for body in endpoint.asked[1:]] == [
        "query($first: Int, $after: String)",
        "query($cursor: Cursor)",
        "query($x: Cursor!)",
        "query($x: Cursor!)",
    ]
    assert endpoint.asked[1]["variables"] == {"first": 100}


async def test_what_is_found_has_the_types_of_the_schema(over: Over) -> None:
    reader, endpoint, _ = await over("", introspected)
    await reader.catalog.list_tables()
    assert await reader.scan("own", ["id"]) == [{"id": "1"}]
    assert endpoint.asked[1]["query"].startswith("query($first: Int!, $after: Cursor) {")


async def test_a_list_that_has_pages_is_not_one_page_unless_somebody_says_so(over: Over) -> None:
    more = """, tables: {a: {field: some}, b: {field: "some(offset: 0)"}, c: {field: some, paginator: single_page},
      d: {field: "some(limit: 9, offset: 0)"}, e: {field: some, paginator: {type: offset, page_size: 2, offset_param: offset, page_size_param: limit}}}"""
    reader, _, _ = await over(more, introspected)
    for name, left in (("a", "limit, offset"), ("b", "limit")):
        with pytest.raises(SourceError, match=f"has arguments for pages .{left}.") as caught:
            await reader.catalog.discover([reader.table(name)])
        assert "paginator: single_page" in str(caught.value)
    await reader.catalog.discover([reader.table(name) for name in "cde"])
    for name in "cd":
        assert await reader.scan(name, ["id"]) == [{"id": "1"}]


async def test_a_list_that_is_asked_for_so_many_is_whole_where_fewer_come(over: Over) -> None:
    """Its offset is left out: where as many come there may be more."""
    more = """, tables: {a: {field: "some(limit: 2)"}, b: {field: "some(limit: 1)"},
      c: {field: "some(limit: 1)", paginator: single_page}}"""
    reader, _, _ = await over(more, introspected)
    await reader.catalog.discover([reader.table(name) for name in "abc"])
    for name in "ac":
        assert await reader.scan(name, ["id"]) == [{"id": "1"}]
    with pytest.raises(SourceError, match="brought as many records as its limit allows") as caught:
        await reader.scan("b", ["id"])
    assert "paginator: single_page" in str(caught.value)


@pytest.mark.parametrize(
    "answer", [{"errors": [{"message": "introspection is disabled"}]}, {"data": {"__schema": None}}]
)
async def test_introspection_that_is_refused(over: Over, answer: Any) -> None:
    reader, _, _ = await over("", lambda _: answer)
    with pytest.raises(SourceError, match=r"introspection: .*\n.*declare the tables"):
        await reader.catalog.list_tables()


def test_mistakes_in_a_spec(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    more = """, introspection: false, tables: {
      a: {field: "x(y: (1)"}, b: {columns: {a: int}}, c: {field: "x(y: $z)", columns: {"a b": int, l: {type: int, path: "x", select: "x"}}, primary_key: [q]},
      d: {field: x, columns: {k: int}, lookups: [{keys: [k], field: "y(a: 1)"}, {keys: [j, k], field: "y(a: $j, b: $k)", batch_size: 2}]}}"""
    file.write_text(SPEC.format(url="http://h", more=more))
    assert [((error.path or "").removeprefix("sources.hub.tables."), error.message.partition(f"{error.path}: ")[2]) for error in lint(file, environ={})] == [
        ("a.field", "'x(y: (1)' lacks the end of a '('"), ("a", "has no columns, and no field to learn them from by introspection"),
        ("b", "has neither a field nor lookups"), ("c.field", "nothing gives $z a value"), ("c.columns.a b", "'a b' is no field; its path must name one"),
        ("c.primary_key", "'q' is not a column"), ("d.lookups[0].field", "does not name $k"),
        ("d.lookups[1].batch_size", "must be 1 for several keys"), ("d.lookups[1].keys", "'j' is not a column"),
    ]  # fmt: skip
    file.write_text(SPEC.format(url="http://h", more=", tables: {a: {feild: x}}"))
    assert "did you mean 'field'?" in str(lint(file, environ={})[0])
    file.write_text(
        SPEC.format(url="http://h", more=", tables: {a: {field: x, paginator: {type: relay, pages: 1}}}")
    )
    assert "unknown key" in str(lint(file, environ={})[0])
    file.write_text(
        SPEC.format(url="http://h", more=", tables: {a: {field: 'x(after: \"z\")', paginator: relay}}")
    )
    assert "says after itself, which the paginator asks for pages with" in str(lint(file, environ={})[0])


@pytest.mark.parametrize("text", ["", "a..b", "a b", "a(x", "a)x(", "a(x).{b}", "a(x: [1)]", "1a", "a(b) c"])
def test_what_is_no_field(text: str) -> None:
    with pytest.raises(ValueError, match=r"no field|lacks|too many"):
        fields.parse(text)


def test_fields_are_cut_outside_of_brackets_and_strings() -> None:
    first, second = fields.parse(r'a(x: "$no) \" .", y: {z: [$yes, 1.5]}) . b')
    assert (first.name, second.name, first.variables) == ("a", "b", {"yes"})
    assert json.loads(json.dumps(str(first))) == r'a(x: "$no) \" .", y: {z: [$yes, 1.5]})'


async def test_a_pattern_cuts_the_value_out_of_a_text(over: Over) -> None:
    table = """, tables: {issues: {field: issues, columns: {id: {type: int, path: number.url, pattern: "/([0-9]+)$"}, title: string},
      lookups: [{keys: [id], field: 'issue(id: $id)'}]}}"""

    def answer(body: dict[str, Any]) -> Any:
        rows = [{"number": {"url": f"https://x/issues/{at}"}, "title": f"t{at}"} for at in (7, 12)]
        asked = body.get("variables", {}).get("id")
        return {"data": {"issues": rows} if asked is None else {"issue": rows[asked == 12]}}

    reader, endpoint, _ = await over(table, answer)
    assert await reader.scan("issues") == [{"id": 7, "title": "t7"}, {"id": 12, "title": "t12"}]
    assert "number { url }" in endpoint.asked[0]["query"]
    assert await reader.lookup("issues", 12) == [{"id": 12, "title": "t12"}]
