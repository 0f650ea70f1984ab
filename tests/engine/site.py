"""A web site of tables: paged scans, lookups by any column, faults on demand; and a federation over it."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import random
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from fff.access.disk.policy import RowCache
from fff.federation import Execution, Federation, RunOptions
from fff.web.client import WebClient
from fff_sources.load import load_catalog
from tests.web.serving import Serve, Served

Row = tuple[Any, ...]


@dataclass
class Site:
    """Tables by name: column names and rows."""

    tables: dict[str, tuple[tuple[str, ...], list[Row]]]
    page: int = 10
    #: (table, "scan" or key) -> status that is answered instead; "hang" never answers
    faults: dict[tuple[str, str], int | str] = field(default_factory=dict)
    jitter: random.Random | None = None
    scans: collections.Counter[str] = field(default_factory=collections.Counter)
    keys: collections.Counter[tuple[str, str, str]] = field(default_factory=collections.Counter)
    hanging: asyncio.Event = field(default_factory=asyncio.Event)  # something hangs
    over: asyncio.Event = field(default_factory=asyncio.Event)  # let what hangs go

    async def answer(self, request: web.Request) -> web.StreamResponse:
        _, kind, table, *key = request.path.split("/")
        names, rows = self.tables[table]
        if self.jitter is not None:
            await asyncio.sleep(self.jitter.random() * 0.003)
        what = "scan" if kind == "scan" else key[1]
        offset = int(request.query.get("offset", (int(request.query.get("page", 1)) - 1) * self.page))
        fault = self.faults.get((table, what)) or self.faults.get((table, f"{what}@{offset}"))
        if kind == "scan":
            self.scans[table] += 1
        else:
            self.keys[table, key[0], key[1]] += 1
        if fault == "hang":
            self.hanging.set()
            await self.over.wait()
        if fault == "garbage":
            return web.Response(text='{"items": [', content_type="application/json")
        if isinstance(fault, int):
            return web.json_response({"error": "no"}, status=fault)
        if kind == "get":
            column = names.index(key[0])
            rows = [row for row in rows if str(row[column]) in key[1].split(",")]
            return web.json_response([dict(zip(names, row, strict=True)) for row in rows])
        part = rows[offset : offset + self.page]
        items = [dict(zip(names, row, strict=True)) for row in part]
        return web.json_response({"items": items, "total": len(rows), "pages": -(-len(rows) // self.page)})


def access(
    url: str, types: Mapping[str, str], *, scan: bool = True, lookups: Sequence[str] = (), scans: int = 1
) -> dict[str, Any]:
    """The spec of one table; `url` is its name on the site."""
    spec: dict[str, Any] = {"columns": dict(types)}
    if scan:
        endpoint = {
            "path": f"scan/{url}",
            "data_selector": "items",
            "paginator": {
                "type": "offset",
                "offset_param": "offset",
                "total_path": "total",
            },
        }
        spec["scan"] = (
            [{"endpoint": dict(endpoint)} for _ in range(scans)] if scans > 1 else {"endpoint": endpoint}
        )
    if lookups:
        spec["key_columns"] = [
            {"name": name, "require": "optional" if scan else "any_of", "operators": ["="]}
            for name in lookups
        ]
        spec["lookups"] = [
            {"keys": [name], "endpoint": {"path": f"get/{url}/{name}/{{{name}}}"}} for name in lookups
        ]
    return spec


@contextlib.asynccontextmanager
async def federated(
    serve: Serve,
    site: Site,
    folder: Path,
    tables: Mapping[str, dict[str, Any]],
    *,
    keep: bool = False,
    cache: RowCache | None = None,
    **client: Any,
) -> AsyncIterator[tuple[Federation, Served]]:
    """A federation whose source `web` is the site; `keep`: a session that keeps what was read."""
    served = await serve(site.answer)
    settings = {"base_url": served.url, "retry": {"max_attempts": 2, "max_delay": 0.01}} | client
    spec = {"version": 1, "sources": {"web": {"client": settings, "tables": dict(tables)}}}
    file = folder / "fff.yaml"
    file.write_text(json.dumps(spec), encoding="utf-8")  # which is YAML too, and written sooner
    web_client = WebClient(rng=random.Random(1))
    catalog = load_catalog([file], environ={}, cwd=folder, client=web_client)
    try:
        async with Federation(catalog, web_client, keep=keep, cache=cache) as federation:
            yield federation, served
    finally:
        site.over.set()


async def rows_of(execution: Execution) -> list[Row]:
    """The result, sorted."""
    rows: list[Row] = []
    async for batch in execution.batches():
        rows += zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return sorted(rows, key=lambda row: tuple((value is None, str(value)) for value in row))


async def run(federation: Federation, sql: str, **options: Any) -> tuple[list[Row], Execution]:
    """Run a statement to its end."""
    execution = federation.execute(federation.prepare(sql), RunOptions(**{"seed": 1} | options))
    return await rows_of(execution), execution


async def until(true: Callable[[], bool]) -> None:
    """Wait until what threads and servers do has come to that."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - snapshots are looked at, they call nobody
            await asyncio.sleep(0.01)
