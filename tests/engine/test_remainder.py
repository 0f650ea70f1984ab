"""What an answer under widened bounds is certain to hold, against what sources are sent; and how the rest is asked for."""

from __future__ import annotations

import contextlib
import datetime as dt
import random
from collections.abc import AsyncGenerator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from aiohttp import web

from fff.access.patched import PatchedSource
from fff.access.remainder import certain, patches
from fff.access.table_buffer import TableBuffer
from fff.catalog import KeyColumn, LookupMethod, Page, ScanMethod, Table
from fff.quals import Qual
from fff.schema import Field
from fff.sql.analysis.pushdown import quals_of
from fff.stats import AccessMeter
from tests.engine.cached import World
from tests.engine.site import Site, run
from tests.web.serving import Serve

_MOMENT = dt.datetime(2026, 1, 31, 23, 59, 58, tzinfo=dt.UTC)
#: Declared type, and values of it that are near each other and near the places where they are rounded.
KINDS: dict[str, list[Any]] = {
    "int": list(range(-2, 3)),
    "decimal(6,1)": [Decimal(n).scaleb(-1) for n in range(-2, 3)],
    "date": [dt.date(2026, 1, 29) + dt.timedelta(days=n) for n in range(6)],
    "timestamp": [_MOMENT + dt.timedelta(milliseconds=400 * n) for n in range(7)],
    "timestamp_ntz": [
        _MOMENT.replace(tzinfo=None) + dt.timedelta(hours=8 * n, milliseconds=m)
        for n in range(7)
        for m in (0, 500)
    ],
}
_HOLDS = {
    ">": lambda one, two: one > two,
    ">=": lambda one, two: one >= two,
    "<": lambda one, two: one < two,
    "<=": lambda one, two: one <= two,
}


def key(*operators: str) -> KeyColumn:
    return KeyColumn("c", operators=operators, sendable=tuple((one, one) for one in operators))


def table(kind: str, *quals: Qual, told: KeyColumn | None = None) -> Table:
    keys = (told or key(">=", "<="),)
    return Table("web", "t", (Field.of("c", kind),), key_columns=keys, quals=quals)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operators", [(">=", "<="), (">", "<"), (">", ">=", "<", "<=")])
def test_certain_is_what_would_be_asked_for_inside_of_what_was(kind: str, operators: tuple[str, ...]) -> None:
    """A source holds for a declared value whatever would be sent for it as a bound: that must be in what was sent."""
    field, wanted = Field.of("c", kind), table(kind)
    rng, seen = random.Random(kind), 0
    for _ in range(300):
        bound, strict, low = rng.choice(KINDS[kind]), rng.random() < 0.5, rng.random() < 0.5
        ends = {"low": (bound, strict), "high": None} if low else {"low": None, "high": (bound, strict)}
        quals = quals_of(key(*operators), field, **ends)  # type: ignore[arg-type]
        extent = certain(wanted, quals)
        assert extent is not None
        values = dict(extent.columns)["c"]
        for value in KINDS[kind]:
            [edge] = quals_of(key(">=", "<="), field, low=(value, False) if low else None, high=None if low else (value, False))  # fmt: skip
            inside = all(_HOLDS[one.operator](edge.value, one.value) for one in quals)
            held = any(
                (stretch.low is None or not _before(value, stretch.low))
                and (stretch.high is None or _before(value, stretch.high))
                for stretch in values.stretches
            )
            assert held == inside, (quals, value)
            seen += held
    assert seen > 100


def _before(value: Any, verge: Any) -> bool:
    return bool(value < verge.value or (verge.behind and value == verge.value))


def low(value: Any) -> Qual:
    return Qual("c", ">=", value)


def high(value: Any) -> Qual:
    return Qual("c", "<=", value)


def asked(wanted: Table, *parts: tuple[Qual, ...]) -> list[list[str]] | None:
    found = patches(wanted, list(enumerate(parts)))
    return (
        None
        if found is None
        else [[f"{one.operator} {one.value}" for one in quals] for quals, _ in found.rest]
    )


def test_the_rest_of_a_wider_range_is_asked_for() -> None:
    assert asked(table("int", low(1), high(9)), (low(3), high(5))) == [["<= 2", ">= 1"], ["<= 9", ">= 6"]]
    assert asked(table("int", low(1), high(9)), (low(3), high(5)), (low(6),)) == [["<= 2", ">= 1"]]
    assert asked(table("int", low(4), high(7)), (low(3), high(5)), (low(6),)) == []
    assert asked(table("int", low(4)), (low(2),)) == []
    assert asked(table("int", low(2)), (low(4),)) == [["<= 3", ">= 2"]]


def test_where_the_source_cannot_be_told_the_whole_is() -> None:
    up = key(">=")
    assert asked(table("int", low(1), told=up), (low(3),)) is None, "no upper bound can be said"
    assert asked(table("int", low(1), told=up), (high(3),)) == [[">= 4"]], "this one can"
    assert asked(table("int"), (low(3),)) is None, "NULL is in no range, and no range says it"
    assert asked(table("double", low(1.0)), (low(3.0),)) is None, "what is rounded may be NaN, too"
    assert asked(table("int", low(1)), (low(3), Qual("d", "=", 1))) is None, "rows of another condition alone"
    assert asked(table("int", low(1), Qual("d", "=", 1)), (low(3), Qual("d", "=", 1))) == [
        ["<= 2", ">= 1", "= 1"]
    ]
    several = [(low(n), high(n)) for n in (2, 4, 6)]
    assert asked(table("int", low(1), high(9)), *several) is None, "too many requests for what is between"


def test_a_prefix_holds_longer_ones_and_no_others() -> None:
    like = key("like")

    def text(pattern: str) -> Qual:
        return Qual("c", "like", pattern)

    assert asked(table("string", text("abc%"), told=like), (text("ab%"),)) == []
    assert asked(table("string", text("abc"), told=like), (text("ab%"),)) == []
    assert asked(table("string", text("a%"), told=like), (text("ab%"),)) is None
    assert asked(table("string", text("Abc%"), told=like), (text("ab%"),)) is None, "case counts"
    assert asked(table("string", text("b%"), told=like), (text("a%"),)) is None, (
        "a prefix ends before the next"
    )
    assert asked(table("string", text("ab%c"), told=like), (text("ab%"),)) == []
    assert asked(table("string", text("ab%"), told=like), (text("ab%c"),)) is None


class Numbers:
    """A source of whole numbers: scans by range, and by key; it notes which keys it is asked for."""

    name = "web"

    def __init__(self, wanted: Table) -> None:
        self.tables = (wanted,)
        self.keys: list[Any] = []

    async def scan(self, table: Table, *_: Any, **__: Any) -> AsyncGenerator[Page]:
        inside = [n for n in range(20) if all(_HOLDS[one.operator](n, one.value) for one in table.quals)]
        yield Page(pa.record_batch({"c": pa.array(inside, pa.int32())}))

    async def lookup(
        self, table: Table, method: LookupMethod, columns: Any, keys: Any, *, meter: AccessMeter
    ) -> AsyncGenerator[Page]:
        self.keys += [key for (key,) in keys]
        yield Page(pa.record_batch({"c": pa.array([key for (key,) in keys], pa.int32())}))

    async def close(self) -> None:
        pass


class Owner:
    def grew(self, buffer: TableBuffer) -> None:
        pass

    left = grew


async def test_keys_in_a_range_that_is_held_are_not_asked_for() -> None:
    scan, by_key, meter = ScanMethod("scan"), LookupMethod("by c", ("c",)), AccessMeter()
    held = TableBuffer(Owner(), table("int", low(3), high(6)), Numbers(table("int")), ("c",))
    held.kept = True
    reading, _ = held.scan(("first", 0), scan, meter)
    assert [len(page.rows) async for page in reading.read("first")] == [4]
    wanted, source = table("int", low(0)), Numbers(table("int"))
    patched = PatchedSource(source, wanted, ("c",), [held], lambda quals: source)
    keys = [(2,), (3,), (6,), (7,), (19,)]
    found = [
        value
        async for page in patched.lookup(wanted, by_key, ("c",), keys, meter=meter)
        for value in page.rows.column("c").to_pylist()
    ]
    assert sorted(found) == [2, 3, 6, 7, 19]
    assert source.keys == [2, 7, 19]
    assert meter.cached == 2


@pytest.mark.parametrize("keep", [False, True], ids=["on disk", "in a session"])
async def test_of_parts_that_were_read_at_different_times_it_is_said_that_a_row_may_have_moved(
    serve: Serve, tmp_path: Path, keep: bool
) -> None:
    rows = {1: 4, 2: 7, 3: 1}

    async def handler(asked: web.Request) -> web.Response:
        of = "n" if asked.path == "/moving" else "id"
        low, high = int(asked.query.get("low", -9)), int(asked.query.get("high", 99))
        told = ({"id": id_, "n": n} for id_, n in rows.items())
        return web.json_response([one for one in told if low <= one[of] <= high])

    def ranged(path: str, column: str) -> dict[str, Any]:
        told = {"name": column, "operators": [">=", "<="], "param": {">=": "low", "<=": "high"}}
        columns = {"id": "int", "n": "int"}
        return {"columns": columns, "primary_key": "id", "key_columns": [told], "scan": {"endpoint": path}}

    tables = {"moving": ranged("moving", "n"), "fixed": ranged("fixed", "id")}
    world = World((await serve(handler)).url, Site({}), tmp_path, tables)
    async with contextlib.AsyncExitStack() as stack:
        one = await stack.enter_async_context(world.federation(cached=not keep, keep=keep))

        async def warnings(sql: str) -> tuple[str, ...]:
            federation = one if keep else await stack.enter_async_context(world.federation())
            return (await run(federation, sql))[1].outcome.warnings

        assert await warnings("SELECT id, n FROM moving WHERE n BETWEEN 3 AND 5") == ()
        assert await warnings("SELECT id, n FROM fixed WHERE id BETWEEN 2 AND 3") == ()
        assert await warnings("SELECT id, n FROM fixed WHERE id BETWEEN 1 AND 3") == (), (
            "another id is another row"
        )
        assert await warnings("SELECT id, n FROM moving WHERE n BETWEEN 4 AND 5") == (), "of one reading"
        rows.update({1: 7, 2: 4})
        told = await warnings("SELECT id, n FROM moving WHERE n BETWEEN 1 AND 9")
        assert [text for text in told if "read at different times, by n" in text and "may be lacking" in text]
