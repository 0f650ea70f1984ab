"""Small pages of a scan that are here together are taken in as one; a page has its price whatever its size."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from fff.catalog import Catalog, Page, ScanMethod, Table
from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.events import Event, Instruction, ScanEnd, ScanRows
from fff.federation import Federation, RunOptions
from fff.limits import BATCH_ROWS, SCAN_WINDOW
from fff.runtime import driver
from fff.schema import Field
from fff.stats import AccessMeter
from fff.structs import replace
from tests.engine.scan_only import ScanOnly
from tests.engine.site import run


@dataclass
class Ready(ScanOnly):
    """Tables `l` and `r` of the same numbers, whose pages are there as soon as they are asked for."""

    rows: int
    page: int
    name: str = "s"
    given: int = 0

    @property
    def tables(self) -> Sequence[Table]:
        columns = (Field.of("k", "bigint"),)
        return [Table(self.name, name, columns, scans=(ScanMethod("scan"),)) for name in "lr"]

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        for start in range(0, self.rows, self.page):
            self.given += 1
            keys = range(start, min(start + self.page, self.rows))
            yield Page(pa.record_batch({"k": pa.array(keys, pa.int64())}), total_rows=self.rows)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    """What eddies are told of scans."""
    told: list[Event] = []
    handle = Eddy.handle

    def noted(eddy: Eddy, event: Event) -> list[Instruction]:
        if isinstance(event, ScanRows | ScanEnd):
            told.append(event)
        return handle(eddy, event)

    monkeypatch.setattr(Eddy, "handle", noted)
    return told


async def read(source: Ready, sql: str) -> list[Any]:
    catalog = Catalog()
    catalog.add(source)
    async with Federation(catalog) as federation:
        rows, execution = await run(federation, sql)
    assert execution.outcome.complete
    return sorted(rows)


async def test_pages_that_are_here_together_are_taken_in_as_one(heard: list[Event]) -> None:
    source = Ready(rows=2_450, page=100)
    found = await read(source, "SELECT l.k FROM l JOIN r ON l.k = r.k")
    assert found == [(key,) for key in range(2_450)]
    for table in (0, 1):
        pages = [one for one in heard if isinstance(one, ScanRows) and one.table == table]
        assert sum(page.count for page in pages) == 25
        assert [page.count for page in pages] == [SCAN_WINDOW, 25 - SCAN_WINDOW]
        assert [key for page in pages for key in page.rows.column(0).to_pylist()] == list(range(2_450))
        assert {page.total for page in pages} == {2_450}
    assert [one.rows for one in heard if isinstance(one, ScanEnd)] == [2_450, 2_450]


@dataclass
class Coming(Ready):
    """Pages for each of which a loop has to turn some times, or that take seconds; `told` is called before each."""

    pause: tuple[float, ...] = (0, 0)
    wide: int = 0
    told: Callable[[], None] = lambda: None

    async def scan(self, *args: Any, **options: Any) -> AsyncGenerator[Page]:
        async for page in super().scan(*args, **options):
            for seconds in self.pause:
                await asyncio.sleep(seconds)
            self.told()
            padding = pa.array(["x" * self.wide] * len(page.rows))
            yield replace(page, rows=page.rows.append_column("t", padding)) if self.wide else page

    @property
    def tables(self) -> Sequence[Table]:
        columns = (Field.of("k", "bigint"), *([Field.of("t", "string")] if self.wide else []))
        return [Table(self.name, name, columns, scans=(ScanMethod("scan"),)) for name in "lr"]


@pytest.mark.parametrize(
    ("coming", "slice_s", "events"),
    [
        pytest.param({}, 1_000, range(3, 9), id="at once"),
        pytest.param({"pause": (0.002,)}, 1_000, range(40, 51), id="a server that takes its time"),
        pytest.param({}, 0, range(40, 51), id="no time"),
        pytest.param({"wide": 10_000}, 1_000, range(20, 51), id="many bytes"),
    ],
)
async def test_pages_are_waited_for_while_they_come_at_once(
    coming: dict[str, Any], slice_s: float, events: range, heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for those that a server takes time for, nor for long, nor for much: what is here is joined meanwhile."""
    monkeypatch.setattr(driver, "PAGES_SLICE_S", slice_s)
    what = "l.k, l.t, r.t" if "wide" in coming else "l.k"
    found = await read(Coming(rows=2_500, page=100, **coming), f"SELECT {what} FROM l JOIN r ON l.k = r.k")
    assert len(found) == 2_500
    pages = [one for one in heard if isinstance(one, ScanRows)]
    assert sum(page.count for page in pages) == 50
    assert len(pages) in events, "those of two scans, which come by turns"


async def test_for_the_more_rows_is_waited_the_more_have_come(
    heard: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "PAGES_SLICE_S", 1_000)
    source = Coming(rows=100_000, page=1_000)
    assert len(await read(source, "SELECT l.k FROM l JOIN r ON l.k = r.k")) == 100_000
    rows = [len(one.rows) for one in heard if isinstance(one, ScanRows)]
    assert sum(rows[:2]) < 1.5 * BATCH_ROWS, "the first results come as soon as they would of a small table"
    assert max(rows) == 1_000 * SCAN_WINDOW, "all that may be ahead of each scan"
    assert len(rows) < 40, "of 200 pages"


async def test_who_has_other_news_waits_for_no_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "PAGES_SLICE_S", 1_000)
    source = Coming(rows=2_000, page=10)
    catalog = Catalog()
    catalog.add(source)
    async with Federation(catalog) as federation:
        prepared = federation.prepare("SELECT l.k FROM l JOIN r ON l.k = r.k")
        execution = federation.execute(prepared, RunOptions(hold_rows=True))  # nothing waits for a reader
        source.told = lambda: execution.interrupt() if source.given == 20 else None
        assert [batch async for batch in execution.batches()]
    assert execution.outcome.exit_code == 3
    assert source.given <= 24, "of 58 that had been granted"


async def test_a_large_page_is_taken_in_before_the_next_is_read(heard: list[Event]) -> None:
    source = Ready(rows=6 * BATCH_ROWS, page=BATCH_ROWS)
    assert len(await read(source, "SELECT l.k FROM l JOIN r ON l.k = r.k")) == 6 * BATCH_ROWS
    pages = [one for one in heard if isinstance(one, ScanRows)]
    assert [page.count for page in pages] == [1] * 12
    first = [page.table for page in pages[:4]]
    assert sorted(first[:2]) == sorted(first[2:]) == [0, 1], "two scans take turns"


async def test_scans_take_turns_when_so_many_rows_are_here(heard: list[Event]) -> None:
    source = Ready(rows=24 * 1_000, page=1_000)
    assert len(await read(source, "SELECT l.k FROM l JOIN r ON l.k = r.k")) == 24_000
    pages = [one for one in heard if isinstance(one, ScanRows)]
    assert max(page.count for page in pages) > 1
    assert max(len(page.rows) for page in pages) < 2 * BATCH_ROWS
    assert {page.table for page in pages[:2]} == {0, 1}


async def test_where_few_rows_are_wanted_pages_come_one_by_one(heard: list[Event]) -> None:
    source = Ready(rows=2_000, page=100)
    assert len(await read(source, "SELECT k FROM l WHERE k >= 150 LIMIT 20")) == 20
    assert [one.count for one in heard if isinstance(one, ScanRows)] == [1, 1]
    assert source.given <= 3
