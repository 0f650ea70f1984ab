"""In-memory sources for planner tests: declarations only, nothing to read."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from fff.catalog import Catalog, KeyColumn, LookupMethod, ScanMethod, Table
from fff.errors import QueryError
from fff.schema import Field
from fff.sql import prepare


@dataclass
class FakeAdapter:
    name: str
    tables: tuple[Table, ...]

    async def close(self) -> None:
        """Nothing is open."""


def table(
    full_name: str,
    columns: str,
    *,
    scans: int = 0,
    lookups: tuple[str, ...] = (),
    primary_key: str = "",
    required: str = "",
    any_of: str = "",
    max_in_flight: int = 8,
) -> Table:
    """`columns` as "zip string, year int"; `lookups` as "zip" or "zip,year*50" (keys and batch size)."""
    source, name = full_name.split(".")
    fields = [Field.of(*part.strip().split(" ", 1)) for part in _split(columns)]
    methods = []
    for spec in lookups:
        keys, _, batch = spec.partition("*")
        suffix = f"*{batch}" if batch else ""
        methods.append(
            LookupMethod(f"{name}.lookup[{keys}]{suffix}", tuple(keys.split(",")), int(batch) if batch else 1)
        )
    return Table(
        source=source,
        name=name,
        columns=tuple(fields),
        primary_key=tuple(primary_key.split()),
        key_columns=(
            *(KeyColumn(key, "required") for key in required.split()),
            *(KeyColumn(key, "any_of") for key in any_of.split()),
        ),
        scans=tuple(ScanMethod(f"{name}.scan" + (str(index) if index else "")) for index in range(scans)),
        lookups=tuple(methods),
        max_in_flight=max_in_flight,
    )


def catalog(*tables: Table) -> Catalog:
    result = Catalog()
    for source in dict.fromkeys(one.source for one in tables):
        result.add(FakeAdapter(source, tuple(one for one in tables if one.source == source)))
    return result


def refused_at(sql: str, place: str | None, tables: Catalog) -> str:
    """What a statement is refused with, which points to this place; None leaves that open."""
    with pytest.raises(QueryError) as refused:
        prepare(sql, tables)
    span = refused.value.span
    assert span is not None
    assert place is None or sql[span.start : span.end] == place
    return refused.value.message


def _split(text: str) -> list[str]:
    """At the commas outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "(<") - (char in ")>")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


#: The demo federation: F is scanned, D is looked up, C both.
FEC = table(
    "web.FEC", "id bigint, zip string, State string, contribution double, day date", scans=1, primary_key="id"
)
DEMOGRAPHICS = table(
    "web.Demographics", "zip string, householdIncome int, population bigint", lookups=("zip",)
)
CRIME = table(
    "gov.crime",
    "zip string, crimeRating int, year int",
    scans=1,
    lookups=("zip", "zip,year", "zip*50"),
    primary_key="zip",
)
#: Every type there is to compare.
TYPES = table(
    "lab.types",
    "b boolean, i8 tinyint, i16 smallint, i int, l bigint, f float, d double, m decimal(10,2), w decimal(38,4), "
    "s string, v varchar(5), dt date, ts timestamp, tn timestamp_ntz, x binary, a array<int>, st struct<k:int,n:string>",
    scans=1,
)
#: Read by key only, by two keys at once.
PRICES = table("shop.prices", "sku string, region string, price decimal(10,2)", lookups=("sku,region",))
REGIONS = table("shop.regions", "region string, boss string", scans=1)
ITEMS = table("shop.items", "sku string, name string, parent string", scans=1, lookups=("sku",))

DEMO = catalog(FEC, DEMOGRAPHICS, CRIME, TYPES, PRICES, REGIONS, ITEMS)


#: Tables of columns of every kind, and no rows of them.
CATALOG = catalog(
    table("w.t", "id int, k int, s string, d double, dt date", scans=1),
    table("w.u", "k int, name string, n bigint, ok boolean", scans=1),
    table(
        "w.n",
        "id int, arr array<int>, m map<string,int>, st struct<a:int,b:string>, items array<struct<sku:string,qty:int>>",
        scans=1,
    ),
)
EMPTY = {
    table.name: pa.schema([(field.name, field.arrow) for field in table.columns]).empty_table()
    for table in CATALOG.tables()
}
