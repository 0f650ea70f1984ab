"""Results are wider than the rows that come, where narrow rows meet wide ones: what is put into one batch is bounded."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

import pyarrow as pa
import pytest

from fff.catalog import Catalog, Page, ScanMethod, Table
from fff.dataflow import modules
from fff.dataflow.eddy import Eddy
from fff.dataflow.modules import Block
from fff.dataflow.plan.batch import TupleBatch
from fff.dataflow.plan.events import Event, Instruction, ScanRows
from fff.federation import Federation, RunOptions
from fff.limits import BATCH_MOST_ROWS, BATCH_ROWS
from fff.runtime import driver
from fff.schema import Field
from fff.stats import AccessMeter
from tests.engine.scan_only import ScanOnly

ROWS, PAGE, WIDE = 150_000, 4_000, 10


class Shop(ScanOnly):
    """`orders` of two numbers, and `items`, ten of them, of a text each."""

    name = "s"

    def __init__(self, *widths: int) -> None:
        self._texts = ["x" * width for width in widths]

    @property
    def tables(self) -> Sequence[Table]:
        number, text = Field.of("item", "bigint"), Field.of("text", "string")
        return [
            Table(self.name, "orders", (Field.of("k", "bigint"), number), scans=(ScanMethod("scan"),)),
            Table(self.name, "items", (number, text), scans=(ScanMethod("scan"),)),
        ]

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        if table.name == "items":
            yield Page(pa.record_batch({"item": range(WIDE), "text": self._texts}).select(columns))
            return
        for start in range(0, ROWS, PAGE):
            keys = range(start, min(start + PAGE, ROWS))
            yield Page(pa.record_batch({"k": keys, "item": [key % WIDE for key in keys]}).select(columns))


async def batches_of(*widths: int) -> list[pa.RecordBatch]:
    catalog = Catalog()
    catalog.add(Shop(*widths))
    async with Federation(catalog) as federation:
        sql = "SELECT o.k, i.text FROM s.orders o JOIN s.items i ON o.item = i.item"
        execution = federation.execute(federation.prepare(sql), RunOptions(seed=1))
        batches = [batch async for batch in execution.batches()]
    assert execution.outcome.complete
    found = pa.Table.from_batches(batches).sort_by("k")
    assert found.column("k").to_pylist() == list(range(ROWS))
    assert [len(text) for text in found.column("text").to_pylist()[: 2 * WIDE]] == [*widths] * 2
    return batches


@pytest.fixture
def taken_in(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of orders eddies are told of at once."""
    told: list[int] = []
    handle = Eddy.handle

    def noted(eddy: Eddy, event: Event) -> list[Instruction]:
        if isinstance(event, ScanRows) and event.table == 0:
            told.append(len(event.rows))
        return handle(eddy, event)

    monkeypatch.setattr(Eddy, "handle", noted)
    monkeypatch.setattr(driver, "PAGES_SLICE_S", 1_000)
    return told


async def test_narrow_rows_that_meet_wide_ones_are_not_waited_for_longer(taken_in: list[int]) -> None:
    await batches_of(*[1] * WIDE)
    assert BATCH_MOST_ROWS <= max(taken_in) < BATCH_MOST_ROWS + 2 * PAGE
    taken_in.clear()
    await batches_of(*[2_000] * WIDE)
    assert max(taken_in) == BATCH_ROWS


async def test_a_batch_of_results_has_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "GATHERED_BYTES", 1 << 20)
    batches = await batches_of(*[1_000] * WIDE)
    assert max(batch.nbytes for batch in batches) <= 1 << 20
    assert len(batches) < 400


async def test_texts_that_no_array_holds_are_in_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the wide ones may be met most often: stored rows tell what results are on average alone."""
    gather, tried = Block.gather, list[int]()

    def full(block: Block, batch: TupleBatch) -> pa.RecordBatch:
        tried.append(len(batch))
        if len(batch) > 1_000:
            raise pa.ArrowInvalid("Take operation overflowed binary array capacity")
        return gather(block, batch)

    monkeypatch.setattr(Block, "gather", full)
    await batches_of(*[3] * WIDE)
    assert max(tried) > 1_000
