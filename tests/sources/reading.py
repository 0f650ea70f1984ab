"""Shorthand for tests that read whole tables."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from textwrap import dedent
from typing import Any

from fff.catalog import Catalog, Table
from fff.stats import AccessMeter
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.web.serving import FakeTime

Row = dict[str, Any]


class Reader:
    """The catalog of one spec, and its tables read to the end."""

    def __init__(self, spec: str, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        file = folder / "fff.yaml"
        file.write_text(dedent(spec), encoding="utf-8")
        self.time = FakeTime()
        self.client = WebClient(rng=random.Random(1), clock=self.time.clock)
        self.catalog: Catalog = load_catalog([file], environ=environ or {}, cwd=folder, client=self.client)
        self.meter = AccessMeter()
        self.truncated: list[str] = []
        self.moved = False
        self.unanswered: list[tuple[object, ...]] = []

    def table(self, name: str) -> Table:
        (table,) = self.catalog.find([name])
        return table

    async def scan(
        self, name: str, columns: Sequence[str] | None = None, *, window: int = 1, number: int = 0
    ) -> list[Row]:
        table = self.table(name)
        wanted = [column.name for column in table.columns] if columns is None else columns
        adapter = self.catalog.adapter_of(table)
        rows: list[Row] = []
        pages = adapter.scan(table, table.scans[number], wanted, meter=self.meter, window=window)
        async with aclosing(pages) as open_pages:
            async for page in open_pages:
                assert page.rows.schema.names == list(wanted)
                assert page.rows.schema.types == [table.column(column).arrow for column in wanted]
                rows += page.rows.to_pylist()
                self.truncated += [page.truncated] if page.truncated else []
                self.moved |= page.moved
        return rows

    async def lookup(
        self, name: str, *keys: object, columns: Sequence[str] | None = None, number: int = 0
    ) -> list[Row]:
        table = self.table(name)
        wanted = [column.name for column in table.columns] if columns is None else columns
        asked = [key if isinstance(key, tuple) else (key,) for key in keys]
        pages = self.catalog.adapter_of(table).lookup(
            table, table.lookups[number], wanted, asked, meter=self.meter
        )
        rows: list[Row] = []
        async with aclosing(pages) as open_pages:
            async for page in open_pages:
                rows += page.rows.to_pylist()
                self.truncated += [page.truncated] if page.truncated else []
                self.unanswered += page.unanswered
        return rows
