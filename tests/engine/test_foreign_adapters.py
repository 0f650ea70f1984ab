"""Adapters that others write: pages in other columns than were asked for, and whatever else their code may do."""

from __future__ import annotations

import asyncio
import datetime as dt
import re
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from fff.api.loop import run_apart
from fff.catalog import Catalog, KeyColumn, Keys, LookupMethod, Page, ScanMethod, Table
from fff.errors import SourceError
from fff.federation import Federation
from fff.schema import Field
from fff.stats import AccessMeter
from fff.structs import replace
from fff.web.client import WebClient
from tests.engine.site import run

COLUMNS = (Field.of("id", "bigint"), Field.of("name", "string"), Field.of("city", "string"))
VALUES: dict[str, list[Any]] = {"id": [1, 2], "name": ["n1", "n2"], "city": ["c1", "c2"]}
SCAN = "SELECT name, city FROM t"
LOOKUP = "SELECT k.id, t.city FROM (VALUES (CAST(1 AS bigint)), (2)) AS k(id) JOIN looked t ON t.id = k.id"


def batch(columns: Sequence[str]) -> pa.RecordBatch:
    kinds = {field.name: field.arrow for field in COLUMNS}
    return pa.record_batch({name: pa.array(VALUES[name], kinds[name]) for name in columns})


class Foreign:
    """A source whose pages are what `page_of` makes of the columns that were asked for."""

    name = "s"
    tables: tuple[Table, ...] = (
        Table("s", "t", COLUMNS, scans=(ScanMethod("t.scan"),)),
        Table(
            "s",
            "looked",
            COLUMNS,
            key_columns=(KeyColumn("id", "required"),),
            lookups=(LookupMethod("l", ("id",), 5),),
        ),
    )

    def __init__(self, page_of: Callable[[Sequence[str]], Any]) -> None:
        self.page_of = page_of
        self.then: type[BaseException] | None = None

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        yield self.page_of(columns)
        if self.then is not None:
            raise self.then

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Sequence[str], keys: Keys, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        yield self.page_of(columns)

    async def close(self) -> None: ...


def asked(answer: Callable[[Sequence[str]], Any] | Foreign, sql: str, **options: Any) -> Any:
    """Rows and outcome; in a thread of its own, as `fff.connect` runs statements."""

    async def main() -> Any:
        catalog, client = Catalog(), WebClient()
        client.redactor.add("hunter2-hunter2")
        catalog.add(answer if isinstance(answer, Foreign) else Foreign(answer))
        async with Federation(catalog, client) as federation, asyncio.timeout(20):
            rows, execution = await run(federation, sql, **options)
        return sorted(rows), execution.outcome

    return run_apart(main())


@pytest.mark.parametrize("sql", [SCAN, LOOKUP], ids=["scan", "lookup"])
@pytest.mark.parametrize(
    "answer",
    [
        lambda columns: Page(batch(columns[::-1])),
        lambda _: Page(batch([field.name for field in COLUMNS])),
        lambda columns: Page(batch(columns).append_column("more", pa.array([1, 2]))),
    ],
    ids=["turned", "all", "more"],
)
def test_columns_are_found_by_their_names(sql: str, answer: Callable[[Sequence[str]], Any]) -> None:
    rows, outcome = asked(answer, sql)
    assert rows == ([("n1", "c1"), ("n2", "c2")] if sql == SCAN else [(1, "c1"), (2, "c2")])
    assert outcome.complete


def retyped(columns: Sequence[str], kind: pa.DataType) -> Page:
    rows = batch(columns)
    return Page(rows.set_column(rows.schema.get_field_index("city"), "city", rows.column("city").cast(kind)))


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string()), pa.null()],
    ids=str,
)
def test_the_same_values_in_another_type_of_arrow_are_taken(kind: pa.DataType) -> None:
    values = [None, None] if kind == pa.null() else VALUES["city"]
    city = pa.nulls(2) if kind == pa.null() else pa.array(values, pa.string()).cast(kind)

    def answer(columns: Sequence[str]) -> Page:
        rows = batch(columns)
        return Page(rows.set_column(rows.schema.get_field_index("city"), "city", city))

    rows, outcome = asked(answer, SCAN)
    assert (rows, outcome.complete) == ([("n1", values[0]), ("n2", values[1])], True)


def as_declared(type_name: str, given: pa.Array) -> list[Any]:
    """What becomes of values that an adapter gives for a column of a type."""

    class Typed(Foreign):
        tables = (Table("s", "t", (Field.of("v", type_name),), scans=(ScanMethod("t.scan"),)),)

    rows, _ = asked(
        Typed(lambda _: Page(pa.record_batch({"v": given}))), "SELECT v FROM t", on_source_error="fail"
    )
    return [value for (value,) in rows]


MOMENT = dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("type_name", "given", "value"),
    [
        ("int", pa.array([7], pa.int64()), 7),
        ("bigint", pa.array([7], pa.uint64()), 7),
        ("int", pa.array([7.0]), 7),
        ("double", pa.array([7], pa.int64()), 7.0),
        ("double", pa.array([0.5], pa.float32()), 0.5),
        ("decimal(10,2)", pa.array([Decimal("1.50")], pa.decimal128(38, 4)), Decimal("1.50")),
        ("date", pa.array([MOMENT.date()], pa.date64()), MOMENT.date()),
        ("timestamp", pa.array([MOMENT], pa.timestamp("ns", "Europe/Zurich")), MOMENT),
        ("timestamp", pa.array([MOMENT], pa.timestamp("s", "UTC")), MOMENT),
    ],
)
def test_a_value_is_taken_where_the_declared_type_has_it(
    type_name: str, given: pa.Array, value: object
) -> None:
    assert as_declared(type_name, given) == [value]


@pytest.mark.parametrize(
    ("type_name", "given"),
    [
        ("int", pa.array([2**31], pa.int64())),
        ("int", pa.array([1.5])),
        ("int", pa.array(["1"])),
        ("string", pa.array([1])),
        ("float", pa.array([0.1])),
        ("double", pa.array([2**53 + 1])),
        ("decimal(10,2)", pa.array([Decimal("1.505")])),
        ("timestamp", pa.array([1], pa.timestamp("ns", "UTC"))),
        ("timestamp", pa.array([1], pa.timestamp("us"))),
        ("boolean", pa.array([1])),
    ],
)
def test_a_value_that_the_declared_type_has_not_is_an_error(type_name: str, given: pa.Array) -> None:
    with pytest.raises(SourceError, match=r"gave the column v as .*: it is declared as "):
        as_declared(type_name, given)


def raised(error: BaseException) -> Callable[[Sequence[str]], Any]:
    def answer(_: Sequence[str]) -> Any:
        raise error

    return answer


@pytest.mark.parametrize("sql", [SCAN, LOOKUP], ids=["scan", "lookup"])
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda c: retyped(c, pa.binary()), "gave the column city as binary: it is declared as string"),
        (
            lambda c: Page(batch([n for n in c if n != "city"])),
            "gave the columns (name|id), and city is asked for",
        ),
        (lambda c: Page(pa.Table.from_batches([batch(c)])), "gave Table, not a page of a record batch"),
        (lambda _: None, "gave NoneType, not a page of a record batch"),
        (raised(ValueError("no\nway, hunter2-hunter2")), r"raised ValueError: no way, \*+$"),
        (raised(TimeoutError()), "raised TimeoutError"),
        (raised(asyncio.CancelledError()), "raised CancelledError"),
        (raised(GeneratorExit()), "raised GeneratorExit"),
        (lambda _: sys.exit(3), "raised SystemExit: 3"),
    ],
)
def test_what_goes_wrong_in_an_adapter_is_an_error_of_its_source(
    sql: str, answer: Callable[[Sequence[str]], Any], reason: str
) -> None:
    with pytest.raises(SourceError) as found:
        asked(answer, sql, on_source_error="fail")
    table = "t" if sql == SCAN else "looked"
    assert (found.value.source, found.value.table) == ("s", table)
    assert re.search(f"^its adapter .*{reason}", found.value.reason)


def test_rows_that_came_before_are_a_part_of_the_answer() -> None:
    source = Foreign(lambda columns: Page(batch(columns)))
    source.then = asyncio.CancelledError
    rows, outcome = asked(source, SCAN)
    assert rows == [("n1", "c1"), ("n2", "c2")]
    assert [one.reason for one in outcome.missing] == ["its adapter raised CancelledError"]


def test_the_cause_of_an_error_is_kept() -> None:
    with pytest.raises(SourceError) as found:
        asked(raised(KeyError("x")), SCAN, on_source_error="fail")
    assert isinstance(found.value.__cause__, KeyError)


def test_an_adapter_gives_asynchronous_generators() -> None:
    source = Foreign(lambda columns: Page(batch(columns)))
    source.scan = lambda *_, **__: iter(())  # type: ignore[method-assign,assignment]
    with pytest.raises(SourceError, match="gave tuple_iterator, not an asynchronous generator"):
        asked(source, SCAN, on_source_error="fail")


def test_so_does_one_that_answers_at_once() -> None:
    class Prompted(Foreign):
        tables = (*Foreign.tables[:1], replace(Foreign.tables[1], lookups=(LookupMethod("l", ("id",)),)))

        async def answer(self, *_: Any, **__: Any) -> Any:
            return (), [Page(batch(["id", "city"]))]

    with pytest.raises(SourceError, match="gave list, not an asynchronous generator"):
        asked(Prompted(lambda columns: Page(batch(columns))), LOOKUP, on_source_error="fail")
