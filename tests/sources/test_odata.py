"""OData 4: tables from $metadata, and what goes over the wire for scans and lookups."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from fff.errors import SourceError, SpecError
from fff.quals import Qual
from fff.stats import AccessMeter
from fff.structs import replace
from fff_sources.http.shaping import MalformedMarkupError
from fff_sources.load import lint
from fff_sources.odata.edm import Property, literal
from fff_sources.odata.metadata import entity_sets
from fff_sources.odata.words import ODataWords
from tests.sources.discovering import rows
from tests.sources.reading import Reader
from tests.web.serving import Serve, Served

METADATA = """<?xml version="1.0" encoding="utf-8"?>
<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="shop" Alias="self" xmlns="http://docs.oasis-open.org/odata/ns/edm">
  <EnumType Name="Colour"><Member Name="Red" Value="0"/></EnumType>
  <TypeDefinition Name="Money" UnderlyingType="Edm.Decimal" Precision="12" Scale="2"/>
  <ComplexType Name="Address"><Property Name="City" Type="Edm.String"/></ComplexType>
  <EntityType Name="Thing" Abstract="true"><Key><PropertyRef Name="ID"/></Key><Property Name="ID" Type="Edm.Int32" Nullable="false"/></EntityType>
  <EntityType Name="Customer" BaseType="self.Thing">
    <Property Name="Name" Type="Edm.String"/><Property Name="Guid" Type="Edm.Guid"/><Property Name="Limit" Type="shop.Money"/>
    <Property Name="Rate" Type="Edm.Decimal"/><Property Name="Since" Type="Edm.DateTimeOffset" Precision="3"/><Property Name="Seen" Type="Edm.DateTimeOffset"/>
    <Property Name="Born" Type="Edm.Date"/><Property Name="Big" Type="Edm.Int64"/><Property Name="Tags" Type="Collection(Edm.String)"/>
    <Property Name="Home" Type="shop.Address"/><Property Name="Colour" Type="shop.Colour"/><Property Name="Photo" Type="Edm.Stream"/>
    <NavigationProperty Name="Orders" Type="Collection(shop.Line)"/>
  </EntityType>
  <EntityType Name="Line"><Key><PropertyRef Name="Order"/><PropertyRef Name="No"/></Key>
    <Property Name="Order" Type="Edm.String"/><Property Name="No" Type="Edm.Int16"/></EntityType>
  <EntityContainer Name="All"><EntitySet Name="Customers" EntityType="shop.Customer"/><EntitySet Name="Order Lines" EntityType="self.Line"/></EntityContainer>
</Schema></edmx:DataServices></edmx:Edmx>"""  # fmt: skip
NAMES = [f"n{number}" for number in range(7)]
SPEC = 'version: 1\nsources: {{shop: {{type: odata, client: {{base_url: "{url}/svc/"}}{more}}}}}'


@pytest.fixture
async def shop(serve: Serve) -> Served:
    """Seven customers, three a page; it applies no filter but answers as if it had."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith("$metadata"):
            return web.Response(text=METADATA, content_type="application/xml")
        skip = int(request.query.get("$skiptoken", "0")) + int(request.query.get("$skip", "0"))
        size = int(request.query.get("$top", "3"))
        rows = [{"ID": number, "Name": name} for number, name in enumerate(NAMES)]
        if "$filter" in request.query:
            return web.json_response(
                {"value": [row for row in rows if f"'{row['Name']}'" in request.query["$filter"]]}
            )
        body: dict[str, Any] = {"value": rows[skip : skip + size]}
        if request.query.get("$count") == "true":
            body["@odata.count"] = len(rows)
        if skip + size < len(rows) and "$top" not in request.query:
            body["@odata.nextLink"] = f"Customers?$skiptoken={skip + size}"
        return web.json_response(body)

    return await serve(answer)


async def discovered(read: Callable[..., Reader], shop: Served, more: str = "") -> Reader:
    reader = read(SPEC.format(url=shop.url, more=more))
    await reader.catalog.list_tables()
    await reader.catalog.discover(reader.catalog.tables(offered=False))
    return reader


async def test_tables_columns_and_keys_come_from_the_metadata_in_one_request(
    read: Callable[..., Reader], shop: Served
) -> None:
    reader = read(SPEC.format(url=shop.url, more=""))
    assert (list(reader.catalog.tables(offered=False)), shop.asked) == ([], [])
    await reader.catalog.list_tables()
    assert shop.paths == ["/svc/$metadata"]
    customers, lines = reader.catalog.tables(offered=False)
    assert {column.name: column.type for column in customers.columns} == {
        "ID": "int", "Name": "string", "Guid": "string", "Limit": "decimal(12,2)", "Rate": "decimal(38,18)", "Since": "timestamp",
        "Seen": "timestamp", "Born": "date", "Big": "bigint", "Tags": "array<string>", "Home": "string", "Colour": "string",
    }  # fmt: skip
    assert customers.primary_key == ("ID",)
    # Not by values that reading may round (Rate, Seen), nor by those that are not one literal.
    assert [method.keys[0] for method in customers.lookups] == [
        "ID", "Name", "Guid", "Limit", "Since", "Born", "Big",
    ]  # fmt: skip
    assert (lines.name, lines.primary_key) == ("Order Lines", ("Order", "No"))
    assert [method.keys for method in lines.lookups] == [("Order",), ("No",), ("Order", "No")]


async def test_a_scan_follows_next_links_with_only_the_columns_needed(
    read: Callable[..., Reader], shop: Served
) -> None:
    reader = await discovered(read, shop, ", page_size: 3")
    assert await reader.scan("Customers", ["Name"]) == [{"Name": name} for name in NAMES]
    first, second, third = shop.asked[1:]
    assert dict(first.query) == {"$select": "Name", "$count": "true"}
    assert first.headers["Prefer"] == "odata.maxpagesize=3"
    assert [request.query["$skiptoken"] for request in (second, third)] == ["3", "6"]
    assert reader.meter.total_rows == 7


async def test_a_service_may_leave_odata_out_of_the_names_of_annotations(
    read: Callable[..., Reader], serve: Serve
) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        skip = int(request.query.get("$skiptoken", "0"))
        rows = [{"id": number, "name": '"@nextLink" : "@count":'} for number in range(5)]
        body: dict[str, Any] = {"@context": "$metadata#T", "@count": 5, "value": rows[skip : skip + 2]}
        if skip + 2 < len(rows):
            body["@nextLink"] = f"T?$skiptoken={skip + 2}"
        return web.json_response(body)

    served = await serve(answer)
    reader = read(SPEC.format(url=served.url, more=", tables: {T: {columns: {id: int, name: string}}}"))
    found = await reader.scan("T")
    assert [row["id"] for row in found] == [0, 1, 2, 3, 4]
    assert {row["name"] for row in found} == {'"@nextLink" : "@count":'}
    assert reader.meter.total_rows == 5
    assert len(await reader.lookup("T", '"@nextLink" : "@count":', number=1)) == 5


async def test_pages_by_skip_are_ordered_by_the_key(read: Callable[..., Reader], shop: Served) -> None:
    reader = await discovered(read, shop, ", page_size: 4, paging: skip")
    assert await reader.scan("Customers", []) == [{}] * 7
    assert dict(shop.asked[1].query) == {
        "$select": "ID", "$count": "true", "$orderby": "ID", "$skip": "0", "$top": "4",
    }  # fmt: skip
    assert len(shop.asked) == 3


async def test_keys_are_literals_and_never_text(read: Callable[..., Reader], shop: Served) -> None:
    reader = await discovered(read, shop)
    table = reader.table("Customers")
    number = {method.keys[0]: place for place, method in enumerate(table.lookups)}

    async def asked(column: str, value: object) -> list[str]:
        before = len(shop.asked)
        await reader.lookup("Customers", value, columns=["ID"], number=number[column])
        return [request.query["$filter"] for request in shop.asked[before:]]

    assert await asked("Name", "x' or 1 eq 1 or 'a' eq '") == ["Name eq 'x'' or 1 eq 1 or ''a'' eq '''"]
    assert await asked("Name", "a&$top=1#%27") == ["Name eq 'a&$top=1#%27'"]
    assert await asked("ID", -5) == ["ID eq -5"]
    assert await asked("Limit", decimal.Decimal("1E+2")) == ["Limit eq 100"]
    assert await asked("Born", dt.date(2020, 2, 29)) == ["Born eq 2020-02-29"]
    moment = dt.datetime(2020, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert await asked("Since", moment) == ["Since eq 2020-01-01T10:00:00Z"]
    guid = "01234567-89ab-cdef-0123-456789abcdef"
    assert await asked("Guid", guid) == [f"Guid eq {guid}"]
    assert await asked("Guid", "x or true") == []  # no row can have it


@pytest.mark.parametrize(
    ("operator", "said"),
    [("in", "Name in ('n1','o''n','n5')"), ("or", "(Name eq 'n1' or Name eq 'o''n' or Name eq 'n5')")],
)
async def test_a_batch(read: Callable[..., Reader], shop: Served, operator: str, said: str) -> None:
    reader = await discovered(
        read, shop, f', tables: {{c: {{entity_set: Customers, filter: "ID gt 0", lookups: [Name], batch: {{size: 3, operator: {operator}}}}}}}'
    )  # fmt: skip
    assert reader.table("c").lookups[0].batch_size == 3
    rows = await reader.lookup("c", "n1", "o'n", "n5", "n2", columns=["Name"])
    assert [row["Name"] for row in rows] == ["n1", "n5", "n2"]
    assert [request.query["$filter"] for request in shop.asked[1:]] == [
        f"(ID gt 0) and {said}", "(ID gt 0) and Name eq 'n2'",
    ]  # fmt: skip


async def test_declared_columns_need_no_metadata(read: Callable[..., Reader], shop: Served) -> None:
    more = ", tables: {Customers: {primary_key: [ID], columns: {ID: int, who: {type: string, path: Name}}}}"
    reader = await discovered(read, shop, more)
    assert shop.asked == []
    assert (await reader.scan("Customers"))[6] == {"ID": 6, "who": "n6"}
    assert await reader.lookup("Customers", "n3", columns=["ID", "who"], number=1) == [{"ID": 3, "who": "n3"}]
    assert shop.asked[-1].query["$filter"] == "Name eq 'n3'"


async def test_what_is_wrong_with_the_service_is_said(read: Callable[..., Reader], serve: Serve) -> None:
    answers = {
        "html": "<html><body>log in</body></html>",
        "old": METADATA.replace('Version="4.0"', 'Version="1.0"'),
        "entities": METADATA.replace("?>", '?><!DOCTYPE a [<!ENTITY b "c">]>', 1),
        "untyped": METADATA.replace('EntityType="shop.Customer"', 'EntityType="shop.Missing"'),
    }

    async def answer(request: web.Request) -> web.StreamResponse:
        return web.Response(text=answers[request.path.split("/")[1]])

    served = await serve(answer)
    for name, said in [
        ("html", "no OData"),
        ("old", "of OData 1.0"),
        ("entities", "entities"),
        ("untyped", "shop.Missing"),
    ]:
        reader = read(SPEC.format(url=f"{served.url}/{name}", more=""))
        with pytest.raises(SourceError, match=said):
            await reader.catalog.list_tables()


async def test_an_entity_set_that_is_not_there_names_those_that_are(
    read: Callable[..., Reader], shop: Served
) -> None:
    with pytest.raises(SourceError, match=r"'Custmers'.*\n.*Customers, Order Lines"):
        await discovered(read, shop, ", tables: {Custmers: {}}")


def test_unknown_keys_and_contradictions_are_found(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        SPEC.format(
            url="http://h",
            more=", paging: skip, tables: {c: {colums: {}}, d: {columns: {a: {type: int, edm: Int32}}, lookups: [b]}}",
        )
    )
    assert any("did you mean 'columns'?" in str(error) for error in lint(file, environ={}))
    file.write_text(file.read_text().replace("c: {colums: {}}, ", ""))
    said = " | ".join(str(error) for error in lint(file, environ={}))
    assert "skip needs a page_size" in said
    assert "'b' is not a column" in said
    assert "'Int32' is no primitive type" in said


def test_secrets_are_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "fff.yaml"
    file.write_text(
        'version: 1\nsources: {s: {type: odata, client: {base_url: "http://h", auth: {type: bearer, token: "${env:NONE}"}}}}'
    )
    (error,) = lint(file, environ={})
    assert isinstance(error, SpecError)
    assert "NONE" in str(error)


@pytest.mark.parametrize(
    ("edm", "value", "text"),
    [
        ("Edm.Double", 0.1, "0.1"), ("Edm.Double", float("inf"), "INF"), ("Edm.Boolean", True, "true"), ("Edm.Int32", True, None),
        ("Edm.Enum", "Red", None), ("Edm.Int32", "1", None), ("Edm.Guid", "01234567-89ab-cdef-0123-456789abcdef\n", None),
    ],
)  # fmt: skip
def test_a_literal(edm: str, value: object, text: str | None) -> None:
    assert literal(edm, value) == text


def test_a_type_based_on_itself_is_no_loop() -> None:
    with pytest.raises(MalformedMarkupError, match="based on itself"):
        entity_sets(METADATA.replace('Name="Thing"', 'Name="Thing" BaseType="shop.Customer"').encode())


async def test_a_meter_counts_what_discovering_sends(read: Callable[..., Reader], shop: Served) -> None:
    reader = read(SPEC.format(url=shop.url, more=""))
    meter = AccessMeter()
    (source,) = reader.catalog.unlisted()
    await source.list_tables(meter=meter)
    assert meter.requests == 1
    assert source.listed
    assert json.dumps([table.name for table in source.tables]) == '["Customers", "Order Lines"]'


QUALS = (
    Qual("Name", "like", "a%b'c%d"),
    Qual("Limit", ">=", decimal.Decimal("1.49")),
    Qual("Since", "<", dt.datetime(2024, 5, 1, tzinfo=dt.UTC)),
    Qual("Born", ">", dt.date(2024, 4, 30)),
    Qual("Big", "<>", 7),
    Qual("Guid", "=", "no guid"),
)
FILTER = (
    "startswith(Name,'a') and contains(Name,'b''c') and endswith(Name,'d') and Limit ge 1.49"
    " and Since lt 2024-05-01T00:00:00Z and Born gt 2024-04-30 and Big ne 7"
)


async def test_conditions_are_a_part_of_the_filter(read: Callable[..., Reader], shop: Served) -> None:
    reader = await discovered(read, shop)
    table = replace(reader.table("Customers"), quals=QUALS)
    adapter = reader.catalog.adapter_of(table)
    async for _ in adapter.scan(table, table.scans[0], ["ID"], meter=reader.meter, window=1):
        pass
    assert shop.asked[-1].query["$filter"] == FILTER
    method = next(one for one in table.lookups if one.keys == ("Name",))
    async for _ in adapter.lookup(table, method, ["ID"], [("n1",)], meter=reader.meter):
        pass
    rest = FILTER[FILTER.index("Limit") :]
    assert shop.asked[-1].query["$filter"] == f"Name eq 'n1' and {rest}", "the key says it all of its column"


async def test_what_a_statement_says_goes_into_the_filter_unless_it_may_not(
    read: Callable[..., Reader], shop: Served
) -> None:
    sql = "SELECT Name FROM Customers WHERE ID >= 3 AND Rate > 2.5"
    for more, said in (("", "ID ge 3 and Rate gt 2.499999999999999999"), (", pushdown: false", None)):
        reader = read(SPEC.format(url=shop.url, more=more))
        await rows(reader, sql)
        assert shop.asked[-1].query.get("$filter") == said


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("abc", "startswith(S,'abc') and endswith(S,'abc')"),
        ("%abc%", "contains(S,'abc')"),
        ("abc%", "startswith(S,'abc')"),
        ("%", None),
        ("", None),
    ],
)
def test_patterns(pattern: str, said: str | None) -> None:
    words = ODataWords("Set", {"s": Property("S", "Edm.String")}).qualified((Qual("s", "like", pattern),))
    assert dict(words.question(["s"], [], {}).params).get("$filter") == said


def test_what_filters_compare_as_we_do() -> None:
    assert Property("p", "Edm.Double").comparisons == ("<", "<="), "NaN is above every number in SQL alone"
    assert Property("p", "Edm.Single").comparisons == ()
    assert Property("p", "Edm.String").comparisons == ("=", "like")
    assert Property("p", "Edm.Int32", many=True).comparisons == ()


async def test_a_path_and_a_pattern_of_a_declared_column(read: Callable[..., Reader], serve: Serve) -> None:
    people = [
        {"ID": 1, "Url": "/people/7", "Home": {"City": "Bern", "Zips": ["1", "2"]}, "@odata.etag": "x"},
        {"ID": 2, "Url": "/people/8", "Home": None},
    ]

    async def answer(request: web.Request) -> web.Response:
        asked = request.query.get("$filter")
        return web.json_response({"value": people if asked is None else people[:1]})

    shop = await serve(answer)
    columns = (
        "{id: {type: int, path: ID}, number: {type: int, path: Url, pattern: '/people/([0-9]+)'}, city: {type: string, path: Home.City},"
        " zip: {type: string, path: 'Home.Zips[1]'}, etag: {type: string, path: '@odata.etag'}}"
    )
    table = (
        f", tables: {{people: {{entity_set: People, primary_key: [id], columns: {columns}, count: false}}}}"
    )
    reader = await discovered(read, shop, table)
    assert await reader.scan("people") == [
        {"id": 1, "number": 7, "city": "Bern", "zip": "2", "etag": "x"},
        {"id": 2, "number": 8, "city": None, "zip": None, "etag": None},
    ]
    assert shop.asked[0].query["$select"] == "ID,Url,Home"
    keys = [method.keys for method in reader.table("people").lookups]
    assert keys == [("id",), ("city",)], "no service can be asked by what we cut out"
    assert [row["id"] for row in await reader.lookup("people", "Bern", number=1)] == [1]
    assert shop.asked[-1].query["$filter"] == "Home/City eq 'Bern'"
