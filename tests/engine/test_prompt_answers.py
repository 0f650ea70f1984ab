"""Answers to lookups that come on one turn of the loop after the other are taken in together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from fff.catalog import Catalog, LookupMethod, Page, ScanMethod, Table
from fff.dataflow.eddy import Eddy
from fff.dataflow.plan.events import Event, Instruction, LookupAnswers
from fff.federation import Federation
from fff.schema import Field
from fff.stats import AccessMeter
from tests.engine.site import run

_KEYS = 40


class Staggered:
    """A scan of `l`, and lookups of `r` each of which takes so many turns of the loop more than the one before."""

    def __init__(self, window: int, turns: int) -> None:
        self.name = "s"
        self._turns = turns
        self._asked = 0
        columns = (Field.of("k", "bigint"),)
        lookup = LookupMethod("by_k", ("k",))
        self.tables = (
            Table("s", "l", columns, scans=(ScanMethod("scan"),)),
            Table("s", "r", columns, lookups=(lookup,), max_in_flight=window),
        )

    async def scan(
        self, table: Table, method: ScanMethod, columns: Sequence[str], *, meter: AccessMeter, window: int
    ) -> AsyncGenerator[Page]:
        yield Page(pa.record_batch({"k": pa.array(range(_KEYS), pa.int64())}))

    async def lookup(
        self,
        table: Table,
        method: LookupMethod,
        columns: Sequence[str],
        keys: Sequence[tuple[object, ...]],
        *,
        meter: AccessMeter,
    ) -> AsyncGenerator[Page]:
        self._asked += 1
        for _ in range(self._asked * self._turns):
            await asyncio.sleep(0)
        yield Page(pa.record_batch({"k": pa.array([key for (key,) in keys], pa.int64())}))

    async def close(self) -> None:
        pass


async def taken_in(window: int, turns: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many answers ended with each event."""
    ended: list[int] = []
    handle = Eddy.handle

    def noted(eddy: Eddy, event: Event) -> list[Instruction]:
        if isinstance(event, LookupAnswers):
            ended.append(len(event.ends))
        return handle(eddy, event)

    monkeypatch.setattr(Eddy, "handle", noted)
    catalog = Catalog()
    catalog.add(Staggered(window, turns))
    async with Federation(catalog) as federation:
        rows: list[Any]
        rows, execution = await run(federation, "SELECT l.k FROM l JOIN r ON l.k = r.k")
    assert execution.outcome.complete
    assert sorted(rows) == [(key,) for key in range(_KEYS)]
    assert sum(ended) == _KEYS
    return ended


async def test_answers_of_turns_in_a_row_are_taken_in_together(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = await taken_in(window=_KEYS, turns=1, monkeypatch=monkeypatch)
    assert max(ended) > _KEYS // 4
    assert max(ended) < _KEYS // 2, "as long as more are under way, so that new ones follow in time"


async def test_an_answer_waits_for_none_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(await taken_in(window=_KEYS, turns=3, monkeypatch=monkeypatch)) == {1}
